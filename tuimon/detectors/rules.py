"""The table of rules. docs/alerts.md is made from it: the two sentences of a rule are what a user checks by eye.

"Level" is the median of nine points, "usual" the median of about the last 130 points, both as analysis/windows.py
computes them. The numbers are ours unless the rule names another source.
"""

from __future__ import annotations

import math
from typing import Any

from tuimon.detectors import _found
from tuimon.detectors._engine import Check, Rule, Setting
from tuimon.detectors._scores import Best, Half, Limit, Spike, Start, Usual, limit
from tuimon.model.machine import LEAST_GIB, LEAST_PART

_SUPERVISED = ("loss.total", "loss.sft")
_RATIO_MEANS = r"(?:^|/)(?:val/|actor/|probs_|ppo_|policy_|importance_)ratio(?:[_/]mean)?$"
"""Names of mean ratios of the new to the old policy; other metrics of the concept are spreads or compare engines."""


def _points(count: int) -> Setting:
    return Setting("points", count, "Points in a row.")


def _divergence(s: Any) -> tuple[Check, ...]:
    sudden = Usual(ratio=s.loss_ratio, of_start=s.least)
    return (
        Check(_SUPERVISED, sudden, critical=4.0, unless=("reward.train",)),
        Check(("loss.value",), Usual(ratio=s.ratio)),
        Check(("grad_norm",), Usual(ratio=s.ratio), all_names=True),
    )


def _kl(s: Any) -> tuple[Check, ...]:
    critical = (s.critical - 1) / (s.ratio - 1)
    return (
        Check(("kl.ref",), limit(s.limit, 5)),
        Check(("kl.ref",), Usual(ratio=s.ratio, floor=s.floor, sudden=s.sudden, skip=64), critical=critical),
        Check(("kl.ref",), Half(raise_after=5, ratio=s.growth, floor=s.floor), critical=critical),
    )


def _entropy(s: Any) -> tuple[Check, ...]:
    zero = Limit(1e-9, 1e-8, s.zero_points, falls=True)
    start = Start(s.points, falls=True, ratio=s.part, first=10)
    return tuple(Check(("entropy",), score, harmless=_found.is_no_collapse) for score in (zero, start))


def _length(s: Any) -> tuple[Check, ...]:
    longer, shorter = Start(5, ratio=s.ratio), Start(5, falls=True, ratio=s.shrinks)
    concepts = ("length.response",)
    return (
        Check(concepts, longer, mild=_found.reward_has_risen, harmless=_found.is_of_episodes),
        Check(concepts, shorter, severity="info", harmless=_found.is_of_episodes),
    )


def _mismatch(s: Any) -> tuple[Check, ...]:
    kl, mean = r"^rollout_corr/kl$", r"rollout_is_mean$"
    error, divergences = r"token_mult_prob_error$", r"(kl_error|js_divergence_error)$"
    others = rf"{kl}|{error}|{divergences}|(valid|corr|min|max|std)$"
    concepts = ("kl.mismatch",)
    return (
        Check(("ratio",), Limit(2.0, 1.8, 3), names=mean, all_names=True),
        Check(("ratio",), Limit(0.1, 0.11, 3, falls=True), names=mean, all_names=True),
        Check(concepts, Limit(0.1, 0.09, 5), names=kl, all_names=True),
        Check(concepts, Limit(-0.1, -0.09, 5, falls=True), names=kl, all_names=True),
        Check(concepts, Limit(1.05, 1.04, 3), names=error, all_names=True),
        Check(concepts, Limit(0.001, 0.0009, 5), severity="info", names=divergences, all_names=True),
        Check(concepts, Start(ratio=s.ratio, floor=s.floor), without=others, all_names=True),
    )


def _rate(s: Any) -> tuple[Check, ...]:
    zero = Limit(1e-15, 1e-15, s.points, falls=True)
    absurd = Limit(math.nextafter(s.limit, 0.0), s.limit, 3, 3)
    return (
        Check(("lr",), absurd, all_names=True),
        Check(("lr",), zero, all_names=True, harmless=_found.may_be_rounded),
    )


def _truncation(s: Any) -> tuple[Check, ...]:
    ended = "properly_ended$"
    return (
        Check(("truncation",), limit(s.limit, s.points), without=f"{ended}|(num_eos_tokens|env_timeout)$"),
        Check(("truncation",), Limit(1 - s.limit, 1 - 0.8 * s.limit, s.points, s.points, falls=True), names=ended),
    )


def _groups(s: Any) -> tuple[Check, ...]:
    dead = "reward.zero_std_frac"
    none = Limit(1e-6, 1e-6, s.points, s.points, falls=True)
    return (
        Check((dead,), limit(s.limit, s.points), without="count|rollout/dynamic_filter/", mild=_found.is_solved),
        Check(("reward.std",), none, names="reward_std$", unless=(dead,), mild=_found.is_solved),
    )


def _spikes(s: Any) -> tuple[Check, ...]:
    losses = (*_SUPERVISED, "loss.policy", "loss.value")
    return (
        Check(losses, Spike(s.ratio, s.extremes, clear_after=s.clear_after)),
        Check(("grad_norm",), Spike(s.gradient_ratio, s.extremes, clear_after=s.clear_after), all_names=True),
    )


def _step_time(s: Any) -> tuple[Check, ...]:
    slower = Start(s.points, s.points, ratio=s.ratio, first=50, skip=10)
    return (Check(("time.step",), slower, mild=_found.responses_explain),)


DETECTORS = (
    Rule(
        "approx_kl",
        "Updates too large",
        "The level of the KL to the policy that wrote the responses is above `limit` for `points` points.",
        "lower the learning rate, or make fewer updates per batch",
        (Setting("limit", 0.075, "KL to the old policy (nats), as a median of nine points."), _points(10)),
        lambda s: (Check(("kl.old",), limit(s.limit, s.points, smooth=True)),),
    ),
    Rule(
        "clip_fraction",
        "High clip fraction",
        "The share of tokens that are clipped is above `limit` for `points` points.",
        "lower the learning rate, or make fewer updates per batch",
        (Setting("limit", 0.4, "Share of the tokens that are clipped."), _points(10)),
        lambda s: (Check(("clip_frac",), limit(s.limit, s.points), without="/clipped_ratio$"),),
    ),
    Rule(
        "degenerate_text",
        "Repeating text",
        "The share of repetition in the responses is above `limit` for `points` points.",
        "read some responses and check whether the reward favours repetition",
        (Setting("limit", 0.2, "Share of repetition."), _points(3)),
        lambda s: (Check(("degenerate",), limit(s.limit, s.points)),),
    ),
    Rule(
        "disk_full",
        "Disk nearly full",
        "Less than `part` of the file system of the logs, and less than `gibibytes`, are left while the run goes on.",
        "a checkpoint that does not fit ends the run",
        (
            Setting("part", LEAST_PART, "Free part of the file system."),
            Setting("gibibytes", LEAST_GIB, "Free space (GiB); both limits have to be passed."),
        ),
        find_at=_found.disk_full,
    ),
    Rule(
        "divergence",
        "Divergence",
        "The level of a loss of supervised training is `loss_ratio` times the usual one, that of a gradient norm or of"
        " a value loss `ratio` times. It is six times its noise above the usual one.",
        "go back to an earlier checkpoint; lower the learning rate, clip gradients, or skip the data of those steps",
        (
            Setting("ratio", 5.0, "Level of a gradient norm or value loss, relative to the usual one."),
            Setting("loss_ratio", 2.0, "Level of a loss, relative to the usual one, in supervised training."),
            Setting("least", 0.01, "Level, relative to the start of a loss, below which no rise counts."),
        ),
        _divergence,
    ),
    Rule(
        "engine_mismatch",
        "Rollout and training engine disagree",
        "A difference between the probabilities of the inference and of the training engine is above its published"
        " limit. Where none is published, its level is `ratio` times that of the first 20 points and above `floor`.",
        "compare precision, kernels and weights of the two engines; a failed weight sync looks like this",
        (
            Setting("ratio", 4.0, "Level of a mismatch without a published limit, relative to its start."),
            Setting("floor", 0.005, "Level that such a mismatch has at least."),
        ),
        _mismatch,
    ),
    Rule(
        "entropy_collapse",
        "Entropy collapse",
        "The level of the entropy is at most `part` of that of the first 10 points for `points` points, or it is 0 for"
        " `zero_points`. Not if the reward is near its maximum.",
        "raise the entropy bonus or the upper clip range, or lower the learning rate",
        (
            Setting("part", 0.1, "Level of the entropy, relative to its start."),
            _points(10),
            Setting("zero_points", 5, "Points in a row at which the entropy is 0."),
        ),
        _entropy,
    ),
    Rule(
        "explained_variance",
        "Critic worse than a constant",
        "The level of the explained variance is below `limit` for `points` points, the first 20 left out.",
        "look at the value loss, the critic's learning rate and the scale of the returns",
        (Setting("limit", -0.05, "Explained variance, as a median of nine points."), _points(20)),
        lambda s: (
            Check(
                ("value.explained_var",),
                Limit(s.limit, s.limit + 0.02, s.points, s.points, falls=True, smooth=True, skip=20),
            ),
        ),
    ),
    Rule(
        "kl_runaway",
        "KL runaway",
        "The level of the KL to the reference is above `floor` and, by more than six times its noise, `ratio` times the"
        " usual one and `sudden` times that of the last 16 to 31 points, or `growth` times a steady usual one at half"
        " of the points so far. Or the KL is above `limit` for 5 points.",
        "raise the KL coefficient or lower the learning rate; read some responses",
        (
            Setting("ratio", 4.0, "Level of the KL, relative to the usual one, after 64 points."),
            Setting("sudden", 2.2, "Level of the KL, relative to that of the last 16 to 31 points."),
            Setting("floor", 0.1, "Level of the KL (nats) below which no rise counts."),
            Setting("limit", 10.0, "KL (nats) that is always an alert."),
            Setting("growth", 10.0, "Level of the KL, relative to that at half of the points so far."),
            Setting("critical", 100.0, "Level of the KL, relative to the usual one, that is critical."),
        ),
        _kl,
    ),
    Rule(
        "learning_rate",
        "Learning rate",
        "The learning rate is 0 for `points` points. Or it is at least `limit` for 3.",
        "check the scheduler: its total and warm-up steps, and whether it is stepped once per update",
        (
            _points(20),
            Setting("limit", 10.0, "Learning rate that is absurdly high."),
        ),
        _rate,
    ),
    Rule(
        "length",
        "Response length",
        "The level of the response length is `ratio` times that of the first 20 points, or at most `shrinks` times it,"
        " for 5 points. It is information if the responses are shorter, or if the reward has risen.",
        "read some responses and check whether the reward favours this length; look at truncation and repetition",
        (
            Setting("ratio", 2.0, "Length of the responses, relative to the start, that is much longer."),
            Setting("shrinks", 0.3, "Length of the responses, relative to the start, that is much shorter."),
        ),
        _length,
    ),
    Rule(
        "liveness",
        "Silent, ended early or crashed",
        "The state in the header is that the run is silent though its log is open or its end is not reached, has ended"
        " before its end, or has crashed.",
        find_at=_found.liveness,
    ),
    Rule(
        "memory_creep",
        "Memory creep",
        "Memory in use grows by `part` in the last 32, 48, 64 … points, along a line: the means of their sixteenths"
        " deviate from it by at most a twenty-fifth of the growth. It is information if the responses have grown by as"
        " much.",
        "something accumulates: values kept with their graph (missing .detach() or .item()), a cache, fragmentation",
        (Setting("part", 0.1, "Relative growth in a window of points."),),
        find=_found.memory_creep,
        is_of_learning=False,
    ),
    Rule(
        "nonfinite",
        "NaN or Inf",
        "A reward, loss, KL, policy or length metric is NaN or infinite; over after `clear_after` finite values."
        " Critical for a loss or a gradient norm whose last value is not finite.",
        "look at grad norm and loss at that step",
        (Setting("clear_after", 10, "Finite values in a row after which the alert is over."),),
        find=_found.nonfinite,
    ),
    Rule(
        "overfitting",
        "Overfitting",
        "At `points` validations in a row the validation loss is above its lowest value by `part` of it and beyond its"
        " usual steps. Meanwhile the training loss is lower than it was then.",
        "the checkpoint at the lowest validation loss is better; use more data, fewer epochs or more regularisation",
        (
            Setting("part", 0.1, "Rise of the validation loss, relative to its lowest value."),
            Setting("points", 3, "Validations in a row."),
        ),
        find=_found.overfitting,
    ),
    Rule(
        "policy_ratio",
        "Policy ratio far from 1",
        "The mean ratio of the new to the old policy is above `high` or below `low` for `points` points.",
        "the policy moves too far from the one that generated the responses: make fewer updates per batch, lower the"
        " learning rate, or check the clip range",
        (
            Setting("high", 2.0, "Mean ratio that is too high."),
            Setting("low", 0.1, "Mean ratio that is too low."),
            _points(3),
        ),
        lambda s: (
            Check(("ratio",), limit(s.high, s.points), names=_RATIO_MEANS, all_names=True),
            Check(("ratio",), limit(s.low, s.points, falls=True), names=_RATIO_MEANS, all_names=True),
        ),
    ),
    *(
        Rule(id, title, text, find=_found.of_ranks, is_of_learning=False)
        for id, title, text in (
            (
                "rank_failure",
                "A rank failed or hangs",
                "The logs of all ranks name one rank as the first cause of the end, and the job has not gone on.",
            ),
            (
                "rank_nan",
                "NaN on one rank",
                "The newest line of measurements of a rank has NaN, and those of most ranks have not.",
            ),
            (
                "rank_silent",
                "A rank is silent",
                "A rank that reported steps has reported none for a long time while the others went on.",
            ),
            (
                "straggler",
                "A rank is slow",
                "The own time of a rank, without waiting, is more than 5 % and more than 5 deviations above that of the"
                " median rank in 60 % of the last 50 steps.",
            ),
        )
    ),
    Rule(
        "reward_drop",
        "Reward drop or collapse",
        "For 12 points the level of the reward is below its best by `part` of the gain since the start, of which a"
        " quarter of the best is the least, and by 1.5 times the largest fall within 24 points so far, more in a short"
        " run. Critical if 90 % of the gain is lost.",
        "go back to an earlier checkpoint; look at KL, entropy, length and the weight sync at that step",
        (Setting("part", 0.5, "Part of the gain since the start that is lost."),),
        lambda s: (
            Check(("reward.train", "success.train"), Best(12, 10, falls=True, part=s.part), critical=0.9 / s.part),
        ),
    ),
    Rule(
        "reward_hacking",
        "Reward up, validation down",
        "At `points` validations in a row the validation is below its best by `part` of its gain and beyond its usual"
        " steps. Meanwhile the training reward is higher than it was then.",
        "compare the responses of now and of the best validation; the checkpoint near the latter is the better model",
        (
            Setting("part", 0.25, "Part of its gain that the validation has lost."),
            Setting("points", 3, "Validations in a row."),
        ),
        find=_found.reward_hacking,
    ),
    Rule(
        "spikes",
        "Spike of loss or gradient",
        "A loss or a gradient norm is `extremes` times as far from the median of the nine points before it as all but"
        " two of the last 128 points were, and `ratio` (a gradient norm: `gradient_ratio`) times that median.",
        "look at the data of that step (batch, responses); gradient clipping limits the effect of one step",
        (
            Setting("ratio", 1.5, "Value of a loss, relative to the median of the nine points before."),
            Setting("gradient_ratio", 8.0, "Value of a gradient norm, relative to the median of the nine points."),
            Setting("extremes", 5.0, "Distance from that median, relative to the usual extremes."),
            Setting("clear_after", 8, "Usual points in a row after which the alert is over."),
        ),
        _spikes,
    ),
    Rule(
        "step_drift",
        "Steps get slower",
        "The level of the step time is `ratio` times the median of the steps 10 to 59 for `points` steps. It is"
        " information if the responses have grown by three quarters as much.",
        "look for a device that is hot or shared, a slow node or data loader, or a few very long responses",
        (
            Setting("ratio", 1.4, "Step time, as a median of nine steps, relative to that of the steps 10 to 59."),
            Setting("points", 20, "Steps in a row."),
        ),
        _step_time,
        is_of_learning=False,
    ),
    Rule(
        "truncation",
        "Truncated responses",
        "The share of responses that are cut off at the length limit is above `limit` for `points` points.",
        "raise the limit if correct answers need it; if not, check whether the reward favours length",
        (Setting("limit", 0.5, "Share of the responses that are truncated."), _points(10)),
        _truncation,
    ),
    Rule(
        "vanishing_gradient",
        "No gradient",
        "The gradient norm is below `limit` for `points` points.",
        "look for groups whose rewards are all equal, frozen weights, or a loss that does not depend on the weights",
        (Setting("limit", 1e-7, "Gradient norm."), _points(10)),
        lambda s: (Check(("grad_norm",), Limit(s.limit, s.limit, s.points, s.points, falls=True)),),
    ),
    Rule(
        "zero_variance",
        "Zero-variance groups",
        "The share of groups whose responses all get the same reward is above `limit` for `points` points; or, if only"
        " the deviation of the rewards is logged, it is 0 for as many. It is information if the reward is near its"
        " maximum.",
        "the reward is too coarse, or the prompts too easy or too hard: filter such groups, or add other prompts",
        (Setting("limit", 0.5, "Share of the groups without variance."), _points(10)),
        _groups,
    ),
)
