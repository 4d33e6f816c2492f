"""Search of texts. A regular expression runs in a process of its own, with a limit: it can take exponential time and
would block every thread of this process meanwhile."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
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
        self._worker: subprocess.Popen[str] | None = None
        self.query = query
        self._limit = limit
        self._is_expression = query.startswith("re:")
        if self._is_expression:
            self._pattern = re.compile(query[3:])
        else:
            self._pattern = re.compile(re.escape(query), 0 if query != query.lower() else re.IGNORECASE)
        self._lock = threading.Lock()
        self._failure = ""

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the search. Raises TooSlow."""
        return bool(self.spans([text], 1)[0])

    def matches(self, sample: Sample) -> bool:
        """Return whether the response or the prompt of a sample contains the search. Raises TooSlow."""
        return self.is_in(sample.response) or bool(sample.prompt and self.is_in(sample.prompt))

    def spans(self, texts: Sequence[str], most: int = 1000) -> list[Spans]:
        """Return the places (start, end) of the first `most` matches in each text. Raises TooSlow."""
        if not self._is_expression:
            return [[match.span() for match in islice(self._pattern.finditer(text), most)] for text in texts]
        return self._ask(texts, most)

    def cancel(self) -> None:
        """End the process, so that a thread that waits for it gets TooSlow."""
        if (worker := self._worker) is not None:
            worker.kill()

    def __del__(self) -> None:
        self._end()

    def _ask(self, texts: Sequence[str], most: int) -> list[Spans]:
        with self._lock:
            if self._failure:
                raise TooSlow(self._failure)
            worker = self._worker or self._start()
            assert worker.stdin is not None
            assert worker.stdout is not None
            try:
                worker.stdin.write(json.dumps([most, list(texts)]) + "\n")
                worker.stdin.flush()
                answer = worker.stdout.readline()
            except OSError:
                answer = ""
            if answer.endswith("\n"):
                return [[(start, end) for start, end in spans] for spans in json.loads(answer)]
            self._end()
            took = f"took more than {self._limit:g} s" if worker.returncode == -signal.SIGVTALRM else "failed"
            self._failure = f"The search was ended: the expression {took} for {sum(map(len, texts)):,} characters"
            raise TooSlow(self._failure)

    def _start(self) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("expression_worker.py")
        self._worker = worker = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
            start_new_session=True,  # ctrl+c in the terminal must reach only the UI process
        )
        assert worker.stdin is not None
        worker.stdin.write(json.dumps([self._pattern.pattern, self._pattern.flags, self._limit]) + "\n")
        return worker

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.kill()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):  # unsent text in its buffer
                    pipe.close()
        worker.wait()
