"""Gradient boosting: the rounds of XGBoost, LightGBM and CatBoost.

    [5]<tab>train-rmse:0.52814<tab>valid-rmse:0.61022          XGBoost; of a cross-validation train-rmse:0.5+0.01
    [10]<tab>training's auc: 0.953<tab>valid_1's auc: 0.769    LightGBM; of a cross-validation valid auc: 0.7 + 0.01
    0:<tab>learn: 0.6694<tab>test: 0.6733<tab>best: 0.6733 (0)<tab>total: 67.9ms<tab>remaining: 10.1s         CatBoost

The number in front is the step: a round of XGBoost, an iteration of the others. Of a mean with its deviation the mean
is read; times are left out.

    Early stopping, best iteration is:            LightGBM; the next line repeats that of the best iteration
    Stopping. Best iteration:                     XGBoost before 1.3, likewise
    best_iteration: 123, best_score: 0.5123       scripts; also in two lines, and with "="
    bestTest = 0.8089882646                       CatBoost; the next line is "bestIteration = 5"

give the best step and its scores, and no points.
Sources: xgboost/callback.py (EvaluationMonitor), lightgbm/callback.py, catboost/private/libs/algo/helpers.cpp.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair

_ROUND = re.compile(r"(?:.{0,100}?(?<!\S))?\[(\d{1,12})\][\t ]{1,4}(?=[A-Za-z])", re.ASCII)
_XGBOOST = re.compile(
    rf"([A-Za-z_][\w.@-]{{0,80}}-[\w.@:-]{{1,80}}):({NUMBER})(?:\+{NUMBER})?(?=\s|$)", re.IGNORECASE | re.ASCII
)
_LIGHTGBM = re.compile(
    rf"([A-Za-z_][\w .-]{{0,60}}(?:'s [\w@. -]{{1,60}}| [\w@.-]{{1,60}})): ({NUMBER})(?: \+ {NUMBER})?",
    re.IGNORECASE | re.ASCII,
)
_CATBOOST = re.compile(r"(\d{1,12}):(?=\s.{0,400}\stotal: )", re.ASCII)
_SCORE = re.compile(rf"(?<!\S)(learn|test\d{{0,3}}|best): ({NUMBER})(?=\s|$)", re.IGNORECASE | re.ASCII)
_BEST = re.compile(r"[Bb]est iteration(?: is)?:\s{0,9}(?:\[?(\d{1,12})(?:\][\t ,]{0,4}|(?![\w.])))?", re.ASCII)
_STEP_NAMED = re.compile(r"(?<![A-Za-z])best_?[iI]teration_?['\"]?\s?[=:]\s?(\d{1,12})(?![\w.])", re.ASCII)
_SCORE_NAMED = re.compile(rf"(?<![A-Za-z])best(?:_score_?|Test)['\"]?\s?[=:]\s?({NUMBER})(?!\w)", re.ASCII)
_MARK = "est iteration"
_NAMED = ("best_iteration", "best_score", "bestIteration", "bestTest")
_TOTAL = "\ttotal: "


class BoostingReader(LineReader):
    _repeated = False
    """True if the next round repeats the best one."""
    _best: int | None = None
    _score: float | None = None
    """Best step and score that lines name, until both are known."""

    def read(self, line: Line) -> bool:
        text = line.text
        if _MARK in text and (best := _BEST.search(text)):
            if best[1]:
                self.sink.report_best(int(best[1]), _scores(text[best.end() :])[0])
                return True
            self._repeated, self.lines_awaited = True, 2
            return False
        if any(mark in text for mark in _NAMED):
            self._read_best(text)
            return False
        if _TOTAL in text and (match := _CATBOOST.match(line.message)):
            scores = [(name, float(value)) for name, value in _SCORE.findall(line.message, match.end())]
            return self.sink.add_row(scores, int(match[1]), line, unit="iteration")
        match = _ROUND.match(text)
        if match is None:
            return False
        scores, unit = _scores(text[match.end() :])
        if self._repeated and scores:
            self._repeated = False
            self.sink.report_best(int(match[1]), scores)
            return True
        return self.sink.add_row(scores, int(match[1]), line, unit=unit)

    def _read_best(self, text: str) -> None:
        """Report the best step that a line names, with the score if it or the line before names that."""
        if step := _STEP_NAMED.search(text):
            self._best = int(step[1])
        if score := _SCORE_NAMED.search(text):
            self._score = float(score[1])
        if self._best is None:
            return
        self.sink.report_best(self._best, [] if self._score is None else [("best_score", self._score)])
        if self._score is not None:
            self._best = self._score = None


def _scores(text: str) -> tuple[list[Pair], str]:
    """Return (scores of a round, what XGBoost or LightGBM calls it); no scores if a field is something else."""
    fields = [field for field in re.split(r"\t| {2,}", text) if field]
    parsed = [_XGBOOST.fullmatch(field) or _LIGHTGBM.fullmatch(field) for field in fields]
    scores = [(field[1], float(field[2])) for field in parsed if field]
    unit = "round" if fields and _XGBOOST.fullmatch(fields[0]) else "iteration"
    return (scores if len(scores) == len(fields) else []), unit


FAMILY = Family("boosting", ("]\t", _TOTAL, _MARK, *_NAMED), BoostingReader, order=21)
