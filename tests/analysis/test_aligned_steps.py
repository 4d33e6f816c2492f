"""Metrics whose source counts steps differently are drawn on the steps of the other charts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.made_run import START, store_of
from support.stores import Log

from tuimon.analysis.aligned_steps import aligned, counts_alike
from tuimon.detectors import Checker
from tuimon.exports import around, compare
from tuimon.exports.html import comparison as comparison_page
from tuimon.exports.html import report
from tuimon.exports.summary_text import as_text
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import ChartOptions, axis_word, header_panel, metric_panel
from tuimon.panels.lists.comparison import compare as compared
from tuimon.panels.lists.comparison_tables import screen_rows
from tuimon.store import Run

UPDATES = 4
STEPS = range(60)


def with_console(times: Any) -> Run:
    """Return a run with a console that counts in its own way."""
    log = trackers().stream(1, "run/train.log", 10, format="console")
    return log.add(1, range(1, 61), np.linspace(0, 1, 60), times, "my_score").run


def trackers() -> Log:
    """Return a run that logs a loss at each update, and timers and rewards at the first update of each step."""
    updates, first = np.arange(60 * UPDATES), np.arange(0, 60 * UPDATES, UPDATES)
    log = Log().add_row(0, dict.fromkeys(("actor/loss", "actor/kl"), (updates, 0.5)), START + updates)
    return log.add_row(0, dict.fromkeys(("time/rollout", "time/step", "rewards/mean"), (first, 1.0)), START + first)


def test_steps_of_a_console_are_drawn_at_their_updates() -> None:
    run = with_console(START + np.arange(60.0) * UPDATES)
    assert not counts_alike(run, "my_score")
    assert counts_alike(run, "actor/loss")
    assert aligned(run, "my_score").steps.tolist() == list(range(0, 60 * UPDATES, UPDATES))
    assert aligned(run, "my_score").values.tolist() == run.curve("my_score").values.tolist()
    assert aligned(run, "actor/loss") is run.curve("actor/loss")
    limits = {(view.x.low, view.x.high) for view in (chart(run, "my_score"), chart(run, "actor/loss"))}
    assert len(limits) == 1, "charts of one page count alike"


def test_a_count_without_times_is_drawn_as_logged_and_said_so() -> None:
    run = with_console(None)
    assert aligned(run, "my_score") is run.curve("my_score")
    assert chart(run, "my_score").x.label == "steps of its own"
    assert chart(run, "actor/loss").x.label == ""


def test_a_cursor_reads_an_aligned_curve_at_the_step_of_the_others() -> None:
    run = with_console(START + np.arange(60.0) * UPDATES)
    view = chart(run, "my_score", cursor=120)
    assert view.cursor == 120
    assert float(view.headline[0][0]) == pytest.approx(30 / 59, abs=1e-3)


def test_any_metric_that_grows_can_be_the_axis() -> None:
    frames, loss = [step * 2048 for step in STEPS], [1.0 / (step + 1) for step in STEPS]
    run = store_of({"loss": (STEPS, loss), "frames": (STEPS, frames)}).snapshot().runs[0]
    assert run.has_axis("metric:frames")
    assert not run.has_axis("metric:loss"), "it falls"
    assert not run.has_axis("metric:nothing")
    view = chart(run, "loss", "metric:frames")
    assert view.extent == (0.0, 59 * 2048.0)
    assert view.x.label == "frames"
    assert chart(run, "loss", "metric:loss").extent == (0.0, 59.0), "steps instead"


def chart(run: Run, metric: str, axis: str = "step", **options: Any) -> ChartView:
    return metric_panel(metric).view(run, Size(120, 30), START, Symbols.BRAILLE, ChartOptions(axis, **options))


def _losses(epoch: int) -> tuple[float, float]:
    return 2 / (epoch + 1), 0.4 + (epoch - 12) ** 2 / 500


HISTORY = json.dumps({name: [_losses(e)[i] for e in range(40)] for i, name in enumerate(("loss", "val_loss"))})
XGBOOST = "".join("[{}]\ttrain-loss:{}\tvalid-loss:{}\n".format(e, *_losses(e)) for e in range(40))
LIGHTGBM = "".join("[{}]\ttrain's loss: {}\tvalid's loss: {}\n".format(e, *_losses(e)) for e in range(40))


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [("history.json", HISTORY, "epoch"), ("train.log", XGBOOST, "round"), ("train.log", LIGHTGBM, "iteration")],
)
def test_every_text_names_what_the_log_counts(tmp_path: Path, name: str, text: str, word: str) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / name).write_text(text.replace("0.9", "0.8") if run == "a" else text)
    snapshot = open_run(tmp_path)
    run = snapshot.runs[0]
    header = header_panel().view(run, Size(100, 2), START, Symbols.BRAILLE)
    alerts = Checker().check(run)
    single, comparison = replace(snapshot, runs=(run,)), compared(snapshot.runs)
    table = chart(run, run.metrics[0], cursor=7, fullscreen=True).table
    texts = {
        "header": "".join(part for part, _ in header.rows[1]),  # type: ignore[union-attr]
        "alerts": " ".join(f"{alert.message} {alert.hint}" for alert in alerts),
        "summary": "\n".join(as_text(single, START)),
        "runs": "\n".join(as_text(snapshot, START)),
        "compare": "\n".join(compare.as_text(comparison, START)),
        "list": "\n".join("".join(part for part, _ in row) for row in screen_rows(comparison, START, 200)),
        "at": "\n".join(around.as_text(run, around.run_around(run, 7), 7)),
        "report": _words_of(report.as_html(single, START)),
        "comparison": _words_of(comparison_page.as_html(comparison, START)),
        "axis": axis_word(run, "step"),
        "table": " ".join("".join(part for part, _ in row) for row in table),
    }
    for where, shown in texts.items():
        assert word in shown, where
        assert not re.search(r"\bsteps?\b(?! time)", shown), (where, shown)
    assert f"since {word} 12" in texts["alerts"]


def _words_of(page: str) -> str:
    """Return the text of a page without its styles and marks."""
    return re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL)


def test_the_name_of_a_metric_stays_where_steps_are_epochs(tmp_path: Path) -> None:
    rows = "".join(f"{epoch},{'nan' if epoch == 7 else 0.5}\n" for epoch in range(9))
    (tmp_path / "training.csv").write_text(f"epoch,loss at step 3\n{rows}")
    [run] = open_run(tmp_path).runs
    messages = [alert.message for alert in Checker().check(run)]
    assert any("loss at step 3" in message and "epoch 7" in message for message in messages), messages


@pytest.mark.parametrize("other", ["epoch,step,loss\n0,10,1.0\n0,20,0.5\n1,30,0.2\n", "step,loss\n1,1.0\n2,0.5\n"])
def test_other_tables_are_counted_in_steps(other: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(other)
    [run] = open_run(tmp_path).runs
    assert axis_word(run, "step") == "step"
