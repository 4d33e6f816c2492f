"""Meaning of metric names: vocabulary.toml and the functions that look names up in it.

    classify("critic/score/mean")        Meaning(concept="reward.train", label="reward", unit="1", direction="up", …)
    phase_of("time/train_step/execute")  Phase(id="train_actor", name="train_step", part="execute", …) or None
    memory_of("memory/generate/end/onload/max_reserved_frac/3")    MemoryTag(…, device=3, …) or None
    named_unit("perf/max_memory_allocated_gb")     "GB"; unit_text("pct")     "%"
    merge_key("eval_loss") == merge_key("eval/loss")
    pair_key("val/cls_loss") == pair_key("train/cls_loss")
    meanings(("loss", "reward"))["loss"]       Meaning as classify() gives it, changed by what else the run logs

All functions are pure and cached. The vocabulary is read at the first call, not on import.
"""

from tuimon.vocabulary.context import meaning_in, meanings, repeats_along_other_axis, understood_metrics
from tuimon.vocabulary.meaning import Concept, Meaning, classify, concepts
from tuimon.vocabulary.memory import MemoryTag, memory_of
from tuimon.vocabulary.names import merge_key, without_reducer
from tuimon.vocabulary.phases import Phase, is_nested, phase_of
from tuimon.vocabulary.units import BYTES, DATE, SECONDS, named_unit, unit_text
from tuimon.vocabulary.words import TRAINING_CONCEPTS, pair_key

__all__ = [
    "BYTES",
    "DATE",
    "SECONDS",
    "TRAINING_CONCEPTS",
    "Concept",
    "Meaning",
    "MemoryTag",
    "Phase",
    "classify",
    "concepts",
    "is_nested",
    "meaning_in",
    "meanings",
    "memory_of",
    "merge_key",
    "named_unit",
    "pair_key",
    "phase_of",
    "repeats_along_other_axis",
    "understood_metrics",
    "unit_text",
    "without_reducer",
]
