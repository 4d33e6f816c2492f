"""Who waits for whom in asynchronous training, with the names of the frameworks."""

from __future__ import annotations

import pytest
from support.stores import store_of

from tuimon.draw.ascii import ascii_text
from tuimon.model.views import Size, Symbols
from tuimon.panels import arrange
from tuimon.panels.waiting import PANEL

STEPS = 40


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (
            {"fully_async/trainer/idle_ratio": 0.4, "fully_async/rollouter/idle_ratio": 0.05},
            {"trainer": 40, "rollout": 5},
        ),
        ({"time/step": 200, "time/wait_for_batch": 80, "time/broadcast_weights": 10}, {"trainer": 40, "sync": 5}),
        ({"perf/step_time": 50, "perf/train_wait_time": 40, "perf/update_weights_time": 1}, {"trainer": 80, "sync": 2}),
        (
            {"timing/train/total_step_time": 10, "timing/train/exposed_generation": 3, "timing/train/weight_sync": 0.5},
            {"trainer": 30, "sync": 5},
        ),
        ({"time/step": 100, "time/wait_for_ckpt": 25}, {"rollout": 25}),
    ],
    ids=["verl", "prime-rl trainer", "slime", "nemo-rl", "prime-rl orchestrator"],
)
def test_the_share_of_each_part(metrics: dict[str, float], expected: dict[str, int]) -> None:
    # every fifth step is slow: the median does not show it
    curves = {name: [value * (9 if step % 5 == 0 else 1) for step in range(STEPS)] for name, value in metrics.items()}
    if any("ratio" in name for name in metrics):
        curves = {name: [value] * STEPS for name, value in metrics.items()}
    run = store_of(curves).snapshot().run(0)
    (panel,) = (own for own in arrange(run) if own.id == "waiting")
    view = panel.view(run, Size(100, 10), 0.0, Symbols.BRAILLE)
    rows = ["".join(text for text, _ in row) for row in view.rows]
    found = {row.split()[0]: int(row.split("%")[0].split()[-1]) for row in rows}
    assert found == expected
    for row in rows:
        share = found[row.split()[0]]
        cells = row.count("▒")
        assert abs(cells - share / 100 * 53) <= 1, "the bar has 53 cells"


def test_a_run_that_does_not_say_who_waits_has_no_panel() -> None:
    run = store_of({"time/step": [2.0] * 5, "timing_s/gen": [1.0] * 5}).snapshot().run(0)
    assert not PANEL.relevant(run)


def test_a_narrow_screen_and_ascii() -> None:
    run = store_of({"fully_async/trainer/idle_ratio": [0.5] * 5}).snapshot().run(0)
    (row,) = PANEL.view(run, Size(20, 5), 0.0, Symbols.ASCII).rows
    text = ascii_text("".join(part for part, _ in row))
    assert text.isascii()
    assert (text.count("#"), text.count(":")) == (5, 5)
