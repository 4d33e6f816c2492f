"""Aim: a .aim directory, recognised but not read, as the values are in RocksDB in Aim's own encoding.

    .aim/VERSION, run_metadata.sqlite (names of runs and experiments), meta/ and seqs/ (RocksDB)

Source: aim/sdk/repo.py.
"""

from __future__ import annotations

from tuimon.formats import Format, no_decoder

FORMAT = Format(
    id="aim",
    title="Aim repository",
    writers="Aim",
    rank=1,
    matches=lambda name, head: True,
    decoder=no_decoder,
    wants_path=lambda path: path.endswith("/.aim/run_metadata.sqlite"),
    unsupported="Aim's values need Aim itself: convert them with its Python API (Run.metrics() to JSON lines), "
    "or let the trainer log to TensorBoard as well",
)
