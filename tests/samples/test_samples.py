"""`tuimon samples`: lists, JSON, which texts are chosen, and what other commands say of texts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.programs import run

from tuimon.commands import main
from tuimon.samples.discovery import has_samples
from tuimon.samples.library import digest
from tuimon.samples.selection import mean_and_std


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def listed(*words: object, expect: int = 0) -> list[str]:
    """Return the lines of the list."""
    return run("samples", *map(str, words), expect=expect).stdout.splitlines()


def sampled(*words: object) -> list[dict[str, Any]]:
    """Return the samples in JSON."""
    return [json.loads(line) for line in listed(*words, "--json")]


def refused(*words: object, code: int = 3) -> str:
    """Return the message of a call that gives no text."""
    return run("samples", *map(str, words), expect=code).stderr


@pytest.fixture
def two_steps(tmp_path: Path) -> Path:
    """Two steps of training and validation; the validation has the lowest rewards."""
    for folder, low in (("rollout", 0.5), ("validation", 0.0)):
        for step in (10, 9):
            rows = [{"input": "q", "output": f"{folder}{step}", "score": low + n / 10, "step": step} for n in range(2)]
            write(tmp_path / folder / f"{step}.jsonl", rows)
    return tmp_path


def test_the_list_has_a_heading_for_each_step_and_split(two_steps: Path, tmp_path: Path) -> None:
    lines = listed(two_steps)
    assert [line for line in lines if line.startswith("step")] == [
        "step 9, train: 2 texts, mean reward 0.55",
        "step 9, validation: 2 texts, mean reward 0.05",
        "step 10, train: 2 texts, mean reward 0.55",
        "step 10, validation: 2 texts, mean reward 0.05",
    ]
    assert lines[1].endswith("rollout9")
    assert len(lines) == 12
    assert listed(two_steps, "--best", "1", "--step", "9")[0] == "step 9, train: 1 of 2 texts"
    rewards = [0.2015, 1.2712, 1.1457, 0.3826]
    path = write(
        tmp_path / "other" / "7.jsonl", ({"input": "q", "output": "a", "score": r, "step": 7} for r in rewards)
    )
    assert listed(path)[0].endswith(f"mean reward {mean_and_std(rewards)[0]:.4g}"), "rounded as in the texts view"
    assert {sample["group"] for sample in sampled(path)} == {digest("q")}


def test_the_worst_are_those_of_training_unless_another_split_is_named(two_steps: Path) -> None:
    def rewards(*words: str) -> list[tuple[int, float]]:
        return [(sample["step"], sample["reward"]) for sample in sampled(two_steps, *words)]

    assert rewards("--worst", "3") == [(10, 0.5), (10, 0.6)]
    assert rewards("--worst", "3", "--steps", "9-") == [(9, 0.5), (10, 0.5), (9, 0.6)]
    assert rewards("--worst", "2", "--split", "all") == [(10, 0.0), (10, 0.1)]
    assert len(rewards("--split", "validation")) == 4
    assert [sample["reward"] for sample in sampled(two_steps / "validation", "--best", "1")] == [0.1]
    for count in ("0", "-3", "x"):
        assert "must be between 1 and" in refused(two_steps, f"--worst={count}", code=2)
    assert "of the steps 9 to 10" in refused(two_steps, "--steps", "-8")


def test_other_commands_say_that_there_are_texts(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    row = {"input": "q", "output": "a", "gts": "4", "score": 0.5, "step": 7}
    write(texts / "out" / "7.jsonl", [row] * 9)
    write(texts / "out" / "data.jsonl", [{"other": "row"}] * 9)
    lines = run("doctor", str(texts), expect=3).stdout.splitlines()
    assert "no metric log found" in lines
    files = [line for line in lines if f"{texts}/out/" in line]  # other lines are about links that other tests used
    kinds = {Path(line.split(": ")[1]).name: line.split(": ")[0] for line in files}
    assert kinds == {"7.jsonl": "generated texts", "data.jsonl": "skipped"}
    said = f"{texts} holds generated texts and no metrics: tuimon samples {texts}"
    for command in ("summary", "watch --once", "check"):
        assert said in run(*command.split(), str(texts), expect=3).stderr
    log = texts / "console.log"
    log.write_text("hello\n" * 50)  # a log without a metric
    os.utime(log, (1.7e9, 1.7e9))
    assert said in run("summary", str(texts), expect=3).stderr


def test_texts_of_a_parquet_file(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"step": [1], "prompt": ["q"], "completion": ["a"], "acc": [1.0]})
    pq.write_table(table, tmp_path / "completions.parquet")
    assert [(sample["step"], sample["response"], sample["reward"]) for sample in sampled(tmp_path)] == [(1, "a", 1.0)]
    assert "holds generated texts" in run("summary", str(tmp_path), expect=3).stderr


def test_groups_have_the_label_of_the_screen_and_searches_are_over_all_steps(tmp_path: Path) -> None:
    for step in (1, 2):
        named = [{"uid": f"q{n}_{i}_0", "input": f"{n}?", "output": f"no {n}{step}{i}"} for n in (3, 4) for i in (0, 1)]
        unnamed = [{"input": "5?", "output": f"Wait {step}"}]
        write(tmp_path / "rollouts" / f"{step}.jsonl", ({**row, "score": 1.0, "step": step} for row in named + unnamed))
    assert [line.split()[4] for line in listed(tmp_path, "--step", "2")[1:]] == ["q3", "q3", "q4", "q4", "3"]
    for options, responses in {
        "--group 2 --step 2": ["no 420", "no 421"],
        "--group q4 --step 2": ["no 420", "no 421"],
        "--group 3": ["Wait 1", "Wait 2"],
        "--search wait": ["Wait 1", "Wait 2"],
        "--search 4?": ["no 410", "no 411", "no 420", "no 421"],  # in the prompt
        "--worst 2 --search re:no.3.1": ["no 321"],
        "--worst 2 --search re:no.3.1 --steps 1-": ["no 311", "no 321"],
        "--search length<7 --group q3 --step 1": ["no 310", "no 311"],
    }.items():
        assert [sample["response"] for sample in sampled(tmp_path, *options.split())] == responses, options
    assert "\n".join(listed(tmp_path, "--search", "Wait", "--markdown")).count("###") == 2
    for options in ("--step 7", "--group 4q", "--group q3 --search Wait"):
        assert "of the steps 1 to 2, of the split train" in refused(tmp_path, *options.split())
    assert "not a regular expression" in refused(tmp_path, "--search", "re:(", code=2)
    assert "split train" in refused(tmp_path, "--split", "validation")
    (tmp_path / "none").mkdir()
    assert "Switch on trainer.rollout_data_dir" in refused(tmp_path / "none", "--step", "7")


CHAT = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"


def test_openrlhf_lists_the_responses_and_json_has_the_text_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"INFO 08-13 19:25:41 ppo_trainer.py:224] Sample: {[f'{CHAT}It is 4', 1.0]!r}"
    step = "INFO 08-13 19:26:41 ppo_trainer.py:547] Global step 1: {'reward': 0.5}"
    (tmp_path / "train.log").write_text(f"{line}\n{step}\n")
    assert has_samples([str(tmp_path)])
    assert main(["samples", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("chars        1  It is 4")
    assert main(["samples", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["response"] == f"{CHAT}It is 4"


def test_a_run_without_texts_has_none(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("".join(json.dumps({"step": s, "loss": 0.5}) + "\n" for s in range(200)))
    (tmp_path / "train.log").write_text("step 1 loss 0.5\n")
    (tmp_path / "progress.json").write_text("{")
    assert not has_samples([str(tmp_path)])
