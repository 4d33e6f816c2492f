"""Files of trainers, written as their writers do, and the texts that are read from them. Bombs are bounded."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from support.event_points import event, file_of, text
from support.written_texts import HOSTILE

from tuimon.samples.discovery import read_samples
from tuimon.samples.library import Library

TEXT = "so\u2028\x1b[31m 4"
PROMPT = "user\n2+2?\nassistant\n"
TEMPLATE = "<pad><|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"


def verl(output: str = TEXT, score: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"input": "q", "output": output, "gts": "4", "score": score, "step": 7} | more


def on_board(output: str, score: float) -> dict[str, Any]:
    """Return a row of a board, with special tokens in the prompt and without a reference."""
    return {"prompt": TEMPLATE, "response": output, "reward": score, "step": 1}


def wandb_table(count: int) -> dict[str, Any]:
    """Return a table of W&B, which has all rows of the one before."""
    rows = [[step, "q", f"text {step}", 1.0] for step in (10, 20)]
    return {"columns": ["step", "input_1", "output_1", "score_1"], "data": rows[:count]}


def database(create: str, *rows: tuple[Any, ...]) -> bytes:
    """Return a database with one table. create: its name and columns."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute(f"create table {create}")
        made.executemany(f"insert into {create.split()[0]} values ({', '.join('?' * len(rows[0]))})", rows)
        made.commit()
        return made.serialize()


def packed(document: bytes) -> bytes:
    return b"base64:" + base64.b64encode(zlib.compress(document)) + b"\n"


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def inspect_sample(number: int) -> bytes:
    message = {"role": "assistant", "content": f"reply {number}"}
    choice = {"message": message, "stop_reason": "max_tokens"}
    document = {"id": "a", "epoch": number, "input": "q", "target": "4", "scores": {"match": {"value": "C"}}}
    document |= {"messages": [{"role": "user", "content": "q"}, message], "events": [{"messages": [message]}]}
    document |= {"output": {"completion": f"reply {number}", "choices": [choice], "usage": {"output_tokens": 5}}}
    return json.dumps(document).encode()


DUMPED = [("4", 1.0), ("5", 0.0), ("4", 1.0), ("6", 0.0)]
DUMP = [verl(*row, input=PROMPT, step=1) for row in DUMPED]
"""All texts of a step, as a trainer writes them; a board or a table has some of them once more."""
COLUMNS = {"step": ["3", "3"], "prompt": ["a", "b"], "completion": ["x", "y"], "Acc": [1.0, 0.0], "Format": [0.5, 0.5]}
BATCH = {"content": [["question", "reply"]], "rewards": [1.0], "token_ids": [[1, 2]], "advantages": [[0.5, 0.5]]}
NODES = [{"message": {"role": role, "content": role}} for role in ("user", "assistant")]
REWARDS = {"correct": {"score": 1.0, "weight": 1.0}, "format": {"score": 0.5, "weight": 0.1}}
TRACE = {"group": {"id": "g"}, "run": {"work": {"step": 2}}, "traces": [{"nodes": NODES, "rewards": REWARDS}]}
AGENTS = (("solver", 1.0), ("critic", 0.25))
EPISODE = TRACE | {
    "traces": [{"agent": {"name": name}, "nodes": NODES, "rewards": {"won": won}} for name, won in AGENTS]
}
SWANLAB = {"colDefs": [{"field": "input"}], "rowData": [{"input": "q", "output": "a", "score": 1.0}]}
UIDS = ("task-0", "task-0", "gsm8k_test_4", "", "")
TRACKIO = {"completions": {"_type": "trackio.table", "_value": [{"prompt": "q", "completion": "a", "acc": 1.0}]}}
ROLL = "[2026-08-19 12:00:05] [agentic_pipeline.py (611)] [INFO] [DRIVER 0 / 1][PID 42] "
TURNS = [{"prompt": "q", "response": word, "episode_score": 0.5, "step_score": 0.0} for word in ("one", "two")]
LM_EVAL = {
    "doc_id": 3,
    "doc": {"question": "q", "answer": "4"},
    "target": "4",
    "resps": [["text"]],
    "filtered_resps": ["text"],
    "filter": "none",
    "metrics": ["exact_match"],
    "exact_match": 1.0,
}
BEAST_PART = {
    "content": {"text": ["q ", "and", " a", "!"]},
    "len_prompt_ids": 1,
    "len_response_ids": 3,
    "raw_reward": "0.500",
    "step_advantage": "-0.7",
}
BEAST = packed(
    json.dumps(
        {"header": "[6] Task t (Reward 0.5)", "nested_json": {"t.1.0.0": BEAST_PART, "u.0.0.1": BEAST_PART}}
    ).encode()
)
BOARD = "".join(
    f"### Sample {n}\n**Input:** q\n\n**Output:** text {HOSTILE}{n}\n\n**Score:** {n}.5\n\n---\n\n" for n in (1, 2)
)
EVENTS = file_of(
    event(3, text("val/generations/text_summary", f"**Generation Results - Step 3**\n\n{BOARD}")),
    event(3, text("config/text_summary", "### Sample 1\n**Input:** a\n**Output:** b\n**Score:** 1\n")),
    event(4, text("train/generated_samples/text_summary", "Sample:\\nq and a\\n\\nReward: 0.5000")),
)
GENERATION = "[prompt] q\nmore\n\n[output] a\nb\n[ground_truth] 4\n[score] 1.0\n\n"
WANDB_FILE = "wandb/run-1/files/media/table/completions_1_0123456789abcdef0123.table.json"
CASES: dict[str, tuple[dict[str, str | bytes | list[Any]], str, list[tuple[Any, ...]]]] = {
    "rows of verl by uid, and a torn one": (
        {
            "rollouts/7.jsonl": [
                *(verl(score=score, uid=f"p{prompt}_{score:g}_0") for prompt in (0, 1) for score in (1.0, 0.0)),
                '{"input": "q',
            ]
        },
        "source step response group reward",
        [("rollouts/7.jsonl", 7, TEXT, group, reward) for group in ("p0", "p1") for reward in (1.0, 0.0)],
    ),
    "uid that names the prompt": (
        {"rollouts/7.jsonl": [verl(uid=name) for name in UIDS]},
        "group",
        [("task-0",), ("task-0",), ("gsm8k_test_4",), ("q",), ("q",)],
    ),
    "empty responses, without which the mean reward would be another": (
        {
            "rollouts/7.jsonl": [verl("a", 1.0), verl("")],
            "completions.jsonl": [{"step": [3, 3], "prompt": ["a", "b"], "completion": ["", "y"], "Acc": [0, 1]}],
        },
        "step response reward",
        [(3, "", 0.0), (3, "y", 1.0), (7, "a", 1.0), (7, "", 0.0)],
    ),
    "columns of a step, whose sum is the reward": (
        {"completions.jsonl": [COLUMNS | {"advantages": [0.7, -0.7], "entropy": [0.1, 0.2]}]},
        "step reward components",
        [(3, 1.5, {"Acc": 1.0, "Format": 0.5}), (3, 0.5, {"Acc": 0.0, "Format": 0.5})],
    ),
    "batch of one, with the step of the file name": (
        {"train_data_step12.jsonl": [BATCH]},
        "step prompt response",
        [(12, "question", "reply")],
    ),
    "weighted rewards of a trace, in two directories": (
        {f"rollouts/step_2/train/{folder}/traces.jsonl": [TRACE] for folder in ("all", "effective")},
        "step group response reward",
        [(2, "g", "assistant", pytest.approx(1.05))],
    ),
    "an episode of two agents, whose rewards are its parts": (
        {"rollouts/step_2/traces.jsonl": [EPISODE]},
        "response reward components",
        [("assistant\n\nassistant", 1.25, dict(AGENTS))],
    ),
    "rows that a table of W&B repeats": (
        {f"files/media/table/val/generations_{n}_{'a' * 20}.table.json": [wandb_table(n + 1)] for n in (0, 1)},
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
        {f"run-1/media/{folder}/004-0123abcd.json": [SWANLAB] for folder in ("2", "echarts")},
        "step",
        [(4,)],
    ),
    "tables in a trackio database": (
        {
            "p.db": database(
                "metrics (id integer primary key, run_name text, step integer, metrics text)",
                (1, "r", 6, json.dumps(TRACKIO | {"loss": 0.5})),
            )
        },
        "source step reward",
        [("p.db", 6, 1.0)],
    ),
    "experiences of trinity without their pickles": (
        {
            "explorer_output.db": database(
                "pipeline_input (id integer primary key, prompt text, response text, message_list json,"
                " reward float, model_version integer, experience_bytes blob)",
                (1, "q", "a", None, 0.5, 3, b"\x80\x04."),
                (2, "q", "b", None, None, 4, b"\x80\x04."),
            )
        },
        "step reward response",
        [(3, 0.5, "a"), (4, None, "b")],
    ),
    "texts of an event file that is being written": (
        {"events.out.tfevents.1.host": EVENTS + EVENTS[:50]},
        "step reward response",
        [(3, 1.5, f"text {HOSTILE}1"), (3, 2.5, f"text {HOSTILE}2"), (4, 0.5, "q and a")],
    ),
    "conversations of ROLL, with the step of the following line": (
        {
            "driver.log": f'{ROLL}{json.dumps([TURNS, TURNS[:1]])}\n{ROLL}{{"loss": 1.0, "system/global_step": 3}}\n'
            f"{ROLL}[[{{]]\n"
        },
        "step reward response",
        [(3, 0.5, "one\n\ntwo"), (3, 0.5, "one")],
    ),
    "blocks of a console, with the step of the following line, and a torn one": (
        {
            "train.log": "(TaskRunner pid=7) [prompt] q\n[response] one\ntwo\n[ground_truth] 4\n[score] 0.25\nother\n"
            "step:12 - a:1\n[prompt] torn\n[response] text"
        },
        "step reward prompt reference response",
        [(12, 0.25, "q", "4", "one\ntwo")],
    ),
    "blocks of generations have no step": (
        {"generations.log": GENERATION * 2},
        "step reward prompt response",
        [(None, 1.0, "q\nmore", "a\nb")] * 2,
    ),
    "rows of lm_eval by document": (
        {"samples_gsm8k_2026-08-21T12-00-00.jsonl": [LM_EVAL]},
        "reward group step reference",
        [(1.0, "3", None, "4")],
    ),
    "rollouts of beast_logger, a bomb and a torn one": (
        {"rollout.json.log": b"2026 | INFO - \n" + BEAST + packed(b" " * (64 << 20)) + b"base64:!\n" + BEAST[:40]},
        "step group prompt response reward advantage length length_unit",
        [(6, group, "q ", "and a!", 0.5, -0.7, 3, "tokens") for group in ("t", "u")],
    ),
    "members of an Inspect log, a bomb and a path that leads out": (
        {
            "2026-11-22_task.eval": zipped(
                {
                    "header.json": b"{}",
                    "samples/a_epoch_1.json": inspect_sample(1),
                    "samples/a_epoch_2.json": inspect_sample(2),
                    "samples/b_epoch_1.json": b" " * (80 << 20),
                    "samples/../../c_epoch_1.json": inspect_sample(9),
                }
            )
        },
        "response reward group truncated length step",
        [(f"reply {number}", 1.0, "a", True, 5, None) for number in (1, 2)],
    ),
    "a board with some texts of the dump adds none": (
        {"dump/1.jsonl": DUMP, "board/data.jsonl": [on_board("4", 1.0)] * 3 + [on_board("5", 0.0)] * 2},
        "source response reward",
        [("dump/1.jsonl", *row) for row in DUMPED],
    ),
    "a table of all texts adds none": (
        {
            "dump/1.jsonl": DUMP,
            WANDB_FILE: [
                {
                    "columns": ["step", "prompt", "completion", "reward"],
                    "data": [["1", PROMPT, *row] for row in DUMPED],
                }
            ],
        },
        "source response reward",
        [("dump/1.jsonl", *row) for row in DUMPED],
    ),
    "another text and another reward of a board are added": (
        {"dump/1.jsonl": DUMP, "board/data.jsonl": [on_board(*row) for row in (("4", 1.0), ("7", 0.0), ("5", 0.5))]},
        "response reward",
        [*DUMPED, ("7", 0.0), ("5", 0.5)],
    ),
    "equal texts of two ranks are all kept": (
        {f"{rank}/1.jsonl": [verl("4", 1.0, step=1)] * 2 for rank in ("host-a", "host-b")},
        "response",
        [("4",)] * 4,
    ),
    "training and validation are no copies": (
        {"dump/1.jsonl": DUMP, "validation/1.jsonl": [{"prompt": PROMPT, "response": "4", "reward": 1.0, "step": 1}]},
        "split response reward",
        [*(("train", *row) for row in DUMPED), ("validation", "4", 1.0)],
    ),
    "metrics and data sets are not samples": (
        {
            "log.jsonl": [{"step": 1, "loss": 0.5, "reward": 0.1}],
            "data.jsonl": [{"instruction": "q", "output": "a"}],
        },
        "step",
        [],
    ),
}
"""What is written -> (files, fields of the samples, their values)."""


@pytest.mark.parametrize("case", CASES)
def test_fields_of_samples(case: str, tmp_path: Path) -> None:
    files, fields, expected = CASES[case]
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in content)
            content = "".join(f"{line}\n" for line in lines)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    samples = list(read_samples(str(tmp_path), []))
    for sample in samples:
        sample.source = str(Path(sample.source).relative_to(tmp_path))
    found = [tuple(attrgetter("step", *fields.split())(sample))[1:] for sample in samples]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    library = Library([str(tmp_path)])
    library.refresh()
    listed = [entry for step in {sample.step for sample in samples} for entry in library.entries(step)]
    assert sorted(repr(entry.reward) for entry in listed) == sorted(repr(sample.reward) for sample in samples)
    texts = [sample.response for entry in listed if (sample := library.sample(entry))]
    assert sorted(texts) == sorted(sample.response for sample in samples), "each is found again"


def test_a_damaged_zip_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "task.eval").write_bytes(b"PK\x03\x04 damaged")
    problems: list[str] = []
    assert list(read_samples(str(tmp_path), problems)) == []
    assert problems == ["task.eval: not a readable zip file"]
