"""The GPUs of a node by their buses, from rows of `nvidia-smi --query-gpu=… --format=csv`."""

from __future__ import annotations

from tuimon.ranks.evidence import Evidence
from tuimon.ranks.lines import bus_of


def read_buses(text: str, node: str, evidence: Evidence) -> None:
    """Learn the bus of each GPU. text: the header and rows; node: the node that the path of the log names."""
    head, *rows = text.splitlines() or [""]
    names = [cell.strip() for cell in head.split(",")]
    if "index" not in names or "pci.bus_id" not in names:
        return
    for row in rows:
        cells = dict(zip(names, (cell.strip() for cell in row.split(",")), strict=False))
        if cells.get("index", "").isdecimal() and cells.get("pci.bus_id"):
            evidence.buses[node, bus_of(cells["pci.bus_id"])] = int(cells["index"])
