"""Search of texts. An expression can take exponential time, so that it has a limit: `regex` has one, and lets other
threads run meanwhile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias

from tuimon.samples import Sample

Spans: TypeAlias = list[tuple[int, int]]
LIMIT = 2.0
"""CPU time (s) that an expression may take for one text."""


class TooSlow(Exception):
    """A regular expression took longer than LIMIT for one text. The message is a sentence for the user."""


class Search:
    """A search for a text or an expression. Several threads may use it."""

    def __init__(self, query: str, limit: float = LIMIT) -> None:
        """query: "re:EXPRESSION", or a text whose case matters if it has capitals. limit: CPU time (s) per text.

        Raises re.error.
        """
        import regex

        self.query = query
        self._limit = limit
        self._failure = ""
        try:
            if query.startswith("re:"):
                self._pattern = regex.compile(query[3:])
            else:
                self._pattern = regex.compile(re.escape(query), 0 if query != query.lower() else regex.IGNORECASE)
        except regex.error as error:
            raise re.error(str(error)) from None

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the search. Raises TooSlow."""
        return bool(self.spans([text], 1)[0])

    def matches(self, sample: Sample) -> bool:
        """Return whether the response or the prompt of a sample contains the search. Raises TooSlow."""
        return self.is_in(sample.response) or bool(sample.prompt and self.is_in(sample.prompt))

    def spans(self, texts: Sequence[str], most: int = 1000) -> list[Spans]:
        """Return the places (start, end) of the first `most` matches in each text. Raises TooSlow, and from then on at
        once."""
        return [self._spans(text, most) for text in texts]

    def _spans(self, text: str, most: int) -> Spans:
        try:
            if not self._failure:
                found = self._pattern.finditer(text, concurrent=True, timeout=self._limit)
                return [match.span() for match in islice(found, most)]
        except TimeoutError:
            took = f"took more than {self._limit:g} s for {len(text):,} characters"
            self._failure = f"The search was ended: the expression {took}"
        raise TooSlow(self._failure)
