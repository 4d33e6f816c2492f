"""Meaning of metric names, checked with names from the source code of the frameworks that write them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.value_cases import values_of

from tuimon import vocabulary
from tuimon.draw.numbers import format_value
from tuimon.vocabulary import (
    classify,
    is_nested,
    meanings,
    memory_of,
    merge_key,
    pair_key,
    phase_of,
    repeats_along_other_axis,
    understood_metrics,
    unit_text,
    without_reducer,
)
from tuimon.vocabulary._compile import expressions, parse
from tuimon.vocabulary._document import MAX_NAME
from tuimon.vocabulary.meaning import _match

DOCUMENT = tomllib.loads(Path(vocabulary.__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
DATA = Path(__file__).parent.parent / "data" / "vocabulary"
CONCEPTS: dict[str, str] = json.loads((DATA / "vocab_expect.json").read_text())
PHASES: dict[str, str] = json.loads((DATA / "phase_expect.json").read_text())
ROLL_PHASES = (
    "train_step",
    "generate",
    "model_update",
    "compute_log_probs",
    "do_checkpoint",
    "compute_values",
    "compute_rewards",
)


def roll_names(devices: int, infix: str = "{}") -> Iterator[str]:
    """Yield every name that ROLL's documentation lists, with its placeholders filled in."""
    for line in (DATA / "roll_documented.txt").read_text().split():
        for phase in ROLL_PHASES if "{metric_infix}" in line else ("",):
            for device in range(devices) if "{device_id}" in line else (0,):
                yield line.replace("{metric_infix}", infix.format(phase)).replace("{device_id}", str(device))


def rows(file: str) -> list[list[str]]:
    """Return the rows of a table below DATA, whose columns are at least two blanks apart."""
    lines = (DATA / file).read_text().splitlines()
    return [re.split("  +", line) for line in lines if line and not line.startswith("#")]


def test_a_value_is_shown_with_the_unit_of_its_name() -> None:
    for name, logged, *expected in rows("shown_values.txt"):
        meaning = classify(name)
        shown = format_value(float(logged), unit_text(meaning.logged_unit))
        assert (name, [meaning.concept, meaning.logged_unit, shown]) == (name, expected)


def test_a_name_has_this_meaning() -> None:
    for name, *expected in rows("meanings.txt"):
        meaning = classify(name)
        fields = meaning.concept, meaning.direction, meaning.split, meaning.unit, f"{meaning.scale:g}"
        actual = [field if wanted != "-" else "-" for field, wanted in zip(fields, expected, strict=True)]
        assert (name, actual) == (name, expected)
    assert (classify("").concept, classify("").split) == ("other", "train")


def test_concepts_and_phases_of_names_of_frameworks() -> None:
    assert {name: classify(name).concept for name in CONCEPTS} == CONCEPTS
    assert {name: phase.id for name in PHASES if (phase := phase_of(name)) is not None} == PHASES


test_values = values_of(globals())


def unit_and_phase(name: str) -> tuple[str, str]:
    return classify(name).unit, phase_of(name).name


def nested(child: str, parent: str) -> bool:
    return is_nested(phase_of(child), phase_of(parent))


def part_of(name: str) -> str:
    return phase_of(name).part


def memory(name: str) -> tuple[str, bool, float] | None:
    tag = memory_of(name)
    return tag and (tag.kind, tag.fraction, tag.scale)


def number_of_keys(names: list[str]) -> int:
    return len({merge_key(name) for name in names})


def facets(template: str, name: str) -> dict[str, str] | None:
    match = re.fullmatch(parse(template).regex, name)
    return {key: value for key, value in match.groupdict().items() if value is not None} if match else None


def test_all_1128_documented_roll_names_are_known() -> None:
    names = {*roll_names(8), "system/step"}
    assert len(names) == 1128
    assert {n for n in names if classify(n).concept == "other"} == set()


@pytest.mark.parametrize("infix", ["{}", "actor_train/{}", "reward-math/{}"])
def test_every_part_of_memory_and_time_tags_is_parsed(infix: str) -> None:
    for name in roll_names(16, infix):
        parts = name.split("/")
        if name.startswith("memory/"):
            tag = memory_of(name)
            assert tag.cpu == name.startswith("memory/cpu/")
            place = ["cpu", *tag.phase.split("/")] if tag.cpu else tag.phase.split("/")
            ends = [tag.kind] if tag.cpu else [tag.load, tag.kind, str(tag.device)]
            assert ["memory", *place, tag.snapshot, *ends] == parts
            assert tag.fraction == any(part.endswith("_frac") for part in parts)
        elif name.startswith("time/") and parts[-1] in ("total", "execute", "onload", "offload"):
            phase = phase_of(name)
            assert ["time", *phase.name.split("."), phase.part] == parts


def test_names_that_are_easily_misread() -> None:
    """More of them are in meanings.txt."""
    assert classify("train/entropy_loss").sign_auto, "plus entropy in OpenRLHF and slime, minus entropy in SB3"
    assert not classify("actor/entropy").sign_auto
    # normalised, near 0 in GRPO
    assert classify("critic/rewards/mean").preference > classify("critic/score/mean").preference
    names = ("a@sum", "acc/mean@8", "TGC@1", "pass@k", "a@p50", "b@best")
    assert [without_reducer(name) for name in names] == ["a", "acc/mean@8", "TGC@1", "pass@k", "a", "b@best"]
    parts = ("total", "execute", "onload")  # the total contains the others
    phases = [phase_of(f"time/actor_train/train_step/{part}") for part in parts]
    assert [phase.part for phase in phases if phase is not None] == [*parts]


def test_validation_series_is_drawn_after_training_series() -> None:
    assert classify("eval/kl").preference > classify("train/kl").preference


def test_facets() -> None:
    assert classify("val-core/openai/gsm8k/acc/mean@8").facets == {"ds": "openai/gsm8k", "q": "mean", "k": "8"}
    assert classify("math_rule/critic/score/mean").facets == {"domain": "math_rule"}


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("poison_in_top5", None),
        ("time_to_accuracy", None),
        ("clean/top5", "success.accuracy"),
        ("reward_in_test", "reward.val"),
        ("loss_of_top5", "loss.part"),
        ("image_to_text_loss", "loss.part"),
        ("in_domain_accuracy", "success.accuracy"),
    ],
)
def test_name_with_a_preposition_is_of_what_stands_before_it(name: str, concept: str | None) -> None:
    assert {classify(known).concept for known in understood_metrics((name,))} == ({concept} if concept else set())


def test_long_names_take_bounded_time() -> None:
    assert classify("memory/" + "x/" * 5000 + "start/onload/allocated/0").concept == "other"
    for piece in ("reward/", "memory/start/end/", "actor/", "time/", "_val_", "a", "eval/reward.mean/", "((", "\n"):
        classify((piece * MAX_NAME)[:MAX_NAME])


@pytest.mark.parametrize("template", ["{train/|loss", "loss}", "{ds:**"])
def test_unbalanced_braces_are_an_error(template: str) -> None:
    with pytest.raises(ValueError, match="unbalanced braces"):
        parse(template)


@cache
def compiled_patterns() -> list[tuple[str, int, re.Pattern[str]]]:
    """Return (concept, preference, pattern) in the order of the document."""
    return [
        (concept["id"], pattern.get("preference", preference), re.compile(source))
        for concept in DOCUMENT["concept"]
        for preference, pattern in enumerate(concept["pattern"])
        for source, _ in expressions(pattern)
    ]


_NAMES = [*CONCEPTS, *roll_names(2)]
_PARTS = sorted({part for name in _NAMES for part in re.split("([/_.@-])", name)})


@st.composite
def _similar(draw: st.DrawFn) -> str:
    """Draw a known name with some parts replaced by parts of other names."""
    parts = re.split("([/_.@-])", draw(st.sampled_from(_NAMES)))
    for position in draw(st.lists(st.integers(0, len(parts) - 1), max_size=3)):
        parts[position] = draw(st.sampled_from(_PARTS) | st.text(max_size=3))
    return "".join(parts)


@given(st.sampled_from(_NAMES) | _similar() | st.text(max_size=20))
def test_first_matching_pattern_wins(name: str) -> None:
    meaning = _match(name, "")
    matches = ((concept, n, match) for concept, n, pattern in compiled_patterns() if (match := pattern.fullmatch(name)))
    first = next(matches, None)
    if first is None:
        assert meaning.concept == "other"
        return
    concept, preference, match = first
    facets = {key: text for key, text in match.groupdict().items() if text is not None}
    assert (meaning.concept, meaning.preference, dict(meaning.facets)) == (concept, preference, facets)


def test_no_template_takes_exponential_time() -> None:
    """Only a repeat inside a repeat backtracks exponentially, and a template can only repeat a single character class.

    Several repeats in a row are a low power of MAX_NAME.
    """
    patterns = [pattern for concept in DOCUMENT["concept"] for pattern in concept["pattern"]]
    templates = [template for p in patterns for key in ("names", "except") for template in p.get(key, ())]
    assert len(templates) > 300
    for template in templates:
        assert not re.search(r"\)[*+{]", parse(template).regex), template


def test_import_does_not_load_the_vocabulary() -> None:
    program = "import sys, tuimon.vocabulary; sys.exit('orjson' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("spelling", ["avg val loss", "Avg Val Loss", "AVG_VAL_LOSS", "avgValLoss", "avg-val-loss"])
def test_case_blanks_and_separators_do_not_change_the_meaning(spelling: str) -> None:
    assert classify(spelling) == classify("avg_val_loss")


def test_evaluation_sets_are_told_apart() -> None:
    sets = {classify(f"eval_{name}_loss").facets["ds"] for name in ("north", "south", "far_east")}
    assert sets == {"north", "south", "far_east"}


def test_training_and_validation_series_of_a_quantity_share_a_key() -> None:
    assert pair_key("val/cls_loss") == pair_key("train/cls_loss") != pair_key("train/box_loss")
    assert {pair_key(name) for name in ("Train Loss", "val_loss", "eval/loss", "Loss/test", "valid loss")} == {"loss"}


def test_meaning_depends_on_the_other_metrics_of_the_run() -> None:
    alone = meanings(("loss", "acc", "eval/north", "mean_reward"))
    assert alone["loss"].direction == "neutral", "mean_reward is the reward of the training"
    assert alone["mean_reward"].split == "train"
    assert alone["acc"].label == "accuracy"
    supervised = meanings(("loss", "eval/north"))
    assert (supervised["loss"].direction, supervised["eval/north"].direction) == ("down", "neutral")
    preferences = meanings(("loss", "acc", "rewards/margins"))
    assert preferences["acc"].label == "preference accuracy"
    assert meanings(("return",))["return"].concept == "reward.train"
    assert meanings(("return", "reward"))["return"].concept == "return"


def test_series_along_another_axis_and_image_sizes_are_hidden() -> None:
    names = ("Train/mean_reward", "Train/mean_reward/time", "rewards/step", "rewards/iter", "rewards/time", "perf/time")
    assert repeats_along_other_axis(names) == {"Train/mean_reward/time", "rewards/iter", "rewards/time"}
    known = meanings((*names, "sample.width", "sample.height", "sample.size", "buffer.size"))
    hidden = {name for name, meaning in known.items() if meaning.panel == "hidden"}
    assert hidden == {*repeats_along_other_axis(names), "sample.width", "sample.height", "sample.size"}
    assert known["rewards/step"].concept == "reward.train"


def test_no_label_is_internal() -> None:
    labels = {classify(name).label for name in (*_NAMES, "eval/runtime", "total_flos", "val_auc", "odd")}
    assert not {label for label in labels if "known" in label or "secondary" in label or "." in label}
    assert classify("val_auc").label == "auc"


def test_counters_of_composer_are_no_timers() -> None:
    counters = ("time/batch", "time/batch_in_epoch", "time/sample", "time/sample_in_epoch", "time/epoch")
    meant = meanings((*counters, "time/train", "loss/train/total"))
    assert [meant[name].concept for name in counters] == [
        "progress.step",
        "drop",
        "progress.samples",
        "drop",
        "progress.epoch",
    ]
    assert meant["time/train"].concept == "time.phase"
    alone = ("time/batch", "time/epoch", "time/rollout")
    assert {meanings(alone)[name].concept for name in alone} == {"time.phase"}


def test_of_very_many_names_the_shortest_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.vocabulary.context.MOST_NAMES", 2)
    names = ("deep/layers/0/critic/score/mean", "loss", "reward", "deep/layers/1/norm")
    found = meanings(names)
    assert tuple(found) == names
    assert [found[name].concept for name in names] == ["other", "loss.total", "reward.train", "other"]
    assert understood_metrics(names) == {"loss", "reward"}
