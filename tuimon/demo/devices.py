"""One worker call as ROLL measures it: state loaded onto the devices, work done, state taken off again.

Times and the process's memory are real. The devices are MODELLED, as no GPU is used: each of DEVICES cards is taken to
hold a replica of the state and its own share of the batch, and the bytes of the tensors that are really alive here
count SCALE times, which fills a card of 80 GiB by and large. Tag names are those of ROLL's state_offload_manger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import psutil

from tuimon.demo.policy import Params, nbytes

DEVICES = 4
GIB = 1024**3
CARD_GIB = 80.0
SCALE = 25_000
MODELLED = (
    f"Device memory is modelled: no GPU is used. memory/*/<device> are the bytes of the numpy arrays alive in each "
    f"phase, x {SCALE}, on {DEVICES} cards of {CARD_GIB:.0f} GiB. Times, CPU memory, rewards and losses are measured."
)

Metrics = dict[str, float]


@dataclass
class Cards:
    """Bytes on each card, before scaling."""

    allocated: list[int] = field(default_factory=lambda: [0] * DEVICES)
    peak: list[int] = field(default_factory=lambda: [0] * DEVICES)

    def hold(self, device: int, size: int) -> None:
        """`size` bytes more (less, if negative) stay on the device."""
        self.allocated[device] += size
        self.uses(device, 0)

    def uses(self, device: int, size: int) -> None:
        """`size` bytes are alive for a moment beside what the device holds."""
        self.peak[device] = max(self.peak[device], self.allocated[device] + size)

    def snapshot(self, prefix: str) -> Metrics:
        """allocated, reserved and their peaks in GiB. Reserved memory comes in blocks of half a GiB and is kept."""
        metrics = {}
        for device in range(DEVICES):
            now, peak = (size * SCALE / GIB for size in (self.allocated[device], self.peak[device]))
            blocks = math.ceil(2 * peak) / 2
            metrics[f"{prefix}/allocated/{device}"] = now
            metrics[f"{prefix}/reserved/{device}"] = blocks
            metrics[f"{prefix}/max_allocated/{device}"] = peak
            metrics[f"{prefix}/max_reserved/{device}"] = blocks
        return metrics


@dataclass
class Loaded:
    """Timers and devices that a worker call uses."""

    states: list[Params]
    """The states on the devices: copies."""
    cards: Cards


@contextmanager
def timed(name: str, metrics: Metrics) -> Iterator[None]:
    """Puts the seconds that the block takes into `metrics`."""
    started = perf_counter()
    yield
    metrics[name] = perf_counter() - started


@contextmanager
def worker_call(infix: str, metrics: Metrics, *states: Params, write_back: bool = False) -> Iterator[Loaded]:
    """Loads `states`, gives the block the copies, and takes them off; `write_back` puts the copies' values into them.

    Adds time/{infix}/{total,onload,execute,offload} in seconds, memory/{infix}/… and memory/cpu/{infix}/… in GiB.
    """
    with timed(f"time/{infix}/total", metrics):
        cards = Cards()
        metrics |= _cpu_memory(f"memory/cpu/{infix}/start")
        metrics |= cards.snapshot(f"memory/{infix}/start/offload")
        with timed(f"time/{infix}/onload", metrics):
            copies = [{name: array.copy() for name, array in state.items()} for state in states]
        size = sum(nbytes(state) for state in copies)
        for device in range(DEVICES):
            cards.hold(device, size)
        metrics |= cards.snapshot(f"memory/{infix}/start/onload")

        with timed(f"time/{infix}/execute", metrics):
            yield Loaded(copies, cards)

        metrics |= cards.snapshot(f"memory/{infix}/end/onload")
        for device in range(DEVICES):
            for kind in ("allocated", "reserved"):
                peak = metrics[f"memory/{infix}/end/onload/max_{kind}/{device}"]
                metrics[f"memory/{infix}/end/onload/max_{kind}_frac/{device}"] = peak / CARD_GIB
        with timed(f"time/{infix}/offload", metrics):
            if write_back:
                for state, copy in zip(states, copies, strict=True):
                    for name, array in state.items():
                        array[...] = copy[name]
            copies.clear()
        for device in range(DEVICES):
            cards.hold(device, -cards.allocated[device])
        metrics |= cards.snapshot(f"memory/{infix}/end/offload")
        metrics |= _cpu_memory(f"memory/cpu/{infix}/end")


def _cpu_memory(prefix: str) -> Metrics:
    memory = psutil.Process().memory_info()
    return {f"{prefix}/rss": memory.rss / GIB, f"{prefix}/vms": memory.vms / GIB}
