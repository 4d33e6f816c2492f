"""Lines that name their step among or after the numbers.

    loss: 0.5, acc: 0.8, step: 100                         Loss: 0.5 | Epoch: 3
    2026-05-03T10:00:01Z [info     ] train_step    epoch=1 loss=0.5 lr=0.001         structlog, logrus, logfmt
    [Learner] Critic Loss = 0.5 | Learner Steps = 100      Acme
    Step = 100 ; tokens/s = 12345 ; Loss = 0.5             OpenNMT-tf
    train | {"epoch": 1, "loss": "0.5", "num_updates": "100"}       fairseq with --log-format json

The line needs the name of a result of training and a fraction, and must not repeat an earlier result ("best loss"). The
step is the first of STEPS that the line has; an epoch is a metric beside another step.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, Pair, number, numbers, printed_dict
from tuimon.formats.console.families._pairs import FRACTION, metric_pairs, names_a_metric

STEPS = (
    *(
        "global_step",
        "global step",
        "step",
        "num_updates",
        "learner steps",
        "learner_steps",
        "actor steps",
        "iteration",
    ),
    *(
        "iter",
        "update",
        "timesteps",
        "total timesteps",
        "total_timesteps",
        "env_steps",
        "env steps",
        "episode",
        "round",
    ),
    *("generation", "epoch"),
)
"""Names of steps in lower case, best first."""
_FAIRSEQ = re.compile(r"(?:train|valid|test)_(?=num_updates$|epoch$)", re.ASCII)
_REPEATED = re.compile(
    r"\b(?:best|previous|prev|last|resum\w{1,4}|(?:re)?load\w{0,4}|restor\w{1,4}|sav(?:ed|ing)|early|improved|patience)\b",
    re.IGNORECASE,
)
_DICT = re.compile(r"(?:^|[|:>\]-] )(?=\{[\"'])")
_ASSIGNED = re.compile(r"(?<!\S)([A-Za-z_][\w./-]{0,60})=([^\s=\"]{1,40})(?=\s|$)", re.ASCII)
_COUNTERS = ("tep", "teps", "poch", "teration", "pdate", "pdates", "pisode", "ound")
_MAX_LENGTH = 4000


class StepWithinReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        if len(text) > _MAX_LENGTH or "%|" in text:
            return False
        opening = _DICT.search(text)
        if opening is not None:
            values = list(numbers(printed_dict(text, opening.end(), whole=True) or {}))
            text = text[: opening.start()]
        else:
            values = _assigned(text) or metric_pairs(text)
        if _REPEATED.search(text) or not names_a_metric(values) or not FRACTION.search(line.message):
            return False
        steps = {_FAIRSEQ.sub("", name.lower()): (name, value) for name, value in reversed(values)}
        found = next((steps[name] for name in STEPS if name in steps and _is_step(*steps[name], line.message)), None)
        if found is None:
            return False
        row = [(name, value) for name, value in values if name != found[0]]
        return self.sink.add_row(row, int(found[1]), line)


def _assigned(text: str) -> list[Pair]:
    """Return the pairs `name=number` of a line of logfmt, which has two of them between blanks."""
    pairs = [(name, value) for name, printed in _ASSIGNED.findall(text) if (value := number(printed)) is not None]
    return pairs if len(pairs) > 1 else []


def _is_step(name: str, value: float, text: str) -> bool:
    """Return whether the number was printed as a whole one, without a unit."""
    if not (value.is_integer() and 0 <= value < 2**53):
        return False
    return (
        re.search(rf"{re.escape(name)}[\"']?\s?[=:]\s{{0,12}}[\"']?0{{0,12}}{value:.0f}(?![\w%]|\.\d)", text)
        is not None
    )


FAMILY = Family(
    "step-within",
    (
        *(name + end for name in _COUNTERS for end in ("=", ":", " =", " :", '":', "':")),
        *("iter=", "iter:", "Iter:"),
    ),
    StepWithinReader,
    order=94,
    self_closing=True,
)  # fmt: skip
