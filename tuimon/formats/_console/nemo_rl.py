"""NeMo-RL: a block a step, with sections of bullets.

    ========================= Step 3/100 =========================
    📊 Training Results:                       ⏱️  Timing:
      • Loss: 0.0010                             • Total step time: 26.11s
      • Avg Reward: 0.3300                       • generation: 13.20s (50.6%)
    📊 Validation Results:
        • Accuracy: 0.4100

The labels are those of a print statement; they get the names that NeMo-RL's own loggers use (train/loss, train/reward,
timing/train/generation), so that one metric is one. Times are seconds. Source: nemo_rl/algorithms/{grpo,sft,dpo}.py.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER

_STEP = re.compile(r"=+ ?(?:Epoch \d+/\d+, )?Step (\d{1,18})(?:/(\d{1,18}))? ?=+", re.ASCII)
_SECTION = re.compile(
    r"\W{0,8}(Training Results|Validation Results|(?:Validation )?Timing|Performance Metrics)\W*:?\W*"
)
_BULLET = re.compile(
    rf"\s*(?:•|-) ([^:]{{1,100}}):\s*+({NUMBER})(?:s|%|ms| tokens| TFLOPS)?(?= *\(|\s*$)", re.IGNORECASE | re.ASCII
)
_PREFIXES = {
    "Training Results": "train/", "Timing": "timing/train/", "Validation Results": "validation/",
    "Validation Timing": "timing/validation/", "Performance Metrics": "performance/",
}  # fmt: skip
_NAMES = {
    "train/Loss": "train/loss",
    "train/Draft Loss": "train/draft_loss",
    "train/Generation KL Error": "train/gen_kl_error",
    "train/Avg Reward": "train/reward",
    "train/Avg Filtered Reward": "train/reward",
    "train/Avg Total Reward": "train/total_reward",
    "train/Mean Generation Length": "train/mean_gen_tokens_per_sample",
    "timing/train/Total step time": "timing/train/total_step_time",
    "timing/validation/Total validation time": "timing/validation/total_validation_time",
    "validation/Accuracy": "validation/accuracy",
    "validation/Validation loss": "validation/loss",
    "validation/Average response length": "validation/avg_length",
}


class NemoRLReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._step = 0  # a validation before the first step is of step 0
        self._prefix: str | None = None

    def read(self, line: Line) -> bool:
        text = line.message
        if found := _STEP.fullmatch(text):
            self._step, self._prefix = int(found[1]), None
            if found[2]:
                self.sink.progress(self._step, int(found[2]))
            return True
        if found := _SECTION.fullmatch(text):
            self._prefix = _PREFIXES[found[1]]
            return True
        found = _BULLET.match(text) if self._prefix else None
        if found is None:
            return False
        name = f"{self._prefix}{found[1].strip()}"
        return self.sink.row([(_NAMES.get(name, name), float(found[2]))], self._step, line)


FAMILY = Family(
    "nemo-rl", ("= Step ", ", Step ", "Results:", "Timing:", "Metrics:", "• ", "  - "), NemoRLReader, order=30
)
