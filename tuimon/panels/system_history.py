"""Load of GPUs and host over wall time, as W&B, SwanLab, Trackio, MLflow or nvidia-smi measured it beside the run.

A strip for each device: the mean utilisation of each stretch of time, with the newest measurements beside it. A GPU
that is idle while the others work, or that is throttled, clocked down or too hot, is named, with the time since when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import nan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.aligned_steps import step_name, training_steps_at
from tuimon.analysis.system_metrics import system_metrics
from tuimon.analysis.words import day, time_of_day
from tuimon.draw.numbers import format_bytes, format_duration, format_fraction
from tuimon.draw.rows import row_width, wrap_row
from tuimon.draw.table import aligned
from tuimon.model.points import Floats
from tuimon.model.views import Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._metrics import curve_or_none
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit
from tuimon.text_tables import table_rows

_PREFIX = re.compile(r"(?:__swanlab__\.|system[./])?(?:(?P<rank>rank\d+)/)?(?P<rest>.*?)(?:/l:(?P<label>.+))?")
_MLFLOW_NODE = re.compile(r"(?P<node>[^/]+)/(?P<rest>(?:gpu_\d+|cpu|system_memory|disk|network)_[a-z_]+)")
_ACCELERATOR = re.compile(r"(?P<type>gpu|npu|mlu|dcu|xpu|tpu|trn)[./_](?P<index>\d{1,4})[./_](?P<what>.+)")
_DISK = re.compile(r"disk[./](?P<path>.+)\.(?P<what>usagePercent|in|out)")


class Quantity(Struct, frozen=True):
    """A quantity of a device and how to read it."""

    kind: str
    """util | memory | temp | power | clock | throttle | soft throttle | reasons of an accelerator, the last as bits of
    NVML; used | rate of the host."""
    scale: float = 1.0
    """Factor to fractions, °C, W, MHz, or bytes/s."""
    counter: bool = False
    """Whether the values count up, so that the rate is their slope."""


IDLE, WORKING = 0.05, 0.5
"""Utilisation below which a GPU counts as idle, and median utilisation from which the GPUs count as working."""
HOT = 85.0
"""Degrees Celsius; data-centre GPUs throttle a few degrees above."""
_PERCENT, _MIB = 0.01, float(1 << 20)
_USED = Quantity("used", _PERCENT)


def _known_names() -> dict[str, dict[str, Quantity]]:
    """Return the names of system_metrics.txt by device, and how to read them."""
    known: dict[str, dict[str, Quantity]] = {}
    for device, kind, factor, names in table_rows(__file__, "system_metrics.txt"):
        scale, _, counter = factor.partition(" ")
        quantity = Quantity(kind, float(scale), bool(counter))
        known[device] = known.get(device, {}) | dict.fromkeys(names.split(), quantity)
    return known


_OF_HOST = _known_names()
_OF_ACCELERATOR = _OF_HOST.pop("accelerator")
_ORDER = tuple(_OF_HOST)
_NETWORK = {"network.recv": "net in", "network.sent": "net out"}
"""W&B counts bytes, SwanLab measures KiB/s, under the same name."""


class Device(Struct, frozen=True):
    """A device of a run and its metrics."""

    name: str
    accelerator: bool
    metrics: Mapping[str, tuple[str, Quantity]]
    """Kind of quantity -> metric and how to read it; the first metric if several have the same kind."""


@lru_cache(maxsize=64)
def devices_of(names: Iterable[str]) -> tuple[Device, ...]:
    """Return the devices that some system metrics belong to: accelerators by index, then CPU, memory, disk, network.

    names: hashable (a frozenset).
    """
    found: dict[tuple[bool, str, int, str], dict[str, tuple[str, Quantity]]] = {}
    for name in sorted(names):
        parsed = _parse(name)
        if parsed is not None:
            key, quantity = parsed
            found.setdefault(key, {}).setdefault(quantity.kind, (name, quantity))
    return tuple(
        Device(" ".join(filter(None, (node, title))), not host, found[key])
        for key in sorted(found)
        for host, node, _, title in (key,)
    )


def _parse(name: str) -> tuple[tuple[bool, str, int, str], Quantity] | None:
    """Return ((whether it belongs to the host, node, position, title), quantity), or None for any other metric."""
    match = _PREFIX.fullmatch(name)
    if match is None:
        return None
    rest, node = match["rest"], match["rank"] or match["label"] or ""
    if of_node := _MLFLOW_NODE.fullmatch(rest):
        node, rest = of_node["node"], of_node["rest"]
    if accelerator := _ACCELERATOR.fullmatch(rest):
        quantity = _OF_ACCELERATOR.get(accelerator["what"])
        index = int(accelerator["index"])
        return None if quantity is None else ((False, node, index, f"{accelerator['type']} {index}"), quantity)
    title, quantity = _of_host(name, rest)
    return None if quantity is None else ((True, node, _ORDER.index(title), title), quantity)


def _of_host(name: str, rest: str) -> tuple[str, Quantity | None]:
    if rest in _NETWORK:
        counter = not name.startswith("__swanlab__.")
        return _NETWORK[rest], Quantity("rate", 1.0 if counter else 1024.0, counter)
    if disk := _DISK.fullmatch(rest):
        if disk["what"] == "usagePercent":
            return "disk", _USED
        return f"disk {disk['what']}", Quantity("rate", _MIB, True)
    return next(((title, names[rest]) for title, names in _OF_HOST.items() if rest in names), ("", None))


_IDLE_FOR = 60.0
"""Seconds of idleness from which it is reported: between two phases every GPU waits."""
_SLOW = 0.8
"""Fraction of the median clock of the working GPUs below which a GPU counts as slow."""
_THROTTLED = 0x60 | 0x80 | 0x08
"""Bits of the reasons to lower the clock: thermal, power brake, hardware. Others, such as the power limit, are set in
normal operation. Source: nvml.h, nvmlClocksEventReason…"""
_DAY = 86400.0
_NEWEST = 5
"""Number of measurements whose mean is the present state."""
_MOST_NAMED = 3
"""Number of devices up to which each that stands out has its sentence; others are counted."""
_NARROWEST = 12
"""Minimum width of the strip, or two fifths of a wide panel: the newest values are left out first."""
_LABEL = 14
"""Maximum cells of a name."""
_MOST_ROWS = 28
"""Maximum number of rows that the panel asks for: those of 16 GPUs and their host."""
_WITHOUT_GPUS = 10_000
"""Order of the panel of a run without GPUs: after everything that the training logged."""
_MAIN = ("util", "used", "rate", "memory", "power", "temp", "clock", "throttle", "soft throttle", "reasons")
"""Kinds of which the strip of a device displays the first that is measured."""
_FRACTIONS = ("util", "used", "memory")
_CONDITIONS: tuple[tuple[str, str, Callable[[Floats, float], npt.NDArray[np.bool_]], Role], ...] = (
    ("throttled", "reasons", lambda values, usual: (values.astype(np.int64) & _THROTTLED) != 0, Role.CRITICAL),
    ("throttled", "throttle", lambda values, usual: values > 0.5, Role.CRITICAL),
    ("throttled", "soft throttle", lambda values, usual: values > 0.5, Role.CRITICAL),
    ("slow", "clock", lambda values, usual: values < usual * _SLOW, Role.CRITICAL),
    ("hot", "temp", lambda values, usual: values >= HOT, Role.CRITICAL),
    ("idle", "util", lambda values, usual: values < IDLE, Role.WARNING),
)
"""(word, kind of quantity, whether it holds at each measurement, role) of what stands out, the worst first. usual: the
clock of the GPUs that work, NaN for a GPU that does not."""
_BLOCKS = "▁▂▃▄▅▆▇█"
"""Glyphs by level, from 0 to 100%."""


class _Series(NamedTuple):
    times: Floats
    values: Floats

    @property
    def last(self) -> float:
        """Mean of the newest measurements; NaN without any."""
        return float(np.mean(self.values[-_NEWEST:])) if len(self.values) else nan


_NO_SERIES = _Series(np.empty(0), np.empty(0))


class _State(NamedTuple):
    """What stands out in a device."""

    word: str
    since: str
    """" since 00:51 (step 1000)"."""
    role: Role


class _Line(Struct, frozen=True, eq=False):
    """A device with its measurements by kind, without non-finite values."""

    device: Device
    series: dict[str, _Series]
    state: _State | None = None

    @property
    def name(self) -> str:
        """Name of the device."""
        return clean(self.device.name)

    @property
    def main(self) -> str:
        """The kind that the strip displays."""
        return next(kind for kind in _MAIN if kind in self.series)

    def last(self, kind: str) -> float:
        """Mean of the newest measurements of a kind; NaN without any."""
        return self.series.get(kind, _NO_SERIES).last


class SystemHistory(Panel, frozen=True):
    """Load of the devices over wall time."""

    def relevant(self, run: Run) -> bool:
        """Whether the tracker has measured a device at least twice."""
        metrics = (name for device in devices_of(system_metrics(run)) for name, _ in device.metrics.values())
        return any((curve := curve_or_none(run, name)) is not None and len(curve) > 1 for name in metrics)

    def fitted(self, run: Run) -> SystemHistory:
        """Return the panel with a row for each device; without accelerators it comes last."""
        devices = devices_of(system_metrics(run))
        order = self.order if any(device.accelerator for device in devices) else _WITHOUT_GPUS
        return replace(self, rows=min(len(devices) + 4, _MOST_ROWS), order=order)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return a strip for each device, with a sentence about the GPUs that stand out."""
        lines = _lines(run)
        times = [series.times for line in lines for series in line.series.values()]
        if not times:
            return TextView(self.title, (), note="no points with a wall time yet")
        begin, end = min(float(t[0]) for t in times), max(float(t[-1]) for t in times)
        sentence = _sentence(lines)
        top = wrap_row(sentence, size.width, 2) if sentence else []
        room = max(size.height - 1 - len(top), 1)
        shown = _keep(lines, room)
        label = max(min(cell_width(line.name), _LABEL) for line in shown)
        most = size.width - label - 2 - max(_NARROWEST, size.width * 2 // 5)  # the strips get the rest
        beside = aligned([_cells(line) for line in shown], most, left=(), gap=1)
        columns = max(min(size.width - label - 2 - row_width(beside[0]), max(map(len, times))), 1)
        rows: list[Row] = []
        for line, cells in zip(shown, beside, strict=True):
            strip = _strip(line, begin, end, columns)
            rows.append(((fit(line.name, label) + " ", Role.MUTED), *strip, (" ", Role.MUTED), *cells))
        headline = _headline(lines)
        if more := len(lines) - len(shown):
            headline = ((f"+{more} more  ", Role.MUTED), *headline)
        if len(rows) < room:
            rows.insert(0, ((" " * (label + 1) + _axis(begin, end, columns), Role.MUTED),))
        note = f"each column {format_duration((end - begin) / columns)}, as measured"
        return TextView(self.title, (*top, *rows), headline, note if len(rows) < room else "")


def odd_devices(run: Run) -> str:
    """Return the sentence of the panel about GPUs that are idle while others work, hot or slow; "" without any."""
    return "".join(text for text, _ in _sentence(_lines(run)))


def _lines(run: Run) -> list[_Line]:
    """Return the devices with measurements, and what stands out in them."""
    lines = []
    for device in devices_of(system_metrics(run)):
        series = {kind: read for kind in device.metrics if len((read := _read(run, device, kind)).values)}
        if series:
            lines.append(_Line(device, series))
    loads = [line.last("util") for line in lines if "util" in line.series]
    clocks = [line.last("clock") for line in lines if line.last("util") > WORKING and "clock" in line.series]
    clock = float(np.median(clocks)) if len(clocks) > 2 else nan
    working = max(loads, default=0.0) > WORKING
    return [replace(line, state=_state(run, line, working, clock)) for line in lines]


def _read(run: Run, device: Device, kind: str) -> _Series:
    """Return the finite values of a quantity by ascending wall time; a counter becomes its slope."""
    metric, quantity = device.metrics[kind]
    curve = curve_or_none(run, metric)
    if curve is None:
        return _NO_SERIES
    known = np.isfinite(curve.wall_times) & np.isfinite(curve.values)
    times, values = curve.wall_times[known], curve.values[known] * quantity.scale
    if len(times) > 1 and bool((times[1:] < times[:-1]).any()):
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    if not quantity.counter:
        return _Series(times, values)
    seconds, grown = np.diff(times), np.diff(values)
    counted = (seconds > 0) & (grown >= 0)  # a counter that falls has begun again
    return _Series(times[1:][counted], grown[counted] / seconds[counted])


def _state(run: Run, line: _Line, working: bool, clock: float) -> _State | None:
    """Return the first condition that holds in most of the newest measurements, with the time since when it does.

    working: whether another GPU works. clock: the usual one of the GPUs that work.
    """
    usual = clock if line.last("util") > WORKING else nan
    for word, kind, test, role in _CONDITIONS if line.device.accelerator else ():
        times, values = line.series.get(kind, _NO_SERIES)
        holds = test(values, usual)
        if not len(holds) or np.mean(holds[-_NEWEST:]) <= 0.5:
            continue
        others = np.flatnonzero(~holds)
        begin = int(others[-1]) + 1 if len(others) else 0
        held = float(times[-1] - times[begin]) if begin < len(holds) else -1.0
        if word != "idle" or (working and held >= _IDLE_FOR):
            return _State(word, _since(run, times, begin) if held >= 0 else "", role)
    return None


def _since(run: Run, times: Floats, begin: int) -> str:
    """Return " since 00:51 (step 1000)" for a measurement, without the step if the training has none then."""
    time = float(times[begin])
    date = f"{day(time)} " if times[-1] - time >= _DAY else ""
    steps = training_steps_at(run, times[begin : begin + 1])
    step = "" if steps is None else f" ({step_name(run)} {steps[0]})"
    return f" since {date}{time_of_day(time)[:5]}{step}"


def _sentence(lines: Sequence[_Line]) -> Row:
    """Return the sentence about the devices that stand out, the worst first; () if none does."""
    odd = [(line.name, line.state) for line in lines if line.state is not None]
    odd.sort(key=lambda item: item[1].role is not Role.CRITICAL)
    spans: list[Span] = []
    for name, state in odd[:_MOST_NAMED]:
        separator = "; " if spans else ""
        spans.append((f"{separator}{name} {state.word}{state.since}", state.role))
    more = len(odd) - _MOST_NAMED
    return (*spans, (f"; {more} more", Role.WARNING)) if more > 0 else tuple(spans)


def _keep(lines: list[_Line], room: int) -> list[_Line]:
    """Return the devices that are displayed, in order: those that stand out first if not all fit."""
    if len(lines) <= room:
        return lines
    ranked = sorted(range(len(lines)), key=lambda index: (lines[index].state is None, index))
    return [lines[index] for index in sorted(ranked[: max(room - 1, 1)])]


def _cells(line: _Line) -> list[Span]:
    """Return the newest utilisation, the state, and the other measurements; those on the right are left out first."""
    last, state = line.last(line.main), line.state
    first = {"rate": f"{format_bytes(last)}/s", "util": format_fraction(last), "used": format_fraction(last)}
    cells = [(first.get(line.main, ""), Role.VALUE), (state.word, state.role) if state else ("", Role.MUTED)]
    for kind, unit, scale in (("temp", "°C", 1.0), ("power", " W", 1.0), ("memory", " % mem", 100.0)):
        value = line.last(kind)
        role = Role.CRITICAL if kind == "temp" and value >= HOT else Role.TEXT
        cells.append((f"{value * scale:.0f}{unit}" if np.isfinite(value) else "", role))
    return cells


def _axis(begin: float, end: float, columns: int) -> str:
    """Return the times of the first and the last column; "" if they have no room."""
    first, last = time_of_day(begin), time_of_day(end)
    if first[:5] != last[:5]:
        first, last = first[:5], last[:5]
    gap = columns - len(first) - len(last)
    return first + " " * gap + last if gap > 0 else ""


def _strip(line: _Line, begin: float, end: float, columns: int) -> list[Span]:
    """Return one glyph for each stretch of time, a fraction relative to 1, other quantities to their maximum; red where
    it is too hot."""
    usual = Role.SERIES_0 if line.device.accelerator else Role.MUTED
    means = _means(line.series[line.main], begin, end, columns)
    whole = 1.0 if line.main in _FRACTIONS else float(means[np.isfinite(means)].max(initial=0.0)) or 1.0
    spans: list[Span] = []
    for mean in means.tolist():
        level = min(max(int(mean / whole * len(_BLOCKS)), 0), len(_BLOCKS) - 1) if mean == mean else -1
        role = Role.CRITICAL if line.main == "temp" and mean >= HOT else usual
        spans.append((" ", Role.FAINT) if level < 0 else (_BLOCKS[level], role))
    return spans


def _means(series: _Series, begin: float, end: float, columns: int) -> Floats:
    """Return the mean of each stretch of time, float64 (columns,); a short gap takes the value before it."""
    width = (end - begin) / columns or 1.0
    place = np.clip(((series.times - begin) / width).astype(np.int64), 0, columns - 1)
    counts = np.bincount(place, minlength=columns)
    sums = np.bincount(place, series.values, columns)
    means: Floats = np.full(columns, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    for empty in np.flatnonzero((counts[1:-1] == 0) & (counts[:-2] > 0) & (counts[2:] > 0)).tolist():
        means[empty + 1] = means[empty]
    return means


def _headline(lines: Sequence[_Line]) -> Row:
    loads = [line.last("util") for line in lines if "util" in line.series]
    if not loads:
        return ()
    watts = [line.last("power") for line in lines if "power" in line.series]
    power: list[Span] = [(f"  {sum(watts):,.0f} W", Role.MUTED)] if watts else []
    return ((f"{format_fraction(float(np.mean(loads)))} busy", Role.VALUE), *power)


_WORDS = "gpu utilisation utilization idle throttle throttled temperature power clock cpu ram disk network"
PANEL = SystemHistory("system_metrics", "system metrics", 55, rows=12, also=_WORDS)
