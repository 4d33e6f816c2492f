"""Alerts of each detector for synthetic curves, with every number computed independently from the values."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.stores import store_of

from tuimon.detectors import Checker
from tuimon.errors import UsageError
from tuimon.model.alerts import Alert, Change
from tuimon.model.events import Columns, FactFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.store import Run, Store

check = Checker().check
RNG = np.random.default_rng(11)
_RNG_STATE = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    """Give each test the same random numbers, whichever tests have run before."""
    RNG.bit_generator.state = _RNG_STATE


def run_of(**series: np.ndarray) -> Run:
    """Build a run from series at the steps 10, 20, 30 etc. "__" in a name means "/"."""
    return store_of({name.replace("__", "/"): values.tolist() for name, values in series.items()}).snapshot().runs[0]


def only(run: Run, rule: str) -> Alert:
    (alert,) = (alert for alert in check(run) if alert.rule == rule)
    return alert


def changed(what: str, usual: float, value: float, rel: float = 1e-9) -> tuple[object, ...]:
    """Return the expected (what, usual, value) of an alert."""
    return what, pytest.approx(usual, rel), pytest.approx(value, rel)


def change_of(alert: Alert | Change) -> tuple[object, ...]:
    return alert.what, alert.usual, alert.value


def noisy(level: float, count: int, noise: float = 0.02) -> np.ndarray:
    return level * (1 + noise * RNG.standard_normal(count))


def highest_level(values: np.ndarray, raised: int) -> float:
    """Return the highest median of nine from a row on."""
    return max(np.median(values[row - 8 : row + 1]) for row in range(raised, len(values)))


def test_spike_of_a_loss_of_few_points_that_falls() -> None:
    noise = 0.02 * np.random.default_rng(1).standard_normal(60)
    loss = 0.9 + 1.6 * np.exp(-np.arange(60) / 12) + noise
    assert not [alert for alert in check(run_of(loss=loss)) if alert.rule == "spikes"]
    loss[34] += 2.5
    assert only(run_of(loss=loss), "spikes").step == 350


def ramp_of_gradient(growth: np.ndarray) -> dict[str, np.ndarray]:
    """Return a gradient norm that is multiplied by `growth` from row 800 on, and a loss that rises from row 860 on."""
    rows, random = np.arange(800 + len(growth)), np.random.default_rng(3)
    norms = (0.8 + 2 * np.exp(-rows / 60)) * np.exp(0.25 * random.standard_normal(len(rows)))
    losses = 2 + 3 * np.exp(-rows / 200) + 0.1 * np.clip(rows - 860, 0, 60)
    return {"grad_norm": norms * np.concatenate((np.ones(800), growth)), "loss": losses}


def test_spike_above_the_new_level_of_a_gradient_norm_is_reported() -> None:
    series = ramp_of_gradient(np.concatenate((np.geomspace(1, 20, 100), np.full(500, 20.0))))
    series["grad_norm"][1300] = 1000.0
    assert only(run_of(**series), "spikes").step == 13010


def test_kl_above_its_limit_and_kl_that_jumps() -> None:
    kl = np.concatenate((noisy(2.0, 60), noisy(14.0, 30)))
    alert = only(run_of(objective__kl=kl), "kl_runaway")
    top = int(kl.argmax())
    assert (alert.what, alert.limit, alert.value, alert.extreme) == ("above", 10.0, kl[top], 10 * (top + 1))
    assert alert.step == 610
    jumps = np.concatenate((noisy(0.05, 120), noisy(0.9, 40)))
    assert only(run_of(kl=jumps), "kl_runaway").what == "risen"
    assert not [a for a in check(run_of(kl=np.linspace(0, 1.5, 300))) if a.rule == "kl_runaway"], "growth is normal"


def settled_then(growth: np.ndarray, level: float = 0.01, settled: int = 600) -> np.ndarray:
    """Return a settled, noisy KL that is multiplied by `growth` from row `settled` on."""
    return noisy(level, settled + len(growth)) * np.concatenate((np.ones(settled), growth))


def test_kl_that_jumps_grows_and_passes_the_limit_is_one_incident() -> None:
    kl = settled_then(np.concatenate((np.full(60, 12.0), np.geomspace(12, 2000, 300))))
    assert len({only(run_of(kl=kl[:end]), "kl_runaway").key for end in range(620, len(kl) + 1, 20)}) == 1


@pytest.mark.parametrize(
    ("rule", "metric", "bad", "good", "what", "limit"),
    [
        ("clip_fraction", "actor/pg_clipfrac", 0.6, 0.1, "above", 0.4),
        ("approx_kl", "actor/ppo_kl", 0.2, 0.01, "above", 0.075),
        ("truncation", "response_length/clip_ratio", 0.8, 0.1, "above", 0.5),
        ("degenerate_text", "rollout/repetition_frac", 0.5, 0.1, "above", 0.2),
        ("explained_variance", "critic/vf_explained_var", -0.5, 0.6, "below", -0.05),
        ("vanishing_gradient", "grad_norm", 1e-9, 1.0, "below", 1e-7),
        ("zero_variance", "frac_reward_zero_std", 0.9, 0.1, "above", 0.5),
        ("engine_mismatch", "rollout_corr/kl", 0.4, 0.01, "above", 0.1),
    ],
)
def test_limits(rule: str, metric: str, bad: float, good: float, what: str, limit: float) -> None:
    values = np.concatenate((noisy(good, 60), noisy(bad, 40)))
    alert = only(run_of(**{metric.replace("/", "__"): values}), rule)
    row = alert.step // 10 - 1
    inside = values[row:]
    most = int(np.argmax(inside) if what == "above" else np.argmin(inside))
    assert (alert.what, alert.limit, alert.value, alert.extreme) == (what, limit, inside[most], 10 * (row + most + 1))
    assert (alert.count, alert.points, alert.until) == (len(inside), len(inside), None)
    assert 60 <= row <= 66
    back = np.concatenate((values, noisy(good, 40)))
    over = only(run_of(**{metric.replace("/", "__"): back}), rule)
    assert (over.key, over.value) == (alert.key, alert.value)
    assert over.until is not None


def test_limit_that_some_values_respect_counts_the_others() -> None:
    values = np.full(60, 0.1)
    values[20:] = 0.9
    values[50:54] = [0.5, 0.375, 0.4, 0.5]
    alert = only(run_of(completions__clipped_ratio=values), "truncation")
    assert (alert.value, alert.extreme, alert.count, alert.points) == (0.9, 210, 36, 40)
    values[55:57] = 0.2
    assert only(run_of(completions__clipped_ratio=values), "truncation").count == 34


def test_value_that_equals_a_limit_is_not_beyond_it() -> None:
    values = np.concatenate((np.full(50, 0.1), np.full(50, 0.4)))
    assert check(run_of(actor__pg_clipfrac=values)) == ()
    values[60:] = 0.6
    alert = only(run_of(actor__pg_clipfrac=values), "clip_fraction")
    assert (alert.step, alert.limit, alert.value) == (610, 0.4, 0.6)
    properly_ended = np.concatenate((np.full(50, 0.9), np.full(50, 0.5)))
    assert check(run_of(rollout__properly_ended=properly_ended)) == ()


def test_truncation_from_the_share_of_ended_responses() -> None:
    values = np.concatenate((noisy(0.9, 40), noisy(0.2, 30)))
    alert = only(run_of(rollout__fraction_of_samples_properly_ended=values), "truncation")
    assert (alert.what, alert.limit) == ("below", 0.5)


def with_validation(train: np.ndarray, val: np.ndarray, names: tuple[str, str]) -> Run:
    """Build a run with training points at the steps 10, 20 etc. and a validation at every tenth of these."""
    store = store_of({names[0]: train.tolist(), names[1]: [val[0]]})
    steps = np.arange(110, 100 * len(val) + 10, 100)
    store.apply(Columns(0, np.array([1], np.uint32), np.array([len(val) - 1], np.uint32), steps, val[1:], steps * 1.0))
    return store.snapshot().runs[0]


def test_overfitting_compares_losses_of_the_same_part() -> None:
    falls, rises = np.linspace(2.0, 0.2, 200), np.concatenate((np.linspace(2.0, 1.0, 10), np.linspace(1.0, 1.6, 10)))
    alert = only(with_validation(falls, rises, ("train/cls_loss", "val/cls_loss")), "overfitting")
    assert [(loss.metric, loss.what) for loss in alert.related] == [("train/cls_loss", "fallen")]
    for names in (("train/box_loss", "val/cls_loss"), ("train/box_loss", "val_loss")):
        assert not [alert for alert in check(with_validation(falls, rises, names)) if alert.rule == "overfitting"]
    alert = only(with_validation(falls, rises, ("loss", "eval_north_loss")), "overfitting")
    assert (alert.metric, alert.what) == ("eval_north_loss", "risen")


@pytest.mark.parametrize("name", ["d_loss", "G_loss", "Loss__D", "generator__loss"])
def test_a_rising_adversarial_loss_is_no_divergence(name: str) -> None:
    rising = np.concatenate((np.linspace(2.0, 0.4, 80), np.full(40, 0.4), np.linspace(0.4, 6.0, 60))) + 0.01
    assert only(run_of(loss=rising), "divergence")
    assert not [alert for alert in check(run_of(**{name: rising})) if alert.rule in ("divergence", "overfitting")]


def test_learning_rate_that_is_zero() -> None:
    alert = only(run_of(train__learning_rate=np.zeros(30)), "learning_rate")
    assert (alert.what, alert.value, alert.step, alert.until) == ("zero", 0.0, 10, None)
    decays = run_of(train__learning_rate=np.linspace(1e-4, 0, 100))
    assert check(decays) == (), "a schedule ends at 0"


@pytest.mark.parametrize("leaking", [{"a/0": 1}, {"a/0": 1, "b/0": 2}, {"a/0": 1, "b/1": 2}])
def test_a_leak_names_the_other_series_that_grow(leaking: dict[str, float]) -> None:
    levels = dict.fromkeys(("a/0", "a/1", "b/0", "b/1", "c/1"), 0.0) | leaking
    ramp = np.linspace(0.0, 5.0, 300)
    series = {
        f"memory/{name.replace('/', '/allocated/')}": (20.0 + rate * ramp).tolist() for name, rate in levels.items()
    }
    (alert,) = (alert for alert in check(store_of(series).snapshot().runs[0]) if alert.severity != "info")
    assert alert.rule == "memory_creep"
    named = [alert.metric, *(change.metric for change in alert.related)]
    assert sorted(named) == sorted(f"memory/{name.replace('/', '/allocated/')}" for name in leaking)


def test_memory_creep() -> None:
    name = "memory/actor_train/train_step/start/offload/allocated/{}"
    flat, leak = noisy(30, 400, 0.001), 30 + np.arange(400) * 0.03
    alert = only(
        store_of({name.format(0): flat.tolist(), name.format(1): leak.tolist()}).snapshot().runs[0], "memory_creep"
    )
    assert alert.metric == name.format(1)
    assert (alert.step, alert.unit, change_of(alert)) == (10, "GiB", changed("grows", 30.0, 41.97))
    alert = only(run_of(gpu__memory_allocated_bytes=leak * 1e9), "memory_creep")
    assert (alert.unit, change_of(alert)) == ("B", changed("grows", 30e9, 41.97e9))


@pytest.mark.parametrize(
    ("name", "factor", "unit"),
    [
        ("gpu_memory_allocated_gb", 1, "GB"),
        ("perf/max_memory_allocated_gb", 1, "GB"),
        ("train/gpu_mem_gb", 1, "GB"),
        ("gpu_mem_mb", 1024, "MB"),
        ("memory/max_mem_active(GiB)", 1, "GiB"),
        ("memory/max_active(GiB)", 1, "GiB"),
        ("memory(GiB)", 1, "GiB"),
        ("system/gpu.0.memoryAllocated", 1, "% of the device"),
        ("perf/cpu_memory_used_gb", 1, "GB"),
        ("gpu_mem", 1, ""),
        ("VRAM", 1, ""),
        ("system/peak GPU memory", 1, ""),
        ("max_memory_allocated", 1, ""),
    ],
)
def test_memory_leak_that_begins_late(name: str, factor: int, unit: str) -> None:
    held = factor * (18 + 0.05 * np.maximum(0, np.arange(400) - 150) + 0.05 * RNG.standard_normal(400))
    alert = only(store_of({name: held.tolist()}).snapshot().runs[0], "memory_creep")
    row = alert.step // 10 - 1
    assert abs(row - 150) <= 8
    assert (change_of(alert), alert.unit) == (("grows", held[row], held[-1]), unit), "the numbers that were logged"


@pytest.mark.parametrize(("rate", "onset", "count"), [(0.001, 0, 4000), (0.002, 6000, 10000), (0.0003, 0, 12000)])
def test_slow_memory_leak_in_a_long_run(rate: float, onset: int, count: int) -> None:
    noise = 0.05 * np.random.default_rng(count).standard_normal(count)
    held = 18 + rate * np.maximum(0, np.arange(count) - onset) + noise
    alert = only(run_of(gpu_memory_allocated_gb=held), "memory_creep")
    assert alert.active
    assert abs(alert.step / 10 - 1 - onset) <= 400
    assert (alert.value - alert.usual) / (count - alert.step / 10) == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize(
    ("printed", "name", "unit"),
    [
        ("VRAM {:.1f}/32.0GB", "VRAM", "GB"),
        ("gpu_mem: {:.1f}GB", "gpu_mem", "GB"),
        ("mem {:.2f} GiB", "mem", "GiB"),
        ("max mem: {:.0f}MiB", "max mem", "MiB"),
        ("memory: {:.1f}", "memory", None),
        ("memory: {:.1f}%", "memory", None),
    ],
)
def test_memory_leak_with_the_unit_that_a_script_prints(
    printed: str, name: str, unit: str | None, tmp_path: Path
) -> None:
    held = 18 + 0.05 * np.maximum(0, np.arange(400) - 150)
    rows = [f"step {row + 1} loss: 0.5 {printed.format(value)} lr: 1e-4\n" for row, value in enumerate(held)]
    (tmp_path / "train.log").write_text("".join(rows))
    [run] = open_run(tmp_path).runs
    assert name in run.metrics
    alerts = [alert for alert in check(run) if alert.rule == "memory_creep"]
    if unit is None:
        assert alerts == []
    else:
        [alert] = alerts
        assert (alert.metric, alert.what, alert.unit) == (name, "grows", unit)
        assert (alert.reached_in is not None) == ("/32.0GB" in printed)
        if alert.reached_in is not None:
            assert 30 <= alert.reached_in <= 39, "32 GB are full 32 steps after 30.45 GB"


@pytest.mark.parametrize(
    ("used", "total", "size"),
    [
        ("gpu_memory_used_gb", "gpu_memory_total_gb", 80.0),
        ("gpu/memory_allocated_gb", "gpu/memory_total_gb", 80.0),
        ("gpu_memory_used_gb", "gpu_mem_total_mb", 80_000.0),
    ],
)
def test_memory_leak_on_a_device_of_known_size(used: str, total: str, size: float) -> None:
    held = 20 + 0.13 * np.arange(400)
    sizes = {used: held.tolist(), total: [size] * 400}
    alert = only(store_of(sizes).snapshot().runs[0], "memory_creep")
    assert (alert.step, change_of(alert), alert.limit) == (10, changed("grows", 20.0, 71.87), 80.0)
    assert alert.reached_in == pytest.approx((80 - held[-1]) / 0.013, rel=0.05)


def test_share_of_a_device_that_grows() -> None:
    name = "memory/train/end/onload/max_allocated_frac/0"
    alert = only(store_of({name: (0.4 + 0.0015 * np.arange(300)).tolist()}).snapshot().runs[0], "memory_creep")
    assert (alert.unit, alert.limit) == ("% of the device", 100.0)
    assert (alert.value, alert.usual) == pytest.approx((84.85, 40.0))
    assert alert.reached_in == pytest.approx(1010, abs=15)


def test_stall_depends_on_the_clock() -> None:
    store = store_of({"loss": [1.0 - 0.01 * n for n in range(30)]})  # a point each 10 s
    store.apply(FactFound(0, Fact("config", {"max_steps": 900})))
    run = store.snapshot().runs[0]
    checker = Checker()
    assert checker.check(run) == ()
    assert checker.check(run, 300.0 + 60.0) == ()
    (alert,) = checker.check(run, 300.0 + 600.0)
    assert (alert.rule, alert.severity, alert.step) == ("liveness", "warning", 300)
    assert re.fullmatch(r"silent: last point 10 m ago, usually every 10 s\b.*", alert.message)
    (alert,) = checker.check(run, 300.0 + 90_000.0)
    assert (alert.severity, alert.message.partition(":")[0]) == ("info", "ended early")


def test_crash_in_a_log() -> None:
    store = store_of({"loss": [1.0] * 30})
    store.apply(FactFound(0, Fact("state", {"state": "crashed", "evidence": "CUDA out of memory"})))
    (alert,) = check(store.snapshot().runs[0], 400.0)
    assert (alert.severity, alert.message) == ("critical", "crashed: CUDA out of memory; last point 1 m ago")


def test_thresholds_are_set_and_detectors_disabled() -> None:
    values = np.concatenate((noisy(0.1, 40), noisy(0.6, 40)))
    run = run_of(actor__pg_clipfrac=values)
    assert Checker({"clip_fraction": False}).check(run) == ()
    assert Checker({"clip_fraction": {"limit": 1}}).check(run) == ()
    assert len(Checker({"clip_fraction": {"limit": 0.55, "points": 3}}).check(run)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nonsense": True}, "no detector 'nonsense'"),
        ({"clip_fraction": {"depth": 3}}, "no threshold 'depth'"),
        ({"clip_fraction": {"limit": "much"}}, "must be a finite number"),
        ({"clip_fraction": {"points": 0}}, "must be a whole number of at least 1"),
        ({"clip_fraction": {"limit": math.nan}}, "must be a finite number"),
        ({"clip_fraction": 3}, "must be true, false or a table"),
        ({"clip_fraction": {"id": "other"}}, "no threshold 'id'"),
    ],
)
def test_invalid_options_are_reported(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Checker(options)


def test_empty_run() -> None:
    store = Store()
    store.apply(RunFound(1, "empty", "/empty"))
    store.apply(StreamFound(7, 1, "log", "/empty/log", "jsonl", 30, "", 0))
    assert [check(run, 1e9) for run in store.snapshot().runs] == [()]


def test_critic_that_predicts_a_constant_is_not_reported() -> None:
    """All episodes of a solved environment have the same return, so the explained variance is just below 0."""
    assert not [
        a for a in check(run_of(losses__explained_variance=noisy(-0.004, 200))) if a.rule == "explained_variance"
    ]


def test_bursts_of_a_loss_that_has_nearly_vanished_are_not_a_divergence() -> None:
    """Adam without a small enough epsilon: a loss of 1e-7 is 1e-4 for some steps, again and again, and falls back."""
    bursts = np.tile(np.concatenate((np.full(12, 3e-7), np.geomspace(5e-3, 3e-7, 14))), 10)
    losses = np.concatenate((np.geomspace(5, 3e-7, 30), bursts[:-10]))
    assert not [a for a in check(run_of(train_loss=losses)) if a.rule == "divergence"]
    worse = np.concatenate((np.geomspace(5, 3e-7, 30), np.full(100, 3e-7), np.full(20, 0.2)))
    assert only(run_of(train_loss=worse), "divergence").what == "risen"
