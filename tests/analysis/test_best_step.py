"""The best step that the log of a training by boosting names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import START

from tuimon.analysis.best_step import best_step
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text
from tuimon.model.views import Size, Symbols, TextView
from tuimon.monitor.local import open_run
from tuimon.panels import header_panel

XGBOOST = "".join(f"[{number}]\ttrain-rmse:0.{number}\tvalid-rmse:0.{number}5\n" for number in (10, 20, 30))
LIGHTGBM = "".join(f"[{number}]\ttraining's l2: 0.{number}\tvalid_1's l2: {number}.5\n" for number in (10, 20, 30))
CATBOOST = "".join(f"{number}:\tlearn: 0.6\ttest: 0.{number}\tbest: 0.1 (0)\ttotal: 6ms\n" for number in (10, 20, 30))
LIGHTGBM_BEST = "[13]\ttraining's l2: 0.125\tvalid_1's l2: 13.25\n"


@pytest.mark.parametrize(
    ("text", "word", "scores"),
    [
        (
            f"{LIGHTGBM}Early stopping, best iteration is:\n{LIGHTGBM_BEST}",
            "iteration",
            {"training's l2": 0.125, "valid_1's l2": 13.25},
        ),
        (
            f"{LIGHTGBM}Early stopping, best iteration is: {LIGHTGBM_BEST}",
            "iteration",
            {"training's l2": 0.125, "valid_1's l2": 13.25},
        ),
        (f"{LIGHTGBM}Early stopping, best iteration is: [13]\n", "iteration", {}),
        (
            f"{XGBOOST}Stopping. Best iteration:\n[13]\ttrain-rmse:0.5\tvalid-rmse:0.25\n\n",
            "round",
            {"train-rmse": 0.5, "valid-rmse": 0.25},
        ),
        (f"{XGBOOST}best_iteration: 13\nbest_score: 0.25\n", "round", {"best_score": 0.25}),
        (f"{XGBOOST}best_iteration=13, best_score=0.25\n", "round", {"best_score": 0.25}),
        (f"{CATBOOST}\nbestTest = 0.25\nbestIteration = 13\n", "iteration", {"best_score": 0.25}),
    ],
)
def test_the_best_step_and_its_scores(tmp_path: Path, text: str, word: str, scores: dict[str, float]) -> None:
    (tmp_path / "train.log").write_text(text)
    [run] = open_run(tmp_path).runs
    best = best_step(run)
    assert best is not None
    assert (best.word, best.step, dict(best.scores)) == (word, 13, scores)
    for metric in set(run.metrics) - {"best_iteration", "best_score"}:
        assert run.curve(metric).steps.tolist() == [10, 20, 30], "its line is no point"


def test_it_is_displayed(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"{LIGHTGBM}Early stopping, best iteration is:\n{LIGHTGBM_BEST}")
    snapshot = open_run(tmp_path)
    header = header_panel().view(snapshot.runs[0], Size(120, 2), START, Symbols.BRAILLE)
    assert isinstance(header, TextView)
    assert "best iteration 13 valid_1's l2 13.25  " in "".join(part for part, _ in header.rows[1])
    summary = "\n".join(as_text(snapshot, START))
    assert "best        iteration 13: valid_1's l2 13.25\n" in summary
    assert "best iteration 13: 0.125\n" in summary, "beside the metric"
    assert "Best checkpoint" not in summary
    described = plain(summary_of(snapshot, START))["runs"][0]
    assert described["best_checkpoint"] == {"step": 13, "training's l2": 0.125, "valid_1's l2": 13.25}


def test_a_log_of_steps_has_checkpoints(tmp_path: Path) -> None:
    lines = "".join(f"step {step} loss 0.{step}\n" for step in range(1, 9))
    (tmp_path / "train.log").write_text(f"{lines}best_iteration: 3\n")
    [run] = open_run(tmp_path).runs
    assert best_step(run) is None
