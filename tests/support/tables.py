"""Tables as the screen shows them: the list of runs and any other, at a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuimon.draw.rows import fit_row
from tuimon.draw.table import Column, Fitted, Order, fit_columns, head_row, table_row
from tuimon.model.views import Row
from tuimon.panels.lists.run_metrics import repeated_columns
from tuimon.panels.lists.runs import GAP, SIGNS, Listing, headed, run_columns, run_signs
from tuimon.store import Run

_GIVEN = Order()


def fitted_runs(runs: Sequence[Run], listing: Listing, width: int, by: str = "") -> Fitted[Run]:
    """Return the columns of the list of these runs, with their widths."""
    repeated = repeated_columns(runs, listing.metric)
    columns = headed((column for column in run_columns(listing) if column.id not in repeated), runs)
    return fit_columns(columns, runs, width - SIGNS, GAP, by)


def run_rows(
    runs: Sequence[Run], listing: Listing, width: int, selected: Run | None = None, order: Order = _GIVEN
) -> list[Row]:
    """Return the head and a row for each run."""
    fitted = fitted_runs(runs, listing, width, order.by)
    rows = [head_row(fitted, order, SIGNS, GAP)]
    for run in runs:
        signs = run_signs(run, listing, run is selected)
        rows.append(table_row(fitted, run, signs, GAP, run is selected))
    return [fit_row(row, width) for row in rows]


def table_rows(columns: Sequence[Column[Any]], items: Sequence[Any], width: int, order: Order = _GIVEN) -> list[Row]:
    """Return the head and a row for each item."""
    fitted = fit_columns(columns, items, width, by=order.by)
    return [fit_row(row, width) for row in (head_row(fitted, order), *(table_row(fitted, item) for item in items))]


def column_of(columns: Sequence[Column[Any]], id: str) -> Column[Any]:
    """Return the column with this id."""
    return next(column for column in columns if column.id == id)
