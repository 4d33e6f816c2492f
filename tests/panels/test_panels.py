"""Panels of real stores: texts compared with values computed here, and any size and content."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from support.made_run import START, Series, feed, panel_of, run_of, store_of, text

from tuimon import draw
from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.events import Columns, FactFound, MetricsFound, RanksSeen, RunFound, SegmentStarted, StreamFound
from tuimon.model.points import Fact
from tuimon.model.ranks import JobRanks
from tuimon.model.views import BarView, ChartView, Role, Size, Symbols
from tuimon.panels import (
    ChartOptions,
    Panel,
    all_panels,
    arrange,
    header_panel,
    metric_panel,
    unshown_metrics,
)
from tuimon.panels._charts.captions import labels_of
from tuimon.registry import discover
from tuimon.store import Run, Store
from tuimon.vocabulary import classify


def chart(run: Run, id: str) -> ChartView:
    return panel_of(id).view(run, Size(80, 12), START, Symbols.BRAILLE)


def bars(run: Run, height: int = 30) -> BarView:
    return panel_of("phase_latency").view(run, Size(120, height), START, Symbols.BRAILLE)


def constant(value: float, steps: Sequence[int] = range(1, 31)) -> tuple[Sequence[int], Sequence[float]]:
    return steps, [value] * len(steps)


# ---------------------------------------------------------------- curves


def logged(series: Mapping[str, Any]) -> Run:
    """Return a run with these metrics: a constant at 30 steps, a list from step 0 on, or (steps, values)."""
    made = {
        name: values if isinstance(values, tuple) else constant(values) if isinstance(values, float) else
        (range(len(values)), values)
        for name, values in series.items()
    }  # fmt: skip
    return run_of(made)


def shown(view: ChartView) -> dict[str, Any]:
    """Return the fields of a chart that the table below has."""
    front = [line for line in view.lines if not line.behind]
    return {
        "title": view.title,
        "headline": text(view.headline),
        "value": view.headline[0][0] if view.headline else "",
        "labels": [line.label for line in front],
        "metrics": [line.metric for line in front],
        "lines": len(front),
        "note": view.note,
        "scale": view.y.scale,
        "y_label": view.y.label,
        "top": float(np.fmax.reduce(front[0].envelope.high)),
    }


COMPLETIONS = ("completions/mean_length", "completions/mean_terminated_length")
DECAYING = [1e-3 * 0.9**step for step in range(100)]
POLICY = [0.05 * (step % 3) for step in range(50)]
RATIO, SHARE = "actor/clipped_ratio", "actor/clip_fraction"
SCORES = {"critic/rewards/mean": 0.0, "critic/score/max": 9.0, "critic/score/mean": 0.5}
LENGTHS = {"tokens/response_length/max": 90.0, "tokens/response_length/mean": 12.0}
CHARTS: dict[str, tuple[str, Mapping[str, Any], dict[str, Any]]] = {
    "RLinf logs the fraction of properly ended responses": (
        "truncation", {"rollout/fraction_of_samples_properly_ended": 0.75}, {"title": "properly ended responses"}
    ),
    "the ratio after clipping is not drawn beside its fraction": (
        "clip", {RATIO: 0.98, SHARE: 0.25}, {"title": "clip fraction", "value": "0.2500", "lines": 1}
    ),
    "the ratio after clipping alone": ("clip", {RATIO: 0.98}, {"title": "clipped ratio"}),
    "NaN now": ("loss", {"loss": [3.0, 2.0, math.nan]}, {"headline": "NaN now, last 2", "value": "NaN now"}),
    "infinite now": ("loss", {"loss": [0.5, -math.inf]}, {"value": "-Inf now"}),
    "never finite": ("reward", {"reward": [-math.inf] * 2}, {"headline": "-Inf"}),
    "a negated entropy": ("entropy", {"train/entropy_loss": -0.5}, {"value": "0.5000 nats", "top": 0.5}),
    "a scaled rate": ("lr", {"train/lr(1e-3)": 2.0}, {"top": pytest.approx(0.002)}),
    "a rate over decades": ("lr", {"lr": DECAYING}, {"scale": "log"}),
    "a constant rate": ("lr", {"lr": [1e-3] * 100}, {"scale": "linear"}),
    "a rate that warms up": ("lr", {"lr": [1e-5 * step for step in range(100)]}, {"scale": "linear"}),
    "a single point that summarises": (
        "loss", {"train/loss": 1.0, "train/train_loss": ([30], [0.7])}, {"lines": 1, "note": "+1 metric"}
    ),
    "a speed in another unit": (
        "samples_per_second", {"eval/samples_per_second": 900.0, "eval/fps": 9.0}, {"lines": 1, "note": "+1 metric"}
    ),
    "the raw score leads": ("reward", SCORES, {"value": "0.5000"}),
    "a maximum has no line": (
        "length", LENGTHS, {"labels": [""], "value": "12 tokens", "y_label": "tokens/response_length/mean"}
    ),
    "another concept beside the leading one": (
        "loss", {"actor/total_loss": POLICY, "actor/sft_loss": [0.5] * 50}, {"lines": 2, "note": ""}
    ),
    "another concept that would flatten it": (
        "loss", {"actor/total_loss": POLICY, "actor/sft_loss": [2.5] * 50}, {"lines": 1, "note": "+1 metric"}
    ),
    "Lightning's loss of a step and its mean over an epoch": (
        "loss",
        {"train_loss_epoch": ([49, 99], [1.0, 0.5]), "train_loss_step": (range(4, 100, 5), [2.0] * 20)},
        {"value": "2"},
    ),
    "the validation alone": ("success", {"val-core/gsm8k/acc/mean@8": 0.4}, {"title": "success (val)"}),
    "turns of the validation": ("turns", {"val-aux/num_turns/mean": 5.0}, {"title": "turns (val)"}),
    "success of tools is no success of the task": (
        "success", {"agent/tool_call_success": 0.95, "val-core/gsm8k/acc/mean@8": 0.4},
        {"metrics": ["val-core/gsm8k/acc/mean@8"]},
    ),
    "success of tools": ("tool_success", {"agent/tool_call_success": 0.95}, {"metrics": ["agent/tool_call_success"]}),
    "an accuracy": ("success", {"acc": 0.5, "val_acc": 0.5}, {"title": "accuracy", "labels": ["train", "val"]}),
    "an accuracy by its whole name": (
        "success", {"train_accuracy": 0.5, "test_acc": 0.5}, {"title": "accuracy", "labels": ["train", "val"]}
    ),
    "measures of different names": (
        "success", {"metrics/precision": 0.5, "metrics/recall": 0.5}, {"title": "precision, recall"}
    ),
    "success beside an accuracy": ("success", {"success_rate": 0.5, "val_acc": 0.5}, {"title": "success"}),
    "the share of clipped prompts is no length": (
        "prompt_length", {"prompt_length/mean": 200.0, "prompt_length/clip_ratio": 0.0},
        {"metrics": ["prompt_length/mean"]},
    ),
    "logits without a unit": ("logits", {"logits/chosen": -1.0}, {"value": "-1"}),
}  # fmt: skip
"""What is special: (panel, metrics, expected fields)."""


@pytest.mark.parametrize("case", CHARTS)
def test_the_chart_of_metrics(case: str) -> None:
    id, series, expected = CHARTS[case]
    found = shown(chart(logged(series), id))
    assert {name: found[name] for name in expected} == expected


def test_chosen_and_rejected_texts_are_drawn_before_the_validation() -> None:
    kinds = ("eval_logps", "eval_logits", "eval_rewards", "logits", "logps", "rewards")
    margins = ("rewards/margins", "eval_rewards/margins")
    pairs = {kind: (f"{kind}/chosen", f"{kind}/rejected") for kind in kinds}
    run = logged(dict.fromkeys((*margins, *(name for pair in pairs.values() for name in pair)), -1.0))
    assert panel_of("logprob").names(run) == (*pairs["logps"], *pairs["eval_logps"])
    assert panel_of("logits").names(run) == (*pairs["logits"], *pairs["eval_logits"])
    assert panel_of("reward_margin").names(run) == (*margins, *pairs["rewards"], *pairs["eval_rewards"])


def test_a_metric_that_is_nan_throughout() -> None:
    view = chart(logged({"loss": [math.nan] * 1000}), "loss")
    assert (view.headline, view.note) == ((("NaN", Role.CRITICAL),), "1 000 NaN")
    assert len([m for m in view.marks if m.kind == "nan"]) <= view.columns
    assert np.isnan(view.lines[0].envelope.high).all()
    assert np.isfinite([view.y.low, view.y.high]).all()


@pytest.mark.parametrize(
    ("first", "attempts", "superseded", "notes"),
    [
        (121, [(80, 81, 101)], 40, ("resumed from step 80", "40 points superseded")),
        (
            221,
            [(None, 201, 416), (None, 401, 601)],
            35,
            ("2 restarts, the last: resumed from step 400", "35 points superseded"),
        ),
        (100, [(100, 100, 200)], 0, ("resumed from step 99",)),
        (100, [(100, 100, 200), (200, 200, 300)], 0, ("2 restarts, the last: resumed from step 199",)),
    ],
)
def test_restarts_are_marked_and_superseded_points_are_counted(
    first: int, attempts: list[tuple[int | None, int, int]], superseded: int, notes: tuple[str, ...]
) -> None:
    store = store_of({"loss": (range(first), [1.0] * first)})
    for resumed, begin, end in attempts:
        store.apply(SegmentStarted(0, resumed, False))
        feed(store, {"loss": (range(begin, end), [0.5] * (end - begin))}, 0)
    run = store.snapshot().runs[0]
    view = chart(run, "loss")
    assert (run.curve("loss").superseded, view.notes) == (superseded, notes)
    assert [mark.x for mark in view.marks if mark.kind == "restart"] == [float(begin) for _, begin, _ in attempts]
    facts = text(header_panel().view(run, Size(160, 2), START, Symbols.BRAILLE).rows[1])  # type: ignore[union-attr]
    assert f"{superseded} logged steps superseded" in facts or not superseded


def test_train_and_validation_share_the_chart_and_the_best_checkpoint_is_on_it() -> None:
    steps = list(range(10, 201, 10))
    run = run_of(
        {
            "train_history/reward": (steps, [s / 100 for s in steps]),
            "train_history/loss": (steps, [2.0] * 20),
            "val_history/val_reward": ([100, 200], [1.1, 1.9]),
        },
        [Fact("best_checkpoint", {"step": 100, "epoch": 1, "samples": 400, "val_reward": 1.1, "path": "best"})],
    )
    view = chart(run, "reward")
    assert [line.label for line in view.lines] == ["train", "val"]
    assert [line.markers for line in view.lines] == [False, True]
    assert view.headline[0] == ("2", Role.VALUE)
    assert [(mark.kind, mark.x) for mark in view.marks] == [("best", 100.0)]
    assert view.x.low <= 10
    assert view.x.high >= 200
    assert np.nanmax(view.lines[0].envelope.high) == 2.0
    assert np.nanmax(view.lines[1].envelope.high) == 1.9
    assert chart(run, "loss").marks == (), "the checkpoint was chosen by reward"


def test_a_checkpoint_without_a_metric_is_marked_on_the_leading_chart() -> None:
    steps = range(1, 31)
    best = Fact("final_metrics", {"best_metric": 0.98, "best_checkpoint": "outputs/lora/checkpoint-15"})
    supervised = run_of({"train_history/loss": (steps, [1.0 / s for s in steps])}, [best])
    assert [mark.x for mark in chart(supervised, "loss").marks] == [15.0]
    rewarded = run_of({"loss": (steps, [1.0] * 30), "reward": (steps, [1.0] * 30)}, [best])
    assert chart(rewarded, "loss").marks == ()
    assert [mark.x for mark in chart(rewarded, "reward").marks] == [15.0]


@pytest.mark.parametrize(
    ("metric", "id", "values", "arrow", "role"),
    [
        ("reward", "reward", [0.0] * 10 + [1.0] * 10, "↑", Role.GOOD),
        ("reward", "reward", [1.0] * 10 + [0.0] * 10, "↓", Role.WARNING),
        ("loss", "loss", [1.0] * 10 + [0.0] * 10, "↓", Role.GOOD),
        ("loss", "loss", [0.0] * 10 + [1.0] * 10, "↑", Role.WARNING),
        ("kl", "kl", [0.0] * 10 + [1.0] * 10, "↑", Role.MUTED),
        ("kl", "kl", [0.5] * 20, "→", Role.MUTED),
    ],
)
def test_the_change_over_the_last_tenth(metric: str, id: str, values: list[float], arrow: str, role: Role) -> None:
    """Each value is repeated 10 times, so a tenth of the run is 20 points, and the change is between the last two."""
    logged = [v for v in values[:9] + [values[0]] * 9 + values[-2:] for _ in range(10)]
    run = run_of({metric: (range(200), logged)})
    value, _, change = chart(run, id).headline
    assert float(value[0].split()[0]) == values[-1]
    assert change[0].startswith(arrow)
    assert change[1] is role


def test_the_loss_of_a_run_with_rewards_need_not_fall() -> None:
    rising = [i / 100 for i in range(100)]
    run = run_of({"loss": (range(100), rising), "reward": (range(100), rising)})
    assert chart(run, "loss").headline[2][1] is Role.MUTED


def test_values_that_are_not_finite_are_marked_and_counted() -> None:
    values = [1.0] * 50
    values[10], values[20], values[21] = math.nan, math.inf, -math.inf
    run = run_of({"grad_norm": (range(50), values)})
    view = chart(run, "grad_norm")
    width = (view.x.high - view.x.low) / view.columns
    marks = {kind: [m.x for m in view.marks if m.kind == kind] for kind in ("nan", "infinity")}
    assert len(marks["nan"]) == 1
    assert abs(marks["nan"][0] - 10) <= width
    assert all(20 - width <= x <= 21 + width for x in marks["infinity"])
    assert "1 NaN, 2 Inf" in view.note
    zoomed = metric_panel("grad_norm").view(run, Size(80, 12), START, Symbols.BRAILLE, ChartOptions(fullscreen=True))
    assert "1 NaN at step 10, 2 Inf at steps 20 and 21" in zoomed.note


def test_a_thinned_curve_keeps_its_spike_and_needs_no_note() -> None:
    values = np.sin(np.arange(100_000) / 5000)
    values[54_321] = 40.0
    run = run_of({"actor/kl_loss": (range(100_000), values.tolist())})
    assert "points" not in chart(run, "kl").note, "nothing is hidden in a small chart"
    panel = panel_of("kl")
    view = panel.view(run, Size(60, 12), START, Symbols.BRAILLE, ChartOptions(fullscreen=True))
    assert "points" not in view.note
    assert np.nanmax(view.lines[0].envelope.high) == 40.0


@pytest.mark.parametrize(("rows", "lines"), [(6, 2), (12, 3), (16, 4), (50, 4)])
def test_a_line_for_each_four_rows_at_most_four_the_others_counted(rows: int, lines: int) -> None:
    names = ["reward", "eval/reward"] + [f"rewards/part_{i}/mean" for i in range(6)]
    run = run_of({name: constant(float(i)) for i, name in enumerate(names)})
    view = panel_of("reward").view(run, Size(120, rows), START, Symbols.BRAILLE)
    assert len(view.lines) == lines
    assert view.lines[1].label == "val"
    assert f"+{8 - lines} metric" in view.note
    assert view.headline[0][0] == "0"


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("reward", "eval/reward"), ["train", "val"]),
        (("kl", "eval_kl"), ["train", "val"]),
        (("sft_train/loss", "sft_train/val_loss"), ["train", "val"]),
        (("env/success_rate", "val-core/gsm8k/acc/mean@8"), ["train", "val"]),
        (("env/sokoban/success", "val/env/sokoban/success"), ["train", "val"]),
        (("env/sokoban/success", "val/env/webshop/success"), ["success", "success (val)"]),
        (("format_success", "val_format_success"), ["train", "val"]),
        (("format_success", "val-core/gsm8k/acc/mean@8"), ["success format", "success (val)"]),
        (("train/box_loss", "val/box_loss"), ["train", "val"]),
        (("train/box_loss", "val/loss"), ["loss box", "loss (val)"]),
        (("actor/pg_loss", "val/loss"), ["policy loss", "loss (val)"]),
        (("logps/chosen", "eval_logps/chosen"), ["train", "val"]),
        (("logps/chosen", "logps/rejected", "eval_logps/chosen"), ["chosen", "rejected", "chosen val"]),
        (
            ("rewards/margins", "eval_rewards/margins", "rewards/chosen", "rewards/rejected"),
            ["train", "val", "chosen", "rejected"],
        ),
        (("grpo_actor/final_reward/avg", "grpo_actor/task_reward/avg"), ["grpo_actor", "grpo_actor_task"]),
        (("lr", "Train/Samples/lr"), None),
        ((*COMPLETIONS, *(f"eval/{name}" for name in COMPLETIONS)), None),
    ],
)
def test_lines_are_called_train_and_val_only_if_they_are_one_quantity(
    names: tuple[str, ...], labels: list[str] | None
) -> None:
    """None: by their whole names, as a part or a statistic that several have names none of them."""
    assert labels_of([(name, classify(name)) for name in names]) == (labels or list(names))


def test_a_metric_logged_under_several_names_is_one_line() -> None:
    store = store_of({"critic/score/mean": constant(1.0), "critic/rewards/mean": constant(0.0)})
    store.apply(StreamFound(9, 0, "training_log.json", "/run/training_log.json", "training_log", 30, "", 9))
    store.apply(MetricsFound(9, 0, ("train_history/reward",)))
    steps = np.arange(1, 6)
    counts, times = np.array([5], np.uint32), np.full(5, np.nan)
    store.apply(Columns(9, np.array([0], np.uint32), counts, steps, np.ones(5), times))
    view = panel_of("reward").view(store.snapshot().runs[0], Size(80, 20), START, Symbols.BRAILLE)
    assert len(view.lines) == 1, "the score; not the normalised reward, not the document's"
    assert "+2 metrics" in view.note


def test_a_superseded_step_that_has_two_points_counts_once() -> None:
    epochs = [*range(1, 7), 6]  # training and validation log the epoch of step 6
    store = store_of({"epoch": (epochs, [step / 10 for step in epochs])})
    store.apply(SegmentStarted(0, 4, False))
    feed(store, {"epoch": (range(5, 8), [0.5, 0.6, 0.7])}, 0)
    run = store.snapshot().runs[0]
    assert run.curve("epoch").superseded == 3
    facts = header_panel().view(run, Size(160, 2), START, Symbols.BRAILLE).rows[1]  # type: ignore[union-attr]
    assert "2 logged steps superseded" in "".join(part for part, _ in facts)


def add_source(store: Store, stream: int, source: str, rank: int, series: Series) -> None:
    """Another source of the run, without wall times."""
    store.apply(StreamFound(stream, 0, source, f"/logs/run/{source}", "any", rank, "", stream))
    store.apply(MetricsFound(stream, 0, tuple(series)))
    for number, (some, values) in enumerate(series.values()):
        one, count = np.array([number], np.uint32), np.array([len(some)], np.uint32)
        steps, times = np.array(some, np.int64), np.full(len(some), np.nan)
        store.apply(Columns(stream, one, count, steps, np.array(values, np.float64), times))


def test_the_files_of_the_ranks_of_a_job_do_not_disagree() -> None:
    store = Store()
    store.apply(RunFound(0, "run", "/logs/run"))
    for rank in range(2):
        add_source(store, rank, f"rank_metrics/rank_{rank:03}.jsonl", 30, {"loss": (range(9), [3.0 - rank] * 9)})
    add_source(store, 2, "torchrun_logs/attempt_0/8/stderr.log", 10, {"loss": (range(9), [2.5] * 9)})
    run = store.snapshot().runs[0]
    assert len(run.curve("loss").sources) == 3
    assert chart(run, "loss").note == "of rank_000.jsonl"


def test_a_restart_has_one_mark_although_a_validation_comes_later() -> None:
    """Restarted at 42; the first validation after it is at 60."""
    series = {"train/loss": (range(2, 77, 2), [1.0] * 38), "eval/loss": ([20, 40, 60], [1.0] * 3)}
    store = store_of(series)
    store.apply(SegmentStarted(0, 42, False))
    feed(store, {"train/loss": (range(42, 121, 2), [0.5] * 40), "eval/loss": ([60, 80, 100, 120], [0.5] * 4)}, 0)
    run = store.snapshot().runs[0]
    assert [(mark.x, mark.label) for mark in chart(run, "loss").marks] == [(42.0, "restart at 42")]
    alone = metric_panel("eval/loss").view(run, Size(80, 12), START, Symbols.BRAILLE)
    assert [(mark.x, mark.label) for mark in alone.marks] == [(42.0, "restart at 42")]
    assert alone.notes == ("restart at step 42", "1 point superseded")


def test_a_restart_is_found_beside_a_counter_with_more_points_that_never_falls_back() -> None:
    store = store_of({"train/loss": (range(2, 77, 2), [1.0] * 38), "eval/loss": ([20, 40, 60], [1.0] * 3)})
    store.apply(SegmentStarted(0, 42, False))
    feed(store, {"train/loss": (range(42, 121, 2), [0.5] * 40), "eval/loss": ([60, 80, 100, 120], [0.5] * 4)}, 0)
    add_source(store, 1, "progress.csv", 10, {"epoch": (range(1, 121), [step / 120 for step in range(1, 121)])})
    run = store.snapshot().runs[0]
    assert run.busiest_metric == "epoch"
    alone = metric_panel("eval/loss").view(run, Size(80, 12), START, Symbols.BRAILLE)
    assert [(mark.x, mark.label) for mark in alone.marks] == [(42.0, "restart at 42")]


def test_metrics_with_other_step_counts_are_not_on_the_same_axis() -> None:
    """RLinf: the trackers count updates, the console global steps."""
    each = range(0, 240, 4)
    store = store_of(
        {"actor/training/actor/policy_loss": (range(240), [0.1] * 240), "rollout/rewards": (each, [0.5] * 60)}
    )
    add_source(store, 7, "run.log", 10, {"reward": (range(1, 61), [0.5] * 60), "val_score": (range(1, 61), [1.0] * 60)})
    view = chart(store.snapshot().runs[0], "reward")
    assert len(view.lines) == 1
    assert view.x.high >= 236
    only = metric_panel("reward").view(store.snapshot().runs[0], Size(80, 12), START, Symbols.BRAILLE)
    assert only.x.high == 60


def test_any_metric_can_be_drawn() -> None:
    run = run_of({"[b]odd[/b] 名\x1b[2J": (range(5), [1, 2, 3, 4, 5])})
    view = metric_panel("[b]odd[/b] 名\x1b[2J").view(run, Size(60, 10), START, Symbols.ASCII)
    assert view.headline[0] == ("5", Role.VALUE)
    assert "\x1b" not in draw.text_chart(view, Size(60, 10), Symbols.ASCII)
    missing = metric_panel("not there").view(run, Size(60, 10), START, Symbols.ASCII)
    assert missing.note == "no points yet"


# ---------------------------------------------------------------- phases

SEED_PHASES = {
    "time/rollout": 40.0,
    "time/ref_log_probs_values_reward": 10.0,
    "time/old_log_probs_values": 5.0,
    "time/adv": 1.0,
    "time/generate/total": 38.0,
    "time/generate/execute": 37.0,
    "time/generate/onload": 0.5,
    "time/generate/offload": 0.5,
    "time/compute_log_probs/total": 6.0,
    "time/compute_values/total": 2.0,
    "time/train_step/total": 60.0,
    "time/train_step/execute": 54.0,
    "time/train_step/onload": 4.0,
    "time/train_step/offload": 2.0,
    "time/model_update/total": 4.0,
}


def test_the_step_is_the_sum_of_its_parts_and_nothing_is_counted_twice() -> None:
    view = bars(run_of({name: constant(value) for name, value in SEED_PHASES.items()}))
    stacked = {bar.label: bar.value for bar in view.bars if bar.value}
    assert stacked == {
        "rollout": 40.0,
        "old_log_probs_values": 5.0,
        "ref_log_probs_values_reward": 10.0,
        "adv": 1.0,
        "train_step": 60.0,
        "model_update": 4.0,
    }
    assert view.total == 120.0
    inner = [bar.label.split()[-1] for bar in view.bars if not bar.value]
    assert set(inner) == {"generate", "compute_log_probs", "compute_values"}
    train = next(bar for bar in view.bars if bar.label == "train_step")
    assert [part for part, _ in train.detail] == [
        "1 m",
        "50 %",
        "0 %",
        "1 m",
        "1 m",
        "execute 90 % onload 7 % offload 3 %",
    ]
    assert text(view.sentence).startswith("train_step takes 50 % of the timed phases")
    assert "no timer of the whole step" in view.note
    assert len(view.columns) == 1 + len(train.detail), "the table needs no column of its own"


def test_with_few_rows_the_table_has_the_largest_parts_and_the_bar_all() -> None:
    view = bars(run_of({name: constant(value) for name, value in SEED_PHASES.items()}), height=8)
    assert sum(bar.value for bar in view.bars) == view.total == 120.0
    rows = draw.text_chart(view, Size(120, 8), Symbols.ASCII).splitlines()
    assert {mark: rows[1].count(mark) for mark in "#+~"} == pytest.approx({"#": 40, "+": 10, "~": 4}, abs=9)
    assert [row.split()[1] for row in rows[2:7]] == [
        "now",
        "rollout",
        "ref_log_probs_values_reward",
        "train_step",
        "more",
    ]
    assert rows[6].split()[0] == "+3"


ROLL_RLVR = {
    "time/step_total": (range(5), [0.0, 10.0, 11.0, 12.0, 13.0]),
    "time/step_generate": (range(5), [6.0] * 5),
    "time/step_train": (range(5), [3.0] * 5),
}
"""The time of a step is logged with the next one, so that of the newest is not known yet."""
SLIME = {
    "perf/step_time": 100.0,
    "perf/train_wait_time": 60.0,
    "perf/rollout_time": 58.0,
    "perf/train_time": 40.0,
    "perf/actor_train_time": 30.0,
    "perf/log_probs_time": 5.0,
}
NEMO = {
    "timing/train/total_step_time": 50.0,
    "timing/train/generation": 30.0,
    "timing/train/prepare_for_generation/total": 20.0,
    "timing/train/prepare_for_generation/transfer_and_update_weights": 15.0,
}


@pytest.mark.parametrize(
    ("series", "parts", "total", "step"),
    [
        (
            {"timing_s/step": 100.0, "timing_s/gen": 60.0, "timing_s/ref": 15.0},
            {"gen": 60.0, "ref": 15.0, "unattributed": 25.0}, 100.0, 30,
        ),
        (
            {"time/step": 100.0, "time/rollout": 80.0, "time/actor/training": 50.0},
            {"rollout": 80.0, "actor/training": 50.0}, 130.0, 30,
        ),
        (
            {"timing_s/gen": constant(60.0, range(1, 32)), "timing_s/ref": constant(5.0)},
            {"gen": 60.0, "ref": 5.0}, 65.0, 30,
        ),
        (ROLL_RLVR, {"generate": 6.0, "train": 3.0}, 9.0, 4),
        (SLIME, {"train_wait": 60.0, "train": 40.0}, 100.0, 30),
        (NEMO, {"generation": 30.0, "prepare_for_generation": 20.0}, 50.0, 30),
    ],
    ids=["time outside every phase", "overlapping", "a half-written step", "ROLL, RLVR", "slime", "NeMo"],
)  # fmt: skip
def test_the_parts_of_the_newest_whole_step(
    series: Mapping[str, Any], parts: dict[str, float], total: float, step: int
) -> None:
    view = bars(logged(series))
    assert {bar.label: bar.value for bar in view.bars if bar.value} == parts
    assert view.total == total
    assert text(view.headline).endswith(f"at step {step}")
    overlap = view.note.startswith("the phases add up to 130 % of the step: some run at the same time")
    assert overlap is (total == 130.0)


def test_the_longest_phase_is_named_with_its_share() -> None:
    steps = range(1, 401)
    run = run_of(
        {
            "time/step_total": (steps, [100.0] * 400),
            "time/actor_train/train_step/total": (steps, [50.0] * 320 + [69.0] * 80),
            "time/step_rollout": (steps, [20.0] * 400),
        }
    )
    view = bars(run)
    words = "actor_train.train_step takes 69 % of the step"
    assert text(view.sentence) == words
    narrow = panel_of("phase_latency").view(run, Size(38, 9), START, Symbols.BRAILLE)
    shown = " ".join(draw.text_chart(narrow, Size(38, 9), Symbols.BRAILLE).split())
    assert words in shown
    train = next(bar for bar in view.bars if bar.label == "actor_train.train_step")
    assert train.detail[2] == ("+38 %", Role.WARNING)


def test_median_and_95th_percentile_are_of_the_recent_hundred_points() -> None:
    steps = range(1, 301)
    run = run_of({"timing_s/gen": (steps, [float(s) for s in steps]), "timing_s/ref": (steps, [1.0] * 300)})
    gen = bars(run).bars[0]
    recent = np.arange(201, 301)
    said = [part for part, _ in gen.detail]
    assert said[0] == "5 m"
    assert said[3] == draw.numbers.format_duration(float(np.percentile(recent, 50)))
    assert said[4] == draw.numbers.format_duration(float(np.percentile(recent, 95)))


def test_a_sparse_phase_keeps_its_last_value_and_is_only_stacked_when_it_ran() -> None:
    checkpoints = ([10, 20, 30], [7.0, 7.0, 9.0])
    series = {"timing_s/gen": constant(60.0, range(1, 36)), "timing_s/ref": constant(5.0, range(1, 36))}
    view = bars(run_of({**series, "timing_s/save_checkpoint": checkpoints}))
    saving = view.bars[-1]
    assert (saving.label, saving.value) == ("save_checkpoint", 0.0)
    assert saving.detail[0] == ("9.0 s", Role.MUTED)
    assert saving.detail[-1][0] == "every 10 steps"
    ran = bars(
        run_of(
            {
                **{k: constant(v[0], range(1, 31)) for k, (_, v) in series.items()},
                "timing_s/save_checkpoint": checkpoints,
            }
        )
    )
    assert ran.bars[-1].value == 9.0


# ---------------------------------------------------------------- memory


def memory_series(
    devices: int, infix: str = "{}", odd: int | None = None
) -> dict[str, tuple[Sequence[int], Sequence[float]]]:
    """Fractions as ROLL logs them: reserved 0.50 + 0.02 a phase, allocated 0.1 less; one device 0.3 higher."""
    series: dict[str, tuple[Sequence[int], Sequence[float]]] = {}
    for rank, phase in enumerate(("generate", "compute_log_probs", "train_step")):
        for device in range(devices):
            base = f"memory/{infix.format(phase)}"
            reserved = 0.5 + 0.02 * rank + (0.3 if device == odd and phase == "train_step" else 0.0)
            series[f"{base}/end/onload/max_reserved_frac/{device}"] = constant(reserved)
            series[f"{base}/end/onload/max_allocated_frac/{device}"] = constant(reserved - 0.1)
            series[f"{base}/end/onload/allocated/{device}"] = constant(30.0)
            series[f"{base}/start/offload/reserved/{device}"] = constant(1.0)
    return series


@pytest.mark.parametrize("infix", ["{}", "worker/{}"])
@pytest.mark.parametrize("devices", [1, 8, 16])
def test_fractions_of_every_phase_and_device(infix: str, devices: int) -> None:
    view = panel_of("gpu_memory").view(run_of(memory_series(devices, infix)), Size(120, 20), START, Symbols.BRAILLE)
    order = ("generate", "compute_log_probs", "train_step")
    assert view.rows == tuple(infix.format(phase).replace("/", ".") for phase in order)
    assert view.columns == tuple(str(device) for device in range(devices))
    np.testing.assert_allclose(view.cells, [[0.5 + 0.02 * row] * devices for row in range(3)])
    np.testing.assert_allclose(view.second, [[0.4 + 0.02 * row] * devices for row in range(3)])
    assert view.peak is not None
    assert view.peak[0] == 2
    assert "means over ranks" in view.note
    odd = panel_of("gpu_memory").view(run_of(memory_series(8, odd=5)), Size(120, 20), START, Symbols.BRAILLE)
    assert (odd.peak, text(odd.headline)) == ((2, 5), "84 % peak in train_step on device 5")


def test_a_roll_run_without_memory_tags_has_a_hint() -> None:
    run = run_of({"time/actor_train/train_step/total": constant(5.0), "time/actor_infer/generate/total": constant(9.0)})
    view = panel_of("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert panel_of("gpu_memory").relevant(run)
    assert "ROLL_DEBUG=1" in text(view.sentence)
    assert not panel_of("gpu_memory").relevant(run_of({"timing_s/gen": constant(5.0), "timing_s/ref": constant(5.0)}))


def test_memory_without_fractions_is_shown_as_logged() -> None:
    run = run_of({"perf/max_memory_allocated_gb": constant(61.5), "perf/max_memory_reserved_gb": constant(70.25)})
    view = panel_of("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert view.headline[0] == ("70.25 GB", Role.VALUE)
    shown = [text(row).split()[:4] for row in view.rows]
    assert shown == [["max", "reserved", "70.25", "GB"], ["max", "allocated", "61.50", "GB"]]
    assert view.note == "the log has no size of the device"


def test_memory_in_several_units_is_not_converted() -> None:
    sizes = {"gpu_mem_reserved_gb": 20.0, "gpu_mem_allocated_gb": 10.0, "max_memory_allocated_mb": 30_000.0}
    run = run_of({name: constant(size) for name, size in sizes.items()})
    view = panel_of("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert view.headline[0] == ("30000 MB", Role.VALUE)
    numbers = [("max allocated", "30000 MB"), ("reserved", "20 GB"), ("allocated", "10 GB")]
    assert [" ".join(text(row).replace("█", "").split()) for row in view.rows] == list(map(" ".join, numbers))
    assert view.note == "the log has no size of the device"
    assert chart(run_of({"rss_gb": constant(3.0)}), "cpu_memory").headline[0] == ("3 GB", Role.VALUE)
    peaks = chart(run, "gpu_peak")
    assert (peaks.headline[0], len(peaks.lines)) == (("30000 MB", Role.VALUE), 1)


@pytest.mark.parametrize(
    ("series", "cells", "second", "note"),
    [
        ({"memory(GiB)": 62.75, "memory(%)": 79.3}, 0.793, (), "% of the device in use"),
        ({"memory/max_reserved(%)": 80.0, "memory/max_active(%)": 60.0}, 0.8, ((0.6,),), None),
    ],
    ids=["a percentage beside GiB", "torchtitan"],
)
def test_percentages_are_fractions_of_the_device(
    series: dict[str, float], cells: float, second: tuple[Any, ...], note: str | None
) -> None:
    view = panel_of("gpu_memory").view(logged(series), Size(80, 10), START, Symbols.BRAILLE)
    assert (view.columns, view.cells, view.second) == (("all",), ((pytest.approx(cells),),), second)
    assert note is None or view.note == note


def test_the_largest_processes_have_a_line() -> None:
    sizes = {"generate": 5.0, "train_step": 9.0, "model_update": 7.0, "compute_values": 6.0, "do_checkpoint": 8.0}
    series = {f"memory/cpu/{phase}/end/rss": constant(size) for phase, size in sizes.items()}
    series |= {f"memory/cpu/{phase}/start/rss": constant(99.0) for phase in sizes}
    series["memory/cpu/train_step/end/vms"] = constant(50.0)
    view = chart(run_of(series), "cpu_memory")
    assert [line.label for line in view.lines] == ["train_step", "do_checkpoint", "model_update", "compute_values"]
    assert view.headline[0] == ("9 GiB", Role.VALUE)
    assert "+1 metric" in view.note


# ---------------------------------------------------------------- header and arrangement


def test_the_header_has_name_progress_speed_and_end() -> None:
    steps = range(1, 51)
    store = store_of(
        {
            "critic/score/mean": (steps, [1.0] * 50),
            "system/tps": (steps, [12_345.0] * 50),
            "epoch": (steps, [0.25] * 50),
        },
        [Fact("progress", {"step": 50, "total": 100})],
        seconds=10.0,
    )
    view = header_panel().view(store.snapshot().runs[0], Size(160, 2), START + 504, Symbols.BRAILLE)
    first, second = map(text, view.rows)
    assert first == "run  ● running  last point just now, usually every 10 s"
    assert second.startswith("step 50 of 100 50 %  ETA 8 m")
    assert "12.3k tokens/s" in second
    assert "10 s a step" in second
    assert "epoch 0.2500" in second
    silent = header_panel().view(store.snapshot().runs[0], Size(160, 2), START + 565, Symbols.BRAILLE)
    assert text(silent.rows[0]) == "run  ● running  last point 1 m ago, usually every 10 s"
    assert "last point" not in text(silent.rows[1])
    narrow = header_panel().view(store.snapshot().runs[0], Size(120, 1), START + 565, Symbols.BRAILLE)
    assert "last point 1 m ago" in text(narrow.rows[0])


def test_the_range_of_the_end_is_given_as_clock_times_and_does_not_drift() -> None:
    """The steps become shorter, from 100 to 60 s: the quarters of the newest 20 differ, so does when it may end."""
    elapsed = np.concatenate([np.linspace(60, 100, 100), np.linspace(100, 60, 100)])
    times = START + np.cumsum(elapsed)
    store = store_of({})
    store.apply(MetricsFound(0, 0, ("loss",)))
    ids, counts = np.array([0], np.uint32), np.array([200], np.uint32)
    store.apply(Columns(0, ids, counts, np.arange(1, 201), np.ones(200), times))
    store.apply(FactFound(0, Fact("progress", {"step": 200, "total": 400})))
    run = store.snapshot().runs[0]
    last = float(times[-1])
    paces = [half.mean() for half in np.array_split(elapsed[-50:], 2)]
    soonest, latest = (time.strftime("%H:%M", time.localtime(last + 200 * pace)) for pace in (min(paces), max(paces)))
    shown = set()
    for now in (last + 1, last + 20, last + 50):
        view = header_panel().view(run, Size(200, 2), now, Symbols.BRAILLE)
        facts = text(view.rows[1])
        assert facts.startswith("step 200 of 400 50 %  ETA ")
        shown.add(facts[facts.index("(") : facts.index(")") + 1])
    assert shown == {f"({soonest} to {latest})"}


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
def test_the_header_leaves_out_what_does_not_fit(width: int) -> None:
    run = run_of({"loss": constant(1.0)}, [Fact("progress", {"step": 30, "total": 60})])
    for height in (1, 2):
        view = header_panel().view(run, Size(width, height), START + 31, Symbols.BRAILLE)
        assert len(view.rows) == height
        assert all(len(text(row)) <= width or "  " not in text(row) for row in view.rows)


def test_a_long_name_leaves_the_state_its_room_in_a_narrow_pane() -> None:
    store = Store()
    store.apply(RunFound(0, "torchrun_" * 5, "/logs/run"))
    run, options = store.snapshot().runs[0], ChartOptions(alarms=1)
    view = header_panel().view(run, Size(44, 2), START, Symbols.BRAILLE, options)
    assert text(view.rows[0]).endswith("1 critical alert")


@pytest.mark.parametrize(("width", "verdict"), [(80, True), (40, False)])
def test_the_verdict_about_ranks_leaves_the_state_its_room(width: int, verdict: bool) -> None:
    store = store_of({"loss": constant(1.0)})
    store.apply(RanksSeen(0, JobRanks("/run", "", "rank 11 computes 52% longer", ())))
    view = header_panel().view(store.snapshot().runs[0], Size(width, 2), START + 31, Symbols.BRAILLE)
    first = text(view.rows[0])
    assert "● running" in first
    assert ("rank 11" in first) is verdict


ONCE = dict.fromkeys(("total_flos", "train_runtime", "train_samples_per_second", "num_params"), ([30], [1.0]))
EVALUATIONS = dict.fromkeys(
    ("eval/samples_per_second", "eval/steps_per_second", "eval/runtime", "eval/wer_runtime"), 9.0
)


@pytest.mark.parametrize(
    ("series", "ids"),
    [
        ({"time/rollout": 3.0, "loss": 1.0}, "loss metric:time/rollout"),
        (
            dict.fromkeys(("weird/a", "grad_norm", "loss", "kl", "reward", "lr", "_timestamp", "global_step"), 1.0),
            "reward loss kl grad_norm lr metric:weird/a",
        ),
        ({"loss": 1.0, "__swanlab__.cpu.pct": 1.0}, "loss system_metrics"),
        (
            dict.fromkeys(("g_lr", "d_lr", "D_loss", "G_loss", "Train Loss", "Episode Reward"), 1.0),
            "reward loss adversarial_loss lr",
        ),
        ({"train/loss": 9.0, **EVALUATIONS}, "loss"),
        ({"train/loss": 9.0, **EVALUATIONS, "train/samples_per_second": 900.0}, "loss samples_per_second"),
        ({"loss": 1.0, **ONCE, "sample.width": 64.0, "sample.height": 64.0, "sample.size": 64.0}, "loss"),
        ({"train/loss": 1.0, "eval/loss": 1.0, "train/grad_norm": 1.0}, "loss grad_norm"),
    ],
    ids=["a single timer", "by relevance", "machine last", "as people write", "evaluations", "speeds", "totals", "sft"],
)
def test_the_panels_of_a_run_in_their_order(series: Mapping[str, Any], ids: str) -> None:
    assert [panel.id for panel in arrange(logged(series))] == ids.split()


def test_training_and_validation_of_a_quantity_share_a_chart_and_quality_comes_before_the_rest() -> None:
    names = ["lr", "train_x", "val_x", "train/mae", "val/mae", "val_wer", "loss", "train/loss_cls", "val/loss_cls"]
    run = run_of({name: constant(1.0) for name in names})
    panels = arrange(run)
    assert [panel.id for panel in panels] == ["loss", "metric:train/mae", "metric:val_wer", "lr", "metric:train_x"]
    view = panels[1].view(run, Size(80, 12), START, Symbols.BRAILLE)
    assert [line.label for line in view.lines] == ["train", "val"]


def test_the_validation_loss_on_a_chart_is_that_of_the_part_that_is_drawn() -> None:
    run = run_of({name: constant(1.0) for name in ("train/box_loss", "train/cls_loss", "val/cls_loss", "val/box_loss")})
    loss = next(panel for panel in arrange(run) if panel.id == "loss")
    assert loss.names(run)[:2] == ("train/box_loss", "val/box_loss")


def test_series_over_seconds_set_neither_the_step_nor_the_axis() -> None:
    late = range(100, 3001, 100)
    run = run_of({"Train/mean_reward": constant(1.0), "Train/mean_reward/time": constant(1.0, late)})
    assert run.last_step == 30
    assert progress_of(run, START + 40).step == 30
    assert chart(run, "reward").x.high <= 30
    games = run_of({f"rewards/{axis}": constant(1.0, steps) for axis, steps in (("step", range(31)), ("time", late))})
    assert progress_of(games, START + 40).step == 30


def test_panels_have_distinct_ids() -> None:
    result = discover("tuimon.panels", "PANEL")
    assert len(result) >= 30
    assert all(isinstance(panel, Panel) for panel in result)
    assert len({panel.id for panel in result}) == len(result)
    assert {panel.kind for panel in result} == {"chart", "bars", "heat", "text"}


def test_a_run_with_ten_thousand_metrics_is_arranged() -> None:
    run = run_of({f"layer/{i}/norm": ([1], [1.0]) for i in range(10_000)})
    assert len(arrange(run)) <= 60
    assert len(unshown_metrics(run)) == 10_000


# ---------------------------------------------------------------- whatever the content, whatever the size

ROLL = {**{name: constant(value) for name, value in SEED_PHASES.items()}, **memory_series(8)}
CONTENTS: dict[str, Any] = {
    "empty": {},
    "one point": {name: ([3], values[:1]) for name, (_, values) in ROLL.items()}
    | {"reward": ([3], [0.5]), "lr": ([3], [0.0])},
    "not finite": {name: ([1, 2, 3], [math.nan, math.inf, math.nan]) for name in [*ROLL, "reward", "loss", "lr", "kl"]},
    "negative": {name: ([1, 2, 3], [-1.0, -5.0, -2.0]) for name in [*ROLL, "reward", "loss", "lr", "timing_s/step"]},
    "one step": {name: ([0] * 50, [float(i) for i in range(50)]) for name in [*ROLL, "reward", "kl"]},
    "huge": {
        name: ([-(2**62), 0, 2**62], [1e308, -1e308, 5e-324]) for name in [*ROLL, "reward", "loss", "lr", "entropy"]
    },
    "rlinf": {
        name: (range(0, 80, 4), [0.1 * i for i in range(20)])
        for name in ("time/step", "time/rollout", "time/actor/training", "time/sync_weights", "rollout/reward_scores")
    }
    | {
        "actor/training/actor/policy_loss": constant(0.1, range(80)),
        "actor/training/actor/lr": constant(1e-6, range(80)),
    },
    "verl": {
        name: constant(1.0)
        for name in (
            "timing_s/step",
            "timing_s/gen",
            "timing_s/ref",
            "perf/max_memory_reserved_gb",
            "val-core/a/acc/mean@8",
        )
    },
}
SIZES = [Size(0, 0), Size(1, 1), Size(3, 2), Size(20, 6), Size(39, 11), Size(80, 24), Size(200, 50)]


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("symbols", list(Symbols))
def test_every_panel_at_every_size(content: str, symbols: Symbols) -> None:
    run = run_of(CONTENTS[content])
    for size in SIZES if symbols is Symbols.BRAILLE else SIZES[2::2]:  # the symbols do not change the layout
        for panel in (*all_panels(), metric_panel("reward")):
            view = panel.view(run, size, START + 100, symbols)
            rows = draw.render(view, size, symbols)
            assert len(rows) == size.height, panel.id


def test_metrics_that_other_tasks_repeat_have_no_lines_on_the_dashboard() -> None:
    steps = range(20)
    names = [
        "loss",
        "default0/loss",
        "default1/loss",
        "power(W)",
        "default1/power(W)",
        "rank3/only_here",
        "agent1/loss",
    ]
    run = run_of({name: (steps, [float(s) for s in steps]) for name in names})
    panels = arrange(run)
    drawn = {
        line.metric
        for panel in panels
        if panel.kind == "chart"
        for line in panel.view(run, Size(200, 20), START, Symbols.BRAILLE).lines
    }
    assert drawn & set(names) == {"loss", "power(W)", "rank3/only_here", "agent1/loss"}
