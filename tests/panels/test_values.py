"""Labels, filters, names and sentences: see support.value_cases for the words of the table."""

from __future__ import annotations

import math
from typing import Any

from support.made_run import run_of, text
from support.tables import table_rows
from support.value_cases import values_of

from tuimon.analysis.metric_filter import chosen, matching
from tuimon.draw.table import Order, sort_items
from tuimon.model.ranks import RankRow
from tuimon.model.views import Symbols
from tuimon.panels import why_empty
from tuimon.panels._charts.captions import labels_of
from tuimon.panels._text import change_span
from tuimon.panels.lists.metric_rows import metric_columns
from tuimon.panels.lists.rank_rows import COLUMNS
from tuimon.reader.checkpoints import checkpoint_step
from tuimon.vocabulary import classify

NAMES = ("actor/kl_loss", "actor/pg_loss", "critic/rewards/mean", "val/acc@1", "time/step_p95", "Loss[0]")
RUN = run_of(
    {
        "reward": (range(20), [0.5] * 18 + [1.5] * 2),
        "loss": (range(20), [math.exp(-step) for step in range(20)]),
        "broken": (range(3), [1.0, 2.0, math.nan]),
        "never": (range(2), [math.inf, math.nan]),
    }
)
test_values = values_of(globals())


def labels(names: list[str]) -> list[str]:
    """A part or a statistic that several have names none of them: they have their whole names."""
    return labels_of([(name, classify(name)) for name in names])


def step_of(name: str) -> int | None:
    return checkpoint_step(f"/logs/{name}")


def matched(query: str) -> list[str]:
    return list(matching(NAMES, query))


def chosen_by(pattern: str) -> list[str]:
    names = ("train/reward", "train/reward_std", "train/kl", "train/kl_std", "a|b", "b", "bb")
    found, unknown = chosen(names, [pattern])
    assert unknown == []
    return sorted(found)


def last_line(line: str) -> str:
    row = RankRow("", 11, "node02", 3, "run", 0.0, line=line)
    return text(table_rows(COLUMNS, [row], 90)[1]).rstrip().rpartition("   ")[2].strip()


def change_in_ascii(change: float, flat: bool) -> str:
    return change_span(change, flat, "down", Symbols.ASCII)[0]


def sorted_metrics(by: str, reverse: bool) -> list[str]:
    columns: Any = metric_columns(RUN, Symbols.BRAILLE, 10, {"loss": 2.0, "reward": 1.0})
    return sort_items(["never", "loss", "reward", "broken"], columns, Order(by, reverse))


def begins(id: str, title: str, words: str) -> bool:
    return why_empty(id, title).startswith(words)
