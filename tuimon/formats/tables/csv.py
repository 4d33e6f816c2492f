"""Tables of metrics: a header, then one row for each log call; see _decoder and _header.

    Lightning, Fabric    metrics.csv     epoch,step,train_loss,…: sparse, several rows per step; rewritten for each new
                                         column
    Stable-Baselines3    progress.csv    time/total_timesteps,rollout/ep_rew_mean,…: columns in any order, rewritten too
                         monitor.csv     '#{"t_start": …}', then r,l,t: one row per episode, t in seconds since t_start
    Keras CSVLogger      any name        epoch,loss,val_loss,…: from 0, NA for a missing value, any separator
    Ultralytics          results.csv     epoch,time,train/box_loss,…: from 1; padded with blanks in 8.0 to 8.2
    Ray Tune             progress.csv    training_iteration,timestamp,…: the header of the first result
    pandas, W&B and TensorBoard downloads, own scripts

Most .csv files hold something else. A table of metrics has a step column and at least as many columns of numbers as of
text, or one known to the vocabulary and either columns of numbers only or a first column that rises evenly; never
prompts or long text. A .log or .txt must begin with a header that has a step column, followed by a row of numbers only,
or with one that has a known metric, followed by three rows of numbers only.

Sources: the writers of these projects, and files that they wrote.
"""

from __future__ import annotations

import numpy as np

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.cells import MISSING, Mask, read_cells, unquoted
from tuimon.formats._shared.json import BOM
from tuimon.formats._shared.rows import LONG_TEXT, SAMPLE_KEYS
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables._header import EPISODES, ROWS_DECIDING, Header, first_header, read_header
from tuimon.vocabulary import classify

_BY_NAME = (".csv", ".tsv")
_OTHER_NAMES = (".log", ".txt", ".out")
_LONGEST_NAME = 120
_LOG_NAME = re.compile(r"[A-Za-z_][\w./:@%()+-]*", re.ASCII)
_ROWS_EXAMINED = 20
_MIN_ROWS = 3
"""Number of rows below which a .txt or .log whose header names no step is not taken for a table."""


def matches(name: str, head: bytes) -> bool:
    *whole, torn = head.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r\n", b"\n").split(b"\n")
    by_name = name.lower().endswith(_BY_NAME)
    header, count = first_header(whole)
    if not count:
        # the header is longer than `head`
        cut = torn[: max(map(torn.rfind, (b",", b";", b"\t")), default=0)] if len(torn) > 1000 else b""
        header = read_header(cut)
    if header is None or not all(len(key) <= _LONGEST_NAME and key not in SAMPLE_KEYS for key in header.names):
        return False
    lines = header.joined([line for line in whole[count:] if line.strip() and not line.startswith(b"#")])
    if header.names[:3] == EPISODES:
        return True
    rows = [line if b'"' not in line else unquoted(line, header.separator) or b"" for line in lines[:_ROWS_EXAMINED]]
    if max((len(cell) for row in rows for cell in row.split(header.separator)), default=0) > LONG_TEXT:
        return False
    fitting = [row for row in rows if row.count(header.separator) + 1 == len(header.names)]
    if rows and not fitting:
        return False
    numbers, texts = _kinds(header, fitting)
    plain = np.asarray(numbers.any(axis=1) & ~texts.any(axis=1))
    if by_name:
        return _holds_metrics(header, fitting, np.asarray(numbers.any(axis=0)), np.asarray(texts.any(axis=0)))
    if header.has_step and all(map(_LOG_NAME.fullmatch, header.names)):
        return bool(plain[:1].any()) and fitting[0] == rows[0]
    return len(fitting) >= _MIN_ROWS and bool(plain.all()) and _has_metric(header)


def metric_names(head: bytes) -> frozenset[str]:
    """Return the names of the columns that are neither steps nor times."""
    header, _ = first_header(head.removeprefix(BOM).split(b"\n"))
    if header is None:
        return frozenset()
    others = {*header.steps, *header.times}
    return frozenset(name for column, name in enumerate(header.names) if column not in others)


def _kinds(header: Header, rows: list[bytes]) -> tuple[Mask, Mask]:
    """Return (which cells are numbers, which are text), as (rows, columns)."""
    numbers = read_cells(rows, header.separator, len(header.names))[1]
    cells = [[cell.strip() in MISSING for cell in row.split(header.separator)] for row in rows]
    return numbers, ~numbers & ~np.array(cells, np.bool_).reshape(numbers.shape)


def _holds_metrics(header: Header, rows: list[bytes], numbers: Mask, texts: Mask) -> bool:
    """Return whether a table of any name is one of metrics. numbers, texts: columns that hold one."""
    if not rows:
        return header.has_step
    times = header.times if header.steps else ()  # an unnamed index beside the time makes it a log
    others = [text for i, text in enumerate(texts.tolist()) if header.numeric[i] and i not in times]
    has_numbers = int(numbers.sum()) >= max(2, sum(others))
    if header.has_step:
        return bool(numbers[list(header.steps)].any()) and has_numbers
    rises = header.may_begin_with_step() and len(rows) >= ROWS_DECIDING and header.rises_evenly(rows)
    return _has_metric(header) and int(numbers.sum()) > 1 and ((rises and has_numbers) or not any(others))


def _has_metric(header: Header) -> bool:
    return any(classify(name).concept != "other" or "loss" in name.lower() for name in header.names)


FORMAT = Format(
    id="csv",
    title="CSV table",
    writers="Lightning 2.6, SB3 2.9, Keras 3.15, Ultralytics, Ray, any table with a step",
    rank=20,
    matches=matches,
    decoder=TableDecoder,
    metric_names=metric_names,
    is_rewritten=lambda before, now: metric_names(before) < metric_names(now),
    wants_name=lambda name: name.lower().endswith(_BY_NAME + _OTHER_NAMES),
)
