"""GPU memory (allocated, in use, or its peak) or the memory of the process grows step by step, which suggests a leak.

Rule: in a window of up to 512 points (for slow growth also 4096 and 32768) the mean of the last eighth is `part` above
that of the first; at least four of the seven steps from eighth to eighth contribute, the last three among them; the
quarter of the blocks of a window that grow most has at most `jumps` of the growth; and this holds for 16 points.
The same holds if the lowest value of four blocks grows, where the values rise and fall (a cache that is emptied).
So a peak that is set now and then, or an allocator that reserves more in a few jumps and then stays, is no creep.

Watched of GPUs: what is allocated or in use, and its peak, as the trainer or a tracker logs it (gpu_memory_gb,
max_memory_allocated_gb, system/gpu.0.memoryAllocated); what is reserved only if nothing else is logged. If ROLL logs
what is allocated at the start of a phase while the model is offloaded, only that: it shows what earlier phases left
allocated. A name without a unit (VRAM, gpu_mem) is enough, and "mem" or "memory" if its name or its log says a unit of
memory and no other memory is logged. Of CPUs: the memory of the process. Reported for the series of each kind
(GPU, CPU) that grows most, with the step at which the growth began, and with the step at which the device is full if
its size is known. Only information if the responses have grown by as much.
Source: SageMaker Debugger GPUMemoryIncrease, 10 % in a window of 500; the eighths and the blocks are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import inf

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.creep import Creep
from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.forecast import growth
from tuimon.analysis.incidents import Incident
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress_inputs import steps_left
from tuimon.analysis.windows import BLOCK
from tuimon.detectors._curves import (
    alert,
    growth_onset,
    incidents,
    last_finite,
    median_of_rows,
)
from tuimon.detectors._policy import response_lengths
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run
from tuimon.vocabulary import BYTES, memory_of, unit_text

_MAX_SERIES = 64
"""Maximum number of series of a kind that are examined."""
_HINT = "something accumulates: values kept with their graph (missing .detach() or .item()), a cache, fragmentation"
_GPU = ("gpu.allocated", "gpu.reserved", "gpu.peak", "gpu.used")
_PERCENT = re.compile(r"system[/.]gpu\.\d+\.memoryAllocated")
"""Memory in use in percent of the device, as W&B measures it."""
_NAMED_GPU = re.compile(
    r"(?:(?:max|peak)[_ ])?(?:(?:gpu|cuda)[_ ]?mem(?:ory)?|(?:gpu[_ ])?vram|memory(?=[_ ]allocated))"
    r"(?:[_ ](?:used|usage|alloc|allocated|peak|max))?",
    re.IGNORECASE,
)
"""Last part of the name of GPU memory that does not say its unit."""
_NAMED = re.compile(r"(?:(?:max|peak)[_ ])?mem(?:ory)?(?:[_ ](?:used|usage|alloc|peak|max))?", re.IGNORECASE)
"""Last part of the name of memory, if a unit of memory is printed with it."""
_WINDOWS = ((512, BLOCK, 8), (4096, 2 * BLOCK, 32), (32768, 16 * BLOCK, 32))
"""Points of a window and of its blocks, and the fewest blocks; slow growth is found in a long window only."""
_LOWEST_OF = 4
"""Blocks whose lowest value is watched, too: more than a period of a cache that is filled and emptied."""
_LENGTH_POINTS = 50
"""Points of the response length that are compared."""


class MemoryCreep(Struct, frozen=True):
    id: str = "memory_creep"
    title: str = "Memory creep"
    part: float = 0.1
    """Relative growth in a window of points."""
    jumps: float = 0.6
    """Largest part of the growth that a quarter of the window may have."""

    def check(self, run: Run) -> Iterator[Alert]:
        kinds = {"GPU": _gpu(run), "CPU": _cpu(run)}
        for kind, metrics in (kinds if any(kinds.values()) else {"memory": _with_unit(run)}).items():
            growing = [own for curve in map(run.curve, metrics) if (own := self._growing(curve))]
            if growing:
                yield self._alert(run, kind, growing)

    def _growing(self, curve: Curve) -> _Growing | None:
        """Return the growth in the shortest window in which the series grows now, else in which it grew; else None."""
        last: _Growing | None = None
        for lowest_of, (window, block, fewest) in product((0, _LOWEST_OF), _WINDOWS):
            rule = Creep(
                self.part,
                0.5 * self.part,
                window,
                block,
                latest=3,
                jumps=self.jumps,
                block=block,
                fewest_blocks=fewest,
                lowest_of=lowest_of,
            )
            if creeps := incidents(curve, rule):
                own = _Growing(curve, creeps[-1], growth_onset(curve, creeps[-1], rule.window), lowest_of * block)
                if own.incident.cleared is None:
                    return own
                last = last or own
        return last

    def _alert(self, run: Run, kind: str, growing: list[_Growing]) -> Alert:
        sizes = {own.curve.metric: size for own in growing if (size := _size(run, own.curve.metric))}
        own = max(growing, key=lambda own: (own.incident.cleared is None, own.curve.metric in sizes, own.factor))
        incident, unit = own.incident, _unit(run, own.curve.metric)
        size, soon = sizes.get(own.curve.metric), None
        if incident.cleared is None and size:
            forecast = growth(own.curve.steps, own.curve.values, 1 / size)
            left = steps_left(run)
            if forecast is not None and (left is None or forecast.soonest <= left):
                soon = round(forecast.steps)
        lengths = _response_change(run, own) if kind == "GPU" else ()
        related = tuple(Change(other.curve.metric) for other in growing if other is not own)
        found = alert(
            run,
            own.curve,
            own.from_onset,
            self.id,
            "info" if lengths else "warning",
            "grows",
            own.now,
            own.before,
            hint=_HINT,
            unit=unit,
            related=lengths + related,
        )
        return replace(found, limit=size if soon is not None else None, reached_in=soon)


class _Growing(Struct, frozen=True):
    """A series that grows."""

    curve: Curve
    incident: Incident
    onset: int
    """Row at which the growth began."""
    period: int = 0
    """Number of points whose lowest value grows, where the values rise and fall; 0 if the values themselves grow."""

    @property
    def from_onset(self) -> Incident:
        return self.incident._replace(first=self.onset)

    @property
    def rows(self) -> tuple[int, int]:
        """Rows between which the growth is measured."""
        first, last = self.onset, self.incident.last
        if not self.period:
            return first, last
        begin, values = max(first, last - self.period + 1), self.curve.values
        early, late = values[first : first + self.period], values[begin : last + 1]
        return first + int(np.nanargmin(early)), begin + int(np.nanargmin(late))

    @property
    def before(self) -> float:
        """Value at the beginning of the growth, as logged."""
        return last_finite(self.curve, self.rows[0])

    @property
    def now(self) -> float:
        """Value at the end of the growth, as logged."""
        return last_finite(self.curve, self.rows[1])

    @property
    def factor(self) -> float:
        """The last value divided by that at the onset; infinity if that is 0."""
        return self.now / self.before if self.before else inf


def _gpu(run: Run) -> list[str]:
    names = [name for concept in _GPU for name in metrics_of(run, concept, all_names=True)]
    if offloaded := [name for name in names if "/start/offload/allocated" in name]:
        return offloaded[:_MAX_SERIES]
    kinds = {name: tag.kind for name in names if (tag := memory_of(name)) and not tag.snapshot}
    used = [name for name, kind in kinds.items() if "reserved" not in kind]
    used += [name for name in metrics_of(run, "machine", all_names=True) if _PERCENT.fullmatch(name)]
    used += _unclassified(run, _NAMED_GPU)
    return (used or list(kinds))[:_MAX_SERIES]


def _cpu(run: Run) -> list[str]:
    names = [name for name in metrics_of(run, "cpu.memory", all_names=True) if not name.endswith("/vms")]
    return ([name for name in names if "/start/" in name] or names)[:_MAX_SERIES]


def _with_unit(run: Run) -> list[str]:
    """Return the metrics named as memory of an unknown device whose unit is one of memory."""
    named = metrics_of(run, "memory.used", all_names=True) + _unclassified(run, _NAMED)
    return [name for name in named if meaning_of(run, name).unit in BYTES][:_MAX_SERIES]


def _unclassified(run: Run, pattern: re.Pattern[str]) -> list[str]:
    """Return the metrics without a concept whose last part of the name matches the pattern."""
    names = [name for concept in ("other", "known.other") for name in metrics_of(run, concept, all_names=True)]
    return [name for name in names if pattern.fullmatch(name, name.rfind("/") + 1)]


def _unit(run: Run, metric: str) -> str:
    """Return the unit of the logged values; "" if it is unknown."""
    return "% of the device" if _PERCENT.fullmatch(metric) else unit_text(meaning_of(run, metric).logged_unit)


def _size(run: Run, metric: str) -> float | None:
    """Return the memory of the device as the values of the metric; None if it is not known."""
    if _PERCENT.fullmatch(metric):
        return 100.0
    device = device_memory(run, metric)
    return device.size if device is not None else None


def _response_change(run: Run, own: _Growing) -> tuple[Change, ...]:
    """Return the change of the response length since the onset, if it has grown by as much as the memory; else ()."""
    lengths = next(response_lengths(run), None)
    if lengths is None:
        return ()
    begin, end = lengths.steps.searchsorted(own.curve.steps[[own.onset, own.incident.last]], "right").tolist()
    before = median_of_rows(lengths, begin - 1, begin + _LENGTH_POINTS - 2)
    now = median_of_rows(lengths, end - _LENGTH_POINTS, end - 1)
    return (Change(lengths.metric, "risen", now, before),) if before > 0 and now / before >= own.factor else ()


DETECTOR = MemoryCreep()
