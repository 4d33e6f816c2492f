"""GPUs of nodes, from the rows of nvidia-smi."""

from __future__ import annotations

import pytest

from tuimon.ranks.evidence import Evidence
from tuimon.ranks.hardware import read_buses

_HEAD = "timestamp, index, pci.bus_id, temperature.gpu, clocks.current.sm [MHz]"


def test_bus_of_a_gpu() -> None:
    evidence = Evidence()
    rows = (f"2026/03/05 10:00:0{n}.1, 1, 00000000:C1:00.0, 5{n}, {1980 - n} MHz" for n in range(3))
    read_buses("\n".join((_HEAD, *rows)), "node02", evidence)
    assert evidence.buses == {("node02", "c1:00"): 1}


@pytest.mark.parametrize("text", ["", "\n", _HEAD, f"{_HEAD}\n1, 2", f"{_HEAD}\n,,,,,", "index\n1", "{", "a\0b\n1"])
def test_damaged_texts_are_skipped(text: str) -> None:
    evidence = Evidence()
    read_buses(text, "node02", evidence)
    assert not evidence.buses
