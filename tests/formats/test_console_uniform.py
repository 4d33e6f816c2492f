"""Lines of one statement are read with one expression: the points are those of reading line by line."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import feed, rows

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Points

NOISE = [
    *("saving checkpoint to runs/ckpt-5", "", "step 5 of 10 took 3 s", "Epoch 3/10", "données ✨ 5", "[1, 2]"),
    *("Loading checkpoint shards:  50%|#####     | 2/4 [00:10<00:10,  5.00s/it]", "{'prompt': 'x', 'loss': 5}"),
    *("Max steps: 1000, lr: 1e-4", "| a | 1 |", "{'loss': 0.5", "Step: -1 loss: 0.5"),
]
Statement = Callable[[random.Random, int], str]


class LineByLine(ConsoleDecoder):
    """The decoder without templates."""

    def _nothing_is_open(self) -> bool:
        return False


class Counting(ConsoleDecoder):
    """Counts the lines that are offered to the families."""

    lines_read = 0

    def _read_line(self, *arguments: object) -> None:
        self.lines_read += 1
        super()._read_line(*arguments)  # type: ignore[arg-type]


def real(rng: random.Random) -> str:
    value = rng.choice([-1, 1, 1]) * 10 ** rng.uniform(-8, 6)
    other = rng.choice(["nan", "inf", "0", "3", "1e-05", "-0.0", ".5", "5.", "1,234.5", "2.5E+03", "-7", "1.5k", "007"])
    return rng.choice([f"{value:.4f}", f"{value:.3e}", repr(value), f"{value:.4f}", other])


def clock(rng: random.Random, step: int) -> str:
    return f"{rng.choice([0, step // 60 % 24]):02d}:{step % 60:02d}:{rng.choice([0, 7, 59, 60])}".replace(":0:", ":00:")


STATEMENTS: list[Statement] = [
    lambda rng, step: f"step:{step} - actor/loss:np.float64({real(rng)}) - training/epoch:{step // 9} - kl:{real(rng)}",
    lambda rng, step: f"(TaskRunner pid={rng.randrange(9, 99999)}) step:{step} - loss:{real(rng)} - lr:{real(rng)}",
    lambda rng, step: f"2026-11-21 {clock(rng, step)},{step % 1000:03d} - INFO - step={step} loss={real(rng)} n={step}",
    lambda rng, step: f"[2026-11-21T{clock(rng, step)}+02:00] step {step}/1000 | loss {real(rng)} | lr {real(rng)}",
    lambda rng, step: f"2026/11/21 {clock(rng, step)} INFO x.py:{step}] step: {step}, loss: {real(rng)} s, t: {step}",
    lambda rng, step: f"step {step}: loss={real(rng)} acc={real(rng)} lr=1e-05",
    lambda rng, step: f"step {step} loss {real(rng)} acc {real(rng)}",
    lambda rng, step: f"step {step}: train loss {real(rng)}, val loss {real(rng)}",
    lambda rng, step: f"step {step} train loss {real(rng)} val loss {real(rng)}",
    lambda rng, step: f"Step {step} of {rng.choice([10, 1000])} | reward {real(rng)} | took {step} ms",
    lambda rng, step: f"Epoch {step // 5} step {step % 5}: loss={real(rng)}",
    lambda rng, step: f"Epoch {step // 5}: loss={real(rng)}",
    lambda rng, step: f"iter {step}: loss {real(rng)}, time {real(rng)}ms",
    lambda rng, step: f"Cost after step {step}: {real(rng)}",
    lambda rng, step: f"Best step {step}: loss={real(rng)}",
    lambda rng, step: f"[rank{step % 2}]: step {step} loss={real(rng)}",
    lambda rng, step: f"{step % 3}: step {step} loss={real(rng)}",
    lambda rng, step: f"episode {step} loss[loss={real(rng)}, simple={real(rng)}], tot[loss={real(rng)}]",
    lambda rng, step: f"step {step} date 2026-1-{rng.randrange(1, 28)} loss={real(rng)}",
    lambda rng, step: f"step {step} version 1.2.{step} gpu{step % 8} loss={real(rng)} top{step % 5}={real(rng)}",
    lambda rng, step: f"validation step {step}: loss={real(rng)}, samples={step}",
    lambda rng, step: f"loss={real(rng)} reward={real(rng)}",
    lambda rng, step: f"{{'loss': {real(rng)}, 'epoch': {step / 10}}}",
    lambda rng, step: f" {step}%|#    | {step}/100 [00:10<00:30, 1.2it/s, loss={real(rng)}]",
    lambda rng, step: f"{step}  {real(rng)}  {real(rng)}",
    lambda rng, step: "epoch  train_loss  valid_loss",
    lambda rng, step: "Traceback (most recent call last)",
    lambda rng, step: "Training finished",
]


def items_read(decoder: ConsoleDecoder, data: bytes, cuts: list[int]) -> list[object]:
    """Return the rows and facts of a log that is fed in pieces."""
    items: list[object] = []
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        for item in [*decoder.feed(data[begin:end]), *(decoder.flush() if end == len(data) else ())]:
            if isinstance(item, Points):
                names = [item.names[metric] for metric in item.metric.tolist()]
                columns = (item.steps.tolist(), map(repr, item.values.tolist()), map(repr, item.wall_times.tolist()))
                items += zip(names, *columns, strict=True)
            else:
                items.append(item)
    return [*items, decoder.must_reread]


@pytest.mark.parametrize("seed", range(60))
def test_the_points_are_those_of_reading_line_by_line(seed: int) -> None:
    rng = random.Random(seed)
    statements = [*rng.choices(STATEMENTS, k=rng.choice([1, 2, 4]))]
    lines, step = list[str](), 0
    while len(lines) < 300:
        statement = rng.choice(statements)
        for _ in range(rng.choice([1, 2, 40])):
            step += rng.choice([0, 1, 1, 1, 9])
            line = statement(rng, step)
            if rng.random() < 0.02:
                place = rng.randrange(len(line) + 1)
                sign = rng.choice(" :=-.,0/[%")  # no "e": 1e347 is read as NaN alone, as inf beside others
                line = line[:place] + sign + line[place + 1 :]
            lines += [line] * (1 if rng.random() < 0.98 else 2)
        lines += [rng.choice(NOISE)] * (rng.random() < 0.2)
    data = (rng.choice(["\n", "\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])).encode()
    cuts = sorted(rng.randrange(len(data)) for _ in range(rng.choice([0, 0, 1, 4])))
    assert items_read(ConsoleDecoder(), data, cuts) == items_read(LineByLine(), data, cuts)


@pytest.mark.parametrize(
    "line",
    [
        "(TaskRunner pid=31337) step:{step} - actor/loss:np.float64({value}) - training/epoch:0 - lr:1e-06",
        "2026-11-21 01:41:{second:02d},123 - INFO - step={step} loss={value} epoch={value} tokens={step}",
        "step {step}/1000: loss={value} lr=1e-05",
    ],
)
def test_nearly_all_uniform_lines_are_read_at_once(line: str) -> None:
    lines = [line.format(step=step, value=step / 7 + 1e-3, second=step % 60) for step in range(1000)]
    data = "".join(f"{line}\n" for line in lines).encode()
    decoder = Counting()
    assert items_read(decoder, data, []) == items_read(LineByLine(), data, [])
    assert decoder.lines_read < 10


SHAPES = (
    "step {0}/900 loss {1:.4f} lr 1.0e-04",
    "step {0} acc={1:.4f} f1=0.5",
    "[{0}] | grad_norm: {1:.5f} | loss: {1:.4f}",
    "iter {0} | loss {1:.4f} | {2} ms/it",
    "gpu: {2}ms step={0}",
    "gpu: {2}s step={0}",
    "saving checkpoint to runs/ckpt-{0}",
    "[eval] step {0}: acc={1:.4f}",
    "Epoch {0}: val_loss={1:.3f}",
    "Validation",
    "loss: {1:.4f}",
    "step {0} loss nan",
)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=5, unique=True), st.integers(1, 4000))
def test_lines_of_several_shapes_in_turns_are_read_as_one_by_one(shapes: list[str], piece: int) -> None:
    text = "".join(
        shapes[number % len(shapes)].format(number, 1 / (number + 1), number % 7 + 0.5) + "\n" for number in range(150)
    ).encode()
    wanted = rows(feed(LineByLine(), text))
    assert rows(feed(ConsoleDecoder(), text)) == wanted
    assert rows(feed(ConsoleDecoder(), text, range(0, len(text), piece))) == wanted
