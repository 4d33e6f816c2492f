"""Tables in long form, one point a row, as trackers let them be downloaded.

    MLflow        key,value,step,timestamp    the columns in any order, with or without the others (run_id, …)
    TensorBoard   Wall time,Step,Value        run-<run>-tag-<tag>.csv: one metric, whose name is in that of the file

See _decoder for cells and steps. Source: files downloaded from MLflow 2 and 3 and from TensorBoard 2.
"""

from __future__ import annotations

import posixpath

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.cells import read_cells, unquoted
from tuimon.formats._shared.json import BOM
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables._header import in_long_form, read_header

_TENSORBOARD = re.compile(rb"(?:\xef\xbb\xbf)?\"?Wall time\"?,\"?Step\"?,\"?Value\"?\r*\n")
_TAG = re.compile(r"(?:run-.*?-)?tag-(?P<tag>.+)")


def _is_long_form(name: str, head: bytes) -> bool:
    """Return whether the header has the columns, and the first row has a number as value and a name as key."""
    first, _, rest = head.removeprefix(BOM).partition(b"\n")
    header = read_header(first.rstrip(b"\r"))
    long = in_long_form(header) if header is not None else None
    if long is None or long.key is None or long.value is None:
        return False
    row = rest.partition(b"\n")[0].rstrip(b"\r")
    row = (unquoted(row, long.separator) or b"") if b'"' in row else row
    if len(long.split(row)) != len(long.names):
        return False
    present = read_cells([row], long.separator, len(long.names))[1][0]
    return bool(not present[long.key] and present[long.value] and present[long.steps[0]])


def _tag(path: str) -> dict[str, str]:
    """Return the name of the metric of a file that TensorBoard let be downloaded."""
    stem = posixpath.basename(path).rpartition(".")[0]
    match = _TAG.fullmatch(stem)
    return {"Value": match["tag"] if match else stem}


FORMATS = (
    Format(
        id="csv-long",
        title="CSV in long form",
        writers="MLflow's download, any table with key, value and step",
        rank=21,
        matches=_is_long_form,
        decoder=lambda: TableDecoder(long=True),
        wants_name=lambda name: name.lower().endswith((".csv", ".tsv")),
    ),
    Format(
        id="tensorboard-csv",
        title="TensorBoard download (CSV)",
        writers="TensorBoard 2",
        rank=22,
        matches=lambda name, head: _TENSORBOARD.match(head) is not None,
        decoder=TableDecoder,
        wants_name=lambda name: name.lower().endswith(".csv"),
        shown_names=_tag,
    ),
)
