"""Trainers that print "<kind> <step>: {dictionary}".

    slime      [2026-08-21 16:00:00] model.py:918 - step 3: {'train/loss': 0.5, …}   also rollout, perf, eval, passrate,
               multi_turn and critic-step: each kind has its own step axis, and its metrics are named after it
    Trinity    INFO 08-19 12:00:01 [monitor.py:137] Step 1: {'rollout/accuracy/mean': 0.1, …}      AgentJet too
    OpenRLHF   INFO 08-13 19:01:45 ppo_trainer.py:547] ✨ Global step 1: {'policy_loss': 0.001, …}
               ✨ Evaluation completed in 3 s, global_step 20, eval_metrics: {…}

Sources: slime/utils (624b824a), trinity/utils/monitor.py, ajet/backbone/trainer_trinity.py, openrlhf/trainer.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, numbers, printed_dict

_OPEN = ": {"
_NUMBERED = re.compile(
    r"(?<![\w-])(?:(?:critic-|actor-|global[ _])?step|rollout|perf|eval|passrate|multi_turn|iteration|iter|epoch)"
    r" (\d{1,18})$",
    re.IGNORECASE | re.ASCII,
)
_EVALUATION = re.compile(r"global_step (\d{1,18}), eval_metrics$", re.ASCII)
_BEFORE = 60


class NumberedDictReader(LineReader):
    def read(self, line: Line) -> bool:
        opening = line.text.find(_OPEN)
        before = line.text[max(0, opening - _BEFORE) : max(0, opening)]
        match = _NUMBERED.search(before) or _EVALUATION.search(before)
        if match is None:
            return False
        row = printed_dict(line.text, opening + 2)
        return row is not None and self.sink.add_row(numbers(row), int(match[1]), line)


FAMILY = Family("numbered-dict", (_OPEN,), NumberedDictReader, order=12, self_closing=True)
