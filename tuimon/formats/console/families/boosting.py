"""Gradient boosting: the rounds of XGBoost, LightGBM and CatBoost.

    [5]<tab>train-rmse:0.52814<tab>valid-rmse:0.61022          XGBoost; of a cross-validation train-rmse:0.5+0.01
    [10]<tab>training's auc: 0.953<tab>valid_1's auc: 0.769    LightGBM; of a cross-validation valid auc: 0.7 + 0.01
    0:<tab>learn: 0.6694<tab>test: 0.6733<tab>best: 0.6733 (0)<tab>total: 67.9ms<tab>remaining: 10.1s         CatBoost

The number in front is the step. Of a mean with its deviation the mean is read; times are left out. LightGBM repeats the
line of the best round after "best iteration is:", which is left out.
Sources: xgboost/callback.py (EvaluationMonitor), lightgbm/callback.py, catboost/private/libs/algo/helpers.cpp.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

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
_BEST = "est iteration is:"
_TOTAL = "\ttotal: "


class BoostingReader(LineReader):
    _repeated = False
    """True if the next round repeats the best one."""

    def read(self, line: Line) -> bool:
        text = line.text
        if _BEST in text:
            self._repeated, self.lines_awaited = True, 2
            return False
        if _TOTAL in text and (match := _CATBOOST.match(line.message)):
            scores = [(name, float(value)) for name, value in _SCORE.findall(line.message, match.end())]
            return self.sink.add_row(scores, int(match[1]), line)
        match = _ROUND.match(text)
        if match is None:
            return False
        fields = [field for field in re.split(r"\t| {2,}", text[match.end() :]) if field]
        parsed = [_XGBOOST.fullmatch(field) or _LIGHTGBM.fullmatch(field) for field in fields]
        if not all(parsed):
            return False
        if self._repeated:
            self._repeated = False
            return True
        return self.sink.add_row([(field[1], float(field[2])) for field in parsed if field], int(match[1]), line)


FAMILY = Family("boosting", ("]\t", _TOTAL, _BEST), BoostingReader, order=21)
