"""Large documents: only the part after the known rows is parsed, with the same result as a whole parse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import dump, facts, rows, series
from support.json_points import training_history as log

from tuimon.errors import Unfinished
from tuimon.formats import Format
from tuimon.formats.json import _document, trainer_state, training_log
from tuimon.formats.json import rows as json_rows
from tuimon.model.points import Fact, Item, Replaced


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the documents that were parsed whole, with tail parsing enabled for any size."""
    monkeypatch.setattr(_document, "SUFFIX_FROM", 0)
    lengths: list[int] = []

    def parse(data: bytes) -> Any:
        lengths.append(len(data))
        return parse_document(data)

    parse_document = _document.parse_document
    monkeypatch.setattr(_document, "parse_document", parse)
    return lengths


def test_new_rows_are_read_without_a_whole_parse(parsed: list[int]) -> None:
    decoder = training_log.FORMAT.decoder()
    held = rows(decoder.load(dump(log(20, 2))))
    for train, val in ((21, 2), (21, 2), (24, 3), (40, 3)):
        items = decoder.load(dump(log(train, val)))
        assert Replaced() not in items
        held += rows(items)
    assert sorted(held) == sorted(rows(training_log.FORMAT.decoder().load(dump(log(40, 3)))))
    assert len(parsed) == 2  # the first document, and the comparison above


@pytest.mark.parametrize(
    ("format", "build"),
    [
        (trainer_state.FORMAT, lambda n: {"best": "]}", "log_history": log(n)["train_history"], "z": [1, {"a": [2]}]}),
        (trainer_state.FORMAT, lambda n: {"log_history": log(n)["train_history"]}),
        (json_rows.FORMAT, lambda n: log(n)["train_history"]),
        (json_rows.FORMAT, lambda n: {"train": log(n)["train_history"], "trainer": "train", "train]": "}]"}),
    ],
)
def test_tail_of_every_layout(parsed: list[int], format: Format, build: Any) -> None:
    decoder = format.decoder()
    held = rows(decoder.load(dump(build(20))))
    for count in (21, 25):
        held += rows(decoder.load(dump(build(count))))
    assert len(parsed) == 1
    assert held == rows(format.decoder().load(dump(build(25))))


@given(
    st.lists(
        st.tuples(
            st.integers(1, 30),
            st.integers(0, 3),
            st.sampled_from(["", "}]", '"val_history"', "]"]),
            st.booleans(),
            st.integers(0, 90),
        ),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=100)
def test_tail_parse_equals_whole_parse(saves: list[tuple[int, int, str, bool, int]]) -> None:
    """Documents that grow, shrink, change or are half written, with text that looks like their structure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_document, "SUFFIX_FROM", 0)
        quick = training_log.FORMAT.decoder()
        patch.setattr(_document, "SUFFIX_FROM", 1 << 30)
        slow = training_log.FORMAT.decoder()
        for train, val, note, changed, cut in saves:
            document = log(train, val, note=note, extra=[{"step": 1, "tag": note, "x": 1}])
            document["config"]["note"] = note
            document["train_history"][-1]["note"] = note
            if changed:
                document["train_history"][0]["loss"] = 5.0
            data = dump(document)
            data = data[: len(data) - cut] if cut > 70 else data
            results = []
            for decoder, threshold in ((quick, 0), (slow, 1 << 30)):
                patch.setattr(_document, "SUFFIX_FROM", threshold)
                try:
                    items = decoder.load(data)
                except Unfinished:
                    results.append("unfinished")
                else:
                    results.append(
                        (Replaced() in items, sorted(rows(items)), [repr(i) for i in items if isinstance(i, Fact)])
                    )
            assert results[0] == results[1]


def test_change_before_the_known_rows_is_noticed(parsed: list[int]) -> None:
    decoder = training_log.FORMAT.decoder()
    decoder.load(dump(log(20)))
    items = decoder.load(dump(log(21, config={"lr": 0.2})))
    assert facts(items, "config") == [{"lr": 0.2}]
    assert len(rows(items)) == 2
    document = log(22)
    document["train_history"][0]["loss"] = 9.0
    assert decoder.load(dump(document))[0] == Replaced()
    assert len(parsed) == 3


def test_rewritten_validation_history_replaces_all_points(parsed: list[int]) -> None:
    decoder = training_log.FORMAT.decoder()
    decoder.load(dump(log(20, 3)))
    items = decoder.load(dump(log(21, 1)))
    assert items[0] == Replaced()
    assert series(items) == series(training_log.FORMAT.decoder().load(dump(log(21, 1))))


def test_half_of_a_large_document_is_unfinished(parsed: list[int]) -> None:
    decoder = training_log.FORMAT.decoder()
    decoder.load(dump(log(20, 1)))
    data = dump(log(25, 1))
    items: list[Item] = []
    for length in range(len(dump(log(20))), len(data)):
        with pytest.raises(Unfinished) as raised:
            decoder.load(data[:length])
        items += raised.value.items
    assert len(rows(items + decoder.load(data))) == 10
