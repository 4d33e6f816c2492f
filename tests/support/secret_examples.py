"""Recall and precision of tuimon.redact on the labelled examples of tests/data/secrets.

An example with a secret is found if no part of any of its secrets is left. Two kinds of error lower the precision: an
example without a secret that is changed, and an example whose harmless words are hidden along with the secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tuimon.redact import redacted, redacted_text

CORPUS = Path(__file__).parents[1] / "data" / "secrets" / "corpus.txt"
_SECRET = re.compile("«(.*?)»")
_WORD = re.compile(r"[A-Za-z]{4,}")


class Example(NamedTuple):
    """One labelled example."""

    kind: str
    """text | config."""
    text: str
    """A text, or settings as JSON."""
    secrets: tuple[str, ...]
    """Empty for a harmless example."""

    def result(self) -> str:
        """Return the example without its secrets, in the same form."""
        if self.kind == "text":
            return redacted_text(self.text)
        return json.dumps(redacted(json.loads(self.text)), ensure_ascii=False)

    def is_found(self) -> bool:
        """Return whether all secrets are hidden."""
        result = self.result()
        return all(secret not in result for secret in self.secrets)

    def is_kept(self) -> bool:
        """Return whether all that is harmless is shown."""
        result = self.result()
        if not self.secrets:
            return result == (
                self.text if self.kind == "text" else json.dumps(json.loads(self.text), ensure_ascii=False)
            )
        rest = self.text
        for secret in self.secrets:
            rest = rest.replace(secret, " ")
        return all(word in result for word in _WORD.findall(rest) if word not in _NOT_CHECKED)


_NOT_CHECKED = frozenset(
    [
        "Bearer",
        "Basic",
        "token",
        "BEGIN",
        "OPENSSH",
        "PRIVATE",
        "sessionid",
        "csrftoken",
        "session",
        "HttpOnly",
        "https",
        "example",
        "hook",
    ]
)
"""Words that may be hidden together with a secret: the scheme of a header, the frame of a key, other cookies."""


class Score(NamedTuple):
    """Result over the whole corpus."""

    missed: list[Example]
    overdone: list[Example]
    secrets: int
    harmless: int

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / self.secrets

    @property
    def precision(self) -> float:
        right = self.secrets - len(self.missed)
        return right / (right + len(self.overdone))


def examples() -> Iterator[Example]:
    """Yield all examples."""
    for line in CORPUS.read_text("utf-8").splitlines():
        kind, _, text = line.replace("¦", "").partition("\t")
        if kind == "name":
            values = ("ordinary-value",) if "«" in text else ()
            for name in text.strip("«»").split():
                yield Example("config", json.dumps({name: "ordinary-value"}), values)
            continue
        text = text.replace("\\n", "\n") if kind == "text" else text
        yield Example(kind, text.replace("«", "").replace("»", ""), tuple(_SECRET.findall(text.replace("\n", "\0"))))


def score() -> Score:
    """Measure all examples."""
    everything = list(examples())
    missed = [example for example in everything if example.secrets and not example.is_found()]
    overdone = [example for example in everything if not example.is_kept()]
    secrets = sum(bool(example.secrets) for example in everything)
    return Score(missed, overdone, secrets, len(everything) - secrets)
