"""Patterns from the settings for a user's own console lines: matching, settings, curves, and proposed ones."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import facts, feed, series

from tuimon import config
from tuimon.commands import main
from tuimon.errors import UsageError
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console._patterns import Pattern, pattern_family
from tuimon.formats.console._unread import pattern_of
from tuimon.formats.console.text import with_patterns
from tuimon.monitor.local import open_run
from tuimon.monitor.process import ReaderProcess
from tuimon.store import Snapshot

LOG = """\
Trainer of mine, 3 settings
[2026-08-19 12:00:05] zyklus     1/300 | loss  0.5000 (avg 0.5) | lr 1.0e-03
[2026-08-19 12:00:06] zyklus     2/300 | loss nan (avg 0.5) | lr 1.0e-03
    held out: acc = 75.5% of 200
[2026-08-19 12:00:07] zyklus     3/300 | loss -inf (avg 0.5) | lr 1.0e-03
"""
PATTERNS = ("zyklus {step}/{total_steps} | loss {loss} (avg {train/loss_avg}){}lr {lr}", "held out: acc = {val/acc}%")
POINTS = {
    "loss": [(1, "0.5"), (2, "nan"), (3, "-inf")],
    "train/loss_avg": [(1, "0.5"), (2, "0.5"), (3, "0.5")],
    "lr": [(1, "0.001"), (2, "0.001"), (3, "0.001")],
    "total_steps": [(1, "300.0"), (2, "300.0"), (3, "300.0")],
    "val/acc": [(2, "75.5")],
}


def read(patterns: tuple[str, ...], text: str, cuts: list[int] | None = None) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder([pattern_family(patterns)]), text.encode(), cuts or []))


def held(snapshot: Snapshot) -> dict[str, list[tuple[int, str]]]:
    [run] = snapshot.runs
    curves = {name: run.curve(name) for name in run.metrics}
    return {
        name: [(step, repr(value)) for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True)]
        for name, curve in curves.items()
        if curve is not None
    }


@given(st.lists(st.integers(0, len(LOG)), max_size=8))
def test_patterns_read_a_log_cut_anywhere(cuts: list[int]) -> None:
    assert read(PATTERNS, LOG, sorted(cuts)) == POINTS


TABLE = tomllib.loads((Path(__file__).parent / "cases" / "console_patterns.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("pattern", "line", "printed"), [*TABLE["matches"], *([*row, None] for row in TABLE["others"])]
)
def test_printed_values_by_name(pattern: str, line: str, printed: dict[str, str] | None) -> None:
    places = Pattern(pattern).numbers(line)
    assert (None if places is None else {name: line[slice(*place)] for name, place in places.items()}) == printed


@pytest.mark.parametrize(("pattern", "why"), TABLE["invalid"])
def test_invalid_patterns_raise_a_usage_error(pattern: str, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)) as caught:
        pattern_family([pattern])
    assert caught.value.message.startswith("console_patterns: ")
    assert "{loss}" in caught.value.hint


def test_times_and_steps() -> None:
    assert read(("{step}: loss {loss}",), "1: loss 0.5\n2: loss 0.125\n") == {"loss": [(1, "0.5"), (2, "0.125")]}
    decoder = ConsoleDecoder([pattern_family(["at {time}: x={x}", "epoch {epoch} y={y}", "z={z}"])])
    text = b"z=5\nz=6\nat 1787140805.5: x=1\nepoch 7 y=2\nz=8\nstep 9 loss 0.5\nz=9\n"
    assert series(feed(decoder, text)) == {
        "z": [(0, "5.0"), (1, "6.0"), (7, "8.0"), (9, "9.0")],
        "x": [(2, "1.0")],
        "y": [(7, "2.0")],
        "loss": [(9, "0.5")],
    }


LINE = "[2026-11-25 10:00:01] it 10/500 | loss 2.31 | ppl 10.1 | 412 ms/it | 18k tok/s | mem 61.3/80 GB | g 0.81 | 7B\n"
USUAL = {"loss": 2.31, "ppl": 10.1, "ms/it": 412.0, "tok/s": 18000.0, "mem": 61.3, "g": 0.81}


def test_time_per_update_has_its_unit() -> None:
    items = feed(ConsoleDecoder([pattern_family(["upd#{step} | {upd_time} ms/upd"])]), b"upd#5 | 412 ms/upd\n")
    assert facts(items, "units") == [{"upd_time": {"unit": "ms"}}]


@pytest.mark.parametrize(
    ("pattern", "named", "instead", "unit"),
    [
        ("{} it {step}/{} | loss {loss} | ppl {} | {t} ms/it | {}", {"t": 412.0}, {"ms/it"}, "ms"),
        ("| {rate}k tok/s", {"rate": 18000.0}, {"tok/s"}, "tok/s"),
        ("it {step}/{total_steps} | loss {train/loss} |", {"train/loss": 2.31, "total_steps": 500.0}, {"loss"}, None),
        ("ppl {p} |", {"p": 10.1}, {"ppl"}, None),
        ("mem {gpu}/80 GB", {"gpu": 61.3}, {"mem"}, "GB"),
        ("g {norm} | {tokens}B", {"norm": 0.81, "tokens": 7e9}, {"g"}, None),
    ],
)
def test_units_after_names_and_the_other_numbers_of_the_line(
    pattern: str, named: dict[str, float], instead: set[str], unit: str | None
) -> None:
    """The numbers that a pattern names have the factor and the unit that it has after them; the others stay."""
    items = feed(ConsoleDecoder([pattern_family([pattern])]), LINE.encode())
    row = {name: float(value) for name, [(_, value)] in series(items).items()}
    assert row == {name: value for name, value in USUAL.items() if name not in instead} | named
    units = {name: printed["unit"] for fact in facts(items, "units") for name, printed in fact.items()}
    assert {units.get(name) for name in named} <= {unit, None}
    assert unit is None or unit in {units.get(name) for name in named}


_MISSED = 'pattern 2 of console_patterns matched no line (the last one like it: "acc = 0.9 of 200")'


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("loss 0.5 x\nloss 0.4 x\n", "no step recognised: 2 rows have their number as step"),
        ("it 3: loss 0.5 x\nloss 0.4 x\n", ""),
        ("it 3: loss 0.5 x\nacc = 0.9 of 200\n", _MISSED),
        ("it 3: loss 0.5 x\nacc = 0.9 of 200\nacc = 90 %\n", ""),
        ("it 3: loss 0.5 x\n[rank1]: acc = 0.9 of 200\n[rank2]: it 3: loss 1 x\n[rank2]: acc = 90 %\n", ""),
        ("acc = 0.9 of 200\n", _MISSED),
    ],
)
def test_rows_without_a_step_and_patterns_without_a_line_are_noted(text: str, remark: str) -> None:
    decoder = ConsoleDecoder([pattern_family(["it {step}: loss {loss} x", "acc = {acc} %", "loss {loss} x"])])
    feed(decoder, text.encode())
    assert decoder.remark == remark


@pytest.mark.parametrize(
    "line", ["a 1 " * 16_000, "a " + "1" * 60_000, "a " + " " * 60_000, "a 1 b" * 13_000], ids=range(4)
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    """A backtracking engine with `.*` between the names would exceed the time limit of a test on each of these."""
    pattern = Pattern("{}".join(f"a {{x{index}}} b" for index in range(12)) + "{}c {y}")
    assert pattern.numbers(line[: 1 << 16]) is None


def test_patterns_from_the_settings_to_the_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that no format recognises otherwise, read in this process and through the reader process."""
    log = tmp_path / "run" / "notes.txt"
    log.parent.mkdir()
    log.write_text(LOG)
    assert main(["summary", str(log)]) == 3
    file = tmp_path / "config.toml"
    file.write_text("console_patterns = [\n" + "".join(f'    "{pattern}",\n' for pattern in PATTERNS) + "]\n")
    monkeypatch.setenv("TUIMON_CONFIG", str(file))
    assert held(open_run(log)) == POINTS
    capsys.readouterr()
    assert main(["export", str(log), "--by-source"]) == 0
    exported = capsys.readouterr().out.splitlines()
    assert len(exported) == 1 + sum(map(len, POINTS.values()))
    monitor = ReaderProcess([str(log)], console_patterns=config.load().console_patterns)
    monitor.start()
    try:
        until = time.monotonic() + 60
        while not (monitor.snapshot().runs and held(monitor.snapshot()) == POINTS):
            assert time.monotonic() < until, monitor.snapshot().notices
            time.sleep(0.02)
    finally:
        monitor.close()
    file.write_text('console_patterns = ["loss"]\n')
    for command in (["summary", str(log)], ["export", str(log)], ["doctor", str(log)], [str(log), "--once"]):
        assert main(command) == 2
        assert "console_patterns: 'loss'" in capsys.readouterr().err


def test_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('console_patterns = "loss {loss}"\n')
    with pytest.raises(UsageError, match="console_patterns must be a list of strings"):
        config.load({"TUIMON_CONFIG": str(file)})
    said = {"TUIMON_CONFIG": str(tmp_path / "none"), "TUIMON_CONSOLE_PATTERNS": "a {b}\n c {d} "}
    assert config.load(said).console_patterns == ("a {b}", "c {d}")


# ---------------------------------------------------------------- proposals

UNREAD = [
    "zzz {} qwx {} / {}",
    "2026-03-01 10:00:01 | INFO | zzz {}: qwx={} yyy={}",
    "[{}] {{qwx}} = {}; yyy: {}",
    "<<{}>> qwx~{} (yyy {}ms) ok",
    "zzz\t{}\tqwx\t{}\t{}",
]


@pytest.mark.parametrize("line", UNREAD)
def test_the_proposed_pattern_reads_the_lines(line: str) -> None:
    text = "".join(line.format(step, f"0.{step}5", f"1.{step}5") + "\n" for step in range(11, 19)).encode()
    decoder = ConsoleDecoder()
    assert series([item for item in decoder.feed(text) if not isinstance(item, str)]) == {}
    found = re.search(r'console_patterns = \["(.*)"\]', decoder.remark)
    assert found is not None
    read = series(feed(with_patterns([found[1]]).decoder(), text))
    assert read
    assert {step for points in read.values() for step, _ in points} == set(range(11, 19))


@pytest.mark.parametrize("line", ["no number", "qwx 0.5", "0.5 0.25 0.125"])
def test_a_line_without_a_step_has_no_pattern(line: str) -> None:
    assert pattern_of(line) == ""


def test_lines_whose_numbers_do_not_change_have_no_proposal() -> None:
    decoder = ConsoleDecoder()
    decoder.feed(b"zzz 3 qwx 0.5\n" * 20)
    assert decoder.remark == ""
