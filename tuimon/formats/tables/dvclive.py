"""DVCLive: dvclive/plots/metrics/<name>.tsv, one metric a file.

    step<TAB>loss
    0<TAB>0.5

The name of the metric is the path below plots/metrics; the header only has its last part ("mean" of
critic/score/mean.tsv). Versions before 1.0 wrote "timestamp<TAB>step<TAB>loss", below scalars/ or directly in dvclive/.
nan, inf and -inf are written as such. Source: dvclive/plots/metric.py, and files that it wrote.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.text import decoded

_PATH = re.compile(r".*/plots/metrics/(?P<name>.+)\.tsv", re.DOTALL)
_HEADER = re.compile(rb"(?:timestamp\t)?step\t(?P<name>[^\t\r\n]+)\r?\n")


def metric_name(path: str) -> str | None:
    match = _PATH.fullmatch(path)
    return match["name"] if match else None


def _matches(name: str, head: bytes) -> bool:
    header = _HEADER.match(head)
    return header is not None and decoded(header["name"]) == name.removesuffix(".tsv")


FORMAT = Format(
    id="dvclive",
    title="DVCLive metric",
    writers="DVCLive 2.6 to 3.49",
    rank=21,
    matches=_matches,
    decoder=TableDecoder,
    wants_name=lambda name: name.endswith(".tsv"),
    source_path=lambda path: path,
    metric_name=metric_name,
)
