"""Files that are not opened because no format has such names, with the reason, for `tuimon doctor`."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence

_UNPACK = (".xz", ".bz2", ".zst", ".lz4", ".br", ".zip", ".7z", ".tar", ".tgz", ".rar")
_PICKLE = (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib")
_EXPORT = (
    *(".npz", ".npy", ".parquet", ".feather", ".arrow", ".xlsx", ".xls", ".ods", ".h5", ".hdf5", ".mat", ".msgpack"),
    *(".orc", ".avro", ".rds", ".dta"),
)


def reason_by_name(path: str) -> str:
    """Return why a file of this name is not read, and what the user can do; "" if the name does not say."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _UNPACK:
        return f"{suffix[1:]} is not read: unpack it"
    if suffix in _PICKLE:
        return f"{suffix[1:]} is not read, as a pickle can run any program: save the numbers as CSV or JSON"
    if suffix in _EXPORT:
        return f"{suffix[1:]} is not read: save the numbers as CSV or JSON"
    return ""


def other_files(directories: Sequence[str], known: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) of the files directly in these directories that are not among the `known` paths, sorted."""
    for directory in sorted(directories):
        try:
            with os.scandir(directory) as entries:
                paths = sorted(entry.path for entry in entries if entry.is_file())
        except OSError:  # reported by the search, or removed since
            continue
        for path in paths:
            if path not in known:
                yield path, reason_by_name(path) or "no log has such a name"
