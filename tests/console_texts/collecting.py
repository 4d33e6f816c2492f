"""collect(): the stored texts, and those that the console tests feed to the decoder and that are not stored yet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.console_texts.decoding import Decoded, decode, load
from tuimon.formats.console._decoder import ConsoleDecoder

FORMATS = Path(__file__).parents[1] / "formats"
TESTS = ("test_text_cases.py", "test_console*.py", "test_checkpoint_lines.py", "test_beast_tables.py")
MAX_SIZE = 8192
"""Bytes; longer texts are left out."""


def collect() -> list[Decoded]:
    """Run the console tests and return the distinct texts, in the order of their bytes, with what is decoded now.

    A stored text stays when its test is deleted.
    """
    os.environ["CI"] = "1"  # the same examples of the property tests in each run
    recorder = _Recorder()
    files = [str(path) for pattern in TESTS for path in sorted(FORMATS.glob(pattern))]
    with pytest.MonkeyPatch.context() as patch:
        recorder.record(patch)
        if pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *files], plugins=[recorder]):
            raise SystemExit("the console tests must pass before their texts are collected")
    tests = {text.text.encode("utf-8", "surrogateescape"): text.test for text in load()}
    for test, text in recorder.fed:
        if 0 < len(text) < MAX_SIZE:
            tests.setdefault(bytes(text), test)
    return [decode(tests[text], text.decode("utf-8", "surrogateescape")) for text in whole_texts(sorted(tests))]


def whole_texts(texts: Sequence[bytes]) -> list[bytes]:
    """Return the sorted texts but those that end within a line and that another one continues."""
    # of sorted texts, the next one continues a text if any does
    return [text for text, later in pairwise([*texts, b""]) if text.endswith(b"\n") or not later.startswith(text)]


class _Recorder:
    """Plug-in of pytest that keeps what each decoder is fed, but for those with a user's own patterns."""

    def __init__(self) -> None:
        self.fed: list[tuple[str, bytearray]] = []
        """(test, text) of each decoder."""
        self._test = ""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = f"{item.path.name}::{item.name.partition('[')[0]}"

    def record(self, patch: pytest.MonkeyPatch) -> None:
        """Keep from now on what is fed."""
        texts: dict[int, bytearray] = {}
        start, feed = ConsoleDecoder.__init__, ConsoleDecoder.feed

        def recorded_start(decoder: ConsoleDecoder, own: Sequence[Any] = ()) -> None:
            start(decoder, own)
            texts[id(decoder)] = bytearray()  # also replaces that of a deleted decoder
            if not own:
                self.fed.append((self._test, texts[id(decoder)]))

        def recorded_feed(decoder: ConsoleDecoder, data: bytes) -> Any:
            text = texts[id(decoder)]
            text += data[: MAX_SIZE - len(text)]
            return feed(decoder, data)

        patch.setattr(ConsoleDecoder, "__init__", recorded_start)
        patch.setattr(ConsoleDecoder, "feed", recorded_feed)
