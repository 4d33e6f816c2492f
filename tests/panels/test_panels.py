"""Panels of real stores: texts compared with values computed here, and any size and content."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.made_run import START, Series, feed, run_of, store_of, text

from tuimon import draw
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import state_sign
from tuimon.model.events import Columns, FactFound, MetricsFound, RanksSeen, RunFound, SegmentStarted, StreamFound
from tuimon.model.points import Fact
from tuimon.model.ranks import JobRanks
from tuimon.model.views import BarView, ChartView, HeatView, Role, Size, Symbols, TextView
from tuimon.panels import (
    ChartOptions,
    CurvePanel,
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


def panel(id: str) -> Panel:
    return next(panel for panel in all_panels() if panel.id == id)


def chart(run: Run, id: str) -> ChartView:
    view = panel(id).view(run, Size(80, 12), START, Symbols.BRAILLE)
    assert isinstance(view, ChartView)
    return view


def bars(run: Run, height: int = 30) -> BarView:
    view = panel("phase_latency").view(run, Size(120, height), START, Symbols.BRAILLE)
    assert isinstance(view, BarView)
    return view


def constant(value: float, steps: Sequence[int] = range(1, 31)) -> tuple[Sequence[int], Sequence[float]]:
    return steps, [value] * len(steps)


# ---------------------------------------------------------------- curves


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


def test_an_inverted_fraction_has_its_own_title_and_is_not_drawn_beside_the_other() -> None:
    """RLinf logs the fraction of properly ended responses, and the ratio after clipping beside its fraction."""
    ended, share, ratio = "rollout/fraction_of_samples_properly_ended", "actor/clip_fraction", "actor/clipped_ratio"
    run = run_of({ended: constant(0.75), ratio: constant(0.98), share: constant(0.25)})
    assert chart(run, "truncation").title == "properly ended responses"
    clip = chart(run, "clip")
    assert (clip.title, clip.headline[0], len(clip.lines)) == ("clip fraction", ("0.2500", Role.VALUE), 1)
    assert chart(run_of({ratio: constant(0.98)}), "clip").title == "clipped ratio"


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
    assert isinstance(zoomed, ChartView)
    assert "1 NaN at step 10, 2 Inf at steps 20 and 21" in zoomed.note


def test_a_metric_that_is_nan_throughout() -> None:
    run = run_of({"loss": (range(1000), [math.nan] * 1000)})
    view = chart(run, "loss")
    assert view.headline == (("NaN", Role.CRITICAL),)
    assert view.note == "1 000 NaN"
    assert len([m for m in view.marks if m.kind == "nan"]) <= view.columns
    assert np.isnan(view.lines[0].envelope.high).all()
    assert np.isfinite([view.y.low, view.y.high]).all()


def test_a_current_nan_is_displayed_beside_the_last_finite_value() -> None:
    run = run_of({"loss": (range(3), [3.0, 2.0, math.nan])})
    assert text(chart(run, "loss").headline) == "NaN now, last 2"
    assert chart(run, "loss").headline[0] == ("NaN now", Role.CRITICAL)


def test_an_infinity_has_its_sign() -> None:
    run = run_of({"loss": (range(2), [0.5, -math.inf]), "reward": (range(2), [-math.inf] * 2)})
    assert chart(run, "loss").headline[0] == ("-Inf now", Role.CRITICAL)
    assert chart(run, "reward").headline == (("-Inf", Role.CRITICAL),)


def test_a_thinned_curve_has_a_note_when_zoomed_and_keeps_its_spike() -> None:
    values = np.sin(np.arange(100_000) / 5000)
    values[54_321] = 40.0
    run = run_of({"actor/kl_loss": (range(100_000), values.tolist())})
    assert "points" not in chart(run, "kl").note, "nothing is hidden in a small chart"
    panel = next(panel for panel in all_panels() if panel.id == "kl")
    view = panel.view(run, Size(60, 12), START, Symbols.BRAILLE, ChartOptions(fullscreen=True))
    assert isinstance(view, ChartView)
    filled = np.isfinite(view.lines[0].envelope.low).sum()
    assert view.note.endswith("of 100 000 points")
    assert int(view.note.split(" of ")[0].replace(" ", "")) <= 2 * filled
    assert np.nanmax(view.lines[0].envelope.high) == 40.0


@pytest.mark.parametrize(("rows", "lines"), [(6, 2), (12, 3), (16, 4), (50, 4)])
def test_a_line_for_each_four_rows_at_most_four_the_others_counted(rows: int, lines: int) -> None:
    names = ["reward", "eval/reward"] + [f"rewards/part_{i}/mean" for i in range(6)]
    run = run_of({name: constant(float(i)) for i, name in enumerate(names)})
    view = panel("reward").view(run, Size(120, rows), START, Symbols.BRAILLE)
    assert isinstance(view, ChartView)
    assert len(view.lines) == lines
    assert view.lines[1].label == "val"
    assert f"+{8 - lines} metric" in view.note
    assert view.headline[0][0] == "0"


def test_a_statistic_alone_does_not_name_a_line_beside_full_names() -> None:
    names = [
        f"{split}/completions/{kind}"
        for split in ("train", "eval")
        for kind in ("mean_length", "mean_terminated_length")
    ]
    assert labels_of([(name, classify(name)) for name in names]) == names


def test_a_part_that_several_lines_have_names_none_of_them() -> None:
    rewards = ["grpo_actor/final_reward/avg", "grpo_actor/task_reward/avg"]
    assert labels_of([(name, classify(name)) for name in rewards]) == rewards
    rates = ["lr", "Train/Samples/lr"]
    assert labels_of([(name, classify(name)) for name in rates]) == rates


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
    ],
)
def test_lines_are_called_train_and_val_only_if_they_are_one_quantity(
    names: tuple[str, ...], labels: list[str]
) -> None:
    assert labels_of([(name, classify(name)) for name in names]) == labels


def test_chosen_and_rejected_texts_are_drawn_before_the_validation() -> None:
    def pair(prefix: str) -> tuple[str, str]:
        return f"{prefix}/chosen", f"{prefix}/rejected"

    margins = ("rewards/margins", "eval_rewards/margins")
    kinds = ("eval_logps", "eval_logits", "eval_rewards", "logits", "logps", "rewards")
    run = run_of({name: constant(-1.0) for name in (*margins, *(name for kind in kinds for name in pair(kind)))})
    assert panel("logprob").names(run) == (*pair("logps"), *pair("eval_logps"))
    assert panel("logits").names(run) == (*pair("logits"), *pair("eval_logits"))
    assert panel("reward_margin").names(run) == (*margins, *pair("rewards"), *pair("eval_rewards"))
    assert chart(run, "logits").headline[0][0] == "-1", "without a unit"


def test_a_chart_of_the_validation_alone_says_so_and_tool_success_is_no_success_of_the_task() -> None:
    tools, accuracy = "agent/tool_call_success", "val-core/gsm8k/acc/mean@8"
    run = run_of({tools: constant(0.95), accuracy: constant(0.4), "val-aux/num_turns/mean": constant(5.0)})
    assert panel("success").names(run) == (accuracy,)
    assert chart(run, "success").title == "success (val)"
    assert panel("tool_success").names(run) == (tools,)
    assert chart(run, "turns").title == "turns (val)"


def test_a_metric_logged_under_several_names_is_one_line() -> None:
    store = store_of({"critic/score/mean": constant(1.0), "critic/rewards/mean": constant(0.0)})
    store.apply(StreamFound(9, 0, "training_log.json", "/run/training_log.json", "training_log", 30, "", 9))
    store.apply(MetricsFound(9, 0, ("train_history/reward",)))
    steps = np.arange(1, 6)
    counts, times = np.array([5], np.uint32), np.full(5, np.nan)
    store.apply(Columns(9, np.array([0], np.uint32), counts, steps, np.ones(5), times))
    view = panel("reward").view(store.snapshot().runs[0], Size(80, 20), START, Symbols.BRAILLE)
    assert isinstance(view, ChartView)
    assert len(view.lines) == 1, "the score; not the normalised reward, not the document's"
    assert "+2 metrics" in view.note


def test_incompatible_metrics_are_only_counted() -> None:
    run = run_of(
        {
            "train/loss": constant(1.0),
            "train/train_loss": ([30], [0.7]),
            "eval/samples_per_second": constant(900.0),
            "eval/fps": constant(9.0),
        }
    )
    assert len(chart(run, "loss").lines) == len(chart(run, "samples_per_second").lines) == 1
    assert chart(run, "loss").note == chart(run, "samples_per_second").note == "+1 metric"


def test_the_raw_score_leads_and_max_and_min_get_no_line() -> None:
    run = run_of(
        {
            "critic/rewards/mean": constant(0.0),
            "critic/score/max": constant(9.0),
            "critic/score/mean": constant(0.5),
            "tokens/response_length/max": constant(90.0),
            "tokens/response_length/mean": constant(12.0),
        }
    )
    assert chart(run, "reward").headline[0][0] == "0.5000"
    assert [line.label for line in chart(run, "length").lines] == [""]
    assert chart(run, "length").headline[0][0] == "12 tokens"
    assert chart(run, "length").y.label == "tokens/response_length/mean"


def test_a_negated_entropy_and_a_scaled_rate_are_converted() -> None:
    run = run_of({"train/entropy_loss": constant(-0.5), "train/lr(1e-3)": constant(2.0)})
    entropy = chart(run, "entropy")
    assert entropy.headline[0][0] == "0.5000 nats"
    assert np.nanmin(entropy.lines[0].envelope.low) == 0.5
    assert np.nanmax(chart(run, "lr").lines[0].envelope.high) == pytest.approx(0.002)


def test_a_learning_rate_over_decades_is_drawn_on_a_log_scale() -> None:
    steps = range(100)
    decaying = run_of({"lr": (steps, [1e-3 * 0.9**s for s in steps])})
    steady = run_of({"lr": (steps, [1e-3] * 100)})
    warming = run_of({"lr": (steps, [1e-5 * s for s in steps])})
    assert [chart(run, "lr").y.scale for run in (decaying, steady, warming)] == ["log", "linear", "linear"]


def test_a_restart_is_marked_and_superseded_points_are_counted() -> None:
    store = store_of({"loss": (range(121), [1.0] * 121)})
    store.apply(SegmentStarted(0, 80, False))
    feed(store, {"loss": (range(81, 101), [0.5] * 20)}, 0)
    run = store.snapshot().runs[0]
    view = chart(run, "loss")
    assert run.curve("loss").superseded == 40
    facts = header_panel().view(run, Size(160, 2), START, Symbols.BRAILLE).rows[1]  # type: ignore[union-attr]
    assert f"{run.point_count} points, 40 logged steps superseded" in "".join(part for part, _ in facts)
    assert view.notes == ("resumed from step 80", "40 points superseded")
    assert [mark.x for mark in view.marks if mark.kind == "restart"] == [81.0]


def test_a_superseded_step_that_has_two_points_counts_once() -> None:
    epochs = [*range(1, 7), 6]  # training and validation log the epoch of step 6
    store = store_of({"epoch": (epochs, [step / 10 for step in epochs])})
    store.apply(SegmentStarted(0, 4, False))
    feed(store, {"epoch": (range(5, 8), [0.5, 0.6, 0.7])}, 0)
    run = store.snapshot().runs[0]
    assert run.curve("epoch").superseded == 3
    facts = header_panel().view(run, Size(160, 2), START, Symbols.BRAILLE).rows[1]  # type: ignore[union-attr]
    assert "2 logged steps superseded" in "".join(part for part, _ in facts)


def test_the_notes_have_the_last_restart_and_the_superseded_points() -> None:
    store = store_of({"loss": (range(221), [1.0] * 221)})
    for begin, end in ((201, 416), (401, 601)):
        store.apply(SegmentStarted(0, None, False))
        feed(store, {"loss": (range(begin, end), [0.5] * (end - begin))}, 0)
    notes = chart(store.snapshot().runs[0], "loss").notes
    assert notes == ("2 restarts, the last: resumed from step 400", "35 points superseded")
    for begin in (500, 520, 540):
        store.apply(SegmentStarted(0, None, False))
        feed(store, {"loss": (range(begin, 602), [0.5] * (602 - begin))}, 0)
    notes = chart(store.snapshot().runs[0], "loss").notes
    assert notes == ("5 restarts, the last: resumed from step 539", "280 points superseded")


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


def test_a_disagreement_between_sources_is_in_the_note() -> None:
    steps = range(100)
    store = store_of({"loss": (steps, [0.51 for _ in steps])})
    add_source(store, 7, "logs/metrics.jsonl", 30, {"loss": (steps, [0.53 if s >= 40 else 0.51 for s in steps])})
    note = chart(store.snapshot().runs[0], "loss").note
    assert note == "2 sources disagree from step 40: 0.51 here, 0.53 in metrics.jsonl"
    add_source(store, 8, "logs/other.csv", 20, {"loss": (steps, [0.54 if s >= 60 else 0.51 for s in steps])})
    note = chart(store.snapshot().runs[0], "loss").note
    assert note == "3 sources disagree from step 40: 0.51 here, 0.53 in metrics.jsonl"
    once = store_of({"clipfrac": (steps, [s / 7 for s in steps])})
    add_source(once, 7, "other.csv", 20, {"clipfrac": (steps, [s / 7 + (s == 9) * 1e-5 for s in steps])})
    view = metric_panel("clipfrac").view(once.snapshot().runs[0], Size(80, 12), START, Symbols.BRAILLE)
    assert view.note.startswith("2 sources disagree at step 9: 1.28571 here, 1.28572 in other.csv")


def test_a_line_of_another_concept_does_not_flatten_the_leading_one() -> None:
    steps = range(50)
    policy = [0.05 * (s % 3) for s in steps]
    for level, drawn in ((0.5, 2), (2.5, 1)):
        run = run_of({"actor/total_loss": (steps, policy), "actor/sft_loss": (steps, [level for _ in steps])})
        view = chart(run, "loss")
        assert len(view.lines) == drawn
        assert ("+1 metric" in view.note) == (drawn == 1)


def test_the_note_names_the_last_restart_that_supersedes_nothing() -> None:
    store = store_of({"loss": (range(100), [1.0] * 100)})
    for begin, note in (
        (100, "resumed from step 99"),
        (200, "2 restarts, the last: resumed from step 199"),
        (300, "3 restarts, the last: resumed from step 299"),
    ):
        store.apply(SegmentStarted(0, begin, False))
        feed(store, {"loss": (range(begin, begin + 100), [0.5] * 100)}, 0)
        assert chart(store.snapshot().runs[0], "loss").note == note


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


def test_of_metrics_that_mean_the_same_the_one_with_most_points_leads() -> None:
    """Lightning's loss of a step and its mean over an epoch, which comes first in a CSV file."""
    run = run_of({"train_loss_epoch": ([49, 99], [1.0, 0.5]), "train_loss_step": (range(4, 100, 5), [2.0] * 20)})
    assert chart(run, "loss").headline[0] == ("2", Role.VALUE)


def test_any_metric_can_be_drawn() -> None:
    run = run_of({"[b]odd[/b] 名\x1b[2J": (range(5), [1, 2, 3, 4, 5])})
    view = metric_panel("[b]odd[/b] 名\x1b[2J").view(run, Size(60, 10), START, Symbols.ASCII)
    assert isinstance(view, ChartView)
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


def test_time_outside_every_phase_is_a_part_of_its_own() -> None:
    view = bars(
        run_of({"timing_s/step": constant(100.0), "timing_s/gen": constant(60.0), "timing_s/ref": constant(15.0)})
    )
    assert {bar.label: bar.value for bar in view.bars} == {"gen": 60.0, "ref": 15.0, "unattributed": 25.0}
    assert view.total == 100.0
    assert text(view.sentence) == "gen takes 60 % of the step"
    assert "the phases add up" not in view.note


def test_overlapping_phases_are_in_the_note() -> None:
    view = bars(
        run_of({"time/step": constant(100.0), "time/rollout": constant(80.0), "time/actor/training": constant(50.0)})
    )
    assert view.total == 130.0
    assert [bar.value for bar in view.bars] == [80.0, 50.0]
    assert view.note.startswith("the phases add up to 130 % of the step: some run at the same time")


def test_a_phase_that_slows_down_is_named_with_its_numbers() -> None:
    steps = range(1, 401)
    run = run_of(
        {
            "time/step_total": (steps, [100.0] * 400),
            "time/actor_train/train_step/total": (steps, [50.0] * 320 + [69.0] * 80),
            "time/step_rollout": (steps, [20.0] * 400),
        }
    )
    view = bars(run)
    words = "actor_train.train_step takes 69 % of the step, +19 s a step within the last 100 points"
    assert text(view.sentence) == words
    narrow = panel("phase_latency").view(run, Size(38, 9), START, Symbols.BRAILLE)
    assert isinstance(narrow, BarView)
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
    assert said[4] == draw.numbers.format_duration(float(np.percentile(recent, 50)))
    assert said[5] == draw.numbers.format_duration(float(np.percentile(recent, 95)))


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


def test_a_half_written_step_is_not_shown() -> None:
    run = run_of({"timing_s/gen": constant(60.0, range(1, 32)), "timing_s/ref": constant(5.0, range(1, 31))})
    view = bars(run)
    assert text(view.headline).endswith("at step 30")
    assert [bar.value for bar in view.bars] == [60.0, 5.0]


def test_the_step_time_of_roll_rlvr_belongs_to_the_previous_step() -> None:
    steps = list(range(5))
    run = run_of(
        {
            "time/step_total": (steps, [0.0, 10.0, 11.0, 12.0, 13.0]),
            "time/step_generate": (steps, [6.0] * 5),
            "time/step_train": (steps, [3.0] * 5),
        }
    )
    view = bars(run)
    assert text(view.headline).endswith("at step 4")
    assert view.total == 9.0, "the total of the newest step is not known yet"


def test_slime_and_nemo_nest_their_timers() -> None:
    slime = {
        "perf/step_time": 100.0,
        "perf/train_wait_time": 60.0,
        "perf/rollout_time": 58.0,
        "perf/train_time": 40.0,
        "perf/actor_train_time": 30.0,
        "perf/log_probs_time": 5.0,
    }
    view = bars(run_of({name: constant(value) for name, value in slime.items()}))
    assert {bar.label: bar.value for bar in view.bars if bar.value} == {"train_wait": 60.0, "train": 40.0}
    nemo = {
        "timing/train/total_step_time": 50.0,
        "timing/train/generation": 30.0,
        "timing/train/prepare_for_generation/total": 20.0,
        "timing/train/prepare_for_generation/transfer_and_update_weights": 15.0,
    }
    view = bars(run_of({name: constant(value) for name, value in nemo.items()}))
    assert {bar.label: bar.value for bar in view.bars if bar.value} == {
        "generation": 30.0,
        "prepare_for_generation": 20.0,
    }


def test_a_single_timer_is_a_curve() -> None:
    run = run_of({"time/rollout": constant(3.0), "loss": constant(1.0)})
    assert [panel.id for panel in arrange(run)] == ["loss", "metric:time/rollout"]


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
    view = panel("gpu_memory").view(run_of(memory_series(devices, infix)), Size(120, 20), START, Symbols.BRAILLE)
    assert isinstance(view, HeatView)
    order = ("generate", "compute_log_probs", "train_step")
    assert view.rows == tuple(infix.format(phase).replace("/", ".") for phase in order)
    assert view.columns == tuple(str(device) for device in range(devices))
    np.testing.assert_allclose(view.cells, [[0.5 + 0.02 * row] * devices for row in range(3)])
    np.testing.assert_allclose(view.second, [[0.4 + 0.02 * row] * devices for row in range(3)])
    assert view.peak is not None
    assert view.peak[0] == 2
    assert "means over ranks" in view.note


def test_the_headline_names_the_fullest_device_and_the_table_marks_it() -> None:
    view = panel("gpu_memory").view(run_of(memory_series(8, odd=5)), Size(120, 20), START, Symbols.BRAILLE)
    assert isinstance(view, HeatView)
    assert view.peak == (2, 5)
    assert text(view.headline) == "84 % peak in train_step on device 5"


def test_a_roll_run_without_memory_tags_has_a_hint() -> None:
    run = run_of({"time/actor_train/train_step/total": constant(5.0), "time/actor_infer/generate/total": constant(9.0)})
    view = panel("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert panel("gpu_memory").relevant(run)
    assert isinstance(view, HeatView)
    assert "ROLL_DEBUG=1" in text(view.sentence)
    assert not panel("gpu_memory").relevant(run_of({"timing_s/gen": constant(5.0), "timing_s/ref": constant(5.0)}))


def test_memory_without_fractions_is_shown_as_logged() -> None:
    run = run_of({"perf/max_memory_allocated_gb": constant(61.5), "perf/max_memory_reserved_gb": constant(70.25)})
    view = panel("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    assert view.headline[0] == ("70.25 GB", Role.VALUE)
    assert [text(row).split() for row in view.rows] == [["max", "reserved", "70.25"], ["max", "allocated", "61.50"]]
    assert view.note == "8.750 GB reserved but not allocated, values in GB, as the log has no size of the device"


def test_memory_in_several_units_is_not_converted() -> None:
    sizes = {"gpu_mem_reserved_gb": 20.0, "gpu_mem_allocated_gb": 10.0, "max_memory_allocated_mb": 30_000.0}
    run = run_of({name: constant(size) for name, size in sizes.items()})
    view = panel("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    assert view.headline[0] == ("30000 MB", Role.VALUE)
    assert [text(row).split() for row in view.rows] == [
        ["max", "allocated", "MB", "30000"], ["reserved", "GB", "20"], ["allocated", "GB", "10"]
    ]  # fmt: skip
    assert view.note == "10 GB reserved but not allocated, the log has no size of the device"
    assert chart(run_of({"rss_gb": constant(3.0)}), "cpu_memory").headline[0] == ("3 GB", Role.VALUE)
    peaks = chart(run, "gpu_peak")
    assert (peaks.headline[0], len(peaks.lines)) == (("30000 MB", Role.VALUE), 1)


def test_a_percentage_beside_gib_is_a_fraction_of_the_device() -> None:
    view = panel("gpu_memory").view(
        run_of({"memory(GiB)": constant(62.75), "memory(%)": constant(79.3)}), Size(60, 8), START, Symbols.BRAILLE
    )
    assert isinstance(view, HeatView)
    assert view.cells[0][0] == pytest.approx(0.793)
    assert view.note == "% of the device in use"


def test_percentages_of_torchtitan_are_fractions() -> None:
    run = run_of({"memory/max_reserved(%)": constant(80.0), "memory/max_active(%)": constant(60.0)})
    view = panel("gpu_memory").view(run, Size(80, 10), START, Symbols.BRAILLE)
    assert isinstance(view, HeatView)
    assert (view.columns, view.cells, view.second) == (("all",), ((0.8,),), ((0.6,),))


def test_the_largest_processes_have_a_line() -> None:
    sizes = {"generate": 5.0, "train_step": 9.0, "model_update": 7.0, "compute_values": 6.0, "do_checkpoint": 8.0}
    series = {f"memory/cpu/{phase}/end/rss": constant(size) for phase, size in sizes.items()}
    series |= {f"memory/cpu/{phase}/start/rss": constant(99.0) for phase in sizes}
    series["memory/cpu/train_step/end/vms"] = constant(50.0)
    view = chart(run_of(series), "cpu_memory")
    assert [line.label for line in view.lines] == ["train_step", "do_checkpoint", "model_update", "compute_values"]
    assert view.headline[0] == ("9 GiB", Role.VALUE)
    assert view.note.startswith("virtual 50 GiB")
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
    assert isinstance(view, TextView)
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
        assert isinstance(view, TextView)
        facts = text(view.rows[1])
        assert facts.startswith("step 200 of 400 50 %  ETA ")
        shown.add(facts[facts.index("(") : facts.index(")") + 1])
    assert shown == {f"({soonest} to {latest})"}


@pytest.mark.parametrize("state", ["running", "quiet"])
def test_the_evidence_ends_between_clauses_unless_much_of_one_fits(state: str) -> None:
    store = store_of(
        {"loss": (range(1, 51), [1.0] * 50)}, [Fact("console", {"lines": ["ERROR: a long last line " * 9]})]
    )
    run = store.snapshot().runs[0]
    now = START + (60 if state == "running" else 1000)
    for width in (60, 80, 100):
        view = header_panel().view(run, Size(width, 2), now, Symbols.BRAILLE)
        assert isinstance(view, TextView)
        first = text(view.rows[0])
        assert f"{state_sign(state, ascii_only=False)} {state}  " in first
        assert len(first) <= width
        assert state == "running" or "last point" in first
        assert state == "running" or (width < 80) != first.endswith("…")


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
def test_the_header_leaves_out_what_does_not_fit(width: int) -> None:
    run = run_of({"loss": constant(1.0)}, [Fact("progress", {"step": 30, "total": 60})])
    for height in (1, 2):
        view = header_panel().view(run, Size(width, height), START + 31, Symbols.BRAILLE)
        assert isinstance(view, TextView)
        assert len(view.rows) == height
        assert all(len(text(row)) <= width or "  " not in text(row) for row in view.rows)


def test_a_long_name_leaves_the_state_its_room_in_a_narrow_pane() -> None:
    store = Store()
    store.apply(RunFound(0, "torchrun_" * 5, "/logs/run"))
    run, options = store.snapshot().runs[0], ChartOptions(alarms=1)
    view = header_panel().view(run, Size(44, 2), START, Symbols.BRAILLE, options)
    assert isinstance(view, TextView)
    assert text(view.rows[0]).endswith("1 critical alert")


@pytest.mark.parametrize(("width", "verdict"), [(80, True), (40, False)])
def test_the_verdict_about_ranks_leaves_the_state_its_room(width: int, verdict: bool) -> None:
    store = store_of({"loss": constant(1.0)})
    store.apply(RanksSeen(0, JobRanks("/run", "", "rank 11 computes 52% longer", ())))
    view = header_panel().view(store.snapshot().runs[0], Size(width, 2), START + 31, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    first = text(view.rows[0])
    assert "● running" in first
    assert ("rank 11" in first) is verdict


def test_reward_loss_and_kl_come_first_and_every_metric_has_a_panel() -> None:
    names = ["weird/a", "grad_norm", "loss", "kl", "reward", "lr", "_timestamp", "__swanlab__.cpu.pct", "global_step"]
    run = run_of({name: constant(1.0) for name in names})
    shown = ["reward", "loss", "kl", "grad_norm", "lr", "metric:weird/a", "system_metrics"]
    assert [panel.id for panel in arrange(run)] == shown
    assert unshown_metrics(run) == ("weird/a",)


def test_names_as_people_write_them_have_their_panels_and_learning_rates_come_after_losses() -> None:
    run = run_of({name: constant(1.0) for name in ("g_lr", "d_lr", "D_loss", "G_loss", "Train Loss", "Episode Reward")})
    assert [panel.id for panel in arrange(run)] == ["reward", "loss", "adversarial_loss", "lr"]


def test_training_and_validation_of_a_quantity_share_a_chart_and_quality_comes_before_the_rest() -> None:
    names = ["lr", "train_x", "val_x", "train/mae", "val/mae", "val_wer", "loss", "train/loss_cls", "val/loss_cls"]
    run = run_of({name: constant(1.0) for name in names})
    panels = arrange(run)
    assert [panel.id for panel in panels] == ["loss", "metric:train/mae", "metric:val_wer", "lr", "metric:train_x"]
    view = panels[1].view(run, Size(80, 12), START, Symbols.BRAILLE)
    assert isinstance(view, ChartView)
    assert [line.label for line in view.lines] == ["train", "val"]


def test_the_validation_loss_on_a_chart_is_that_of_the_part_that_is_drawn() -> None:
    run = run_of({name: constant(1.0) for name in ("train/box_loss", "train/cls_loss", "val/cls_loss", "val/box_loss")})
    loss = next(panel for panel in arrange(run) if panel.id == "loss")
    assert isinstance(loss, CurvePanel)
    assert loss.names(run)[:2] == ("train/box_loss", "val/box_loss")


def test_the_speed_of_evaluations_has_no_chart_of_its_own() -> None:
    names = ["eval/samples_per_second", "eval/steps_per_second", "eval/runtime", "eval/wer_runtime"]
    logged = {name: constant(9.0) for name in ("train/loss", *names)}
    assert [panel.id for panel in arrange(run_of(logged))] == ["loss"]
    trained = run_of(logged | {"train/samples_per_second": constant(900.0)})
    assert [panel.id for panel in arrange(trained)] == ["loss", "samples_per_second"]


def test_the_share_of_clipped_prompts_is_not_drawn_beside_their_length() -> None:
    run = run_of({"prompt_length/mean": constant(200.0), "prompt_length/clip_ratio": constant(0.0)})
    assert [line.metric for line in chart(run, "prompt_length").lines] == ["prompt_length/mean"]


def test_totals_and_sizes_of_images_have_no_chart() -> None:
    names = ["total_flos", "train_runtime", "train_samples_per_second", "num_params"]
    sizes = ["sample.width", "sample.height", "sample.size"]
    once = {name: constant(1.0, [30]) for name in names}
    run = run_of({"loss": constant(1.0)} | once | {name: constant(64.0) for name in sizes})
    assert [panel.id for panel in arrange(run)] == ["loss"]


def test_an_accuracy_of_a_supervised_run_is_called_so() -> None:
    for names in (("acc", "val_acc"), ("train_accuracy", "test_acc")):
        view = chart(run_of({name: constant(0.5) for name in names}), "success")
        assert (view.title, [line.label for line in view.lines]) == ("accuracy", ["train", "val"])


def test_measures_of_different_names_give_the_title() -> None:
    view = chart(run_of({f"metrics/{name}": constant(0.5) for name in ("precision", "recall")}), "success")
    assert view.title == "precision, recall"
    success = chart(run_of({name: constant(0.5) for name in ("success_rate", "val_acc")}), "success")
    assert success.title == "success"


def test_series_over_seconds_set_neither_the_step_nor_the_axis() -> None:
    late = range(100, 3001, 100)
    run = run_of({"Train/mean_reward": constant(1.0), "Train/mean_reward/time": constant(1.0, late)})
    assert run.last_step == 30
    assert progress_of(run, START + 40).step == 30
    assert chart(run, "reward").x.high <= 30
    games = run_of({f"rewards/{axis}": constant(1.0, steps) for axis, steps in (("step", range(31)), ("time", late))})
    assert progress_of(games, START + 40).step == 30


def test_a_supervised_run_begins_with_its_loss() -> None:
    run = run_of({"train/loss": constant(1.0), "eval/loss": constant(1.0), "train/grad_norm": constant(1.0)})
    assert [panel.id for panel in arrange(run)] == ["loss", "grad_norm"]


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
