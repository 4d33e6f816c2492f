"""Read names by their words: spelling, split, and the quantity that the words name.

canonical("训练损失")                        "train_loss"
canonical("Reward / Total reward (mean)")    "reward/total_reward_mean"
words_of("eval_german_wer")                  Words(split="val", stem="wer", rest="german", …)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.vocabulary._document import compiled

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE = re.compile(r"'s\b")
_SLASH = re.compile(r"\s*/\s*|(?<!\d)\.(?=[^\W\d])")
_SEPARATORS = re.compile(r"[\s\-()\[\]:=]+")
_CUTOFF = re.compile(r"(?:@|_at_|\bat )(\d{1,4}|[kK])$", re.ASCII)
_PLAIN = re.compile(r"[a-z0-9_/@]*")
_WEAK_MARKS = frozenset({"valid", "dev", "test", "testing"})
"""Marks of the validation that are also ordinary words."""
TRAINING_CONCEPTS: Mapping[str, tuple[str, ...]] = {
    "reward.val": ("reward.train",),
    "reward.val_bare": ("reward.train",),
    "success.val": ("success.train", "success.accuracy"),
    "loss.val": ("loss.total", "loss.sft", "loss.part"),
}
"""Concept of the validation -> concepts of the same quantity of the training."""
_MAX_WORDS = 12
"""Names of more words are not looked up."""


class Words(Struct, frozen=True):
    """Meaning of the words of a name."""

    split: str
    """train | val | "" (not said)."""
    number: int = -1
    """Index of the stem in the vocabulary; -1 if the name has no known stem."""
    stem: str = ""
    """The words of the stem, joined with "_"."""
    rest: str = ""
    """Words that name a part or a data set, joined with "_"; "" if the stem is the whole name."""
    spread: str = ""
    """max | min | std of the quantity; "" for the quantity itself."""
    mark: str = ""
    """The split if there is no known stem. "test" then counts only at the ends of the name."""


class _Tables(NamedTuple):
    validation: frozenset[str]
    train: frozenset[str]
    ignored: frozenset[str]
    not_parts: frozenset[str]
    prepositions: frozenset[str]
    spreads: Mapping[str, str]
    whole: Mapping[str, int]
    end: Mapping[str, int]
    begin: Mapping[str, int]
    last: frozenset[str]
    """Last words of stems; the last two if the last is a number."""
    first: frozenset[str]
    """First words of the stems that may begin a name."""


@cache
def _word_tables() -> _Tables:
    content = compiled()
    words, whole = content["words"], content["stem_whole"]
    return _Tables(
        frozenset(words["validation"]),
        frozenset(words["train"]),
        frozenset(words["ignored"]),
        frozenset(words["not_parts"]),
        frozenset(words["prepositions"]),
        words["spreads"],
        whole,
        content["stem_end"],
        content["stem_begin"],
        frozenset(_last(stem.split("_")) for stem in whole),
        frozenset(stem.split("_")[0] for stem in content["stem_begin"]),
    )


def _last(words: Sequence[str]) -> str:
    """Return the last word, or the last two if it is a number."""
    return "_".join(words[-2:]) if words[-1].isdigit() else words[-1]


@lru_cache(maxsize=16384)
def canonical(name: str) -> str:
    """Return the name in lower case, with "_" between words and "/" between parts."""
    if _PLAIN.fullmatch(name):
        return name
    name = _SLASH.sub("/", _POSSESSIVE.sub("", _translated(name.lower())))
    return "/".join([_SEPARATORS.sub("_", part).strip("_") for part in name.split("/")])


def _translated(name: str) -> str:
    """Return the name with English words for those of other languages that the vocabulary knows."""
    translations, pattern = _translations()
    return pattern.sub(lambda word: f" {translations[word[0]]} ", name)


@cache
def _translations() -> tuple[Mapping[str, str], re.Pattern[str]]:
    """Return (English word by word of another language, expression that matches these words)."""
    translations: dict[str, str] = compiled()["words"]["translations"]
    texts = sorted(translations, key=len, reverse=True)
    # Words of alphabets are whole words; other scripts have no blanks between words. The word comes before the test for
    # its beginning: an expression whose alternatives begin with characters skips texts ten times as fast.
    parts = [rf"{text}(?<!\w{text})\b" if text[0] < "\u2e80" else text for text in map(re.escape, texts)]
    return translations, re.compile("|".join(parts))


def words_of(name: str) -> Words:
    """Return what the words of a name say. It is split at separators, then at capitals.

    - The number of "recall@20" and "ndcg_at_k" is no word; it is kept in the stem.
    - "Reward + Adv" names several quantities, and none of them.
    """
    if " + " in name:
        return Words("")
    if cutoff := _CUTOFF.search(name):
        words = words_of(name[: cutoff.start()])
        return replace(words, stem=f"{words.stem}@{cutoff[1]}") if words.stem else words
    words = _words_and_split(canonical(name))
    if words.number < 0 and not name.islower() and not name.isupper():
        camel = _words_and_split(canonical(_CAMEL.sub("_", name)))
        return camel if camel.number >= 0 or not words.mark else words
    return words


@lru_cache(maxsize=16384)
def pair_key(name: str) -> str:
    """Return a key that the training series and the validation series of one quantity share.

    "train/cls_loss" and "val/cls_loss" give "cls_loss"; "Train Loss" and "eval_loss" give "loss".
    """
    tables = _word_tables()
    words = [part for word in _WORD.findall(canonical(name)) for part in _unglued(word)]
    kept = [word for word in words if word not in tables.train and word not in tables.validation]
    return "_".join([word for word in kept if word not in tables.ignored] or kept)


@lru_cache(maxsize=4096)
def _unglued(word: str) -> tuple[str, ...]:
    """Split a word like "valloss"."""
    tables = _word_tables()
    for end in range(1, len(word)) if len(word) > 4 and word not in tables.whole else ():
        if word[end:] in tables.whole and (word[:end] in tables.validation or word[:end] in tables.train):
            return word[:end], word[end:]
    return (word,)


class _Part(NamedTuple):
    """A part of a name between slashes."""

    words: tuple[str, ...]
    """Words other than the following."""
    starts: tuple[bool, ...]
    """Whether no word but ignored ones precedes the word."""
    marks: tuple[str, ...]
    """Words that mark a split."""
    spread: str


@lru_cache(maxsize=4096)
def _part_of_name(text: str) -> _Part:
    tables = _word_tables()
    words: list[str] = []
    starts: list[bool] = []
    marks: list[str] = []
    spread, first = "", True
    for word in (part for glued in _WORD.findall(text) for part in _unglued(glued)):
        if word in tables.validation or word in tables.train:
            marks.append(word)
        elif word in tables.spreads:
            spread = tables.spreads[word]
        else:
            words.append(word)
            starts.append(first)
            first = first and word in tables.ignored
    return _Part(tuple(words), tuple(starts), tuple(marks), spread)


def _words_and_split(name: str) -> Words:
    tables = _word_tables()
    parts = [_part_of_name(text) for text in name.split("/")]
    words = [word for part in parts for word in part.words]
    starts = [start for part in parts for start in part.starts]
    marks = [mark for part in parts for mark in part.marks]
    spread = next((part.spread for part in reversed(parts) if part.spread), "")
    split = _split_of_marks(marks)
    if 0 < len(words) <= _MAX_WORDS and (match := _stem(words, starts)):
        number, stem, rest = match
        return Words(
            split, number, stem, "_".join([word for word in rest if word not in tables.ignored]), spread, split
        )
    if not _WEAK_MARKS.isdisjoint(marks):
        ends = [part for word in _WORD.findall(name) for part in _unglued(word)]
        split = _split_of_marks([mark for mark in marks if mark not in _WEAK_MARKS or mark in (ends[0], ends[-1])])
    return Words(split, mark=split)


def _split_of_marks(marks: Sequence[str]) -> str:
    if not marks:
        return ""
    tables = _word_tables()
    validation, train = (not words.isdisjoint(marks) for words in (tables.validation, tables.train))
    return "" if validation == train else "val" if validation else "train"


def _stem(words: Sequence[str], starts: Sequence[bool]) -> tuple[int, str, Sequence[str]] | None:
    """Return (index, stem, other words) of the stem: the whole name, or the longest at its end or its beginning.

    starts: whether a word begins a part of the name.
    """
    tables = _word_tables()
    if words[-1] not in tables.ignored and _last(words) not in tables.last and tables.first.isdisjoint(words):
        return None
    kept = [place for place, word in enumerate(words) if word not in tables.ignored]
    core = [words[place] for place in kept]
    ends = _last(words) in tables.last or (core and _last(core) in tables.last)
    if not ends and tables.first.isdisjoint(words):
        return None
    for candidate in (words, core):
        stem = "_".join(dict.fromkeys(candidate))
        if stem in tables.whole:
            return tables.whole[stem], stem, ()
    return _words_inside(words, starts) or _words_inside(core, [starts[place] for place in kept])


def _words_inside(words: Sequence[str], starts: Sequence[bool]) -> tuple[int, str, Sequence[str]] | None:
    tables = _word_tables()
    if not words:
        return None
    if _last(words) in tables.last:
        for place in range(1, len(words)):
            if words[place - 1] in tables.prepositions:
                continue
            stem = "_".join(words[place:])
            if stem in tables.end:
                return tables.end[stem], stem, words[:place]
            if starts[place] and stem in tables.whole:
                return tables.whole[stem], stem, words[:place]
    if words[-1] not in tables.not_parts:
        last_part = max(place for place, start in enumerate(starts) if start or not place)
        for begin in {0, last_part}:
            for place in range(len(words) - 1, begin, -1) if words[begin] in tables.first else ():
                stem = "_".join(words[begin:place])
                if stem in tables.begin:
                    return tables.begin[stem], stem, (*words[:begin], *words[place:])
    return None
