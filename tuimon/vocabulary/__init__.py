"""What the name of a metric means: vocabulary.toml and its matcher.

    classify("critic/score/mean")        Meaning(concept="reward.train", label="reward", unit="1", direction="up", …)
    phase_of("time/train_step/execute")  Phase(id="train_actor", name="train_step", part="execute", …) or None
    memory_of("memory/generate/end/onload/max_reserved_frac/3")    MemoryTag(…, device=3, …) or None
    merge_key("eval_loss") == merge_key("eval/loss")

All are pure and cached, and cost nothing before the first call: the vocabulary is read then, as _compile has made it
ready.
"""

from tuimon.vocabulary.meaning import Concept, Meaning, Rule, classify, concepts
from tuimon.vocabulary.memory import MemoryTag, memory_of
from tuimon.vocabulary.names import merge_key, without_reducer
from tuimon.vocabulary.phases import Phase, is_nested, phase_of

__all__ = [
    "Concept",
    "Meaning",
    "MemoryTag",
    "Phase",
    "Rule",
    "classify",
    "concepts",
    "is_nested",
    "memory_of",
    "merge_key",
    "phase_of",
    "without_reducer",
]
