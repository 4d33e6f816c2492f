"""meanings(): the meaning of names in a run, beside its other metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from heapq import nsmallest
from types import MappingProxyType

from msgspec.structs import replace

from tuimon.vocabulary.meaning import OTHER, OTHER_VALIDATION, Meaning, classify
from tuimon.vocabulary.names import without_reducer
from tuimon.vocabulary.words import words_of

_HIDDEN = Meaning("drop", "hidden", "", "1", "neutral")
_IMAGE_PARTS = (".width", ".height", ".size")
_IN_EPOCH = "_in_epoch"
_COUNTED = {
    "batch": "global_step",
    "iteration": "iteration",
    "epoch": "epoch",
    "sample": "num_samples",
    "token": "num_tokens",
}
"""Last parts of the names of Composer's counters, and names of the same meaning."""
_OTHER_AXES = ("time", "iter")
"""Last parts of names of series that repeat another one along another axis."""
_TOKEN_COUNTERS = frozenset({"total_tokens", "num_input_tokens_seen"})

MOST_NAMES = 20_000
"""Names of a run whose meaning is looked up, the shortest, in 0.06 ms each. More names are those of single layers."""
_KEPT = 64


@lru_cache(maxsize=_KEPT)
def meanings(metrics: tuple[str, ...]) -> Mapping[str, Meaning]:
    """Return the meaning of each metric of a run. It differs from classify() as follows.

    The loss of a run with rewards has no direction: it is a surrogate that need not fall. An accuracy is of preferences
    if a preference margin is logged. A return is the reward if nothing else is, and a mean reward is of the training
    unless its name says otherwise. An unknown eval/… is a score only in a run with rewards. Sizes of images, and series
    along another axis than the steps (`repeats_along_other_axis`), are hidden. time/batch counts batches if
    time/batch_in_epoch is logged, too. A throughput is of tokens if tokens are counted (LLaMA-Factory).
    """
    examined = metrics if len(metrics) <= MOST_NAMES else nsmallest(MOST_NAMES, metrics, key=len)
    known = {**dict.fromkeys(metrics, OTHER), **{name: classify(name) for name in examined}}
    concepts = {meaning.concept for meaning in known.values()}
    known |= _drawn_along_steps(known)
    known |= dict.fromkeys((*_image_sizes(known), *repeats_along_other_axis(metrics)), _HIDDEN)
    known |= _counters(known)
    by_words = {name: _meaning_of_mean(name) for name, meaning in known.items() if meaning.concept == "reward.val"}
    known |= {name: meaning for name, meaning in by_words.items() if meaning}
    if concepts.isdisjoint(("reward.train", "value.estimate")) and not any(by_words.values()):
        returns = [name for name, meaning in known.items() if meaning.concept == "return" and not meaning.facets]
        known |= {name: replace(classify("reward"), label="return") for name in returns}
    if not _TOKEN_COUNTERS.isdisjoint(name.rpartition("/")[2] for name in metrics):
        throughputs = [name for name, meaning in known.items() if meaning.label == "throughput" and meaning.unit == "1"]
        known |= {name: replace(classify("tokens_per_second"), split=known[name].split) for name in throughputs}
    rewards = any(meaning.concept == "reward.train" for meaning in known.values())
    preferences = "reward.margin" in concepts
    for name, meaning in known.items():
        if rewards and meaning.concept == "loss.total":
            known[name] = replace(meaning, direction="neutral")
        elif preferences and meaning.concept == "success.pref":
            known[name] = replace(meaning, label="preference accuracy")
        elif meaning.concept == "reward.val_bare" and not rewards and "reward.val" not in concepts:
            known[name] = OTHER_VALIDATION
    return MappingProxyType(known)


def understood_metrics(metrics: tuple[str, ...]) -> frozenset[str]:
    """Return the metrics whose names say what they are, as in meanings()."""
    return frozenset(name for name, meaning in meanings(metrics).items() if meaning is not OTHER)


def meaning_in(metrics: tuple[str, ...], name: str) -> Meaning:
    """Return the meaning of a metric in a run with these metrics."""
    return meanings(metrics).get(name) or classify(name)


@lru_cache(maxsize=64)
def repeats_along_other_axis(metrics: tuple[str, ...]) -> frozenset[str]:
    """Return the metrics that repeat another one with seconds or iterations for steps.

    rsl_rl logs Train/mean_reward and Train/mean_reward/time; rl_games logs rewards/step, rewards/iter and rewards/time.
    """
    names = frozenset(metrics)
    parts = ((name, *name.rpartition("/")[::2]) for name in metrics if name.endswith(_OTHER_AXES))
    return frozenset(
        name
        for name, base, last in parts
        if base and last in _OTHER_AXES and (f"{base}/step" in names or (last == "time" and _is_twin(base, names)))
    )


def _drawn_along_steps(known: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Return the meaning of series such as rewards/step, if the same is also logged along other axes."""
    bases = (name.removesuffix("/step") for name in known if name.endswith("/step"))
    return {f"{base}/step": classify(base) for base in bases if any(f"{base}/{axis}" in known for axis in _OTHER_AXES)}


def _counters(known: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Return the meanings of Composer's counters: time/batch, time/sample and time/epoch, which are no timers.

    Source: composer 0.32.1, composer/trainer/trainer.py, `logger.log_metrics({"time/batch": …})`.
    """
    found: dict[str, Meaning] = {}
    for name in known:
        base = name.removesuffix(_IN_EPOCH)
        if base == name or base not in known:
            continue
        prefix = base.rpartition("/")[0]
        found[name] = _HIDDEN
        for counted, meant in _COUNTED.items():
            if (counter := f"{prefix}/{counted}") in known:
                found[counter] = classify(meant)
    return found


def _is_twin(base: str, names: frozenset[str]) -> bool:
    """Return whether the metric `base` was logged, and is not a timer that "/time" would be a part of."""
    return (base in names or f"{base}/iter" in names) and classify(base).panel not in ("time", "progress")


def _image_sizes(names: Mapping[str, Meaning]) -> Iterator[str]:
    """Yield the metrics that a tracker derives from a logged image."""
    for name in names:
        if name.endswith(".width"):
            base = name.removesuffix(".width")
            if f"{base}.height" in names:
                yield from (part for part in (base + end for end in _IMAGE_PARTS) if part in names)


def _meaning_of_mean(name: str) -> Meaning | None:
    """Return the meaning of a mean reward whose name does not say that it is of the validation, or None."""
    name = without_reducer(name)
    if name.rpartition("/")[2].lower().replace(" ", "_") != "mean_reward" or words_of(name).split == "val":
        return None
    return replace(classify("reward"), preference=5)
