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
from tuimon.formats.json._document import Content, RowsDocument
from tuimon.model.points import Item

_LARGEST = 64 << 20
_METRICS = {"results": "eval/mean_reward", "ep_lengths": "eval/mean_ep_length", "successes": "eval/success_rate"}
_DAMAGED = (
    *(zlib.error, ValueError, KeyError, EOFError, OSError, NotImplementedError, RuntimeError, SyntaxError),
    MemoryError,  # a header with a huge shape
)


class EvaluationsDocument(RowsDocument):
    """A DocumentDecoder of rows of evaluations, which are arrays of an archive instead of JSON."""

    def __init__(self) -> None:
        super().__init__(lambda rows: Content({"": rows}))

    def load(self, data: bytes) -> list[Item]:
        return self._whole(_rows(data))


def _rows(data: bytes) -> list[dict[str, Any]]:
    """Return the rows of an archive: [{"step": 1000, "eval/mean_reward": 20.5}, …]."""
    arrays = _arrays(data)
    steps = arrays.pop("timesteps", None)
    if steps is None or steps.ndim != 1:
        raise FormatError("no timesteps in this archive")
    columns = {"step": steps.astype(np.int64).tolist()} | {
        _METRICS[key]: values.astype(np.float64).mean(axis=1).tolist()
        for key, values in arrays.items()
        if values.ndim == 2 and len(values) == len(steps) and values.shape[1]
    }
    if len(columns) < 2:
        raise FormatError("no results in this archive")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _arrays(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of numbers in an archive."""
    if not data:
        raise Unfinished("empty document")
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            if max((member.file_size for member in archive.zip.infolist()), default=0) > _LARGEST:
                raise FormatError(f"an array of more than {_LARGEST >> 20} MiB")
            for key in ("timesteps", *_METRICS):
                if key in archive and (array := archive[key]).dtype.kind in "iufb":
                    arrays[key] = array
    except zipfile.BadZipFile:
        raise Unfinished("half-written document") from None
    except _DAMAGED:
        raise FormatError("not a readable archive of arrays") from None
    return arrays


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
