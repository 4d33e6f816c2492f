"""Trainers that print "<what> <step>: {dictionary}".

    slime      [2026-08-21 16:00:00] model.py:918 - step 3: {'train/loss': 0.5, …}   also rollout, perf, eval, passrate,
               multi_turn and critic-step: each kind counts on an axis of its own, and names its metrics after it
    Trinity    INFO 08-19 12:00:01 [monitor.py:137] Step 1: {'rollout/accuracy/mean': 0.1, …}      AgentJet too
    OpenRLHF   INFO 08-13 19:01:45 ppo_trainer.py:547] ✨ Global step 1: {'policy_loss': 0.001, …}
               ✨ Evaluation completed in 3 s, global_step 20, eval_metrics: {…}

Sources: slime/utils (624b824a), trinity/utils/monitor.py, ajet/backbone/trainer_trinity.py, openrlhf/trainer.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import numbers, printed_dict

_OPEN = ": {"
_NUMBERED = re.compile(
    r"(?<![\w-])(?:(?:critic-|actor-|global )?step|rollout|perf|eval|passrate|multi_turn|iteration|iter|epoch)"
    r" (\d{1,18})$",
    re.IGNORECASE | re.ASCII,
)
_EVALUATION = re.compile(r"global_step (\d{1,18}), eval_metrics$", re.ASCII)
_BEFORE = 60


class NumberedDictReader(LineReader):
    def read(self, line: Line) -> bool:
        at = line.text.find(_OPEN)
        before = line.text[max(0, at - _BEFORE) : max(0, at)]
        found = _NUMBERED.search(before) or _EVALUATION.search(before)
        if found is None:
            return False
        row = printed_dict(line.text, at + 2)
        return row is not None and self.sink.row(numbers(row), int(found[1]), line)


FAMILY = Family("numbered-dict", (_OPEN,), NumberedDictReader, order=12, closes=True)
