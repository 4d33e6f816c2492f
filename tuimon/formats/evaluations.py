"""evaluations.npz of Stable-Baselines3's EvalCallback, rewritten whole after each evaluation.

    timesteps   int64 (n,)            step of each evaluation
    results     float64 (n, episodes) reward of each episode; float32 and object arrays occur, the latter are not read
    ep_lengths  int64 (n, episodes)   length of each episode
    successes   bool (n, episodes)    if the environment reports it

The mean over the episodes is a point of eval/mean_reward, eval/mean_ep_length and eval/success_rate, as SB3 names them.
Nothing is unpickled; members of more than 64 MiB are refused.
Source: stable_baselines3/common/callbacks.py.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import Format
from tuimon.model.points import Item, Points, Replaced

_LARGEST = 64 << 20
_METRICS = {"results": "eval/mean_reward", "ep_lengths": "eval/mean_ep_length", "successes": "eval/success_rate"}


class EvaluationsDocument:
    """A DocumentDecoder."""

    def __init__(self) -> None:
        self._names = list(_METRICS.values())
        self._emitted: npt.NDArray[np.float64] | None = None
        """Points emitted so far as rows of (metric, step, value)."""

    def load(self, data: bytes) -> list[Item]:
        rows = _rows(data)
        known = self._emitted
        new, items = rows, list[Item]()
        if known is not None and len(known) <= len(rows) and np.array_equal(known, rows[: len(known)], equal_nan=True):
            new = rows[len(known) :]
        elif known is not None:
            items.append(Replaced())
        self._emitted = rows
        if not len(new):
            return items
        metric, steps, values = new.T
        times = np.full(len(new), np.nan)
        points = Points(self._names, metric.astype(np.uint32), steps.astype(np.int64), values.copy(), times)
        return [*items, points]


def _rows(data: bytes) -> npt.NDArray[np.float64]:
    """Return rows of (metric, step, value), evaluation by evaluation."""
    arrays = _arrays(data)
    steps = arrays.get("timesteps")
    if steps is None or steps.ndim != 1:
        raise FormatError("no timesteps in this archive")
    columns = []
    for metric, key in enumerate(_METRICS):
        values = arrays.get(key)
        if values is not None and values.ndim == 2 and len(values) == len(steps) and values.shape[1]:
            means = values.astype(np.float64).mean(axis=1)
            columns.append(np.column_stack([np.full(len(steps), float(metric)), steps.astype(np.float64), means]))
    if not columns:
        raise FormatError("no results in this archive")
    return np.stack(columns, axis=1).reshape(-1, 3)


def _arrays(data: bytes) -> dict[str, npt.NDArray[Any]]:
    if not data:
        raise Unfinished("empty document")
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for key in ("timesteps", *_METRICS):
                name = f"{key}.npy"
                if name in archive.namelist():
                    with archive.open(name) as member:
                        content = member.read(_LARGEST + 1)
                    if len(content) > _LARGEST:
                        raise FormatError(f"an array of more than {_LARGEST >> 20} MiB")
                    array = _array(content)
                    if array is not None:
                        arrays[key] = array
    except zipfile.BadZipFile:
        raise Unfinished("half-written document") from None
    except (zlib.error, ValueError, KeyError, EOFError, OSError, NotImplementedError, RuntimeError, SyntaxError):
        raise FormatError("not a readable archive of arrays") from None
    return arrays


def _array(content: bytes) -> npt.NDArray[Any] | None:
    """Read the .npy format; return None for an array of objects, which is a pickle."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(file)
    if dtype.kind not in "iufb":
        return None
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize > len(content):
        raise ValueError("array cut short")
    array = np.frombuffer(content, dtype, count, file.tell())
    return array.reshape(shape, order="F" if fortran else "C")


FORMAT = Format(
    id="sb3-evaluations",
    title="SB3 evaluations",
    writers="EvalCallback of SB3 2.9",
    rank=20,
    matches=lambda name, head: head.startswith(b"PK\x03\x04") and b"timesteps.npy" in head,
    decoder=EvaluationsDocument,
    wants_name=lambda name: name == "evaluations.npz",
    max_size=_LARGEST,
)
