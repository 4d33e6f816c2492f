"""The GPUs of a node and their buses, from rows of `nvidia-smi --query-gpu=… --format=csv`."""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.ranks.evidence import Evidence, GpuStatus
from tuimon.ranks.lines import bus_of

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COLUMNS = {
    "temperature.gpu": "temperature",
    "clocks.current.sm": "clock",
    "clocks.sm": "clock",
    "memory.used": "memory_used",
    "memory.total": "memory_total",
}


def read_gpus(text: str, node: str, evidence: Evidence) -> None:
    """Learn the newest status of each GPU. text: the header and rows; node: the node that the path of the log names."""
    rows = text.splitlines() or [""]
    names = [cell.split("[")[0].strip() for cell in rows[0].split(",")]
    if "index" not in names or len(names) < 2:
        return
    for row in rows[1:]:
        cells = dict(zip(names, (cell.strip() for cell in row.split(",")), strict=False))
        if len(cells) < len(names) or not cells["index"].isdecimal():
            continue
        index = int(cells["index"])
        if cells.get("pci.bus_id"):
            evidence.buses[node, bus_of(cells["pci.bus_id"])] = index
        gpu = evidence.gpus.setdefault((node, index), GpuStatus())
        for name, field in _COLUMNS.items():
            if (match := _NUMBER.match(cells.get(name, ""))) is not None:
                setattr(gpu, field, float(match[0]))
