"""The GPUs of a node as monitors write them: nvidia-smi's CSV and dmon, gpustat's JSON, and the metrics of DCGM."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tuimon import lazy_re as re
from tuimon.ranks.evidence import Evidence, Gpu
from tuimon.ranks.lines import bus_of

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COLUMNS = {
    "temperature.gpu": "temperature",
    "clocks.current.sm": "clock",
    "clocks.sm": "clock",
    "utilization.gpu": "utilization",
    "power.draw": "power",
    "memory.used": "memory_used",
    "memory.total": "memory_total",
}
_THROTTLE = ("clocks_throttle_reasons.active", "clocks_event_reasons.active")
_DMON = {"pwr": "power", "gtemp": "temperature", "sm": "utilization", "pclk": "clock", "fb": "memory_used"}
_DCGM = {
    "DCGM_FI_DEV_GPU_TEMP": "temperature",
    "DCGM_FI_DEV_SM_CLOCK": "clock",
    "DCGM_FI_DEV_GPU_UTIL": "utilization",
    "DCGM_FI_DEV_POWER_USAGE": "power",
    "DCGM_FI_DEV_FB_USED": "memory_used",
    "DCGM_FI_DEV_FB_FREE": "memory_free",
    "DCGM_FI_DEV_XID_ERRORS": "xid",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "throttled",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "throttled",
}
_METRIC = re.compile(r"(DCGM_\w+)\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
DMON_HEAD = re.compile(rb"#\s*(?:YYYYMMDD\s+HH:MM:SS\s+|HH:MM:SS\s+|Date\s+Time\s+)?gpu\s", re.IGNORECASE)
"""The first line of `nvidia-smi dmon`."""


def read_gpus(text: str, node: str, evidence: Evidence) -> None:
    """Learn the newest status of each GPU. text: what a monitor wrote; node: the node that its path names."""
    rows = text.splitlines()
    if not rows:
        return
    if rows[0].startswith("#") and DMON_HEAD.match(rows[0].encode()):
        _read_dmon(rows, node, evidence)
    elif "DCGM_FI_" in text:
        _read_metrics(rows, node, evidence)
    elif '"gpus"' in text:
        _read_gpustat(text, node, evidence)
    else:
        _read_csv(rows, node, evidence)


def _gpu(evidence: Evidence, node: str, index: int) -> Gpu:
    return evidence.gpus.setdefault((node, index), Gpu())


def _read_csv(rows: Sequence[str], node: str, evidence: Evidence) -> None:
    """Read rows of `nvidia-smi --query-gpu=… --format=csv`."""
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
        gpu = _gpu(evidence, node, index)
        for name, field in _COLUMNS.items():
            if (match := _NUMBER.match(cells.get(name, ""))) is not None:
                setattr(gpu, field, float(match[0]))
        for name in _THROTTLE:
            if re.fullmatch("0x[0-9a-fA-F]{1,16}", cells.get(name, "")):
                gpu.throttled = int(cells[name], 16)


def _read_dmon(rows: Sequence[str], node: str, evidence: Evidence) -> None:
    """Read rows of `nvidia-smi dmon`, whose headings are repeated; "-" is no value."""
    names: list[str] = []
    for row in rows:
        cells = row.lstrip("#").split()
        if row.startswith("#"):
            if "gpu" in (heads := [cell.lower() for cell in cells]):
                names = heads
            continue
        if len(cells) != len(names) or not (values := dict(zip(names, cells, strict=True)))["gpu"].isdecimal():
            continue
        gpu = _gpu(evidence, node, int(values["gpu"]))
        for name, field in _DMON.items():
            if _NUMBER.fullmatch(values.get(name, "")):
                setattr(gpu, field, float(values[name]))


def _read_metrics(rows: Sequence[str], node: str, evidence: Evidence) -> None:
    """Read metrics that dcgm-exporter or a textfile collector wrote; the label Hostname names the node."""
    for row in rows:
        match = _METRIC.match(row)
        if match is None or match[1] not in _DCGM or not _NUMBER.fullmatch(match[3]):
            continue
        labels = dict(_LABEL.findall(match[2]))
        if not labels.get("gpu", "").isdecimal():
            continue
        gpu = _gpu(evidence, labels.get("Hostname") or node, int(labels["gpu"]))
        value = float(match[3])
        field = _DCGM[match[1]]
        if field == "memory_free":
            gpu.memory_total = value + (gpu.memory_used or 0.0)
        elif field in ("xid", "throttled"):
            setattr(gpu, field, int(value))
        else:
            setattr(gpu, field, value)


def _read_gpustat(text: str, node: str, evidence: Evidence) -> None:
    """Read the newest object that `gpustat --json` wrote; objects that were appended have no separator."""
    decoder, document = json.JSONDecoder(), None
    for begin in reversed([match.start() for match in re.finditer(r"^\{", text, re.MULTILINE)]):
        try:
            document = decoder.raw_decode(text, begin)[0]
        except (ValueError, RecursionError):
            continue
        break
    if not isinstance(document, dict) or not isinstance(document.get("gpus"), list):
        return
    host = document.get("hostname")
    for item in document["gpus"]:
        if not isinstance(item, dict) or not isinstance(item.get("index"), int):
            continue
        gpu = _gpu(evidence, host if isinstance(host, str) and host else node, item["index"])
        for name, field in _COLUMNS.items():
            if isinstance(value := item.get(name), int | float):
                setattr(gpu, field, float(value))
