"""JSON lines of trainers: steps, times, numbers, rows, and recognition."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.json_points import DATA, damage, facts, feed, rows, series

from tuimon.commands import main
from tuimon.formats import recognise
from tuimon.formats._shared.rows import number, seconds, step_of
from tuimon.formats.json import lines as jsonl
from tuimon.formats.json import marked_lines
from tuimon.monitor.local import open_run


def lines(*given: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in given).encode()


def read(*given: Any) -> dict[str, list[tuple[int, str]]]:
    return series(feed(jsonl.decoder(), lines(*given)))


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, (3, None)), (3.0, (3, None)), ("5/3766", (5, 3766)), ("12", (12, None)), (-1, (-1, None)), (True, None),
     (2**63, None), (1e30, None), (math.nan, None), (math.inf, None), ("5/", None), ("1:23", None), ([1], None)],
)  # fmt: skip
def test_steps(value: Any, expected: Any) -> None:
    assert step_of(value) == expected


# Times

NOON = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC).timestamp()
TIMES = [NOON, NOON * 1e3, NOON * 1e6, int(NOON * 1e9), "2026-11-21T12:00:00.5Z", "2026-11-21 13:00:00.500+01:00"]


@pytest.mark.parametrize("key", ["_timestamp", "timestamp", "time", "create_time", "wall_time", "date", "t", "when"])
def test_times_become_seconds_since_the_epoch(key: str) -> None:
    for value in TIMES:
        [(metric, step, loss, wall_time)] = rows(feed(jsonl.decoder(), lines({"step": 1, key: value, "loss": 0.5})))
        assert (metric, step, loss) == ("loss", 1, "0.5")
        assert float(wall_time) == pytest.approx(NOON, abs=1e-3)
    for value in ("today", "2026-99-99 00:00:00", "0001-01-01 00:00:00", None, True, 1e300, -1, "20261121"):
        assert seconds(value) is None


# Values


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0.5", 0.5), ("-1e-05", -1e-05), (".5", 0.5), ("5.", 5.0), ("inf", math.inf), ("-Infinity", -math.inf), (3, 3.0),
     ("INF", math.inf), ("1:23:45", None), ("0:00:10", None), ("3s", None), ("2026-11-21", None), ("1_000", None),
     ("0x10", None), ("", None), (" 1", None), ("١", None), ("np.float64(0.1)", None), (True, None), (None, None),
     ([0.5], None), ("1" * 41, None), ("-nan(ind)", math.nan), ("1.#QNAN", math.nan), ("-1.#IND000", math.nan),
     ("1.#INF", math.inf), ("-1.#INF", -math.inf)],
)  # fmt: skip
def test_numbers(value: Any, expected: float | None) -> None:
    """The last ones are printed by Windows."""
    assert repr(number(value, "loss")) == repr(expected)


@pytest.mark.parametrize("key", ["run_id", "id", "version", "git/commit", "experiment-name", "date"])
def test_digits_under_a_name_key_are_not_a_metric(key: str) -> None:
    assert number("12", key) is None
    assert number(12, key) == 12.0


def test_deep_nesting_gives_facts_of_bounded_depth() -> None:
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    items = feed(jsonl.decoder(), (b'{"step": 1, "loss": 1, "x": ' + deep + b', "config": ' + deep + b"}\n") * 3)
    assert series(items) == {"loss": [(1, "1.0")] * 3}
    assert json.dumps(facts(items, "config")[0]).count("{") == 32


@pytest.mark.parametrize(
    "row",
    [
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


# Recognition, and lines that are not rows


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("metrics.jsonl", '{"step": 1, ' + ", ".join(f'"m{number}": 0.5' for number in range(600))),
        ("result.json", '{"config": {' + ", ".join(f'"m{number}": 0.5' for number in range(600))),
        ("metrics.csv", "step," + ",".join(f"train/metric_{number}" for number in range(600))),
        ("12000.log", '{"index": 0, "data": ["' + "x" * 5000),
    ],
)
def test_a_log_whose_first_row_is_long_is_recognised(name: str, head: str) -> None:
    log_format = recognise(name, head.encode()[:4096])
    assert log_format is not None
    assert log_format.id in ("jsonl", "csv", "swanlab-log")
    assert recognise("completions.jsonl", b'{"step": 1, "completion": "' + b"x" * 5000) is None
    assert recognise("data.csv", b"step,note,loss\n1," + b"x" * 300 + b",0.5\n") is None


def test_evaluations_of_beast_logger_are_points_and_its_rollouts_are_none() -> None:
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
    rollouts = feed(marked_lines.RecordedText("content"), (DATA / "beast/rollout.json.log").read_bytes() + b"{bad}\n")
    assert rows(rollouts) == []
    assert [reason for _, _, reason in damage(rollouts)] == ["not JSON"]


@pytest.mark.parametrize("words", [["summary"], ["--once"], ["check"], ["line"], ["summary", "--json"], ["report"]])
def test_largest_steps_of_int64_are_read(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    steps = (-(2**63) + 1, -5, 0, 1, 2, 3, 2**62, 2**63 - 1)
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {step}, "loss": {step % 7}}}\n' for step in steps))
    assert open_run(tmp_path).runs[0].curve("loss").steps.tolist() == list(steps)
    assert main([*words, str(tmp_path)]) in (0, 4)
    assert capsys.readouterr().out
