"""Lines of known programs whose numbers cannot be told from the text beside them: an example and what each number is.

    " 1: 10.0, 12.0 avg loss, 0.001 rate"      step, loss, avg loss, rate

A line is of a row if its texts between the numbers are those of the example. To add a program, add a row; the test of
the table reads each example.
"""

from __future__ import annotations

from functools import cache

from tuimon.formats.console.shapes.cutting import cut
from tuimon.formats.console.shapes.numbers import Column
from tuimon.formats.console.shapes.roles import Layout

EXAMPLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (  # Darknet
        " 1: 10.0, 12.0 avg loss, 0.001 rate, 3.4 seconds, 64 images, 12.5 hours left",
        ("step", "loss", "avg loss", "rate", "seconds", "", ""),
    ),
    (
        " 1: 10.0, 12.0 avg loss, 0.001 rate, 3.4 seconds, 64 images",
        ("step", "loss", "avg loss", "rate", "seconds", ""),
    ),
    (
        " 1: 10.0, 12.0 avg, 0.001 rate, 3.4 seconds, 64 images",
        ("step", "loss", "avg loss", "rate", "seconds", ""),
    ),
)
"""(line, role of each of its numbers): "step", "epoch", "total", the name of a metric, or "" for none."""


@cache
def known_layouts() -> dict[tuple[str, ...], Layout]:
    """Return the layout of each example by the texts between its numbers."""
    return {shape_of(line): _layout(roles) for line, roles in EXAMPLES}


def shape_of(line: str) -> tuple[str, ...]:
    """Return the texts between the numbers of a line, with single blanks."""
    return tuple(cut(" ".join(line.split()))[::2])


def _layout(roles: tuple[str, ...]) -> Layout:
    columns = [Column(role, index, index) for index, role in enumerate(roles)]
    places = {column.name: column for column in columns if column.name in ("step", "epoch", "total")}
    metrics = [column for column in columns if column.name and column.name not in places]
    return Layout(
        metrics,
        step=places.get("step") or places.get("epoch"),
        epoch=places.get("epoch") if "step" in places else None,
        total=places.get("total"),
        rank=8,
        has_metric=True,
        is_sure=True,
    )
