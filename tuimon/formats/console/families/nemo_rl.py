"""NeMo-RL: one block per step, with sections of bullets.

    ========================= Step 3/100 =========================
    📊 Training Results:                       ⏱️  Timing:
      • Loss: 0.0010                             • Total step time: 26.11s
      • Avg Reward: 0.3300                       • generation: 13.20s (50.6%)
    📊 Validation Results:
        • Accuracy: 0.4100

The printed labels are replaced by the names that NeMo-RL's own loggers use (train/loss, train/reward,
timing/train/generation), so that both give the same metric. Times are seconds.
Source: nemo_rl/algorithms/{grpo,sft,dpo}.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

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
    _step: int | None = 0  # also of a validation before the first step
    _prefix: str | None = None

    def interrupt(self) -> None:
        super().interrupt()
        self._step = self._prefix = None

    def read(self, line: Line) -> bool:
        text = line.message
        if match := _STEP.fullmatch(text):
            self._step, self._prefix = int(match[1]), None
            if match[2]:
                self.sink.report_progress(self._step, int(match[2]))
            return True
        if match := _SECTION.fullmatch(text):
            self._prefix = _PREFIXES[match[1]]
            return True
        bullet = _BULLET.match(text) if self._prefix else None
        if bullet is None:
            return False
        name = f"{self._prefix}{bullet[1].strip()}"
        return self.sink.add_row([(_NAMES.get(name, name), float(bullet[2]))], self._step, line)


FAMILY = Family(
    "nemo-rl", ("= Step ", ", Step ", "Results:", "Timing:", "Metrics:", "• ", "  - "), NemoRLReader, order=30
)
