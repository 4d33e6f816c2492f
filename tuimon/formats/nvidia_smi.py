"""Load of the GPUs of a node, written by `nvidia-smi --query-gpu=… --format=csv -l 5`.

    timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], temperature.gpu
    2026/11/25 20:59:43.718, 0, 94 %, 61259 MiB, 81559 MiB, 666.33 W, 60

Columns may have any order; `nounits` leaves out the units. A file is recognised by the column `timestamp` and one of
QUANTITIES; without `index` there is one GPU. Each of COLUMNS is the metric system/gpu.<index>.<column>, but
`memory.total` is the whole of `memory.used`, and `memory.used_percent` is the used part of it. The step of a row is its
time in ms since the first row, which damage to other rows does not change; exports and charts have the training step
instead if there is a training, else the number of the row and the wall time. The name of the node, if the name of the
file or directory has one, follows the metric: "/l:node01".

Source: nvidia-smi --help-query-gpu.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.json import BOM
from tuimon.formats._shared.lines import SingleLineDecoder
from tuimon.formats._shared.rows import seconds
from tuimon.model.points import Damage, Fact, Item, Topic
from tuimon.text import decoded

QUANTITIES = ("utilization.gpu", "memory.used", "power.draw", "temperature.gpu")
COLUMNS = (
    *(*QUANTITIES, "memory.used_percent", "memory.free", "utilization.memory", "power.limit"),
    *("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.mem", "temperature.memory", "fan.speed"),
    *("ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total"),
    *(
        f"clocks_{word}_reasons.{reason}"
        for word in ("throttle", "event")
        for reason in (
            *("active", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"),
            *("sw_thermal_slowdown", "sw_power_cap"),
        )
    ),
)
"""Columns that are read."""
_MOST_GPUS = 32
"""Number of GPUs whose metrics have the name of the node."""
_INDICES = 1000
"""Number from which on an index is not that of a GPU."""
_NOT_ROW = "not a row of the columns"
_COLUMN = re.compile(r"([a-z][\w.]*)(?: \[([^\[\]]{1,10})\])?")
_BITS = re.compile(rb"0x0{0,3}[0-9a-fA-F]{1,13}")
_REASON = {b"Active": 1.0, b"Not Active": 0.0}
_NOT_NODE = re.compile(
    r"(?:nvidia|gpus?|smi|log|logs|stats?|usage|util|metrics?|monitor|query|csv)(?=[-_.]|$)[-_.]?", re.IGNORECASE
)
_NODE = re.compile(r"(?:node|host|worker)[-_]?[a-z]*\d\w*|\d{1,3}(?:\.\d{1,3}){3}", re.IGNORECASE)


def _columns(line: bytes) -> list[tuple[str, str]] | None:
    """Return (name, unit) of each column of a header; None for any other line."""
    matches = [_COLUMN.fullmatch(cell.strip()) for cell in decoded(line).split(",")]
    columns = [(match[1], match[2] or "") for match in matches if match]
    names = {name for name, _ in columns}
    known = len(columns) == len(matches) and "timestamp" in names and not names.isdisjoint(QUANTITIES)
    return columns if known else None


def _number(cell: bytes) -> float | None:
    """Return the number in front of the unit; 0x20 as 32, and Active and Not Active as 1 and 0. None for other text.

    read_cells() is made for blocks of lines: with it 100,000 rows took 9.4 s instead of 1.8 s."""
    text = cell.strip()
    try:
        return float(text.partition(b" ")[0])
    except ValueError:
        if _BITS.fullmatch(text):
            return float(int(text, 16))
        return _REASON.get(text)


class NvidiaSmiDecoder(SingleLineDecoder):
    """A StreamDecoder of rows of one GPU each."""

    def __init__(self) -> None:
        super().__init__()
        self._columns: list[tuple[str, str]] | None = None
        self._time_column = 0
        self._begin = math.nan
        self._units: list[Item] = []
        """Facts about the units of new metrics, one for each row that has any."""

    def _items(self, parts: Iterable[tuple[int, list[bytes]] | Damage]) -> list[Item]:
        items = super()._items(parts)
        units, self._units = self._units, []
        return [*units, *items]

    def _read(self, line: bytes) -> str:
        line = line.removeprefix(BOM).strip(b"\r ")
        if not line:
            return ""
        if b"timestamp" in line and (columns := _columns(line)):  # repeated by each start
            self._columns = columns
            self._time_column = [name for name, _ in columns].index("timestamp")
            return ""
        cells = line.split(b",")
        if self._columns is None or len(cells) != len(self._columns):
            return _NOT_ROW
        time = seconds(decoded(cells[self._time_column].strip()))
        if time is None:
            return _NOT_ROW
        self._begin = time if math.isnan(self._begin) else self._begin
        row = {
            name: (value, unit)
            for (name, unit), cell in zip(self._columns, cells, strict=True)
            if name != "timestamp" and (value := _number(cell)) is not None
        }
        index = row.pop("index", (0.0, ""))[0]
        if not (0 <= index < _INDICES and index.is_integer()):
            return _NOT_ROW
        total = row.pop("memory.total", (0.0, ""))[0]
        if "memory.used" in row and total > 0:
            row["memory.used_percent"] = 100 * row["memory.used"][0] / total, "%"
        units = {}
        for column, (value, unit) in row.items():
            if column not in COLUMNS:
                continue
            name = f"system/gpu.{int(index)}.{column}"
            if unit and not self._points.has(name):
                whole = {"whole": total} if column == "memory.used" and total > 0 else {}
                units[name] = {"unit": unit, **whole}
            self._points.add(name, round((time - self._begin) * 1000), value, time)
        if units:
            self._units.append(Fact(Topic.UNITS, units))
        return ""


def node_of(path: str) -> str:
    """Return the name of the node in the name of the file, as "node01" in gpu_node01.csv, or in that of its directory;
    "" without one."""
    directory, name = posixpath.split(path)
    own = _NOT_NODE.sub("", name.rpartition(".")[0]).strip("-_.")
    above = posixpath.basename(directory)
    return own or (above if _NODE.fullmatch(above) else "")


def _with_node(path: str) -> dict[str, str]:
    node = node_of(path)
    names = [f"system/gpu.{index}.{column}" for index in range(_MOST_GPUS) for column in COLUMNS] if node else []
    return {name: f"{name}/l:{node}" for name in names}


FORMAT = Format(
    id="nvidia-smi",
    title="GPU log of nvidia-smi",
    writers="nvidia-smi --query-gpu --format=csv",
    rank=11,  # above console text
    matches=lambda name, head: _columns(head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r")) is not None,
    decoder=NvidiaSmiDecoder,
    wants_name=lambda name: name.lower().endswith((".csv", ".log", ".txt")),
    source_path=lambda path: path,
    shown_names=_with_node,
    describes_run=True,
    of_machine=True,
)
