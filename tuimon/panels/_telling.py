"""Order of metrics without a known concept: results first, then others, then times, sizes and counters, constants last.

The order depends on the words of the names and on which curves are constant. It is computed again only if metrics
appear or the number of points doubles, so that charts keep their places while a run grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tuimon import lazy_re as re
from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.panels._metrics import FEW_POINTS, curve_or_none
from tuimon.store import Run
from tuimon.vocabulary import BYTES, DATE, Meaning

RESULT, PLAIN, USAGE, CONSTANT = range(4)
"""Ranks: measures of quality, other names, measures of resources and counters, curves that do not change."""
_CHECKED = 200
"""Maximum number of curves that are examined for being constant."""
_RANKED = 20_000
"""Names that are ranked by their words; of more, the others count as PLAIN. 200,000 names take 4 s."""
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+(?![a-z])")
_RESULTS = re.compile(
    r"scores?|acc|accuracy|loss(es)?|cost|err(ors?)?|rewards?|returns?|success|wins?|precision|recall|f1|auc|auroc|map"
    r"|iou|dice|bleu|rouge|wer|cer|psnr|ssim|fid|perplexity|ppl|elbo|nll|objective|fitness|correct|solved|goal"
)
_USAGE = re.compile(
    r"time[rs]?|timing|timeperf|secs?|seconds?|ms|latency|duration|elapsed|passed|remaining|eta|timestamp|date|runtime"
    r"|fps|throughput|memory|mem|ram|rss|vram|cpu|gpu|disk|network|bandwidth|util|utili[sz]ation|bytes|mb|gb|gib"
    r"|sizes?|counts?|counter|num|total|queue|buffer|version|seed|index|idx|id|timesteps?|episodes|epochs?|updates"
    r"|iter(ation)?s?|steps?|skipped|ncols|nrows|width|height"
)


@lru_cache(maxsize=16384)
def rank_of(name: str, unit: str = "1") -> int:
    """Return RESULT, PLAIN or USAGE for a metric by its words and its unit; the last words count most."""
    if unit in ("s", DATE, *BYTES):
        return USAGE
    words = [word.lower() for word in _WORD.findall(name)]
    if words and _RESULTS.fullmatch(words[-1]):
        return RESULT
    if any(map(_USAGE.fullmatch, [*words[:1], *words[-3:]])):
        return USAGE
    return RESULT if any(map(_RESULTS.fullmatch, words)) else PLAIN


def by_telling(run: Run, names: Sequence[str], known: Mapping[str, Meaning]) -> list[tuple[int, str]]:
    """Return (rank, metric) of the metrics in the order of ranks; metrics of one rank keep their order."""
    constant = _constants(run, names)
    ranked = [(CONSTANT if name in constant else rank_of(name, known[name].unit), name) for name in names[:_RANKED]]
    return sorted([*ranked, *((PLAIN, name) for name in names[_RANKED:])], key=lambda item: item[0])


@cached_until_doubled
def _constants(run: Run, names: Sequence[str]) -> frozenset[str]:
    """Return the metrics whose finite values are all equal, of those with more than FEW_POINTS points."""
    return frozenset(name for name in names[:_CHECKED] if _is_constant(run, name))


def _is_constant(run: Run, name: str) -> bool:
    curve = curve_or_none(run, name)
    if curve is None or len(curve) <= FEW_POINTS or curve.nan_count or curve.infinity_count:
        return False
    return curve.min is not None and curve.max is not None and curve.min.value == curve.max.value
