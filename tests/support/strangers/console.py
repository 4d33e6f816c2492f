"""Writers of console text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from random import Random

from support.strangers.cases import Written
from support.strangers.trainings import Cell, Row, Training

Fields = Callable[[Sequence[Cell]], str]
_STEP_WORDS = ("step", "Step", "iter", "global_step", "iteration", "Iteration", "update")


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Units:
    """The way of a writer to print numbers with their units."""

    def __init__(self, training: Training, rng: Random) -> None:
        self.names: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self._forms: dict[str, Callable[[str], str]] = {}
        self.bare: set[str] = set()
        """Metrics whose unit is in the place of their name: "412 ms/it"."""
        for metric in training.metrics:
            self._choose(metric.name, metric.unit, rng)

    def _choose(self, name: str, unit: str, rng: Random) -> None:
        blank = rng.choice(("", " "))
        if unit == "%" and rng.random() < 0.7:
            self._forms[name], self.units[name] = (lambda text: f"{text}%"), "%"
        elif unit == "ms" and not name.endswith("ms") and rng.random() < 0.7:
            self._forms[name], self.units[name] = (lambda text: f"{text}{blank}ms"), "ms"
        elif unit == "s" and rng.random() < 0.7:
            self._forms[name], self.units[name] = (lambda text: f"{text}{blank}s"), "s"
        elif unit == "GB" and "gb" not in name.lower() and rng.random() < 0.7:
            whole = rng.choice(("", "", "/80"))
            self._forms[name], self.units[name] = (lambda text: f"{text}{whole}{blank or (whole and ' ')}GB"), "GB"
        elif name in ("tok/s", "tgs", "tps", "throughput") and rng.random() < 0.6 and rng.choice((True, False)):
            self._forms[name] = lambda text: f"{float(text):,.{len(text.partition('.')[2])}f}"

    def text(self, cell: Cell) -> str:
        """Return the number as it is printed."""
        form = self._forms.get(cell.name)
        return form(cell.text) if form and math.isfinite(cell.value) else cell.text


def _joined(separator: str, joint: str) -> Callable[[Units], Fields]:
    return lambda units: lambda cells: separator.join(f"{cell.name}{joint}{units.text(cell)}" for cell in cells)


def _head(word: str, style: str) -> Callable[[Row, int], str]:
    def head(row: Row, total: int) -> str:
        return style.format(word=word, step=row.step, total=total)

    return head


_HEADS = {
    "word": "{word} {step}",
    "colon": "{word}: {step}",
    "equals": "{word}={step}",
    "of": "{word} {step}/{total}",
    "bracket": "[{word} {step}/{total}]",
    "bracket_colon": "[{word}: {step}]",
    "bare_bracket": "[{step}/{total}]",
    "hash": "{word} #{step}",
    "paren": "({word} {step})",
    "padded": "{word} {step:>6}",
    "of_blank": "{word} [{step}/{total}]",
}
_NOISE = (
    "Loading checkpoint shards: done",
    "Loaded 12,345 examples in 3.2s",
    "number of parameters: 124.44M",
    "Using device cuda:0 (NVIDIA H100 80GB HBM3)",
    "Config: lr=1e-4, batch_size=32, epochs=3",
    "UserWarning: lr_scheduler.step() called before optimizer.step()",
    "  warnings.warn(message)",
    "",
    "=" * 60,
    "Starting training",
)


def _text(lines: Iterable[str], rng: Random) -> bytes:
    newline = "\r\n" if rng.random() < 0.05 else "\n"
    return "".join(line + newline for line in lines).encode()


def _lines(
    training: Training, rng: Random, line: Callable[[Row], str], saved: str = "saving checkpoint to ckpt/{step}"
) -> list[str]:
    lines = rng.sample(_NOISE, rng.randrange(0, 5)) if rng.random() < 0.8 else []
    for number, attempt in enumerate(training.attempts):
        if number:
            lines += ["Starting training", f"Resuming from checkpoint ckpt/{attempt[0].step}"]
        for row in attempt:
            lines.append(line(row))
            if saved and rng.random() < 0.05:
                lines.append(saved.format(step=row.step))
    return lines


def _generic(separators: Sequence[tuple[str, str, str]], heads: Sequence[str]) -> Callable[[Training, Random], Written]:
    """separators: (between head and fields, between fields, between name and number)."""

    def write(training: Training, rng: Random) -> Written:
        units = Units(training, rng)
        after, between, joint = rng.choice(list(separators))
        style = rng.choice(list(heads))
        word = rng.choice(_STEP_WORDS)
        head, fields = _head(word, _HEADS[style]), _joined(between, joint)(units)
        prefix, timed = _prefix(rng)
        colour = rng.random() < 0.15

        def line(row: Row) -> str:
            text = f"{head(row, training.total)}{after}{fields(row.cells)}"
            if colour:
                text = f"\x1b[32m{text}\x1b[0m" if rng.random() < 0.5 else text.replace("loss", "\x1b[1mloss\x1b[0m", 1)
            return prefix(row) + text

        lines = _lines(training, rng, line)
        traits = [f"head {style}", f"word {word}", f"sep {between!r} joint {joint!r}"]
        return Written([("train.log", _text(lines, rng))], units.names, units.units, timed, traits=traits)

    return write


def _prefix(rng: Random) -> tuple[Callable[[Row], str], bool]:
    """Return what begins each line, and whether it holds the time."""
    style = rng.randrange(12)
    if style == 0:
        return lambda row: f"{_stamp(row.time)} INFO trainer: ", True
    if style == 1:
        return lambda row: f"[{_stamp(row.time)}][INFO][rank 0] ", True
    if style == 2:
        return lambda row: f"{_stamp(row.time)} | INFO     | train:main:88 - ", True
    if style == 3:
        return lambda row: "[rank0]: ", False
    if style == 4:
        return lambda row: "INFO:train:", False
    if style == 5:
        return lambda row: f"{_stamp(row.time)} [INFO] trainer.py:88 - ", True
    return lambda row: "", False


def bare_units(training: Training, rng: Random) -> Written:
    """step 10 | loss 0.5 | 412 ms/it | 12.1k tok/s"""
    names, units = dict[str, str](), dict[str, str]()
    plain: list[str] = []
    for metric in training.metrics:
        if metric.unit in ("ms", "s") and "ms/it" not in names.values() and "s/it" not in names.values():
            names[metric.name] = f"{metric.unit}/it"
            units[metric.name] = metric.unit
        elif metric.name in ("tok/s", "tgs", "tps", "tokens_per_sec") and "tok/s" not in names.values():
            names[metric.name] = "tok/s"
        else:
            plain.append(metric.name)
    between = rng.choice((" | ", ", ", "  "))
    head = _head(rng.choice(("step", "iter")), rng.choice((_HEADS["word"], _HEADS["of"], _HEADS["bracket"])))
    joint = rng.choice((" ", ": ", "="))

    def line(row: Row) -> str:
        parts = [
            f"{cell.name}{joint}{cell.text}" if cell.name in plain else f"{cell.text} {names[cell.name]}"
            for cell in row.cells
        ]
        return f"{head(row, training.total)}{between}{between.join(parts)}"

    return Written(
        [("out.log", _text(_lines(training, rng, line), rng))], names, units, traits=[f"{between!r}{joint!r}"]
    )


def dictionary(training: Training, rng: Random) -> Written:
    """{'step': 10, 'loss': 0.5}, or step 10: {'loss': 0.5}"""
    inside = rng.random() < 0.6
    quoted = rng.random() < 0.15
    wrap = rng.random() < 0.1
    prefix, timed = _prefix(rng)
    word = rng.choice(("step", "global_step", "iteration"))

    def number(cell: Cell) -> str:
        if quoted:
            return f"'{cell.text}'"
        return f"np.float64({cell.text})" if wrap else cell.text

    def line(row: Row) -> str:
        fields = ", ".join(f"'{cell.name}': {number(cell)}" for cell in row.cells)
        if inside:
            return f"{prefix(row)}{{'{word}': {row.step}, {fields}}}"
        return f"{prefix(row)}{word} {row.step}: {{{fields}}}"

    written = Written([("run.log", _text(_lines(training, rng, line), rng))], timed=timed)
    written.traits += [f"inside={inside} quoted={quoted} wrap={wrap}"]
    return written


def json_in_text(training: Training, rng: Random) -> Written:
    """2026-09-21T… INFO {"step": 10, "loss": 0.5}"""
    prefix, timed = _prefix(rng)

    def line(row: Row) -> str:
        fields = ", ".join(f'"{cell.name}": {_json(cell.text)}' for cell in row.cells)
        return f'{prefix(row)}{{"step": {row.step}, {fields}}}'

    return Written([("train.out", _text(["Starting", *_lines(training, rng, line)], rng))], timed=timed)


def _json(text: str) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def logfmt(training: Training, rng: Random) -> Written:
    """ts=… level=info msg="train step" step=10 loss=0.5"""
    key = rng.choice(("ts", "time"))

    def line(row: Row) -> str:
        fields = " ".join(f"{cell.name}={cell.text}" for cell in row.cells)
        return f'{key}={_stamp(row.time)} level=info msg="train step" step={row.step} {fields}'

    return Written([("train.log", _text(_lines(training, rng, line), rng))], timed=True)


def tqdm_postfix(training: Training, rng: Random) -> Written:
    """A bar that is redrawn: train:  12%|█▏  | 60/500 [00:12<01:23, 5.20it/s, loss=0.5]"""
    total = training.total
    begin = rng.choice(("train", "Epoch 1", ""))

    def bar(row: Row) -> str:
        share = row.step / total
        fields = ", ".join(f"{cell.name}={cell.text}" for cell in row.cells)
        filled = "█" * int(10 * share) + " " * (10 - int(10 * share))
        lead = f"{begin}: " if begin else ""
        return f"\r{lead}{share:4.0%}|{filled}| {row.step}/{total} [00:12<01:23,  5.20it/s, {fields}]"

    text = "".join(bar(row) for row in training.rows)
    return Written([("train.err", text.encode() + b"\n")], traits=[f"begin {begin!r}"])


def markdown(training: Training, rng: Random) -> Written:
    """| step | loss | … a row for each step"""
    names = [metric.name for metric in training.metrics]
    box = rng.random() < 0.3
    bar = "│" if box else "|"
    word = rng.choice(("step", "Step", "iter"))
    lines = ["Training", f"{bar} {word} {bar} " + f" {bar} ".join(names) + f" {bar}"]
    lines.append(
        "├" + "┼".join("─" * 8 for _ in range(len(names) + 1)) + "┤" if box else "|---" * (len(names) + 1) + "|"
    )
    for row in training.rows:
        cells = {cell.name: cell.text for cell in row.cells}
        lines.append(f"{bar} {row.step} {bar} " + f" {bar} ".join(cells.get(name, "-") for name in names) + f" {bar}")
    return Written([("train.log", _text(lines, rng))], traits=[f"box={box}"])


def aligned(training: Training, rng: Random) -> Written:
    """Columns below a header, separated by blanks."""
    names = [metric.name for metric in training.metrics]
    lines = ["Starting training", "".join(f"{name:>24}" for name in ["step", *names])]
    if rng.random() < 0.5:
        lines.append("-" * 24 * (len(names) + 1))
    for row in training.rows:
        cells = {cell.name: cell.text for cell in row.cells}
        lines.append("".join(f"{text:>24}" for text in [str(row.step), *(cells.get(name, "-") for name in names)]))
    return Written([("train.log", _text(lines, rng))])


def block(training: Training, rng: Random) -> Written:
    """A line with the step, then one for each metric."""
    joint = rng.choice((": ", " = ", "="))
    head = _head(
        rng.choice(("Step", "Iteration")),
        rng.choice(("{word} {step}:", "--- {word} {step} ---", "{word} {step}/{total}")),
    )
    lines = []
    for row in training.rows:
        lines += [head(row, training.total), *(f"  {cell.name}{joint}{cell.text}" for cell in row.cells)]
    return Written([("train.log", _text(lines, rng))], traits=[f"{head(training.rows[0], 9)!r} {joint!r}"])


def step_last(training: Training, rng: Random) -> Written:
    """loss: 0.5, acc: 0.8, step: 100"""
    between, joint = rng.choice(((", ", ": "), (" ", "="), (" | ", ": "), (", ", "=")))

    def line(row: Row) -> str:
        return between.join([*(f"{cell.name}{joint}{cell.text}" for cell in row.cells), f"step{joint}{row.step}"])

    return Written([("train.log", _text(_lines(training, rng, line), rng))], traits=[f"{between!r}{joint!r}"])


def boosting(training: Training, rng: Random) -> Written:
    """[10]	train-rmse:0.5	eval-rmse:0.6"""
    lines = [f"[{row.step}]\t" + "\t".join(f"{cell.name}:{cell.text}" for cell in row.cells) for row in training.rows]
    return Written([("xgb.log", _text(lines, rng))])


def epochs(training: Training, rng: Random) -> Written:
    """Epoch 3/20 - loss: 0.5 - acc: 0.9"""
    between = rng.choice((" - ", ", ", " | ", "  "))
    style = rng.choice(
        ("Epoch {step}/{total}", "Epoch {step}", "epoch: {step}", "Epoch [{step}/{total}]", "[Epoch {step}]")
    )

    def line(row: Row) -> str:
        head = style.format(step=row.step, total=training.total)
        return f"{head}{between}{between.join(f'{cell.name}: {cell.text}' for cell in row.cells)}"

    return Written([("train.log", _text(_lines(training, rng, line, ""), rng))], traits=[f"{style} {between!r}"])


def ranks(training: Training, rng: Random) -> Written:
    """Each line is printed by four ranks, which print the same numbers."""
    lines = [
        f"[rank{rank}]: step {row.step} " + " ".join(f"{cell.name}={cell.text}" for cell in row.cells)
        for row in training.rows
        for rank in range(4)
    ]
    return Written([("train.log", _text(lines, rng))])


def growing(training: Training, rng: Random) -> Written:
    """The last line is cut."""
    text = "".join(
        f"step={row.step} " + " ".join(f"{cell.name}={cell.text}" for cell in row.cells) + "\n" for row in training.rows
    ).encode()
    last = text.rstrip(b"\n").rfind(b"\n") + 1
    return Written([("train.log", text[: rng.randrange(last, len(text) - 1)])], rows=training.rows[:-1])


def unended(training: Training, rng: Random) -> Written:
    """The newline of the last line is missing."""
    joint, between = rng.choice((("=", " "), (": ", ", ")))
    lines = [
        f"step {row.step}: {between.join(f'{cell.name}{joint}{cell.text}' for cell in row.cells)}"
        for row in training.rows
    ]
    return Written([("train.log", _text(lines, rng).rstrip())])


def evaluations(training: Training, rng: Random) -> Written:
    """Evaluations on lines of their own."""
    style = rng.choice(("step {step}: {fields}", "[{step}/{total}] {fields}", "step={step} {fields}"))
    joint, between = rng.choice((("=", " "), (": ", ", "), (" ", " | ")))
    evals = {metric.name for metric in training.metrics if metric.is_eval}

    def text(row: Row) -> str:
        parts = [[cell for cell in row.cells if (cell.name in evals) == of_eval] for of_eval in (False, True)]
        return "\n".join(
            style.format(
                step=row.step, total=training.total, fields=between.join(f"{c.name}{joint}{c.text}" for c in part)
            )
            for part in parts
            if part
        )

    return Written([("train.log", _text(_lines(training, rng, text), rng))], traits=[f"{style} {joint!r} {between!r}"])


_COMMON = ("word", "of", "bracket", "bare_bracket", "padded")
WRITERS = {
    "console/colon": _generic(
        [(", ", ", ", ": "), (": ", ", ", ": "), (" - ", " - ", ": "), (" | ", " | ", ": ")],
        [*_COMMON, "colon", "hash", "of_blank"],
    ),
    "console/equals": _generic(
        [(" ", " ", "="), (": ", ", ", "="), (", ", ", ", "="), (" | ", " | ", "=")],
        [*_COMMON, "equals", "hash", "paren"],
    ),
    "console/blank": _generic(
        [(" ", " | ", " "), (" | ", " | ", " "), (": ", ", ", " "), (" ", " ", " ")], [*_COMMON, "colon"]
    ),
    "console/bare_units": bare_units,
    "console/dict": dictionary,
    "console/json": json_in_text,
    "console/logfmt": logfmt,
    "console/tqdm": tqdm_postfix,
    "console/markdown": markdown,
    "console/aligned": aligned,
    "console/block": block,
    "console/step_last": step_last,
    "console/boosting": boosting,
    "console/epochs": epochs,
    "console/ranks": ranks,
    "console/growing": growing,
    "console/unended": unended,
    "console/evals": evaluations,
}
