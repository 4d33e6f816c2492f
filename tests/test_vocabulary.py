"""What metric names mean, held against names read from the source of the frameworks that write them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from re import _parser as regex_parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.vocabulary import classify, concepts, is_nested, memory_of, merge_key, phase_of, without_reducer
from tuimon.vocabulary._compile import compiled, guarded, written
from tuimon.vocabulary._document import COMPILED, MAX_NAME, document
from tuimon.vocabulary.meaning import _match

DATA = Path(__file__).parent / "data" / "vocabulary"
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
    """Every name that ROLL's documentation lists, with its placeholders filled in."""
    for line in (DATA / "roll_documented.txt").read_text().split():
        for phase in ROLL_PHASES if "{metric_infix}" in line else ("",):
            for device in range(devices) if "{device_id}" in line else (0,):
                yield line.replace("{metric_infix}", infix.format(phase)).replace("{device_id}", str(device))


@pytest.mark.parametrize(("name", "concept"), CONCEPTS.items())
def test_concept(name: str, concept: str) -> None:
    assert classify(name).concept == concept


@pytest.mark.parametrize(("name", "phase"), PHASES.items())
def test_phase(name: str, phase: str) -> None:
    found = phase_of(name)
    assert found is not None
    assert found.id == phase


def test_documented_roll_names_of_eight_devices_are_the_1128_series_of_a_real_run() -> None:
    names = {*roll_names(8), "system/step"}
    assert len(names) == 1128
    assert {n for n in names if classify(n).concept == "other"} == set()


@pytest.mark.parametrize("infix", ["{}", "actor_train/{}", "reward-math/{}"])
def test_every_memory_and_time_tag_is_understood_in_full(infix: str) -> None:
    for name in roll_names(16, infix):
        parts = name.split("/")
        if name.startswith("memory/cpu/"):
            tag = memory_of(name)
            assert tag is not None
            assert tag.cpu
            assert ["memory", "cpu", *tag.phase.split("/"), tag.snapshot, tag.kind] == parts
        elif name.startswith("memory/"):
            tag = memory_of(name)
            assert tag is not None
            assert ["memory", *tag.phase.split("/"), tag.snapshot, tag.load, tag.kind, str(tag.device)] == parts
            assert tag.fraction == name.split("/")[-2].endswith("_frac")
        elif name.startswith("time/") and parts[-1] in ("total", "execute", "onload", "offload"):
            phase = phase_of(name)
            assert phase is not None
            assert ["time", *phase.name.split("."), phase.part] == parts


TRAPS = {
    "train/entropy_loss": lambda: classify("train/entropy_loss").sign_auto and not classify("actor/entropy").sign_auto,
    "val/*": lambda: (
        (classify("val/score/mean").concept, classify("val/ratio").concept, classify("val/clipfrac_avg").concept)
        == ("reward.val", "ratio", "clip_frac.value")
    ),
    "train/step_train, train/teacher_forward": lambda: (
        classify("train/step_train").unit == "s" and classify("train/teacher_forward").unit == "s"
    ),
    "train/lr(1e-3)": lambda: classify("train/lr(1e-3)").scale == 1e-3 and classify("train/lr").scale == 1,
    "train_tool_stats/tool_success_rate": lambda: classify("train_tool_stats/tool_success_rate").unit == "pct",
    "@ suffixes": lambda: (
        [without_reducer(n) for n in ("a@sum", "acc/mean@8", "TGC@1", "pass@k", "a@p50", "b@best")]
        == ["a", "acc/mean@8", "TGC@1", "pass@k", "a", "b@best"]
    ),
    "time/step_total (ROLL RLVR)": lambda: classify("time/step_total").concept == "time.step",
    "memory/.../0": lambda: "rank" in next(c.note for c in concepts() if c.id == "gpu.frac"),
    "critic/rewards/mean": lambda: (
        classify("critic/rewards/mean").preference > classify("critic/score/mean").preference
    ),
    "time/actor_train/train_step/*": lambda: (
        [
            part.part
            for part in map(phase_of, (f"time/actor_train/train_step/{p}" for p in ("total", "execute", "onload")))
            if part
        ]
        == ["total", "execute", "onload"]
    ),
}


def test_there_is_a_check_for_every_trap() -> None:
    assert set(TRAPS) == {trap["what"] for trap in document()["trap"]}


@pytest.mark.parametrize("what", TRAPS)
def test_trap(what: str) -> None:
    assert TRAPS[what]()


@pytest.mark.parametrize(
    ("name", "concept", "split"),
    [
        ("train_history/reward", "reward.train", "train"),
        ("train_history/loss", "loss.total", "train"),
        ("train_history/lr", "lr", "train"),
        ("val_history/val_reward", "reward.val", "val"),
        ("val_history/eval_loss", "loss.val", "val"),
        ("val_history/val_accuracy", "success.pref", "val"),
        ("usability_history/has_box_rate", "success.val", "val"),
        ("eval_kl", "kl.ref", "val"),
        ("eval/entropy", "entropy", "val"),
        ("train/reward", "reward.train", "train"),
        ("compare_train/loss", "loss.total", "train"),
        ("compare_val/loss", "loss.val", "val"),
        ("validation/epoch_loss", "loss.val", "val"),
        ("trainer/actor/pg_loss", "loss.policy", "train"),
        ("runs/explorer/rollout/reward/mean", "reward.train", "train"),
        ("_timestamp", "drop", "train"),
        ("__swanlab__.cpu.pct", "machine", "train"),
        ("memory/max_reserved(%)", "gpu.frac", "train"),
        ("奖励", "other", "train"),
        ("", "other", "train"),
        ("/", "other", "train"),
    ],
)
def test_sections_sub_runs_and_twins(name: str, concept: str, split: str) -> None:
    meaning = classify(name)
    assert (meaning.concept, meaning.split) == (concept, split)


def test_a_validation_twin_is_drawn_after_its_training_series() -> None:
    assert classify("eval/kl").preference > classify("train/kl").preference


def test_facets() -> None:
    assert classify("val-core/openai/gsm8k/acc/mean@8").facets == {"ds": "openai/gsm8k", "q": "mean", "k": "8"}
    assert classify("math_rule/critic/score/mean").facets == {"domain": "math_rule"}


@pytest.mark.parametrize(
    ("child", "parent", "nested"),
    [
        ("time/actor_infer/generate/total", "time/step_rollout", True),
        ("time/critic/train_step/total", "time/step_train", True),
        ("time/reference/compute_log_probs/total", "time/ref_log_probs_values_reward", True),
        ("time/compute_values/total", "time/old_log_probs_values", True),
        ("time/reward-math/compute_rewards/total", "time/ref_log_probs_values_reward", True),
        ("time/actor_train/do_checkpoint/total", "time/step_train", False),
        ("time/get_batch_cost_train", "time/step_rollout", True),
        ("time/step_rollout", "time/get_batch_cost_train", False),
        ("perf/actor_train_time", "perf/train_time", True),
        ("perf/update_weights_time", "perf/train_time", False),
        (
            "timing/train/prepare_for_generation/transfer_and_update_weights",
            "timing/train/prepare_for_generation/total",
            True,
        ),
        ("timing_s/gen", "timing_s/old_log_prob", False),
    ],
)
def test_which_timers_lie_inside_another(child: str, parent: str, nested: bool) -> None:
    inner, outer = phase_of(child), phase_of(parent)
    assert inner is not None
    assert outer is not None
    assert is_nested(inner, outer) is nested


def test_statistics_of_timers_are_no_parts_of_a_step() -> None:
    for name in (
        "scheduler/math/time/generate/mean",
        "timing_s/agent_loop/generate_sequences/max",
        "system/time/gen_mean",
    ):
        phase = phase_of(name)
        assert phase is not None
        assert phase.part == "statistic"


@pytest.mark.parametrize(
    ("name", "kind", "fraction", "scale"),
    [
        ("perf/max_memory_reserved_gb", "max_reserved", False, 1),
        ("memory(GiB)", "used", False, 1),
        ("memory/max_reserved(%)", "max_reserved_frac", True, 0.01),
        ("memory/max_active(GiB)", "max_allocated", False, 1),
        ("vram_allocated", "max_allocated", False, 1),
        ("peak_memory_reserved", "max_reserved", False, 1),
        ("ray/node.1.gpu.3.mem_gb", "used", False, 1),
        ("perf/cpu_memory_used_gb", "rss", False, 1),
    ],
)
def test_memory_tags_of_other_frameworks(name: str, kind: str, fraction: bool, scale: float) -> None:
    tag = memory_of(name)
    assert tag is not None
    assert (tag.kind, tag.fraction, tag.scale) == (kind, fraction, scale)


@pytest.mark.parametrize(
    "names",
    [
        ("eval_loss", "eval/loss"),
        ("loss", "train/loss", "train_history/loss"),
        ("actor/pg_loss", "actor/pg_loss@sum"),
        ("val_history/val_reward", "val_reward"),
        ("val/acc@5", "val/acc_at_5"),
    ],
)
def test_spellings_of_one_number_share_a_key(names: tuple[str, ...]) -> None:
    assert len({merge_key(name) for name in names}) == 1


def test_different_numbers_have_different_keys() -> None:
    names = ["loss", "eval_loss", "val_loss", "critic/loss", "val_history/step", "train_history/step", "TGC@1", "TGC@4"]
    assert len({merge_key(name) for name in names}) == len(names)


def test_a_name_of_any_length_is_bounded_work() -> None:
    assert classify("memory/" + "x/" * 5000 + "start/onload/allocated/0").concept == "other"
    for piece in ("reward/", "memory/start/end/", "actor/", "time/", "_val_", "a", "eval/reward.mean/", "((", "\n"):
        classify((piece * MAX_NAME)[:MAX_NAME])


def _repeats(node: Any, inside: bool = False) -> Iterator[bool]:
    """For each unbounded repeat of a parsed regular expression: whether it stands inside another."""
    for operation, argument in node:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            _, high, body = argument
            unbounded = high == regex_parser.MAXREPEAT
            if unbounded:
                yield inside
            yield from _repeats(body, inside or unbounded)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _repeats(branch, inside)
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
            yield from _repeats(argument[-1], inside)


def test_what_was_compiled_is_the_vocabulary() -> None:
    """If not, the head of vocabulary.toml tells how to make it so."""
    assert written(compiled()) == COMPILED.read_text(encoding="utf-8")


_PATTERNS = [
    (concept["id"], preference, re.compile(guarded(pattern)))
    for concept in document()["concept"]
    for preference, pattern in enumerate(concept["pattern"])
]
_NAMES = [*CONCEPTS, *roll_names(2)]
_PARTS = sorted({part for name in _NAMES for part in re.split("([/_.@-])", name)})


@st.composite
def _alike(draw: st.DrawFn) -> str:
    """A known name, of which some parts are those of others."""
    parts = re.split("([/_.@-])", draw(st.sampled_from(_NAMES)))
    for place in draw(st.lists(st.integers(0, len(parts) - 1), max_size=3)):
        parts[place] = draw(st.sampled_from(_PARTS) | st.text(max_size=3))
    return "".join(parts)


@given(st.sampled_from(_NAMES) | _alike() | st.text(max_size=20))
@settings(max_examples=1000)
def test_a_name_is_read_as_all_patterns_in_their_order_read_it(name: str) -> None:
    meaning = _match(name, "")
    found = [(*told, match) for *told, pattern in _PATTERNS if (match := pattern.fullmatch(name))]
    if not found:
        assert meaning.concept == "other"
        return
    concept, preference, match = found[0]
    facets = {key.rstrip("0123456789"): text for key, text in match.groupdict().items() if text is not None}
    assert (meaning.concept, meaning.preference, dict(meaning.facets)) == (concept, preference, facets)


def test_no_pattern_can_take_exponential_time() -> None:
    """Only a repeat inside a repeat backtracks exponentially; a few in a row are a low power of MAX_NAME."""
    sources = [p[key] for c in document()["concept"] for p in c["pattern"] for key in ("re", "exclude") if key in p]
    assert len(sources) > 100
    for source in sources:
        assert not any(_repeats(regex_parser.parse(source))), source


def test_every_rule_has_its_source() -> None:
    rules = [rule for concept in concepts() for rule in concept.rules]
    assert len(rules) > 30
    for rule in rules:
        assert rule.basis in ("source", "house")
        assert rule.severity in ("info", "warn", "crit")
        assert rule.source


def test_importing_the_vocabulary_reads_nothing() -> None:
    program = "import sys, tuimon.vocabulary; sys.exit('orjson' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
