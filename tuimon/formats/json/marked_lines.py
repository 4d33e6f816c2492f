"""Lines of text with a JSON record of their own layout.

    DLLogger (NVIDIA)  nvlog.json    DLLL {"timestamp": "1700000001", "step": [1, 20, 100], "data": {"loss": 3.0}, …}
    MLPerf             result_0.txt  :::MLLOG {"time_ms": …, "key": "train_loss", "value": 3.0, "metadata": {"step": 1}}
    loguru             any name      {"text": "… | INFO | … - step 1 loss 3.0", "record": {…}}, by serialize=True
    Beast-Logger       *.json.log    {"header": "appworld", "content": "…│ │ TGC@1 │ 0.5 │ │…", …} below a loguru line

- A step of DLLogger is [epoch, iteration, iterations of an epoch], or a beginning of it: [epoch] is the end of an
  epoch, [] that of the training, whose numbers are the final metrics.
- A step of MLPerf is the first of STEPS in its metadata. A number without any is a setting, such as the batch size.
- Before a record stands what srun prints, "0: ". Lines without a record are skipped.
- The texts of loguru and of Beast-Logger are read as console text. Rollouts of Beast-Logger ("base64:") are no metrics.

Sources: dllogger 1.0 (JSONStreamBackend), mlperf_logging 4.1, loguru 0.7, beast_logger 0.1.4 (register.py) and logs of
them that were published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format, StreamDecoder
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.lines import SingleLineDecoder
from tuimon.formats._shared.row_reader import RowReader
from tuimon.formats._shared.row_steps import StepUnit
from tuimon.formats._shared.rows import Row, trimmed
from tuimon.formats.console import text as console
from tuimon.model.points import Damage, Fact, Item, Names, Topic

STEPS = ("samples_count", "step_num", "step", "iteration", "epoch_num", "epoch_count")
"""Keys of the step in the metadata of MLPerf."""
_MARK = re.compile(rb"(?:^|[ \t])(DLLL|:::MLLOG) (?=\{)")
_BEAST = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \| [A-Z]+ *\| ")
_PACKED = b"base64:"
_LOGURU = re.compile(rb'\{"text": ?"(?:[^"\\]|\\.){0,2000}", ?"record": ?\{')


class MarkedLines(SingleLineDecoder):
    """A StreamDecoder of the records of DLLogger and MLPerf."""

    def __init__(self) -> None:
        super().__init__()
        self._reader = RowReader(Names(), unit=StepUnit())
        self._rows: list[Row] = []
        self._first_epoch: int | None = None
        self._epoch_size = 0
        self._final: list[Item] = []
        self._settings: Row = {}

    @property
    def remark(self) -> str:
        return self._reader.remark

    def _items(self, parts: Iterable[tuple[int, list[bytes]] | Damage]) -> list[Item]:
        damage = super()._items(parts)
        rows, self._rows = self._rows, []
        final, self._final = self._final, []
        return [*self._reader.read(rows), *final, *damage]

    def _read(self, line: bytes) -> str:
        if mark := _MARK.search(line[:200]):
            try:
                record = parse(line[mark.end() :])
            except FormatError as error:
                return error.message
            self._rows.append(self._dllogger(record) if mark[1] == b"DLLL" else self._mlperf(record))
        return ""

    def _dllogger(self, record: Row) -> Row:
        data, step = record.get("data"), record.get("step")
        if not isinstance(data, dict):
            return {}
        if step == "PARAMETER":
            return {"config": self._with_settings(data)}
        row = {"timestamp": _number(record.get("timestamp")), **data}
        if not isinstance(step, list):
            return {"step": step, **row}
        if not step:
            self._final.append(Fact(Topic.FINAL_METRICS, trimmed(data)))
        if not step or not all(type(place) is int for place in step):
            return {}
        if self._first_epoch is None:
            self._first_epoch = min(step[0], 1)
        self._epoch_size = step[2] if len(step) > 2 else self._epoch_size
        before = (step[0] - self._first_epoch) * self._epoch_size
        if self._epoch_size:
            return {"step": before + (step[1] if len(step) > 1 else self._epoch_size), **row}
        return {"epoch": step[0], **({"iter": step[1]} if len(step) > 1 else {}), **row}

    def _mlperf(self, record: Row) -> Row:
        key, value, metadata = str(record.get("key")), record.get("value"), record.get("metadata")
        step = next((name for name in STEPS if isinstance(metadata, dict) and metadata.get(name) is not None), None)
        if type(value) not in (int, float) and not (isinstance(value, dict) and step):
            return {}
        if step is None or not isinstance(metadata, dict):
            return {"config": self._with_settings({key: value})}
        unit = "epoch" if step.startswith("epoch") else "step"
        return {unit: metadata[step], "timestamp": record.get("time_ms"), key: value}

    def _with_settings(self, settings: Row) -> Row:
        self._settings = self._settings | settings
        return self._settings


class RecordedText(SingleLineDecoder):
    """A StreamDecoder of the console text in records. Lines that are no records are text themselves."""

    def __init__(self, key: str) -> None:
        """key: of the text in a record."""
        super().__init__()
        text = console.FORMAT.decoder()
        assert isinstance(text, StreamDecoder)
        self._key = key
        self._text = text
        self._found: list[bytes] = []
        """Lines of text that have not been read yet."""

    def flush(self) -> list[Item]:
        items, pending = super().flush(), self._lines.pending()
        if not items and pending.startswith(b"{") and pending.rstrip().endswith(b"}") and not self._read(pending):
            self._lines.take()
        return [*items, *self._read_text(), *self._text.flush()]

    def _items(self, parts: Iterable[tuple[int, list[bytes]] | Damage]) -> list[Item]:
        damage = super()._items(parts)
        return [*self._read_text(), *damage]

    def _read_text(self) -> Sequence[Item]:
        found, self._found = self._found, []
        return self._text.feed(b"\n".join([*found, b""])) if found else ()

    def _read(self, line: bytes) -> str:
        if line.startswith(b"{"):
            try:
                record = parse(line)
            except FormatError as error:
                return error.message
            text = record.get(self._key) if isinstance(record, dict) else None
            line = text.strip("\n").encode("utf-8", "replace") if isinstance(text, str) else b""
        if line and not line.startswith(_PACKED):
            self._found.append(line)
        return ""


def _number(value: Any) -> Any:
    """Return a number that is written as a text: "1700000001"."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _is_marked(name: str, head: bytes) -> bool:
    """Return whether at least half of the first lines have a record."""
    lines = [line for line in head.split(b"\n")[:20] if line.strip()]
    return bool(lines) and 2 * sum(_MARK.search(line[:200]) is not None for line in lines) >= len(lines)


def _wants_name(name: str) -> bool:
    return name.endswith((".json", ".jsonl", ".log", ".txt", ".out"))


FORMATS = (
    Format(
        id="marked-json",
        title="DLLogger or MLPerf log",
        writers="dllogger 1.0, mlperf_logging 4.1",
        rank=30,
        matches=_is_marked,
        decoder=MarkedLines,
        wants_name=_wants_name,
    ),
    Format(
        id="loguru",
        title="loguru records",
        writers="loguru 0.7 with serialize=True",
        rank=31,
        matches=lambda name, head: _LOGURU.match(head) is not None,
        decoder=lambda: RecordedText("text"),
        wants_name=_wants_name,
    ),
    Format(
        id="beast_logger",
        title="Beast-Logger records",
        writers="beast_logger 0.1.4",
        rank=30,
        matches=lambda name, head: _BEAST.match(head) is not None,
        decoder=lambda: RecordedText("content"),
        wants_name=lambda name: name.endswith(".json.log"),
    ),
)
