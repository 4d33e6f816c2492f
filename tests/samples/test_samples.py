"""Files of several trainers, written as their writers do, through `tuimon samples --json`."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tuimon.commands import main
from tuimon.samples.library import digest
from tuimon.samples.selection import mean_and_std

TEXT = "so\u2028\x1b[31m 4"


def _samples(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["samples", str(path), "--json", *options]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.split("\n") if line]


def _write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _verl_row(text: str = TEXT, score: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"input": "q", "output": text, "gts": "4", "score": score, "step": 7} | more


def _table(count: int) -> dict[str, Any]:
    """Return a table of W&B, which has all rows of the one before."""
    rows = [[step, "q", f"text {step}", 1.0] for step in (10, 20)]
    return {"columns": ["step", "input_1", "output_1", "score_1"], "data": rows[:count]}


_COLUMNS = {"step": ["3", "3"], "prompt": ["a", "b"], "completion": ["x", "y"], "Acc": [1.0, 0.0], "Format": [0.5, 0.5]}
_BATCH = {"content": [["question", "reply"]], "rewards": [1.0], "token_ids": [[1, 2]], "advantages": [[0.5, 0.5]]}
_NODES = [{"message": {"role": role, "content": role}} for role in ("user", "assistant")]
_REWARDS = {"correct": {"score": 1.0, "weight": 1.0}, "format": {"score": 0.5, "weight": 0.1}}
_TRACE = {"group": {"id": "g"}, "run": {"work": {"step": 2}}, "traces": [{"nodes": _NODES, "rewards": _REWARDS}]}
_SWANLAB = {"colDefs": [{"field": "input"}], "rowData": [{"input": "q", "output": "a", "score": 1.0}]}
_UIDS = ("task-0", "task-0", "gsm8k_test_4", "", "")
CASES: dict[str, tuple[dict[str, list[Any]], str, list[tuple[Any, ...]]]] = {
    "rows of verl by uid, and a torn one": (
        {
            "rollouts/7.jsonl": [
                *(_verl_row(score=s, uid=f"p{p}_{s:g}_0") for p in (0, 1) for s in (1.0, 0.0)),
                '{"input": "q',
            ]
        },
        "source step response group reward",
        [("rollouts/7.jsonl", 7, TEXT, group, reward) for group in ("p0", "p1") for reward in (1.0, 0.0)],
    ),
    "uid that names the prompt": (
        {"rollouts/7.jsonl": [_verl_row(uid=name) for name in _UIDS]},
        "group",
        [("task-0",), ("task-0",), ("gsm8k_test_4",), (digest("q"),), (digest("q"),)],
    ),
    "empty responses, without which the mean reward would be another": (
        {
            "rollouts/7.jsonl": [_verl_row("a", 1.0), _verl_row("")],
            "completions.jsonl": [{"step": [3, 3], "prompt": ["a", "b"], "completion": ["", "y"], "Acc": [0, 1]}],
        },
        "step response reward",
        [(3, "", 0.0), (3, "y", 1.0), (7, "a", 1.0), (7, "", 0.0)],
    ),
    "columns of a step, whose sum is the reward": (
        {"completions.jsonl": [_COLUMNS | {"advantages": [0.7, -0.7], "entropy": [0.1, 0.2]}]},
        "step reward components",
        [(3, 1.5, {"Acc": 1.0, "Format": 0.5}), (3, 0.5, {"Acc": 0.0, "Format": 0.5})],
    ),
    "batch of one, with the step of the file name": (
        {"train_data_step12.jsonl": [_BATCH]},
        "step prompt response",
        [(12, "question", "reply")],
    ),
    "weighted rewards of a trace, in two directories": (
        {f"rollouts/step_2/train/{folder}/traces.jsonl": [_TRACE] for folder in ("all", "effective")},
        "step group response reward",
        [(2, "g", "assistant", pytest.approx(1.05))],
    ),
    "an episode of two agents, whose rewards are its parts": (
        {
            "rollouts/step_2/traces.jsonl": [
                _TRACE
                | {
                    "traces": [
                        {"agent": {"name": name}, "nodes": _NODES, "rewards": {"won": won}}
                        for name, won in (("solver", 1.0), ("critic", 0.25))
                    ]
                }
            ]
        },
        "response reward components",
        [("assistant\n\nassistant", 1.25, {"solver": 1.0, "critic": 0.25})],
    ),
    "rows that a table of W&B repeats": (
        {f"files/media/table/val/generations_{n}_{'a' * 20}.table.json": [_table(n + 1)] for n in (0, 1)},
        "step",
        [(10,), (20,)],
    ),
    "a sample of slime, with the step of the following line": (
        {
            "train.log": [
                "[x] r.py:1 - First rollout sample: ['q\\nreply'], label: 4, reward: 1.0",
                "[x] r.py:2 - rollout 3: {'a': 1}",
            ]
        },
        "step reward response",
        [(3, 1.0, "q\nreply")],
    ),
    "a table that SwanLab stores twice": (
        {f"run-1/media/{folder}/004-0123abcd.json": [_SWANLAB] for folder in ("2", "echarts")},
        "step",
        [(4,)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_fields_of_samples(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, keys, expected = CASES[case]
    for name, rows in files.items():
        _write(tmp_path / name, *rows)
    found = [tuple(sample[key] for key in keys.split()) for sample in _samples(tmp_path, capsys)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_metrics_and_data_sets_are_not_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(tmp_path / "log.jsonl", {"step": 1, "loss": 0.5, "reward": 0.1})
    _write(tmp_path / "data.jsonl", {"instruction": "q", "output": "a"})
    assert main(["samples", str(tmp_path)]) == 3
    assert "rollout_data_dir" in capsys.readouterr().err


def test_tables_in_a_trackio_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"prompt": "q", "completion": "a", "acc": 1.0, "advantage": 0.5}
    document = json.dumps({"completions": {"_type": "trackio.table", "_value": [row]}, "loss": 0.5})
    with closing(sqlite3.connect(tmp_path / "p.db")) as database, database:
        database.execute("create table metrics (id integer primary key, run_name text, step integer, metrics text)")
        database.execute("insert into metrics values (1, 'r', 6, ?)", (document,))
    (sample,) = _samples(tmp_path, capsys)
    assert (sample["source"], sample["step"], sample["reward"]) == ("p.db", 6, 1.0)


def _verl(path: Path) -> Path:
    """Write two steps of training and validation; the validation has the lowest rewards."""
    for folder, low in (("rollout", 0.5), ("validation", 0.0)):
        for step in (10, 9):
            rows = [{"input": "q", "output": f"{folder}{step}", "score": low + n / 10, "step": step} for n in range(2)]
            _write(path / folder / f"{step}.jsonl", *rows)
    return path


def test_the_list_has_a_heading_for_each_step_and_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples", str(_verl(tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("step")] == [
        "step 9, train: 2 texts, mean reward 0.55",
        "step 9, validation: 2 texts, mean reward 0.05",
        "step 10, train: 2 texts, mean reward 0.55",
        "step 10, validation: 2 texts, mean reward 0.05",
    ]
    assert lines[1].endswith("rollout9")
    assert len(lines) == 12


def test_the_mean_is_rounded_as_in_the_texts_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewards = [0.2015, 1.2712, 1.1457, 0.3826]
    _write(tmp_path / "rollouts" / "7.jsonl", *({"input": "q", "output": "a", "score": r, "step": 7} for r in rewards))
    assert main(["samples", str(tmp_path)]) == 0
    mean, _ = mean_and_std(rewards)
    assert f"mean reward {mean:.4g}\n" in capsys.readouterr().out


def test_the_worst_are_those_of_training_unless_another_split_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _verl(tmp_path)
    assert [(sample["step"], sample["reward"]) for sample in _samples(path, capsys, "--worst", "3")] == [
        (10, 0.5),
        (10, 0.6),
    ]
    for count in ("0", "-3", "x"):
        assert main(["samples", str(path), f"--worst={count}"]) == 2
        assert "must be between 1 and" in capsys.readouterr().err
    assert [sample["reward"] for sample in _samples(path, capsys, "--worst", "3", "--steps", "9-")] == [0.5, 0.5, 0.6]
    assert {sample["split"] for sample in _samples(path, capsys, "--worst", "2", "--split", "all")} == {"validation"}
    assert main(["samples", str(path), "--steps", "-8"]) == 3
    assert "of the steps 9 to 10" in capsys.readouterr().err
    assert len(_samples(path, capsys, "--split", "validation")) == 4
    assert [sample["reward"] for sample in _samples(path / "validation", capsys, "--best", "1")] == [0.1]


def test_doctor_does_not_skip_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(tmp_path / "out" / "7.jsonl", *(_verl_row(score=n / 10) for n in range(9)))
    _write(tmp_path / "out" / "data.jsonl", *({"other": "row"} for _ in range(9)))
    assert main(["doctor", str(tmp_path)]) == 3
    lines = capsys.readouterr().out.splitlines()
    kinds = {Path(line.split(": ")[1]).name: line.split(": ")[0] for line in lines if ".jsonl: " in line}
    assert kinds == {"7.jsonl": "generated texts", "data.jsonl": "skipped"}


@pytest.mark.parametrize("command", [["summary"], ["watch", "--once"], ["check"]])
def test_a_directory_with_texts_only_says_which_command_prints_them(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "completions.parquet"
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"step": [1], "prompt": ["q"], "completion": ["a"], "acc": [1.0]}), path)
    assert main([*command, str(tmp_path)]) == 3
    assert f"{tmp_path} holds generated texts and no metrics: tuimon samples {tmp_path}" in capsys.readouterr().err


def test_the_summary_of_a_text_without_metrics_beside_texts_says_which_command_prints_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "rollouts" / "1.jsonl", {"input": "q", "output": "a", "score": 1.0, "step": 1})
    log = tmp_path / "console.log"
    log.write_text("hello\n" * 50)
    os.utime(log, (1.7e9, 1.7e9))
    assert main(["summary", str(tmp_path)]) == 3
    assert f"{tmp_path} holds generated texts and no metrics: tuimon samples {tmp_path}" in capsys.readouterr().err


def test_groups_have_the_label_of_the_screen_and_searches_are_over_all_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        named = [{"uid": f"q{n}_{i}_0", "input": f"{n}?", "output": f"no {n}{step}{i}"} for n in (3, 4) for i in (0, 1)]
        unnamed = [{"input": "5?", "output": f"Wait {step}"}]
        rows = [{**row, "score": 1.0, "step": step} for row in (*named, *unnamed)]
        _write(tmp_path / "rollouts" / f"{step}.jsonl", *rows)

    def responses(*options: str) -> list[str]:
        return [sample["response"] for sample in _samples(tmp_path, capsys, *options)]

    def failure(*options: str) -> str:
        assert main(["samples", str(tmp_path), *options]) in (2, 3)
        return capsys.readouterr().err

    assert main(["samples", str(tmp_path), "--step", "2"]) == 0
    labels = [line.split()[4] for line in capsys.readouterr().out.splitlines()[1:]]
    assert labels == ["q3", "q3", "q4", "q4", "3"]
    assert responses("--group", "2", "--step", "2") == responses("--group", "q4", "--step", "2") == ["no 420", "no 421"]
    assert responses("--group", "3") == ["Wait 1", "Wait 2"]
    assert responses("--search", "wait") == ["Wait 1", "Wait 2"]
    assert responses("--search", "4?") == ["no 410", "no 411", "no 420", "no 421"]  # in the prompt
    assert responses("--search", "re:no 3.1", "--worst", "2") == ["no 321"]
    assert responses("--search", "re:no 3.1", "--worst", "2", "--steps", "1-") == ["no 311", "no 321"]
    assert responses("--search", "length<7", "--group", "q3", "--step", "1") == ["no 310", "no 311"]
    assert main(["samples", str(tmp_path), "--search", "Wait", "--markdown"]) == 0
    assert capsys.readouterr().out.count("###") == 2

    for options in (["--step", "7"], ["--group", "4q"], ["--group", "q3", "--search", "Wait"]):
        assert "of the steps 1 to 2, of the split train" in failure(*options)
    assert "not a regular expression" in failure("--search", "re:(")
    assert "split train" in failure("--split", "validation")
    (tmp_path / "none").mkdir()
    assert main(["samples", str(tmp_path / "none"), "--step", "7"]) == 3
    assert "Switch on trainer.rollout_data_dir" in capsys.readouterr().err
