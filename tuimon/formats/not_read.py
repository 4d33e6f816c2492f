"""Logs that are recognised and not read, because only their own library can read them.

    .aim/run_metadata.sqlite                           Aim: the values are in RocksDB, in Aim's own encoding
    .neptune/{async,offline,sync}/<run>/data-<n>.log   Neptune: operations that wait to be sent to its server
    *.neptune                                          Neptune: an exported container
    .cometml-runs/*.zip, offline Comet experiments     Comet: messages that wait to be uploaded
    metrics.pt, history.pth, losses.pt                 PyTorch: a pickle, which could run any program

Source: aim/sdk/repo.py, neptune/internal/operation_processors, comet_ml/offline.py, torch.save.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.formats import Format, no_decoder

_ZIP = b"PK\x03\x04"


def _named(id: str, title: str, pattern: str, advice: str, fits: Callable[[bytes], bool]) -> Format:
    path = re.compile(pattern, re.DOTALL)
    return Format(
        id=id,
        title=title,
        writers="",
        rank=11,  # above console text
        matches=lambda name, head: fits(head),
        decoder=no_decoder,
        wants_path=lambda where: path.fullmatch(where) is not None,
        describes_run=True,
        unsupported=advice,
    )


FORMATS = (
    replace(
        _named(
            "aim",
            "Aim repository",
            r".*/\.aim/run_metadata\.sqlite",
            "Aim's values need Aim itself: convert them with its Python API (Run.metrics() to JSON lines), "
            "or let the trainer log to TensorBoard as well",
            lambda head: True,
        ),
        writers="Aim",
        rank=1,
        describes_run=False,
    ),
    _named(
        "neptune",
        "Neptune run",
        r".*/\.neptune/(?:async|offline|sync)/.+/data-\d+\.log",
        "Neptune's operations need Neptune itself: download the run as CSV (run['loss'].fetch_values().to_csv), "
        "or let the trainer log to TensorBoard as well",
        lambda head: head.lstrip().startswith(b"{"),
    ),
    _named(
        "comet",
        "Comet offline experiment",
        r".*/(?:\.cometml-runs|comet_offline|comet-offline|\.comet)/[^/]+\.zip",
        "Comet's archive needs Comet itself: `comet upload` it and download the metrics as CSV or JSON, "
        "or let the trainer log to TensorBoard as well",
        lambda head: head.startswith(_ZIP),
    ),
    _named(
        "torch-pickle",
        "PyTorch metrics file",
        r".*/(?:[^/]*_)?(?:metrics|history|losses|loss|rewards|stats|curves)\.pth?",
        "a pickle can run any program, so it is not opened: load it with torch.load(path, weights_only=True) and save "
        "the numbers as JSON or CSV",
        lambda head: head.startswith((_ZIP, b"\x80\x02")),
    ),
)
