"""Alerts of each detector for synthetic curves, with every number computed independently from the values."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.stores import store_of

from tuimon.analysis.run_states import failures_of
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


def lowest_level(values: np.ndarray, raised: int) -> float:
    return -highest_level(-values, raised)


def test_spike() -> None:
    loss = noisy(0.5, 200)
    loss[120] = 4.0
    alert = only(run_of(loss=loss), "spikes")
    usual = min(np.median([np.median(loss[n : n + 16]) for n in range(0, 112, 16)]), np.median(loss[111:120]))
    assert change_of(alert) == changed("jumped", usual, 4.0)
    assert alert.extreme == 1210
    assert (alert.severity, alert.step, alert.until) == ("warning", 1210, 1210)


def test_spike_of_a_loss_of_few_points_that_falls() -> None:
    noise = 0.02 * np.random.default_rng(1).standard_normal(60)
    loss = 0.9 + 1.6 * np.exp(-np.arange(60) / 12) + noise
    assert not [alert for alert in check(run_of(loss=loss)) if alert.rule == "spikes"]
    loss[34] += 2.5
    assert only(run_of(loss=loss), "spikes").step == 350


def test_spike_early_in_a_falling_loss() -> None:
    noise = 0.03 * np.random.default_rng(1).standard_normal(300)
    loss = 2.2 + 8 * np.exp(-np.arange(300) / 40) + noise
    loss[100] = 5.0
    alert = only(run_of(loss=loss), "spikes")
    usual = np.median(loss[91:100])
    assert change_of(alert) == changed("jumped", usual, 5.0)
    assert (alert.step, alert.extreme) == (1010, 1010)


def test_spike_to_a_level_that_stays_is_not_resolved() -> None:
    losses = np.concatenate((noisy(0.3, 320), noisy(0.3, 80) * np.exp(np.linspace(0, 4, 80)), noisy(16.0, 120)))
    alert = only(run_of(actor__pg_loss=losses), "spikes")
    top = int(losses[:450].argmax())
    assert (alert.severity, alert.active) == ("info", True)
    assert (alert.what, alert.value) == ("moved", pytest.approx(np.median(losses[-50:])))
    assert 10 * (top + 1) >= alert.step >= 3300
    back = only(run_of(actor__pg_loss=np.concatenate((losses, noisy(0.3, 8)))), "spikes")
    assert (back.severity, back.active, back.key) == ("warning", False, alert.key)
    early = only(run_of(actor__pg_loss=losses[:400]), "spikes")
    assert (early.severity, early.active, early.key) == ("warning", True, alert.key)


def ramp_of_gradient(growth: np.ndarray) -> dict[str, np.ndarray]:
    """Return a gradient norm that is multiplied by `growth` from row 800 on, and a loss that rises from row 860 on."""
    rows, random = np.arange(800 + len(growth)), np.random.default_rng(3)
    norms = (0.8 + 2 * np.exp(-rows / 60)) * np.exp(0.25 * random.standard_normal(len(rows)))
    losses = 2 + 3 * np.exp(-rows / 200) + 0.1 * np.clip(rows - 860, 0, 60)
    return {"grad_norm": norms * np.concatenate((np.ones(800), growth)), "loss": losses}


@pytest.mark.parametrize(
    "growth",
    [np.exp(np.arange(400) / 40), np.exp(np.arange(400) / 100), 1 + np.arange(400) / 20, np.geomspace(1, 20, 100)],
    ids=["e-fold in 40 points", "e-fold in 100 points", "linear", "short"],
)
def test_gradual_rise_of_a_gradient_norm_is_the_first_alert_of_a_divergence(growth: np.ndarray) -> None:
    first, second = check(run_of(**ramp_of_gradient(np.concatenate((growth, np.full(400 - len(growth), growth[-1]))))))
    assert (first.rule, first.metric, first.severity) == ("divergence", "grad_norm", "critical")
    assert abs(first.step - 8010) <= 300
    assert first.what == "risen"
    assert 0.7 < first.usual < 0.9 < first.value
    assert (second.rule, second.metric, second.severity) == ("divergence", "loss", "critical")
    assert second.step > first.step


@pytest.mark.parametrize(("begin", "points"), [(80, 12), (100, 20)])
def test_gradual_rise_of_a_gradient_norm_in_a_short_run(begin: int, points: int) -> None:
    growth = np.exp(np.maximum(np.arange(180) - begin, 0) / points)
    alert = only(run_of(grad_norm=noisy(0.5, 180, 0.2) * growth), "divergence")
    assert abs(alert.step // 10 - 1 - begin) <= 10
    assert alert.what == "risen"
    assert 0.4 <= alert.usual < 0.6 < alert.value


def test_spike_above_the_new_level_of_a_gradient_norm_is_reported() -> None:
    series = ramp_of_gradient(np.concatenate((np.geomspace(1, 20, 100), np.full(500, 20.0))))
    series["grad_norm"][1300] = 1000.0
    assert only(run_of(**series), "spikes").step == 13010


@pytest.mark.parametrize(
    "shape",
    [
        np.geomspace(1, 3, 1500),
        0.8 + 20 * np.exp(-np.arange(1500) / 100),
        1 + np.maximum(np.arange(1500) - 1200, 0) / 150,
    ],
    ids=["grows threefold", "warm-up", "grows at the end"],
)
def test_gradient_norm_of_a_healthy_run_raises_no_alert(shape: np.ndarray) -> None:
    random = np.random.default_rng(5)
    noise = np.zeros(1500)
    for row in range(1, 1500):  # autocorrelated, with a deviation of 0.3
        noise[row] = 0.9 * noise[row - 1] + 0.13 * random.standard_normal()
    assert check(run_of(grad_norm=shape * np.exp(noise))) == ()


def test_gradient_norm_that_stays_high() -> None:
    norms = np.concatenate((noisy(0.4, 160), noisy(6.0, 60)))
    alert = only(run_of(grad_norm=norms), "divergence")
    first = alert.step // 10 - 1
    usual = np.median([np.median(norms[start : start + 16]) for start in range(32, 160, 16)])
    now = highest_level(norms, first + 7)
    assert change_of(alert) == changed("risen", usual, now)
    assert first == 160


@pytest.mark.parametrize(("top", "severity"), [(1.6, "warning"), (2.4, "critical")])
def test_rising_loss_is_reported_only_in_supervised_runs(top: float, severity: str) -> None:
    loss = np.concatenate((np.linspace(2.0, 0.4, 80), np.full(160, 0.4), np.linspace(0.4, top, 60))) + 0.01
    alert = only(run_of(loss=loss), "divergence")
    assert alert.severity == severity
    assert (alert.what, alert.value) == ("risen", pytest.approx(highest_level(loss, alert.step // 10 - 1 + 2)))
    assert 2400 <= alert.step < 2700
    assert not [a for a in check(run_of(loss=loss, reward=np.linspace(0, 1, 300))) if a.rule == "divergence"]


@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.95])
def test_a_plateau_that_wanders_is_no_divergence(correlation: float) -> None:
    for seed in range(8):
        random, noise, values = np.random.default_rng(seed), 0.0, []
        for shock in random.normal(0.0, 0.01 * math.sqrt(1 - correlation**2), 500):
            noise = correlation * noise + float(shock)
            values.append(noise - 0.043)
        assert not [a for a in check(run_of(loss=np.array(values))) if a.rule == "divergence"]


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


def test_smooth_growth_of_a_settled_kl_is_one_incident_from_its_onset_on() -> None:
    """The level of the last 130 points follows such a growth, so that it never is a jump."""
    growth = 1.01 ** np.arange(600)
    kl = settled_then(growth)
    run = run_of(kl=kl[:1000], entropy=np.full(1000, 1.2))
    early = only(run, "kl_runaway")
    assert early.step is not None
    assert abs(early.step - 6000) <= 150
    assert early.severity == "warning"
    late = only(run_of(kl=kl, entropy=np.concatenate((np.full(600, 1.2), np.linspace(1.2, 0.06, 600)))), "kl_runaway")
    now, usual = highest_level(kl, 900), np.median(kl[300:500])
    assert change_of(late) == (*changed("risen", usual, now, 0.05)[:2], pytest.approx(now))
    assert late.key == early.key, "the same incident"
    assert late.severity == "critical"


@pytest.mark.parametrize("noise", [0.02, 0.2])
@pytest.mark.parametrize(
    "growth",
    [1 + 0.03 * np.arange(600), 1 + 0.3 * np.arange(600), 1 + 0.03 * np.arange(600) ** 1.15, 1.01 ** np.arange(600)],
    ids=["slow", "fast", "almost linear", "exponential"],
)
def test_growth_of_a_settled_kl_begins_at_its_onset(growth: np.ndarray, noise: float) -> None:
    random = np.random.default_rng(50)
    kl = 0.0125 * np.concatenate((np.ones(900), growth)) * (1 + noise * random.standard_normal(1500))
    alert = only(run_of(kl=kl), "kl_runaway")
    assert -4 <= alert.step // 10 - 1 - 900 <= 12


def test_growth_of_the_kl_from_0_or_with_the_steps_or_to_a_low_value_is_normal() -> None:
    steps = np.arange(1, 1501)
    for kl in (
        steps * 1e-3 * noisy(1.0, 1500),
        1.2 * (1 - np.exp(-steps / 100)) * noisy(1.0, 1500, 0.2),
        settled_then(np.linspace(1, 20, 600), 0.001),
        np.concatenate((np.zeros(300), np.linspace(0, 0.5, 300))),
    ):
        assert not [alert for alert in check(run_of(kl=kl)) if alert.rule == "kl_runaway"]


def test_kl_that_jumps_in_a_short_run() -> None:
    jump = only(run_of(kl=np.concatenate((noisy(0.01, 34), noisy(0.3, 20)))), "kl_runaway")
    assert (jump.step, jump.active) == (350, True)
    rows = np.arange(1, 61) / 50
    for kl in (rows * noisy(1.0, 60, 0.2), rows**2 * noisy(1.0, 60, 0.2), noisy(0.3, 60, 0.5)):
        assert not [alert for alert in check(run_of(kl=kl)) if alert.rule == "kl_runaway"]


def test_kl_that_jumps_grows_and_passes_the_limit_is_one_incident() -> None:
    kl = settled_then(np.concatenate((np.full(60, 12.0), np.geomspace(12, 2000, 300))))
    assert len({only(run_of(kl=kl[:end]), "kl_runaway").key for end in range(620, len(kl) + 1, 20)}) == 1


def test_entropy_that_was_settled_has_the_step_at_which_it_begins_to_fall() -> None:
    entropy = np.concatenate((noisy(1.2, 900), np.linspace(1.2, 0.2, 450)))
    alert = only(run_of(entropy=entropy), "entropy_collapse")
    assert alert.step is not None
    assert abs(alert.step - 9000) <= 150
    assert (alert.what, alert.value) == ("fallen", pytest.approx(0.2089, abs=1e-4))
    assert 1.0 < alert.usual < 1.3
    healthy = np.concatenate((np.linspace(1.8, 0.5, 900), np.full(300, 0.5))) * noisy(1.0, 1200)
    assert not [alert for alert in check(run_of(entropy=healthy)) if alert.rule == "entropy_collapse"]


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


def test_short_excess_over_a_limit_is_not_reported() -> None:
    values = noisy(0.1, 100)
    values[50:55] = 0.9
    assert check(run_of(actor__pg_clipfrac=values, completions__clipped_ratio=values)) == ()


def test_truncation_from_the_share_of_ended_responses() -> None:
    values = np.concatenate((noisy(0.9, 40), noisy(0.2, 30)))
    alert = only(run_of(rollout__fraction_of_samples_properly_ended=values), "truncation")
    assert (alert.what, alert.limit) == ("below", 0.5)


def test_rlinf_clipped_ratio_is_not_a_clip_fraction() -> None:
    assert check(run_of(actor__training__actor__clipped_ratio=noisy(1.0, 80, 0.001))) == ()


def test_entropy_collapse_is_not_reported_for_a_solved_task() -> None:
    entropy = np.concatenate((noisy(2.0, 60), noisy(0.05, 60)))
    alert = only(run_of(actor__entropy=entropy, critic__score__mean=noisy(0.3, 120)), "entropy_collapse")
    start = np.median(entropy[:10])
    now = lowest_level(entropy, alert.step // 10 - 1 + 19)
    assert change_of(alert) == changed("fallen", start, now)
    solved = run_of(actor__entropy=entropy, critic__score__mean=np.clip(np.linspace(0.2, 1.5, 120), 0, 0.97))
    assert not [alert for alert in check(solved) if alert.rule == "entropy_collapse"]


def test_reward_that_drops_and_recovers() -> None:
    reward = np.concatenate((np.linspace(0.1, 0.9, 100), np.full(30, 0.4), np.full(60, 0.9))) + noisy(0.01, 190)
    alert = only(run_of(reward=reward), "reward_drop")
    levels = np.array([np.median(reward[row - 8 : row + 1]) for row in range(8, 190)])
    best, low = levels[:100].max(), levels[92:120].min()
    assert change_of(alert) == changed("fallen", best, low)
    assert (alert.severity, alert.active) == ("warning", False)
    assert 1000 < alert.step < 1080


def with_validation(train: np.ndarray, val: np.ndarray, names: tuple[str, str]) -> Run:
    """Build a run with training points at the steps 10, 20 etc. and a validation at every tenth of these."""
    store = store_of({names[0]: train.tolist(), names[1]: [val[0]]})
    steps = np.arange(110, 100 * len(val) + 10, 100)
    store.apply(Columns(0, np.array([1], np.uint32), np.array([len(val) - 1], np.uint32), steps, val[1:], steps * 1.0))
    return store.snapshot().runs[0]


def test_reward_rises_while_validation_falls() -> None:
    train = np.linspace(0.1, 0.9, 200) + noisy(0.01, 200, 1.0)
    val = np.concatenate((np.linspace(0.1, 0.6, 8), np.linspace(0.6, 0.2, 12)))
    alert = only(with_validation(train, val, ("critic/score/mean", "val/score/mean")), "reward_hacking")
    assert alert.step == 710, "the flag is at the best validation, from which both series are compared"
    assert (alert.metric, change_of(alert)) == ("val/score/mean", changed("fallen", val[7], val[19]))
    began, ended = np.median(train[55:71]), np.median(train[175:191])  # 16 rewards each, up to steps 710 and 1910
    [reward] = alert.related
    assert (reward.metric, change_of(reward)) == ("critic/score/mean", changed("risen", began, ended))
    together = with_validation(train, np.linspace(0.1, 0.6, 20), ("critic/score/mean", "val/score/mean"))
    assert not [alert for alert in check(together) if alert.rule == "reward_hacking"]


def test_overfitting_requires_that_only_the_validation_loss_rises() -> None:
    train = np.linspace(2.0, 0.2, 200)
    val = np.concatenate((np.linspace(2.0, 1.0, 10), np.linspace(1.0, 1.6, 10)))
    alert = only(with_validation(train, val, ("train/loss", "eval/loss")), "overfitting")
    assert change_of(alert) == changed("risen", val[9], val[19])
    assert [(loss.metric, loss.what) for loss in alert.related] == [("train/loss", "fallen")]
    assert (alert.step, alert.until) == (910, None), "the alert begins at the lowest value"
    both = with_validation(np.concatenate((train[:100], np.linspace(1.1, 2.0, 100))), val, ("train/loss", "eval/loss"))
    assert not [alert for alert in check(both) if alert.rule == "overfitting"]


def test_overfitting_that_begins_again_after_the_same_best_value_is_one_alert() -> None:
    val = [*np.linspace(2.0, 1.0, 10), *[1.3] * 5, *[1.01] * 5, *[1.4] * 5]
    alert = only(with_validation(np.linspace(2.0, 0.2, 250), np.array(val), ("train/loss", "eval/loss")), "overfitting")
    assert (alert.step, change_of(alert)) == (910, changed("risen", 1.0, 1.4))


def test_overfitting_that_is_over_ends_at_its_last_validation() -> None:
    val = [*np.linspace(2.0, 1.0, 10), *[1.3] * 5, *[1.01] * 5]
    alert = only(with_validation(np.linspace(2.0, 0.2, 200), np.array(val), ("train/loss", "eval/loss")), "overfitting")
    assert (alert.step, alert.until, change_of(alert)) == (910, 1410, changed("risen", 1.0, 1.3))
    assert (alert.step, alert.until) == (910, 1410)


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


def test_growing_lengths_are_information_if_the_reward_rises() -> None:
    lengths = np.concatenate((noisy(100, 60), noisy(260, 40)))
    flat = only(run_of(response_length__mean=lengths, critic__score__mean=noisy(0.4, 100)), "length")
    start = np.median(lengths[:20])
    now = highest_level(lengths, flat.step // 10 - 1 + 4)
    assert change_of(flat) == changed("risen", start, now)
    assert flat.severity == "warning"
    learnt = run_of(response_length__mean=lengths, critic__score__mean=np.linspace(0.1, 0.8, 100))
    assert only(learnt, "length").severity == "info"


def test_slower_steps_are_information_if_responses_are_longer() -> None:
    times = np.concatenate((noisy(20.0, 100), noisy(34.0, 60)))
    alert = only(run_of(time__step=times), "step_drift")
    usual = np.median(times[10:60])
    now = np.median(times[100:])
    assert (change_of(alert), alert.unit, alert.related) == (changed("risen", usual, now), "s", ())
    assert alert.step == 1010, "where the times change, not where their median does"
    assert alert.severity == "warning"
    longer = np.concatenate((noisy(100, 100), noisy(180, 60)))
    explained = only(run_of(time__step=times, response_length__mean=longer), "step_drift")
    assert explained.severity == "info"
    rising = np.concatenate((noisy(100, 100), np.linspace(100, 250, 80), noisy(250, 80)))
    explained = only(run_of(time__step=rising / 5, response_length__mean=rising), "step_drift")
    begin, end = np.median(rising[10:60]), np.median(rising[-50:])
    assert change_of(explained) == changed("risen", begin / 5, end / 5)
    [lengths] = explained.related
    assert change_of(lengths) == changed("risen", begin, end), "of the same steps"
    assert "longer responses" in explained.hint
    assert "hot or shared" in alert.hint


def test_slower_steps_name_the_phase_that_has_grown() -> None:
    gen, other = np.concatenate((noisy(12.0, 300, 0.06), noisy(24.0, 100, 0.06))), noisy(15.0, 400)
    run = run_of(timing_s__gen=gen, timing_s__update_actor=other, timing_s__step=gen + other)
    alert = only(run, "step_drift")
    [phase] = alert.related
    assert (phase.metric, phase.unit) == ("timing_s/gen", "s")
    assert change_of(phase) == changed("risen", np.median(gen[10:60]), np.median(gen[300:]))
    apart = [noisy(5.0, 400) for _ in range(5)]
    for timer in apart:
        timer[300:] *= 1.8
    many = {f"timing_s__part{index}": timer for index, timer in enumerate(apart)}
    assert only(run_of(timing_s__step=sum(apart), **many), "step_drift").related == (), "all of them grew"


def test_steps_that_become_slower_slowly_are_reported_where_the_limit_is_passed() -> None:
    times = noisy(20.0, 500, 0.01) * (1 + 0.25 * (np.arange(500) - 100).clip(0, 300) / 100)
    alert = only(run_of(time__step=times), "step_drift")
    usual = np.median(times[10:60])
    first = next(row for row in range(64, 500, 16) if np.median(times[row - 48 : row]) >= 1.12 * usual)
    assert 100 <= alert.step // 10 - 1 <= first
    severe = first_of_twenty(medians_of_nine(times) >= 1.4 * usual)
    earlier, later = (only(run_of(time__step=times[: severe + more]), "step_drift") for more in (0, 1))
    assert earlier.key == later.key == alert.key
    assert (earlier.severity, later.severity, alert.severity) == ("info", "warning", "warning")
    assert change_of(alert) == changed("risen", usual, np.median(times[-50:])), "the level now"


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06, 0.1])
def test_slower_steps_are_as_much_slower_as_the_typical_step(noise: float) -> None:
    random = np.random.default_rng(70)
    gen, other = (level * (1 + noise * random.standard_normal(600)) for level in (12.0, 15.0))
    gen[300:] += 12.0
    times = gen + other
    alert = only(run_of(timing_s__gen=gen, timing_s__update_actor=other, timing_s__step=times), "step_drift")
    usual, now = np.median(times[10:60]), np.median(times[300:])
    assert (alert.step, change_of(alert), alert.unit) == (3010, changed("risen", usual, now), "s")
    assert [change.value for change in alert.related] == [pytest.approx(np.median(gen[300:]))]
    in_ms = only(run_of(timing_ms__gen=gen, timing_ms__update_actor=other, timing_ms__step=times), "step_drift")
    assert (change_of(in_ms), in_ms.unit) == (changed("risen", usual, now), "ms")


@pytest.mark.parametrize("factor", [1.2, 1.35])
@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_steps_that_are_somewhat_slower_are_information(factor: float, noise: float) -> None:
    gen, other = noisy(10.0, 400, noise), noisy(10.0, 400, noise)
    gen[200:] += 20 * (factor - 1)
    times = gen + other
    gen[12::25] += 60.0  # evaluations
    times[12::25] += 60.0
    alert = only(run_of(timing_s__gen=gen, timing_s__update_actor=other, timing_s__step=times), "step_drift")
    usual, now = np.median(times[10:60]), np.median(times[alert.step // 10 - 1 :])
    assert (alert.severity, alert.until) == ("info", None)
    assert abs(alert.step - 2010) <= 20 * (1 if noise > 0.05 else 0)
    assert change_of(alert) == changed("risen", usual, now, 0.02)
    assert [change.metric for change in alert.related] == ["timing_s/gen"]


def test_steps_of_a_healthy_run_are_no_information() -> None:
    warm_up = 3 * np.exp(-np.arange(400) / 10)
    for seed in range(5):
        random = np.random.default_rng(seed)
        times = 20 * np.exp(0.15 * random.standard_normal(400)) * (1 + warm_up)
        times[9::10] *= 3
        assert check(run_of(time__step=times, system__tps=1e5 / times)) == (), seed


def test_step_times_that_wander_slowly_are_no_information() -> None:
    for seed in range(16, 24):
        noise = np.random.default_rng(seed).standard_normal(1000)
        wander = np.zeros(1000)
        for row in range(1, 1000):
            wander[row] = 0.95 * wander[row - 1] + 0.03 * noise[row]
        assert check(run_of(time__step=20 * (1 + wander), system__tps=1e5 / (1 + wander))) == (), seed


def test_slower_steps_that_are_over_end_where_they_end() -> None:
    times = np.concatenate((noisy(20.0, 200), noisy(25.0, 200), noisy(20.0, 200)))
    alert = only(run_of(time__step=times), "step_drift")
    assert alert.step == 2010
    assert abs(alert.until - 4000) <= 80
    assert change_of(alert) == changed("risen", np.median(times[10:60]), np.median(times[200 : alert.until // 10]))


def medians_of_nine(values: np.ndarray) -> np.ndarray:
    return np.array([np.nan] * 8 + [np.median(values[row - 8 : row + 1]) for row in range(8, len(values))])


def first_of_twenty(beyond: np.ndarray) -> int:
    """Return the row that completes the first 20 true values in a row."""
    return next(row for row in range(19, len(beyond)) if beyond[row - 19 : row + 1].all())


@pytest.mark.parametrize("leaking", [{"a/0": 1}, {"a/0": 1, "b/0": 2}, {"a/0": 1, "b/1": 2}])
def test_a_leak_names_the_other_series_that_grow(leaking: dict[str, float]) -> None:
    levels = dict.fromkeys(("a/0", "a/1", "b/0", "b/1", "c/1"), 0.0) | leaking
    ramp = np.linspace(0.0, 5.0, 300)
    series = {
        f"memory/{name.replace('/', '/allocated/')}": (20.0 + rate * ramp).tolist() for name, rate in levels.items()
    }
    alert = only(store_of(series).snapshot().runs[0], "memory_creep")
    named = [alert.metric, *(change.metric for change in alert.related)]
    assert sorted(named) == sorted(f"memory/{name.replace('/', '/allocated/')}" for name in leaking)


def test_the_lowest_values_of_a_saw_tooth_show_a_leak() -> None:
    steps = np.arange(300)
    cache = 30 + 0.4 * (steps % 20) + noisy(0.0, 300)
    assert [alert for alert in check(run_of(gpu_memory_allocated_gb=cache)) if alert.rule == "memory_creep"] == []
    alert = only(run_of(gpu_memory_allocated_gb=cache + 0.02 * steps), "memory_creep")
    assert (alert.what, alert.unit) == ("grows", "GB")
    assert alert.usual == pytest.approx(30.8, abs=0.5)
    assert alert.value == pytest.approx(34.8, abs=0.5), "the lowest values at the end"


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
    assert abs(alert.step / 10 - 1 - onset) <= 200
    assert (alert.value - alert.usual) / (count - alert.step / 10) == pytest.approx(rate, rel=0.1)


def test_memory_leak_that_begins_at_0() -> None:
    held = np.concatenate((np.zeros(300), 0.02 * np.arange(900)))
    alert = only(run_of(gpu_memory_allocated_gb=held), "memory_creep")
    assert (alert.step, change_of(alert)) == (3010, changed("grows", 0.0, 17.98))


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


def test_memory_that_reaches_its_level_is_no_leak() -> None:
    rows, names = np.arange(800), ("gpu_memory_allocated_gb", "perf/max_memory_reserved_gb", "gpu_memory_gb")
    for seed in range(10):
        random = np.random.default_rng(seed)
        work = random.lognormal(0, 0.5, 800)
        jumps = np.searchsorted(np.sort(random.integers(0, 800, 6)), rows)
        levels = {
            "records": 20 + 10 * np.maximum.accumulate(work),
            "warm-up": 20 - 14 * np.exp(-rows / 10),
            "few jumps": 20 + 2.0 * jumps,
            "even jumps": 20 + np.floor(rows / 130) + 0.02 * random.standard_normal(800),
            "lengths": 20 + 4 * work,
            "many records": 20 + 10 * np.maximum.accumulate(random.lognormal(0, 0.5, 10000)),
            "jumps in a long run": 20 + 2.0 * np.searchsorted(np.sort(random.integers(0, 10000, 8)), np.arange(10000)),
        }
        for kind, held in levels.items():
            for name in names:
                alerts = check(store_of({name: held.tolist()}).snapshot().runs[0])
                assert alerts == (), f"{kind} {seed}: {alerts}"


def test_memory_that_grows_with_the_responses_is_information() -> None:
    lengths = 300 + 3.0 * np.arange(400)
    peak = 30 + 0.02 * lengths
    run = run_of(perf__max_memory_allocated_gb=peak, response_length__mean=lengths)
    alert = only(run, "memory_creep")
    assert alert.severity == "info"
    assert [(change.metric, change.what) for change in alert.related] == [("response_length/mean", "risen")]


def test_device_that_fills_up() -> None:
    name = "memory/actor_train/train_step/end/onload/max_{}_frac/0"
    filling = 0.4 + 0.0015 * np.arange(300) + 0.004 * np.random.default_rng(3).standard_normal(300)
    reserved = np.minimum(0.99, 0.6 + 0.003 * np.arange(300))  # reserved memory may be free and is not reported
    logged = {name.format("allocated"): filling.tolist(), name.format("reserved"): reserved.tolist()}
    (alert,) = check(store_of(logged).snapshot().runs[0])
    assert (alert.rule, alert.severity, alert.metric) == ("memory_full", "warning", name.format("allocated"))
    before, now = (100 * np.median(part) for part in (filling[16:32], filling[284:]))
    assert (change_of(alert), alert.unit, alert.limit) == (changed("grows", before, now), "%", 100.0)
    assert alert.reached_in == pytest.approx(10 * (1 - filling[-1]) / 0.0015, rel=0.1)
    row = alert.step // 10 - 1
    assert filling[row] - filling[16] >= 0.9 * (1 - filling[row])
    flat = check(store_of({name.format("allocated"): noisy(0.95, 300, 0.01).tolist()}).snapshot().runs[0])
    assert flat == (), "full of what it needs, and no more from step to step"


def test_device_that_grows_by_less_than_is_left() -> None:
    name = "memory/train/end/onload/max_allocated_frac/0"
    growing = 0.4 + 0.0004 * np.arange(600)  # by at most 0.18 in a window of 512 points, of the 0.36 that are left
    assert check(store_of({name: growing.tolist()}).snapshot().runs[0]) == ()


def test_device_that_is_not_full_before_the_end_is_information() -> None:
    name = "memory/train/end/onload/max_allocated_frac/0"
    store = store_of({name: (0.4 + 0.0015 * np.arange(300)).tolist()})
    store.apply(FactFound(0, Fact("progress", {"total": 3100})))
    (alert,) = check(store.snapshot().runs[0])
    assert (alert.rule, alert.severity) == ("memory_full", "info")


def test_engine_mismatch() -> None:
    differ = np.concatenate((noisy(0.002, 60), noisy(0.05, 40)))
    alert = only(run_of(training__rollout_probs_diff_mean=differ), "engine_mismatch")
    start, now = np.median(differ[:20]), highest_level(differ, alert.step // 10 - 1 + 4)
    assert change_of(alert) == changed("risen", start, now)


def preferences(points: int, collapse: int, slow: float = 0.0) -> dict[str, np.ndarray]:
    """Return the metrics of a DPO run.

    collapse: row from which it degenerates. slow: part by which the log-probability of the chosen texts falls besides.
    """
    part, after = np.arange(points) / points, np.maximum(np.arange(points) - collapse, 0)
    chosen = 0.3 * (1 - np.exp(-3 * part)) + 0.05 * RNG.standard_normal(points) - 0.5 * after
    margins = 1.2 * (1 - np.exp(-3 * part)) + 0.08 * RNG.standard_normal(points) + 0.6 * after
    return {
        "rewards__chosen": chosen,
        "rewards__rejected": chosen - margins,
        "rewards__margins": margins,
        "rewards__accuracies": np.minimum(0.5 + 0.3 * (1 - np.exp(-5 * part)) + 0.05 * after, 1.0),
        "logps__chosen": -250 * (1 + slow * part) + 4 * RNG.standard_normal(points) - 5 * after,
    }


def test_preference_collapse() -> None:
    series = preferences(100, 60)
    run = run_of(**series)
    alert = only(run, "preference_collapse")
    assert 590 <= alert.step <= 630, "the onset"
    start, now = np.median(series["logps__chosen"][:10]), lowest_level(series["logps__chosen"], 80)
    margins = highest_level(series["rewards__margins"], 80)
    assert (alert.metric, change_of(alert)) == ("logps/chosen", changed("fallen", start, now))
    [margin] = alert.related
    assert (margin.metric, margin.what, margin.value) == ("rewards/margins", "risen", pytest.approx(margins))
    assert failures_of([run.id], [alert]) == (alert.message,)


def test_preference_collapse_without_log_probabilities_and_accuracies() -> None:
    series = preferences(100, 60)
    del series["logps__chosen"], series["rewards__accuracies"]
    assert only(run_of(**series), "preference_collapse").metric == "rewards/chosen"


@pytest.mark.parametrize("slow", [0.2, 0.6])
def test_healthy_preferences(slow: float) -> None:
    series = preferences(100, 100, slow)
    assert not check(run_of(**series)), "with a low beta, chosen texts lose much while pairs are ranked wrongly"
    if slow < 0.3:
        assert not check(run_of(**series | {"rewards__accuracies": np.ones(100)})), "pairs that are easy to rank"


def test_stall_depends_on_the_clock() -> None:
    store = store_of({"loss": [1.0 - 0.01 * n for n in range(30)]})  # a point each 10 s
    run = store.snapshot().runs[0]
    checker = Checker()
    assert checker.check(run) == ()
    assert checker.check(run, 300.0 + 60.0) == ()
    (alert,) = checker.check(run, 300.0 + 600.0)
    assert (alert.rule, alert.severity, alert.step) == ("liveness", "warning", 300)
    assert re.fullmatch(r"stalled: no new point for 10 m\b.* usual.* 10 s\b.*", alert.message)
    assert checker.check(run, 300.0 + 90_000.0) == (), "an old log, not a stalled run"


def test_crash_in_a_log() -> None:
    store = store_of({"loss": [1.0] * 30})
    store.apply(FactFound(0, Fact("state", {"state": "crashed", "evidence": "CUDA out of memory"})))
    (alert,) = check(store.snapshot().runs[0], 400.0)
    assert (alert.severity, alert.message) == ("critical", "crashed: CUDA out of memory")


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
