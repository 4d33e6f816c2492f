"""The panel of system metrics that trackers store over time."""

from __future__ import annotations

import pytest
from support.made_run import START, panel_of, run_of, store_of, text
from support.view_cases import series_of

from tuimon.draw.ascii import ascii_text
from tuimon.exports.summary_text import facts_of
from tuimon.model.points import Fact
from tuimon.model.views import Size, Symbols
from tuimon.store import Run
from tuimon.text import cell_width, local_time

PANEL = panel_of("system_metrics")
SINCE = local_time(START + 600, "%H:%M")
BUSY = {"gpu": 93.0, "temp": 64.0}


def node(changes: dict[int, dict[str, float]] | None = None, gpus: int = 4) -> Run:
    """Return a run with GPUs; `changes` replaces the values of the second half of some."""
    series = series_of({"system/cpu": "0..1190 by 10: 37"})
    for gpu in range(gpus):
        for kind, busy in BUSY.items():
            changed = (changes or {}).get(gpu, {}).get(kind, busy)
            series |= series_of({f"system/gpu.{gpu}.{kind}": f"0..590 by 10: {busy}; 600..1190 by 10: {changed}"})
    return run_of(series, [Fact("metrics", {name: {"system": True} for name in series})])


def drawn(run: Run, width: int = 120, height: int = 14, symbols: Symbols = Symbols.BRAILLE) -> list[str]:
    assert PANEL.relevant(run)
    view = PANEL.view(run, Size(width, height), START, symbols)
    rows = [text(row) for row in view.rows]
    assert all(cell_width(row) <= width for row in rows) or width < 38, rows  # the renderer cuts them
    assert len(rows) + 1 <= height or height < 4
    return rows


def row_of(rows: list[str], device: str) -> str:
    return next(row for row in rows if row.startswith(device + " "))


def test_summary_names_the_gpus_that_stand_out() -> None:
    facts = dict(facts_of(node({1: {"gpu": 0.0}, 3: {"temp": 91.0}}), START))
    assert facts["GPUs"] == f"gpu 3 hot since {SINCE}; gpu 1 idle since {SINCE}"
    many = {3: {"temp": 91.0}, **{gpu: {"gpu": 0.0} for gpu in range(3)}}
    facts = dict(facts_of(node(many, gpus=8), START))
    named = [f"gpu {state} since {SINCE}" for state in ("3 hot", "0 idle", "1 idle")]
    assert facts["GPUs"] == "; ".join([*named, "1 more"])
    assert "GPUs" not in dict(facts_of(node(), START))


@pytest.mark.parametrize("size", [(38, 8), (78, 20), (20, 3), (1, 1), (0, 0)])
def test_narrow_panels_keep_the_devices_that_stand_out(size: tuple[int, int]) -> None:
    width, height = size
    rows = drawn(node({13: {"gpu": 0.0}, 12: {"temp": 91.0}}, gpus=16), width, height, Symbols.ASCII)
    if width >= 38:
        assert " idle" in row_of(rows, "gpu 13")
        assert all(ascii_text(row).isascii() for row in rows)
        assert row_of(rows, "gpu 0").count("█") >= 12


def test_devices_without_room_are_counted_at_every_height() -> None:
    run = node({1: {"gpu": 0.0}}, gpus=16)
    for height in range(3, 26):
        view = PANEL.view(run, Size(80, height), START, Symbols.BRAILLE)
        shown = [text(row) for row in view.rows]
        assert len(shown) < height
        devices = sum(row.startswith(("gpu ", "CPU ")) for row in shown) - 1  # without the sentence
        counted = [int(word[1:]) for word in f"{shown[-1]} {text(view.headline)}".split() if word.startswith("+")]
        assert devices + sum(counted) == 17, height
    fitted = PANEL.fitted(run).rows  # type: ignore[attr-defined]
    rows = [text(row) for row in PANEL.view(run, Size(80, fitted), START, Symbols.BRAILLE).rows]  # type: ignore[union-attr]
    assert row_of(rows, "CPU")


def test_times_of_a_minute_have_seconds() -> None:
    names = ["system/cpu", "system/memory_percent"]
    for seconds, length in ((1.0, 8), (60.0, 5)):
        store = store_of(
            {name: (range(20), [50.0] * 20) for name in names},
            [Fact("metrics", {name: {"system": True} for name in names})],
            seconds,
        )
        axis = drawn(store.snapshot().runs[0])[0].split()
        assert [len(time) for time in axis] == [length, length]
        assert axis[0] != axis[1]
