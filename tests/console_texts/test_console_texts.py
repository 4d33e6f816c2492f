"""The console decoder gives for each stored text what it gave when the file was written."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tests.console_texts.decoding import Decoded, decode, differences, load, save
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Item

TEXT = "step 1 loss: 0.5 lr: 0.1\nstep 2 loss: 0.25 lr: 0.1\n"


def test_the_decoder_gives_what_is_stored() -> None:
    """In a process of its own: its time zone is fixed, and no other test has decoded a timestamp in another one."""
    command = [sys.executable, "-m", "tests.console_texts", "diff"]
    found = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert found.stdout == ""
    assert found.returncode == 0, found.stderr


SLASH_DATE = re.compile(rb"\d\d?/\d\d?/\d\d")


@cache
def stored() -> list[tuple[str, bytes]]:
    """Return (test, text) of each stored text but those with a date that later lines may explain."""
    texts = [(known.test, known.text.encode("utf-8", "surrogateescape")) for known in load()]
    return [(test, text) for test, text in texts if not SLASH_DATE.search(text)]


@settings(max_examples=200)
@given(st.randoms(use_true_random=True))
def test_a_text_gives_the_same_in_any_pieces(rng: random.Random) -> None:
    _, text = rng.choice(stored())
    cuts = [rng.randrange(len(text)) for _ in range(rng.choice([1, 5, 50]))]
    whole, cut = feed(ConsoleDecoder(), text), feed(ConsoleDecoder(), text, cuts)
    assert rows(cut) == rows(whole)
    assert damage(cut) == damage(whole)


@settings(max_examples=100)
@given(st.randoms(use_true_random=True))
def test_a_text_with_bars_gives_the_same_whenever_it_is_read_while_it_grows(rng: random.Random) -> None:
    """Written by Hugging Face's Trainer, whose rows have the step of a bar before or after them."""
    _, text = rng.choice([known for known in stored() if known[0].startswith("test_console_trainer_bars")])
    anywhere = [rng.randrange(len(text)) for _ in range(rng.choice([1, 5, 100]))]
    after_brackets = [index + 1 for index, byte in enumerate(text) if byte in b"]}" and rng.random() < 0.3]
    decoder, items = ConsoleDecoder(), list[Item]()
    for begin, end in pairwise(sorted({0, *anywhere, *rng.choice([[], after_brackets]), len(text)})):
        items += [*decoder.feed(text[begin:end]), *(() if decoder.must_reread else decoder.flush())]
        if decoder.must_reread:  # as tuimon.reader.follow does
            decoder = ConsoleDecoder()
            items = [*decoder.feed(text[:end]), *decoder.flush()]
    assert sorted(rows(items)) == sorted(rows(feed(ConsoleDecoder(), text)))


def test_each_stored_text_is_another_one() -> None:
    texts = load()
    assert len({text.id for text in texts}) == len(texts)
    assert sum(len(text.points) > 0 for text in texts) > len(texts) / 2


NAN = float("nan")


@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        ("loss", []),
        ("loss", [[1, 0.5, NAN]]),
        ("loss", [[1, 0.5, NAN], [3, 0.25, NAN]]),
        ("loss", [[1, 0.5, NAN], [2, 0.26, NAN]]),
        ("loss", [[1, 0.5, NAN], [2, 0.25, 1e9]]),
        ("loss", [[2, 0.25, NAN], [1, 0.5, NAN]]),
        ("kl", [[1, -0.0, NAN]]),
    ],
)
def test_a_changed_metric_is_the_only_difference(metric: str, rows: list[list[float]]) -> None:
    known, changed = decode("", TEXT), decode("", TEXT)
    assert set(known.points) == {"loss", "lr"}
    assert not list(differences(known, changed))
    changed.points[metric] = rows
    assert [sentence.partition(":")[0] for sentence in differences(known, changed)] == [metric]
    damaged = decode("", "step 1 loss: 0.5\n\0\0\nTraining finished\n")
    assert "Damage" in [kind for kind, _ in damaged.others]
    assert len(list(differences(damaged, Decoded(test="", text="", points=damaged.points, others=[])))) == 1


def test_the_file_depends_only_on_its_texts(tmp_path: Path) -> None:
    texts = [decode("", TEXT), decode("", "loss: \udcff 0.5, step 3, value: nan\n")]
    save(texts, tmp_path / "a")
    save(texts, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for text, stored in zip(texts, load(tmp_path / "a"), strict=True):
        assert stored.text == text.text
        assert not list(differences(text, stored))
