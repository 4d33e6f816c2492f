"""Lines of trainers that are recognised by their beginning: an engine for the rows of trainers.toml.

    step:7 - actor/pg_loss:0.0094 - training/global_step:7                verl
    Step 3 | 10.21s | Loss 0.5 | Grad. Norm 0.1                           prime-rl: loss/mean, optim/grad_norm
    validation loss at iteration 100 | lm loss: 0.5 |                     Megatron: validation/lm loss
    [step=100/1000,epoch=1,eta=0:10:00]                                   OLMo: opens a block of lines

To add a trainer, add a row with an example; the tests read the example of each row. What stands behind the beginning
is read like any line of names and numbers, unless the row says how its cells look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.row_steps import OverallSteps
from tuimon.formats._shared.rows import flatten
from tuimon.formats._shared.rows import number as number_of
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair, Quantity, Sink, number, printed_dict
from tuimon.formats.console.shapes.rows import pairs_of
from tuimon.formats.console.shapes.values import distinct

_WITHIN = 400
"""Characters within which a head that is searched for ends."""
_MAX_WAITING = 1000
_MAX_SHAPE = 2000
"""Characters; the rows for longer lines are not kept."""
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_COUNT = r"\d[\d,]{0,17}"
_PLACES = {
    name: rf"(?P<{name}>{_COUNT})" for name in ("step", "step2", "total", "last", "epoch", "epochs", "size", "position")
}
_PAIR = rf"(?<!\S)(?P<name>[^\s:,]{{1,120}}): (?P<value>{NUMBER})(?=,?(?:\s{{1,8}}[^\s:,]{{1,120}}:|\s{{0,8}}$))"
"""A name without blanks, with its number: each of "lr: 0.1, eta: 1 day  loss: 0.5" but the eta."""
_EXPONENTS = {"K": 3, "M": 6, "G": 9, "B": 9, "T": 12, "P": 15, "E": 18}


class Trainer(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table. Groups of `head`: step, total, epoch, size, stage, section and others."""

    id: str
    marks: tuple[str, ...]
    """Each of its lines contains one of them."""
    head: str
    """Regular expression of the beginning of the message. Without a step the lines belong to the row before."""
    example: str
    points: dict[str, tuple[int, float]] = {}
    """Metric -> (step, value) that the example gives."""
    whole: bool = False
    """Whether `head` matches at the beginning of the line rather than of the message."""
    within: bool = False
    """Whether `head` is searched for in the line."""
    cell: str = ""
    """Regular expression of a metric behind the head: groups name, value, factor, unit; section begins a section.

    `top` is a name outside of sections, `next` another value of the name before: "lr/1"."""
    columns: tuple[str, ...] = ()
    """Names of the numbers behind the head, which have none; "" for a number that is no metric."""
    header: str = ""
    """Regular expression of a line that names the numbers of later ones: groups names and section. These numbers are
    the group cells of `head`, or stand behind it; both are between commas or blanks."""
    heading: str = ""
    """Regular expression of a line that names the step of the rows below it; with the group ended, of those before."""
    once: bool = False
    """Whether a metric that was already given at the step of the row, or below its heading, is left out."""
    trimmed: str = ""
    """Regular expression of what is cut off from names."""
    waits: bool = False
    """Whether its rows have the step of the next line that names one."""
    dictionary: bool = False
    """Whether a printed dictionary or a JSON object follows the head; `steps` are its keys that name the step."""
    block: int = 0
    """Lines after the head that may belong to it: the head opens a block, and the lines hold cells."""
    close: str = ""
    """Regular expression of the line that ends a block."""
    strict: bool = False
    """Whether a line without cells ends a block."""
    held: bool = False
    """Whether the row of a block is complete where it ends, as its step is one of the cells."""
    steps: tuple[str, ...] = ()
    """Names of cells, or their last parts, that are the step of the block; the best first."""
    counts: tuple[str, ...] = ()
    """Names of cells that are the step of a block without any of `steps`, and no metrics then."""
    sections: dict[str, str] = {}
    """Prefix of names by the beginning of the title of a section, in lower case; else the title itself."""
    stages: dict[str, str] = {}
    """Prefix of names by the group stage; else "<stage>/"."""
    names: dict[str, str] = {}
    """Metrics by the names that are printed with their prefix; a key that ends in "/" or "*" is a beginning."""
    prefix: str = ""
    """Of all names; "{rank}" is a group of the head."""
    suffix: str = ""
    first: str = ""
    """Name of the first number, which has none."""
    skipped: tuple[str, ...] = ()
    units: dict[str, str] = {}
    """Units by parts of names."""
    unitless: bool = False
    """Whether the prefix says the unit."""
    keep_step: bool = False
    """Whether the step of lines that name none stays that of the row before."""
    first_epoch: int = 0
    shift: int = 0
    """Added to the step that is printed."""
    restarts: bool = False
    """Whether the step begins again with each epoch, whose size is not printed."""
    follows: str = ""
    """Id of the row of the training in whose epoch it is: its step is the last one of that; else it is the epoch."""
    counted: bool = False
    """Whether the step is the number of the line."""
    unit: str = ""
    """What the step counts, or with a negative shift what is printed, if that is not "step"."""
    repeats: str = ""
    """Regular expression of a line below which a row is repeated that was logged before."""
    only_total: bool = False
    """Whether the line only names the total of steps."""
    last: bool = False
    """Whether only the line of the last position gives a row, and it has the step of the row before."""


class TrainerReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._open: Trainer | None = None
        """Row of the table whose block is open."""
        self._cell: re.Pattern[str] | None = None
        self._step: int | None = 0
        self._section = ""
        self._held: list[Pair] = []
        self._steps = OverallSteps()
        self._last: dict[str, int] = {}
        """Last step of each row of the table."""
        self._alone = False
        self._columns: tuple[str, ...] = ()
        """Names that the last header line gave."""
        self._header: Trainer | None = None
        """Row of the table that this line belongs to."""
        self._headings: dict[str, int] = {}
        """Step of the last heading of each row of the table."""
        self._totals: dict[str, int] = {}
        """Total that it names."""
        self._given: dict[str, int] = {}
        """Metric -> step at which it was last given, of rows whose metrics are given once."""
        self._waiting: list[tuple[list[Pair], Line]] = []
        self._repeats = False
        """Whether the next row repeats one that was logged before."""

    def interrupt(self) -> None:
        super().interrupt()
        self._open, self._step, self._section = None, None, ""
        self._columns, self._waiting = (), []
        self._headings.clear()

    @property
    def awaits_end(self) -> bool:
        return bool(self._waiting)

    def end(self) -> None:
        self._release(self.sink.step)

    def _release(self, step: int | None) -> None:
        """Add the rows that wait for a step."""
        waiting, self._waiting = self._waiting, []
        for row, line in waiting:
            self.sink.add_row(row, step, line)

    def reads_alone(self, line: Line) -> bool:
        return self._alone

    @property
    def is_neutral(self) -> bool:
        return not (self._waiting or self._headings or self._repeats)

    def read(self, line: Line) -> bool:
        text = line.text
        self._alone = False
        if self._open and self._held and self._open.close and re.match(self._open.close, text):
            return self._end_block(self._open, line)
        shape = text.translate(_WITHOUT_DIGITS)
        for trainer, head, cell in _candidates(shape) if len(shape) <= _MAX_SHAPE else _candidates.__wrapped__(shape):
            if trainer.repeats and _compiled(trainer.repeats).search(text):
                self._repeats = True
                return False
            if match := _beginning(trainer, head, line):
                if trainer.repeats and self._repeats:
                    self._repeats = False
                    return True
                return self._begin(trainer, match, cell, line)
            if trainer.heading and (match := _compiled(trainer.heading).search(line.message)):
                return self._note_heading(trainer, match)
            if trainer.header and (match := re.match(trainer.header, text)):
                groups = match.groupdict()
                self._section = f"{groups['section']}/" if groups.get("section") else self._section
                self._columns, self._header = (
                    tuple(distinct(_SEPARATOR.split((groups["names"] or "").strip(" :")))),
                    trainer,
                )
                return True
        return self.lines_awaited > 0 and self._open is not None and self._read_block(self._open, line)

    def _note_heading(self, trainer: Trainer, match: re.Match[str]) -> bool:
        """Note the step of the rows below a line. The line is left to other families, which may need it as well."""
        step = int(match["step"]) + trainer.shift + ("ended" in match.groupdict() and match["ended"] is not None)
        self._headings[trainer.id] = step
        self._given.clear()
        if trainer.unit:
            self._totals[trainer.id] = int(match["total"])
        else:
            self.sink.note_heading(step)
        return False

    def _begin(self, trainer: Trainer, match: re.Match[str], cell: re.Pattern[str] | None, line: Line) -> bool:
        """Read the line that a head begins."""
        groups = {name: text for name, text in match.groupdict().items() if text is not None}
        numbers = {name: int(groups[name].replace(",", "")) for name in _PLACES if name in groups}
        step = self._step_of(trainer, numbers)
        if trainer.only_total:
            self.sink.facts.report_progress(self.sink.step or 0, numbers["total"])
            return True
        total = numbers.get("epochs", 0) * numbers.get("size", 0) or numbers.get("total", numbers.get("last", -1) + 1)
        counted = trainer.unit if trainer.shift < 0 else ""  # its lines count from 1
        if step is not None and total:
            self.sink.facts.report_progress(step, total, counted)
        if line.bar is not None:
            self.sink.facts.note_rate(int(line.bar["total"]), line.bar["inside"])
        if trainer.block and step is None and self._open not in (None, trainer) and self.lines_awaited:
            return self._read_block(self._open, line)  # a bar within the block of another trainer
        if trainer.block:
            if step is not None or trainer is not self._open:
                self._step = None if step is None and (trainer.held or self._step is None) else step or 0
            self._open, self._cell, self.lines_awaited, self._held = trainer, cell, trainer.block, []
            self._section = _prefix_of(trainer, groups["section"]) if "section" in groups else ""
            return True
        if trainer.heading and not trainer.dictionary:
            step = self._headings.get(trainer.id)
            if step is None:
                return False
            self.sink.facts.report_progress(step, self._totals.get(trainer.id, 0), counted)
        if trainer.last and numbers["position"] != numbers["size"]:
            return True
        if trainer.header and trainer is not self._header:
            return False
        if trainer.counted and not self.sink.interrupted:
            step = self._last[trainer.id] = self._last.get(trainer.id, -1) + 1
        named = step is not None or not {"step", "step2", "epoch"}.isdisjoint(numbers)
        finds_step = trainer.keep_step or trainer.counted or trainer.waits or trainer.steps
        if not named and self.sink.step is None and not finds_step:
            return False
        prefix = trainer.prefix.format(**groups) + (self._section if trainer.header else "")
        if stage := groups.get("stage", ""):
            prefix += trainer.stages.get(stage, f"{stage[0].lower()}{stage[1:]}/")
        if "cells" in groups:
            text, start = groups["cells"], 0
        else:
            text, start = match.string, match.end()
        row = [
            (f"{name}{trainer.suffix.format(**groups)}", value)
            for name, value in self._row(trainer, text, start, cell, prefix)
        ]
        if trainer.steps and not trainer.block:
            step, row = self._step_among(trainer, row)
            named = step is not None
        if trainer.once and step is not None and row:
            row = [pair for pair in row if self._given.get(pair[0]) != step]
            if not row:
                return True
            self._given.update((name, step) for name, _ in row)
        if "epoch" in numbers and not prefix and row and not (trainer.restarts or trainer.follows):
            row.append(("epoch", float(numbers["epoch"])))
        self._alone = named and not (
            trainer.heading or trainer.once or trainer.restarts or trainer.follows or self._waiting
        )
        if trainer.waits:
            self._waiting += [(row, line)] if len(self._waiting) < _MAX_WAITING else []
            return True
        if step is not None and row:
            self._release(step)
        unit = "step" if counted else trainer.unit or "step"
        return self.sink.add_row(row, step, line, trainer.counted, trainer.keep_step, unit)

    def _step_of(self, trainer: Trainer, numbers: Mapping[str, int]) -> int | None:
        """Return the step that the head names, counted from the first epoch; None if it names none."""
        step = numbers.get("step", numbers.get("step2"))
        if trainer.follows:
            return self._last.get(trainer.follows, numbers["epoch"]) if "epoch" in numbers else None
        if step is None:
            return None
        if trainer.restarts:
            step = self._steps.overall(numbers["epoch"], step)
        elif "epoch" in numbers and "size" in numbers:
            begin = (numbers["epoch"] - trainer.first_epoch) * numbers["size"]
            self._last[trainer.id] = begin + numbers["size"]
            return begin + step + trainer.shift
        self._last[trainer.id] = step
        return step + trainer.shift

    def _step_among(self, trainer: Trainer, row: list[Pair]) -> tuple[int | None, list[Pair]]:
        """Return (step, row without it) of a dictionary: the best key that names it, else the heading."""
        values = dict(row)
        named = [values[name] for name in trainer.steps if name in values and values[name].is_integer()]
        step = int(named[0]) if named else self._headings.get(trainer.id, None if self.sink.interrupted else 0)
        return step, [pair for pair in row if pair[0] != trainer.steps[0]]

    def _read_block(self, trainer: Trainer, line: Line) -> bool:
        """Read a line of an open block."""
        text = line.text if trainer.whole or trainer.within else line.message
        if self._cell is not None and self._cell.search(text):
            row = list(self._row(trainer, text, 0, self._cell, self._section))
            if trainer.held:
                self._held += row
                return True
            self._note_step(trainer, row)
            self.sink.add_row(row, self._step, line)
            return True
        if trainer.strict or (trainer.close and re.match(trainer.close, text)):
            return self._end_block(trainer, line)
        return False

    def _end_block(self, trainer: Trainer, line: Line) -> bool:
        held, self._held, self._open, self.lines_awaited = self._held, [], None, min(self.lines_awaited, 1)
        self._note_step(trainer, held)
        return bool(held) and self.sink.add_row(held, self._step, line)

    def _note_step(self, trainer: Trainer, row: list[Pair]) -> None:
        """Note the step that cells of a block name: the best of them, which stays a metric, else a count."""
        cells = {name.rpartition("/")[2]: value for name, value in row} | dict(row)
        steps = [cells[name] for name in trainer.steps if name in cells and cells[name].is_integer()]
        counts = [(name, value) for name, value in row if name in trainer.counts and value.is_integer()]
        if steps:
            self._step = int(steps[0])
        elif counts:
            row.remove(counts[0])
            self._step = int(counts[0][1])

    def _row(
        self, trainer: Trainer, text: str, start: int, cell: re.Pattern[str] | None, prefix: str
    ) -> Iterator[Pair]:
        """Yield the metrics in a line from `start` on, with their prefix and the names of the table."""
        columns = self._columns if trainer.header else trainer.columns
        for name, value in _pairs(trainer, text[start:], cell, columns):
            if value is None:
                prefix = self._section = _prefix_of(trainer, name)
            elif name not in trainer.skipped:
                name = _named(trainer, name, prefix)
                yield name, float(value) if trainer.unitless or name.endswith(")") else value


def _pairs(
    trainer: Trainer, text: str, cell: re.Pattern[str] | None, columns: tuple[str, ...]
) -> Iterator[tuple[str, float | None]]:
    """Yield the names and numbers of a text; (title, None) for the beginning of a section."""
    if trainer.dictionary:
        row = _dictionary(text) if trainer.steps else printed_dict(text) or {}
        yield from ((name, value) for name, value in row.items() if not isinstance(value, str))
    elif columns:
        cells = _SEPARATOR.split(text.strip()) if trainer.header else _NUMBERS.findall(text)
        if not trainer.header or len(cells) == len(columns):
            values = zip(columns, map(number, cells), strict=False)
            yield from ((name, value) for name, value in values if name and value is not None)
    elif cell is None:
        yield from pairs_of(f"{trainer.first} {text}" if trainer.first and text.lstrip()[:1].isdigit() else text)
    else:
        before, further = "", 0
        for match in cell.finditer(text):
            groups = match.groupdict()
            if (section := groups.get("section")) or groups.get("top"):
                yield (section or "").strip(), None
            if section:
                continue
            if groups.get("next"):
                further += 1
                yield f"{before}/{further}", float(groups["next"])
            elif name := groups.get("name") or groups.get("name2") or groups.get("top"):
                before, further = name.strip(), 0
                printed = (groups.get("value") or groups["value2"]).replace(",", "")
                factor = _EXPONENTS.get(groups.get("factor") or "", 0)
                value = float(f"{printed}e{factor}") if factor else float(printed)
                unit = groups.get("unit") or next((unit for part, unit in trainer.units.items() if part in name), "")
                yield before, Quantity(value, unit) if unit else value


def _dictionary(text: str) -> dict[str, float]:
    """Return the numbers of a JSON object or of a printed dictionary."""
    try:
        parsed = parse(text.encode())
    except FormatError:
        parsed = printed_dict(text)
    row = flatten(parsed) if isinstance(parsed, dict) else {}
    return {name: value for name, printed in row.items() if (value := number_of(printed, name)) is not None}


def _named(trainer: Trainer, name: str, prefix: str) -> str:
    if trainer.trimmed:
        name = re.sub(trainer.trimmed, "", name)
    name = trainer.names.get(name, name)
    full = f"{prefix}{name}"
    for printed, wanted in trainer.names.items():
        if full == printed or (printed.endswith(("/", "*")) and full.startswith(printed.rstrip("*"))):
            return wanted + full[len(printed.rstrip("*")) :]
    return full


def _prefix_of(trainer: Trainer, title: str) -> str:
    if not title or title.endswith("/"):
        return title
    known = (prefix for begin, prefix in trainer.sections.items() if title.strip().lower().startswith(begin))
    return next(known, f"{title.strip().lower().replace(' ', '_') if trainer.sections else title.strip()}/")


def _beginning(trainer: Trainer, head: re.Pattern[str], line: Line) -> re.Match[str] | None:
    if trainer.within:
        return head.search(line.text, 0, _WITHIN) if not trainer.dictionary else head.search(line.text)
    return head.match(line.text if trainer.whole else line.message)


@cache
def trainers() -> tuple[Trainer, ...]:
    """Return the rows of the table, in their order."""
    rows = load_toml(Path(__file__).with_name("trainers.toml"))["trainer"]
    return msgspec.convert(rows, tuple[Trainer, ...])


@cache
def _expressions() -> tuple[tuple[Trainer, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (
            trainer,
            _compiled(trainer.head),
            _compiled(trainer.cell) if trainer.cell else None,
        )
        for trainer in trainers()
    )


@cache
def _numbers_by_mark() -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return (mark without its digits, places in the table of the rows that have it)."""
    rows: dict[str, list[int]] = {}
    for place, trainer in enumerate(trainers()):
        for mark in trainer.marks:
            rows.setdefault(mark.translate(_WITHOUT_DIGITS), []).append(place)
    return tuple((mark, tuple(places)) for mark, places in rows.items())


@lru_cache(1024)
def _candidates(shape: str) -> tuple[tuple[Trainer, re.Pattern[str], re.Pattern[str] | None], ...]:
    """Return the rows of the table of which a line without its digits contains a mark, in their order."""
    places = {place for mark, found in _numbers_by_mark() if mark in shape for place in found}
    return tuple(_expressions()[place] for place in sorted(places))


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    for name, place in {**_PLACES, "number": NUMBER, "pair": _PAIR}.items():
        expression = expression.replace(f"{{{name}}}", place)
    return re.compile(expression, re.ASCII)


_NUMBERS = re.compile(NUMBER, re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]+")
_MARKS = dict.fromkeys(mark for trainer in trainers() for mark in trainer.marks)
FAMILY = Family("trainers", tuple(_MARKS), TrainerReader, order=10, self_closing=True)
