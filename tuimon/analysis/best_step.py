"""best_step(): the best step of a training by boosting, as its log names it. It need not be one of the logged steps."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.draw.numbers import format_exact
from tuimon.store import Run
from tuimon.text import clean

_BOOSTING = ("round", "iteration")
_OF_TRAINING = ("train-", "train's ", "training's ")


class BestStep(Struct, frozen=True):
    word: str
    """What the steps count: "round" or "iteration"."""
    step: int
    scores: Mapping[str, float]

    @property
    def scores_text(self) -> str:
        """The scores without those of the training, as logged: "valid_1's auc 0.775627, valid_1's l2 0.5"."""
        named = {name: value for name, value in self.scores.items() if not name.startswith(_OF_TRAINING)}
        return ", ".join(f"{clean(name)} {format_exact(value)}" for name, value in (named or self.scores).items())

    def score_text(self, metric: str) -> str:
        """Return "best iteration 13: 0.775627" if the score of the metric is known, else ""."""
        score = self.scores.get(metric)
        return "" if score is None else f"best {self.word} {self.step}: {format_exact(score)}"


def best_step(run: Run) -> BestStep | None:
    """Return the best step that the log of a training by boosting names, or None."""
    best, word = run.best_checkpoint, progress_inputs(run).step_name
    if word not in _BOOSTING or not best or type(step := best.get("step")) is not int:
        return None
    scores = {name: float(value) for name, value in best.items() if name != "step" and isinstance(value, int | float)}
    return BestStep(word, step, scores)
