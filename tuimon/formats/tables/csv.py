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

from functools import partial
from itertools import zip_longest

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.cells import MISSING, read_cells, unquoted
from tuimon.formats._shared.json import BOM
from tuimon.formats._shared.rows import LONG_TEXT, SAMPLE_KEYS
from tuimon.formats.tables._decoder import TableDecoder, read_tail
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
    rows = _rows(header, lines[:_ROWS_EXAMINED])
    if rows is None:
        return False
    if not by_name:
        if header.has_step and all(map(_LOG_NAME.fullmatch, header.names)):
            return bool(rows) and _plain(rows[0])
        return len(rows) >= _MIN_ROWS and all(map(_plain, rows)) and _has_metric(header)
    return _holds_metrics(header, rows)


def metric_names(head: bytes) -> frozenset[str]:
    """Return the names of the columns that are neither steps nor times."""
    header, _ = first_header(head.removeprefix(BOM).split(b"\n"))
    if header is None:
        return frozenset()
    others = {*header.steps, *header.times}
    return frozenset(name for column, name in enumerate(header.names) if column not in others)


def _rows(header: Header, lines: list[bytes]) -> list[list[bytes]] | None:
    """Return the cells of the rows; None if most rows do not fit the header, or a cell is long text."""
    rows: list[list[bytes]] = []
    lines = _of_one_header(header, lines)
    for line in lines:
        row = unquoted(line, header.separator) if b'"' in line else line
        cells = row.split(header.separator) if row is not None else []
        if max(map(len, cells), default=0) > LONG_TEXT:
            return None
        if len(cells) == len(header.names):
            rows.append([cell.strip() for cell in cells])
    is_table = all(line.count(header.separator) + 1 == len(header.names) for line in lines[:2])
    return rows if is_table or 2 * len(rows) >= len(lines) else None  # another writer may append other rows


def _of_one_header(header: Header, lines: list[bytes]) -> list[bytes]:
    """Return the rows that belong to the header: a writer that gets a new column writes a longer header after the first
    rows, or in the place of the first one, so that the first rows are too short."""
    after = next((i for i, line in enumerate(lines) if i and _continues(header, line)), len(lines))
    lines = lines[:after]
    cells = [line.count(header.separator) + 1 for line in lines]
    short = next((i for i, count in enumerate(cells) if count != cells[0]), 0)
    longer = short and cells[0] < len(header.names) and cells[short] == len(header.names)
    return lines[short:] if longer else lines


def _continues(header: Header, line: bytes) -> bool:
    """Return whether a line is a header with all columns of the first one."""
    other = read_header(line)
    return other is not None and set(header.names) <= set(other.names)


def _plain(row: list[bytes]) -> bool:
    """Return True if the cells of a row are numbers or missing."""
    numbers, texts = _kinds([row])
    return any(numbers) and not any(texts)


def _kinds(rows: list[list[bytes]]) -> tuple[list[bool], list[bool]]:
    """Return (columns that hold a number, columns that hold text), as one bool for each column."""
    numbers, texts = [], []
    for column in zip_longest(*rows):
        cells = [cell for cell in column if cell not in MISSING]
        present: list[bool] = read_cells(cells, b"\n", 1)[1].ravel().tolist() if cells else []
        numbers.append(any(present))
        texts.append(not all(present))
    return numbers, texts


def _holds_metrics(header: Header, rows: list[list[bytes]]) -> bool:
    if not rows:
        return header.has_step
    numbers, texts = _kinds(rows)
    times = header.times if header.steps else ()  # an unnamed index beside the time makes it a log
    texts = [text for i, text in enumerate(texts) if header.numeric[i] and i not in times]
    if header.has_step:
        return any(numbers[column] for column in header.steps) and sum(numbers) >= max(2, sum(texts))
    may_have_texts = (
        header.may_begin_with_step()
        and len(rows) >= ROWS_DECIDING
        and header.rises_evenly([*map(header.separator.join, rows)])
        and sum(numbers) >= max(2, sum(texts))
    )
    return _has_metric(header) and sum(numbers) > 1 and (may_have_texts or not any(texts))


def _has_metric(header: Header) -> bool:
    return any(classify(name).concept != "other" or "loss" in name.lower() for name in header.names)


FORMAT = Format(
    id="csv",
    title="CSV table",
    writers="Lightning 2.6, SB3 2.9, Keras 3.15, Ultralytics, Ray, any table with a step",
    rank=20,
    matches=matches,
    decoder=TableDecoder,
    tail=partial(read_tail, TableDecoder),
    metric_names=metric_names,
    is_rewritten=lambda before, now: metric_names(before) < metric_names(now),
    wants_name=lambda name: name.lower().endswith(_BY_NAME + _OTHER_NAMES),
)
