"""JSON lines of trainers: steps, times, numbers, rows, and recognition."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from support.json_points import DATA, damage, facts, feed, rows, series, truth

from tuimon.formats import recognise
from tuimon.formats._shared.rows import number, seconds, step_of
from tuimon.formats.json import lines as jsonl
from tuimon.formats.json import marked_lines
from tuimon.formats.json import rows as json_rows

STREAMS = sorted(path for path in DATA.rglob("*") if path.name.endswith((".jsonl", "progress.json")))


def lines(*given: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in given).encode()


def read(*given: Any) -> dict[str, list[tuple[int, str]]]:
    return series(feed(jsonl.decoder(), lines(*given)))


@pytest.mark.parametrize("path", [path for path in truth() if path.endswith((".jsonl", "progress.json"))])
def test_every_logged_point_is_read(path: str) -> None:
    assert series(feed(jsonl.decoder(), (DATA / path).read_bytes())) == truth()[path]


def test_verl() -> None:
    data = (DATA / "verl" / "grpo-qwen1.5b.jsonl").read_bytes()
    wanted: dict[str, list[tuple[int, str]]] = {}
    for line in data.splitlines():
        row = json.loads(line)
        for metric, value in row["data"].items():
            if value is not None:
                wanted.setdefault(metric, []).append((row["step"], repr(float(value))))
    assert series(feed(jsonl.decoder(), data)) == wanted


def test_ms_swift_steps_and_total_are_read_from_text_and_its_last_line_is_ignored() -> None:
    items = feed(jsonl.decoder(), (DATA / "swift" / "logging.jsonl").read_bytes())
    metrics = series(items)
    assert [step for step, _ in metrics["loss"]] == list(range(1, 31))
    assert "best_metric" not in metrics
    assert len(metrics["epoch"]) == 30
    assert facts(items, "progress") == [{"step": 1, "total": 30}]
    assert damage(items) == []


def test_changed_total_is_emitted_again() -> None:
    items = feed(jsonl.decoder(), (DATA / "llamafactory" / "trainer_log.jsonl").read_bytes())
    assert [fact["total"] for fact in facts(items, "progress")] == [80, 120]


# Steps


STEP_KEYS = ["step", "global_step", "_step", "current_steps", "iteration", "iter", "training_iteration", "epoch"]
"""Keys that are no metrics where they are the step."""
STEP_TAGS = (
    *("train/global_step", "trainer/global_step", "training/global_step", "system/global_step", "system/step"),
    *("time/total_timesteps", "rollout/step", "train/step"),
)
"""Keys that are metrics as well."""
BIG = 1_795_224_133_123_456_789
POINTS: list[tuple[list[dict[str, Any]], dict[str, dict[int, float]]]] = [
    *(([{key: 7, "loss": 1}], {"loss": {7: 1}}) for key in STEP_KEYS),
    *(([{key: 7, "loss": 1}], {key: {7: 7}, "loss": {7: 1}}) for key in STEP_TAGS),
    # the best key wins, and the others are metrics
    ([{"epoch": 1, "iter": 10, "step": 300, "loss": 1}], {"epoch": {300: 1}, "iter": {300: 10}, "loss": {300: 1}}),
    ([{"step": None, "global_step": 4, "loss": 1}], {"loss": {4: 1}}),
    ([{"step": "warm-up", "iter": 4, "loss": 1}], {"loss": {4: 1}}),
    ([{"step": 0.5, "iter": 4, "loss": 1}], {"step": {4: 0.5}, "loss": {4: 1}}),
    ([{"epoch": e, "loss": 1} for e in (0.5, 1.0)], {"epoch": {0: 0.5, 1: 1}, "loss": {0: 1, 1: 1}}),
    ([{"step": BIG, "loss": math.nan}, {"step": -BIG, "loss": math.inf}], {"loss": {BIG: math.nan, -BIG: math.inf}}),
    # a row without a step has that of the row before, also of one without numbers
    ([{"step": 5, "a": 1}, {"b": 2}, {"step": 6, "a": 1}, {"b": 3}], {"a": {5: 1, 6: 1}, "b": {5: 2, 6: 3}}),
    *(
        ([{"step": 6, "a": 1}, row, {"b": 2}], {"a": {6: 1}, "b": {7: 2}})
        for row in ({"step": 7, "note": "x"}, {"step": 7, "a": None}, {"step": "7/10", "note": "x"}, {"step": 7})
    ),
    ([{"loss": 1}, {"note": "no number"}, {"loss": 2}], {"loss": {0: 1, 1: 2}}),
    # values
    ([{"step": 1, "loss": "NaN"}, {"step": 2, "loss": "nan"}], {"loss": {1: math.nan, 2: math.nan}}),
    (
        [{"step": 1, "a": "1,234.5", "b": "-1,234,567", "c": "1.234.567", "d": "1,2", "e": "0,123"}],
        {"a": {1: 1234.5}, "b": {1: -1234567}, "c": {1: 1234567}},
    ),
    # nested objects are joined, and names kept
    (
        [{"step": 1, "eval": {"pass@1": 0.5, "val/ gsm8k": {"平均": 1}}, "a.b": 2, "empty": {}, "list": [[1, 2]]}],
        {"eval/pass@1": {1: 0.5}, "eval/val/ gsm8k/平均": {1: 1}, "a.b": {1: 2}},
    ),
    *(
        ([{"step": 1, wrapper: {"loss": 0.5, "a": {"b": 1}}}], {"loss": {1: 0.5}, "a/b": {1: 1}})
        for wrapper in ("data", "metrics")
    ),
    *(([{wrapper: {"loss": 0.5}}], {f"{wrapper}/loss": {0: 0.5}}) for wrapper in ("data", "metrics")),
    # elements of short lists of numbers are metrics, those of samples and other lists are not
    ([{"step": 1, "lr": [0.1, 0.01]}], {"lr/0": {1: 0.1}, "lr/1": {1: 0.01}}),
    ([{"step": 1, "gpu": [{"util": 90}, {"util": 85}]}], {"gpu/0/util": {1: 90}, "gpu/1/util": {1: 85}}),
    ([{"step": 1, "optim": {"lr": [0.1]}}], {"optim/lr/0": {1: 0.1}}),
    *(
        ([{"step": 1, "loss": 0.5, "data": value}], {"loss": {1: 0.5}})
        for value in ([0.5] * 17, [[1, 2], [3, 4]], [1, "a"], [{"a": [1]}], [{"a": None}], [], [True])
    ),
    ([{"step": 1, "prompt": "Why?", "reward": 1.0, "lengths": [3, 4]}], {}),
    ([{"step": 0, "loss": 1.0}, {"loss": 0.5, "lengths": [3, 4]}], {"loss": {0: 0.5}}),
]
"""Rows, and the points of each metric: step -> last value."""


@pytest.mark.parametrize(("given", "wanted"), POINTS)
def test_points_of_rows(given: list[dict[str, Any]], wanted: dict[str, dict[int, float]]) -> None:
    data = lines(*given)
    expected = {name: {step: repr(float(value)) for step, value in points.items()} for name, points in wanted.items()}
    for cuts in ((), range(len(data))):
        assert {name: dict(points) for name, points in series(feed(jsonl.decoder(), data, cuts)).items()} == expected


@pytest.mark.parametrize(
    ("rows", "units"),
    [
        ([{"epoch": 0, "loss": 1.0}, {"epoch": 1, "loss": 0.5}], ["epoch"]),
        ([{"epoch": 0, "loss": 1.0}, {"step": 7, "loss": 0.5}, {"epoch": 1, "loss": 0.2}], ["epoch", "step"]),
        ([{"epoch": 0, "step": 7, "loss": 1.0}, {"epoch": 1, "val_loss": 0.5}], []),
        ([{"epoch": 0.5, "loss": 1.0}, {"loss": 0.5}], []),
        ([{"epoch": 0, "iter": 0, "loss": 1.0}, {"epoch": 0, "iter": 1, "loss": 0.5}], []),
    ],
)
def test_steps_that_are_epochs_are_called_so(rows: list[dict[str, Any]], units: list[str]) -> None:
    data = lines(*rows)
    for size in (1, 7, len(data)):
        decoder = jsonl.decoder()
        items = [item for start in range(0, len(data), size) for item in decoder.feed(data[start : start + size])]
        assert [fact["unit"] for fact in facts([*items, *decoder.flush()], "progress")] == units


@pytest.mark.parametrize("epoch", [3, "3", "3/10"])
def test_epoch_in_a_log_that_counts_steps_is_a_metric_of_the_row_before(epoch: int | str) -> None:
    given = lines({"step": 76, "loss": 1}, {"step": 77, "loss": 1}, {"epoch": epoch, "acc": 2})
    items = feed(jsonl.decoder(), given)
    assert {name: series(items)[name] for name in ("epoch", "acc")} == {"epoch": [(77, "3.0")], "acc": [(77, "2.0")]}
    assert not facts(items, "progress")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, (3, None)), (3.0, (3, None)), ("5/3766", (5, 3766)), ("12", (12, None)), (-1, (-1, None)), (True, None),
     (2**63, None), (1e30, None), (math.nan, None), (math.inf, None), ("5/", None), ("1:23", None), ([1], None)],
)  # fmt: skip
def test_steps(value: Any, expected: Any) -> None:
    assert step_of(value) == expected


# Times

NOON = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("first", "second", "points", "times"),
    [
        ({"t": 1764060000.0}, {"t": 1764060002.5}, [], ["1764060000.0", "1764060002.5"]),
        ({"t": 0.5}, {"t": 1764060002.5}, ["t", "t"], ["nan", "nan"]),
        (
            {"t": 1764060000, "ts": 1764060001},
            {"t": 1764060002, "ts": 1764060003},
            ["t", "t"],
            ["1764060001.0", "1764060003.0"],
        ),
    ],
)
def test_time_with_a_short_name(
    first: dict[str, Any], second: dict[str, Any], points: list[str], times: list[str]
) -> None:
    """It is the wall time if its first value is one, and no other key is."""
    data = lines({"step": 1, "x": 1} | first, {"step": 2, "x": 2} | second)
    read = rows(feed(jsonl.decoder(), data))
    assert [name for name, *_ in read if name != "x"] == points
    assert [time for name, *_, time in read if name == "x"] == times


@pytest.mark.parametrize("key", ["_timestamp", "timestamp", "time", "create_time", "wall_time", "date", "t", "when"])
@pytest.mark.parametrize(
    "value", [NOON, NOON * 1e3, NOON * 1e6, int(NOON * 1e9), "2026-11-21T12:00:00.5Z", "2026-11-21 13:00:00.500+01:00"]
)
def test_times_become_seconds_since_the_epoch(key: str, value: Any) -> None:
    [(metric, step, loss, wall_time)] = rows(feed(jsonl.decoder(), lines({"step": 1, key: value, "loss": 0.5})))
    assert (metric, step, loss) == ("loss", 1, "0.5")
    assert float(wall_time) == pytest.approx(NOON, abs=1e-3)


def test_a_duration_is_a_metric_and_a_row_without_a_time_has_none() -> None:
    actual = rows(feed(jsonl.decoder(), lines({"step": 1, "time": 0.25, "loss": 0.5})))
    assert actual == [("time", 1, "0.25", "nan"), ("loss", 1, "0.5", "nan")]


@pytest.mark.parametrize(
    "value", ["today", "2026-99-99 00:00:00", "0001-01-01 00:00:00", None, True, 1e300, -1, "20261121"]
)
def test_values_that_are_not_times(value: Any) -> None:
    assert seconds(value) is None


# Values


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0.5", 0.5), ("-1e-05", -1e-05), (".5", 0.5), ("5.", 5.0), ("inf", math.inf), ("-Infinity", -math.inf), (3, 3.0),
     ("INF", math.inf), ("1:23:45", None), ("0:00:10", None), ("3s", None), ("2026-11-21", None), ("1_000", None),
     ("0x10", None), ("", None), (" 1", None), ("١", None), ("np.float64(0.1)", None), (True, None), (None, None),
     ([0.5], None), ("1" * 41, None)],
)  # fmt: skip
def test_numbers(value: Any, expected: float | None) -> None:
    assert number(value, "loss") == expected


@pytest.mark.parametrize("key", ["run_id", "id", "version", "git/commit", "experiment-name", "date"])
def test_digits_under_a_name_key_are_not_a_metric(key: str) -> None:
    assert number("12", key) is None
    assert number(12, key) == 12.0


def test_config_is_emitted_once() -> None:
    config = {"lr": 0.1, "model": {"layers": 2}}
    items = feed(jsonl.decoder(), lines(*({"training_iteration": i, "loss": 1.0, "config": config} for i in range(3))))
    assert facts(items, "config") == [config]
    assert series(items) == {"loss": [(0, "1.0"), (1, "1.0"), (2, "1.0")]}


def test_deep_nesting_gives_facts_of_bounded_depth() -> None:
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    items = feed(jsonl.decoder(), (b'{"step": 1, "loss": 1, "x": ' + deep + b', "config": ' + deep + b"}\n") * 3)
    assert series(items) == {"loss": [(1, "1.0")] * 3}
    assert json.dumps(facts(items, "config")[0]).count("{") == 32


@pytest.mark.parametrize(
    "row",
    [
        {"step": 1, "score": 0.5, "input": "2 + 2 =", "output": "4"},
        {"step": 1, "reward": 0.5, "messages": [{"role": "user"}]},
        {"step": 1, "reward": 0.5, "turns": [{"text": "hello"}]},
        {"reward": 0.5, "note": "x" * 201},
        {"reward": 0.5, "moves": [{"text": "hello"}]},
    ],
)
def test_samples_are_ignored(row: dict[str, Any]) -> None:
    assert read(row, {"step": 2, "loss": 1}) == {"loss": [(2, "1.0")]}
    assert not jsonl.matches("rollouts.jsonl", lines(row, row, row, row))


@pytest.mark.parametrize("text", ["x" * 5000, [{"text": "hello"}]], ids=["text", "objects"])
def test_text_in_a_row_with_a_step_loses_no_number(text: Any) -> None:
    rows = [
        {"step": 1, "loss": 0.5},
        {"note": text, "step": 2, "loss": 0.25, "epoch": 1.5},
        {"epoch": 2, "x": text, "acc": 1},
    ]
    epochs = [(2, "1.5"), (2, "2.0")]
    assert read(*rows) == {"loss": [(1, "0.5"), (2, "0.25")], "epoch": epochs, "acc": [(2, "1.0")]}
    wide = {"step": 1, "loss": 0.5, "lr": 1e-3, "grad_norm": 2, "kl": 0, "sample": text}
    assert jsonl.matches("metrics.jsonl", lines(wide)[:4096])
    assert not jsonl.matches("metrics.jsonl", lines({"step": 1, "score": 0.5, "length": 7, "sample": text}))


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"trial_id": "a", "config": {"env": "x" * 6000}}, True),
        ({"dataset": "d", "config": "main", "prompt": "x" * 6000}, False),
        ({"dataset": "d", "config": "main", "topic": "x" * 6000}, False),
        ({"config": {"model": "m"}, "prompt": "x" * 6000}, False),
        ({"config": {"model": "m"}, "messages": [{"role": "user", "content": "x" * 6000}]}, False),
    ],
)
def test_a_long_config_is_not_that_of_a_sample(row: dict[str, Any], wanted: bool) -> None:
    assert jsonl.matches("result.jsonl", lines(row)[:4096]) is wanted


NUMBERS = {"loss": 0.5, "reward": 0.25, "kl": 0.0, "lr": 1e-3}


@pytest.mark.parametrize(
    "sample", ["The answer is 4.", "4", [1, 2, 3]], ids=["text", "a text that is a number", "tokens"]
)
def test_the_numbers_beside_the_response_of_a_step_are_points(sample: Any) -> None:
    """Some trainers put a sample of the step into its row of metrics."""
    rows = [{"step": step, **NUMBERS, "response": sample} for step in range(1, 6)]
    assert jsonl.matches("metrics.jsonl", lines(*rows))
    assert read(*rows) == {
        name: [(step, repr(float(value))) for step in range(1, 6)] for name, value in NUMBERS.items()
    }


def rows_with_texts(every: int, text: dict[str, Any], count: int = 20) -> list[dict[str, Any]]:
    return [
        {"step": step, "reward": step / 8, "loss": step / 16, **(text if step % every == 0 else {})}
        for step in range(count)
    ]


TEXTS = [{"text": "x" * 5000}, {"prompt": "2 + 2 =", "response": "4"}, {"response": "4"}, {"note": "x" * 400}]


@pytest.mark.parametrize("text", TEXTS, ids=["text", "prompt", "response", "note"])
@pytest.mark.parametrize("every", [1, 5])
def test_rows_of_metrics_with_a_text_lose_no_number(text: dict[str, Any], every: int) -> None:
    rows = rows_with_texts(every, text)
    assert jsonl.matches("metrics.jsonl", lines(*rows)[:4096])
    wanted = {"reward": [(s, repr(s / 8)) for s in range(20)], "loss": [(s, repr(s / 16)) for s in range(20)]}
    assert read(*rows) == wanted
    assert series(feed(jsonl.decoder(), lines(*rows), range(0, len(lines(*rows)), 37))) == wanted
    wrapped = [{"step": row.pop("step"), "data": row} for row in rows]
    assert read(*wrapped) == wanted


def test_rows_with_a_text_and_no_metric_of_the_training_are_samples() -> None:
    samples = [{"step": step, "reward": step / 8, "response": "4"} for step in range(20)]
    assert read(*samples, {"step": 20, "reward": 0.5}) == {"reward": [(20, "0.5")]}
    assert not jsonl.matches("metrics.jsonl", lines(*samples)[:4096])
    several = [{"step": 1, "loss": 0.1 * n, "prompt": "2 + 2 =", "response": "4"} for n in range(3)]
    assert not jsonl.matches("7.jsonl", lines(*several)[:4096]), "several to a step"


@pytest.mark.parametrize("key", ["mode", "phase", "split"])
def test_rows_of_the_validation_are_split_by_their_stage(key: str) -> None:
    rows = [
        {"epoch": epoch, key: stage, "loss": epoch / 8, "time": 0.5, f"{stage}_acc": 0.25}
        for epoch in range(3)
        for stage in ("opt", "eval")
    ]
    wanted = {"opt_acc", "loss", "time", "eval_acc", "eval/loss", "eval/time"}
    for points in (read(*rows), series(json_rows.FORMAT.decoder().load(json.dumps(rows).encode()))):
        assert set(points) == wanted
        assert points["eval/loss"] == points["loss"] == [(epoch, repr(epoch / 8)) for epoch in range(3)]
    assert set(read({"step": 1, key: "async", "loss": 0.5})) == {"loss"}


def test_dump_of_rollouts_is_not_a_log_of_metrics() -> None:
    """The dump of verl for each step: input, output and the results of the reward function."""
    extra = {f"reward_{number}": 0.5 for number in range(12)}
    rows = [
        {"input": f"{a} + 2 =", "output": str(a + 2), "gts": str(a + 2), "score": 1.0, "step": 10, **extra}
        for a in range(8)
    ]
    assert not jsonl.matches("10.jsonl", lines(*rows))
    assert not jsonl.matches("10.jsonl", lines(*({key: row[key] for key in list(row)[:8]} for row in rows)))


def test_rows_of_many_layouts_stay_in_file_order() -> None:
    given = [
        {"step": step, "loss": step, "kl": None if step % 3 else 0.5}
        if step % 2
        else {"kl": 1, "step": step, "loss": "2"}
        for step in range(50)
    ]
    data = lines(*given)
    actual = rows(feed(jsonl.decoder(), data))
    assert [step for _, step, _, _ in actual] == sorted(step for _, step, _, _ in actual)
    assert actual == rows(feed(jsonl.decoder(), data, range(0, len(data), 50)))
    assert [value for name, _, value, _ in actual if name == "loss"][:4] == ["2.0", "1.0", "2.0", "3.0"]


# Recognition


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.parent.name)
def test_logs_of_trainers_are_recognised(path: Any) -> None:
    assert jsonl.FORMAT.wants_name(path.name)
    assert jsonl.matches(path.name, path.read_bytes()[:4096])


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("metrics.jsonl", b""),
        ("metrics.jsonl", b'{"st'),
        ("metrics.jsonl", b'{"step": 1, ' + b", ".join(b'"m%d": 0.5' % i for i in range(600))),
        ("result.json", b'{"config": {' + b", ".join(b'"m%d": 0.5' % i for i in range(600))),
        ("metrics.jsonl", '{"step": 1, "loss": 1}\n'.encode("utf-16")),
        ("log.txt", b'{"train_lr": 0.1, "train_loss": 0.5, "epoch": 0, "box": [1, 2]}\n'),
        ("stats.jsonl", b'{"Loss/D": {"num": 1, "mean": 0.5}, "timestamp": 1795226051.0}\n'),
        ("scalars.json", b'{"lr": 0.1, "loss": 0.5, "step": 10}\n{"lr": 0.1, "loss": 0.5, "step": 20}\n'),
    ],
)
def test_other_recognised_logs(name: str, head: bytes) -> None:
    assert jsonl.FORMAT.wants_name(name)
    assert jsonl.matches(name, head[:4096])


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("train.jsonl", b'{"id": 7, "question": "2 + 2?", "answer": "4"}\n'),
        ("tokens.jsonl", b'{"id": 7, "who": "a", "where": "b"}\n'),
        ("completions.jsonl", b'{"step": 1, "completion": "' + b"x" * 5000),
        ("config.json", b'{"step": 1,\n "lr": 0.5}\n'),
        ("config.json", b'{"step": 1, "lr": 0.5}'),
        ("app.log", b'{"level": "info", "lineno": 17, "message": "ready"}\n'),
        ("app.log", b'{"step": 1, "loss": 0.5}\nready\n'),
        ("train.log", b"step 1 loss 0.5\n"),
        ("trainer_state.json", b'{\n  "global_step": 4,\n  "log_history": [\n    {"loss": 1, "step": 1}\n'),
        ("log.txt", b""),
    ],
)
def test_files_that_are_not_recognised(name: str, head: bytes) -> None:
    assert not jsonl.matches(name, head[:4096])


# Lines that are not rows


def test_clearml_events() -> None:
    event = {"type": "training_stats_scalar", "metric": "critic", "variant": "score/mean", "timestamp": 1795224836077}
    data = lines(
        [{**event, "iter": 0, "value": 0.5}, {**event, "iter": 1, "value": math.nan}],
        [{"type": "plot", "metric": "m", "variant": "v", "iter": 1, "plot_str": "{}"}],
        [{**event, "iter": 2, "value": None}, {**event, "iter": 3, "value": 2}],
    )
    assert jsonl.CLEARML_FORMAT.matches("metrics.jsonl", data)
    assert not jsonl.matches("metrics.jsonl", data)
    items = feed(jsonl.CLEARML_FORMAT.decoder(), data)
    assert rows(items) == [
        ("critic/score/mean", 0, "0.5", "1795224836.077"),
        ("critic/score/mean", 1, "nan", "1795224836.077"),
        ("critic/score/mean", 3, "2.0", "1795224836.077"),
    ]
    assert rows(feed(jsonl.CLEARML_FORMAT.decoder(), data, range(len(data)))) == rows(items)


def test_beast_logger_evaluations_are_points() -> None:
    data = (DATA / "beast" / "evaluation.json.log").read_bytes()
    assert getattr(recognise("evaluation.json.log", data[:4096]), "id", "") == "beast_logger"
    items = feed(marked_lines.RecordedText("content"), data)
    metrics = series(items)
    assert metrics["appworld/mean_reward"] == [(0, "0.0"), (1, "0.5")]
    assert metrics["appworld/TGC@4"] == [(0, "0.1"), (1, "0.6")]
    assert metrics["appworld/num_pass_n_tasks(pass@4)"] == [(0, "1.0"), (1, "6.0")]
    assert damage(items) == []
    first, second = (float(row[3]) for row in rows(items) if row[0] == "appworld/pass_n")
    assert second - first == pytest.approx(60.0)
    assert rows(feed(marked_lines.RecordedText("content"), data, range(len(data)))) == rows(items)


def test_beast_logger_rollouts_are_no_metrics() -> None:
    items = feed(marked_lines.RecordedText("content"), (DATA / "beast" / "rollout.json.log").read_bytes() + b"{bad}\n")
    assert rows(items) == []
    assert [reason for _, _, reason in damage(items)] == ["not JSON"]


def test_texts_like_numbers_that_are_not_read_are_named() -> None:
    decoder = jsonl.decoder()
    feed(decoder, b'{"step": 1, "loss": 0.5, "mem": null, "run_id": "12", "eta": "0:10:00", "note": "abc"}\n')
    assert decoder.unread == ""
    feed(
        decoder, b'{"step": 2, "loss": 0.5, "mem": "31.2GiB", "tps": "8.15K"}\n{"step": 3, "loss": 1, "mem": "9GiB"}\n'
    )
    assert decoder.unread == "`mem: 31.2GiB`, `tps: 8.15K`"
    many = "".join(f', "m{number}": "{number}K"' for number in range(5))
    feed(decoder, f'{{"step": 4, "loss": 0.5{many}}}\n'.encode())
    assert decoder.unread == "`mem: 31.2GiB`, `tps: 8.15K`, `m0: 0K`, `m1: 1K`, `m2: 2K`; 2 more"


def dllogger(step: Any, kind: str = "LOG", **data: Any) -> bytes:
    record = {"timestamp": "1795224000.5", "elapsedtime": "1.0", "type": kind, "step": step, "data": data}
    return b"DLLL " + json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize("first", [0, 1])
def test_dllogger_steps_count_over_the_epochs(first: int) -> None:
    places = [(first + epoch, step) for epoch in range(2) for step in range(1, 6)]
    data = dllogger("PARAMETER", epochs=2) + b"".join(dllogger([*place, 5], loss=0.5) for place in places)
    data += dllogger([first + 1], val_loss=0.25) + dllogger([], throughput=9.0)
    assert recognise("nvlog.json", data[:4096]) is marked_lines.FORMATS[0]
    items = feed(marked_lines.FORMATS[0].decoder(), data, range(0, len(data), 97))
    points = series(items)
    assert points["loss"] == [(step, "0.5") for step in range(1, 11)]
    assert points["val_loss"] == [(10, "0.25")]
    assert facts(items, "final_metrics") == [{"throughput": 9.0}]
    assert facts(items, "config") == [{"epochs": 2}]
    assert rows(items)[0][3] == "1795224000.5"


def test_mlperf_results_are_points_over_samples() -> None:
    def line(key: str, value: Any, **metadata: Any) -> bytes:
        record = {"time_ms": 1795224000500, "event_type": "POINT_IN_TIME", "key": key, "value": value}
        return b"0: :::MLLOG " + json.dumps({**record, "metadata": {"lineno": 9, **metadata}}).encode() + b"\n"

    data = line("global_batch_size", 512) + line("run_start", None) + b"0: loading\n"
    data += b"".join(line("train_loss", n / 8, samples_count=512 * n) for n in range(1, 9)) + b"0: :::MLLOG {broken\n"
    assert recognise("result_0.txt", data[:4096]) is marked_lines.FORMATS[0]
    items = feed(marked_lines.FORMATS[0].decoder(), data, range(0, len(data), 97))
    assert series(items) == {"train_loss": [(512 * n, repr(n / 8)) for n in range(1, 9)]}
    assert facts(items, "config") == [{"global_batch_size": 512}]
    assert len(damage(items)) == 1


def test_messages_of_loguru_are_read_as_text() -> None:
    def line(message: str) -> bytes:
        text = f"2026-11-21 12:00:00.123 | INFO     | __main__:<module>:7 - {message}\n"
        return json.dumps({"text": text, "record": {"message": message, "line": 7}}).encode() + b"\n"

    data = b"".join(line(f"step {n} loss {n / 8}") for n in range(1, 9))
    assert recognise("train.log", data[:4096]) is marked_lines.FORMATS[1]
    for cuts in ((), range(0, len(data), 97)):
        assert series(feed(marked_lines.FORMATS[1].decoder(), data, cuts))["loss"] == [
            (n, repr(n / 8)) for n in range(1, 9)
        ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-nan(ind)", math.nan),
        ("1.#QNAN", math.nan),
        ("-1.#IND000", math.nan),
        ("1.#INF", math.inf),
        ("-1.#INF", -math.inf),
    ],
)
def test_nan_and_infinity_as_windows_prints_them_are_points(text: str, value: float) -> None:
    assert number(text, "loss") == pytest.approx(value, nan_ok=True)
