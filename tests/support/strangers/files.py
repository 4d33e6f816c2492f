"""Writers of tables, JSON and event files."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from support.event_points import event, file_of, scalar
from support.strangers.cases import Written
from support.strangers.trainings import Row, Training


def _time(time: float, style: str) -> Any:
    if style == "iso":
        return datetime.fromtimestamp(time, UTC).isoformat()
    if style == "zone":
        return datetime.fromtimestamp(time, timezone(timedelta(hours=5, minutes=30))).isoformat(timespec="milliseconds")
    if style == "blank":
        return datetime.fromtimestamp(time, UTC).isoformat(" ", "milliseconds")
    return round(time * 1000) if style == "ms" else time


_TIMES = ("", "", "iso", "zone", "blank", "ms", "s")
_TIME_NAMES = ("timestamp", "time", "wall_time", "date", "_timestamp", "ts")


def table(training: Training, rng: Random) -> Written:
    """A table with one of several separators."""
    separator = rng.choice((",", ",", ",", ";", "\t"))
    decimal_comma = separator == ";" and rng.random() < 0.4
    step_name = rng.choice(
        ("step", "Step", "global_step", "iteration", "iter", "steps", "epoch", "", "_step", "train_step")
    )
    time_style = rng.choice(_TIMES)
    time_name = rng.choice(_TIME_NAMES)
    time_name = "time" if time_name == "date" and time_style in ("ms", "s") else time_name
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    missing = rng.choice(("", "", "NA", "", "-", "None"))
    percent = rng.random() < 0.1
    names = [metric.name for metric in training.metrics]
    header = [step_name, *([time_name] if time_style else []), *names]
    step_column = 0
    if step_name and rng.random() < 0.2:
        header, step_column = [*header[1:], header[0]], len(header) - 1
    out = io.StringIO()
    if rng.random() < 0.15:
        out.write("# made by train.py\n")
    end = rng.choice(("\n", "\n", "\r\n"))
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(header)
    again = rng.random() < 0.5
    for number, attempt in enumerate(training.attempts):
        if number and again:
            writer.writerow(header)
        for row in attempt:
            cells = {cell.name: cell.text + ("%" if percent and cell.unit == "%" else "") for cell in row.cells}
            line = [cells.get(name, missing) for name in names]
            if decimal_comma:
                line = [text.replace(".", ",") for text in line]
            if time_style:
                line.insert(0, str(_time(row.time, time_style)))
            line.insert(step_column if step_column else 0, str(row.step))
            writer.writerow(line)
    name = rng.choice(("metrics.csv", "log.csv", "train.tsv" if separator == "\t" else "history.csv", "results.csv"))
    traits = [
        f"sep {separator!r}",
        f"step {step_name!r}",
        f"time {time_style and time_name} {time_style}",
        f"missing {missing!r}",
        f"comma={decimal_comma}",
    ]
    return Written([(name, out.getvalue().encode())], timed=bool(time_style), traits=traits)


def growing_table(training: Training, rng: Random) -> Written:
    """A table without time whose columns appear later, with a new header, or whose last row is cut."""
    names = [metric.name for metric in training.metrics]
    out = io.StringIO()
    out.write(",".join(["step", *names]) + "\n")
    for row in training.rows:
        cells = {cell.name: cell.text for cell in row.cells}
        out.write(",".join([str(row.step), *(cells.get(name, "") for name in names)]) + "\n")
    data = out.getvalue().encode()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    return Written([("metrics.csv", data[: rng.randrange(last, len(data) - 1)])], rows=training.rows[:-1])


def _value(text: str, as_text: bool) -> Any:
    if as_text:
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _row(row: Row, shape: str, step_name: str, time_name: str, time_style: str, as_text: bool) -> dict[str, Any]:
    values: dict[str, Any] = {cell.name: _value(cell.text, as_text) for cell in row.cells}
    if shape == "nested":
        nested: dict[str, Any] = {}
        for name, value in values.items():
            *parents, last = name.split("/")
            inner = nested
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[last] = value
        values = nested
    elif shape in ("metrics", "data"):
        values = {shape: values}
    return {step_name: row.step, **({time_name: _time(row.time, time_style)} if time_style else {}), **values}


def json_lines(training: Training, rng: Random) -> Written:
    """An object for each row."""
    shape = rng.choice(("flat", "flat", "nested", "metrics", "data"))
    if shape == "nested" and any(
        other.startswith(f"{metric.name}/")
        for metric in training.metrics
        for other in (m.name for m in training.metrics)
    ):
        shape = "flat"
    step_name = rng.choice(("step", "global_step", "iteration", "_step", "iter", "current_steps", "epoch"))
    time_style, time_name, as_text = rng.choice(_TIMES), rng.choice(_TIME_NAMES), rng.random() < 0.1
    lines = [json.dumps(_row(row, shape, step_name, time_name, time_style, as_text)) for row in training.rows]
    if rng.random() < 0.2:
        lines.insert(0, json.dumps({"config": {"lr": 1e-4, "batch_size": 32}}))
    name = rng.choice(("metrics.jsonl", "log.jsonl", "train_log.jsonl", "metrics.json", "log.txt"))
    data = "".join(line + "\n" for line in lines).encode()
    traits = [shape, step_name, f"{time_name} {time_style}", f"as_text={as_text}", name]
    rows = None
    if rng.random() < 0.15:
        last = data.rstrip(b"\n").rfind(b"\n") + 1
        data, rows = data[: rng.randrange(last, len(data) - 1)], training.rows[:-1]
    return Written([(name, data)], timed=bool(time_style), traits=traits, rows=rows)


def single_metric_lines(training: Training, rng: Random) -> Written:
    """An object for each number."""
    key = rng.choice(("metric", "name", "key", "tag"))
    lines = [
        json.dumps({key: cell.name, "value": _value(cell.text, False), "step": row.step, "timestamp": row.time})
        for row in training.rows
        for cell in row.cells
    ]
    return Written([("metrics.jsonl", "".join(line + "\n" for line in lines).encode())], timed=True, traits=[key])


def json_document(training: Training, rng: Random) -> Written:
    """One document: a list of rows, or rows under a key, or columns."""
    shape = rng.choice(("list", "log_history", "history", "columns"))
    rows = [_row(row, "flat", "step", "", "", False) for row in training.rows]
    if shape == "columns" and all(len(row.cells) == len(training.metrics) for row in training.rows):
        names = ["step", *(metric.name for metric in training.metrics)]
        document: Any = {name: [row[name] for row in rows] for name in names}
    else:
        shape = "list" if shape == "columns" else shape
        document = rows if shape == "list" else {shape: rows, "best_metric": None}
    indent = rng.choice((None, 2))
    name = "trainer_state.json" if shape == "log_history" else rng.choice(("history.json", "metrics.json", "log.json"))
    return Written([(name, json.dumps(document, indent=indent).encode())], traits=[shape, name])


def event_file(training: Training, rng: Random) -> Written:
    """An event file of TensorBoard for each attempt."""
    files = []
    for number, attempt in enumerate(training.attempts):
        data = file_of(
            *(event(row.step, *(scalar(cell.name, cell.value) for cell in row.cells), wall=row.time) for row in attempt)
        )
        files.append((f"events.out.tfevents.{int(attempt[0].time)}.host.{number + 1}.0", data))
    return Written(files, timed=True)


def two_tables(training: Training, rng: Random) -> Written:
    """Each attempt in a file of its own."""
    files = []
    names = [metric.name for metric in training.metrics]
    for number, attempt in enumerate(training.attempts):
        lines = [",".join(["step", *names])]
        for row in attempt:
            cells = {cell.name: cell.text for cell in row.cells}
            lines.append(",".join([str(row.step), *(cells.get(name, "") for name in names)]))
        files.append((f"metrics{number or ''}.csv", ("\n".join(lines) + "\n").encode()))
    return Written(files)


def compressed(training: Training, rng: Random) -> Written:
    """A compressed log."""
    written = rng.choice((table, json_lines))(training, rng)
    (name, data), *_ = written.files
    written.files = [(f"{name}.gz", gzip.compress(data, mtime=0))]
    return written


WRITERS = {
    "csv": table,
    "csv/growing": growing_table,
    "csv/two files": two_tables,
    "jsonl": json_lines,
    "jsonl/single": single_metric_lines,
    "json": json_document,
    "event file": event_file,
    "gzip": compressed,
}


def is_float32(writer: str) -> bool:
    """Return whether the values are stored with 32 bits."""
    return writer == "event file"
