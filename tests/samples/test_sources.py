"""Sources of texts other than rows of JSON: event files, consoles, databases, packed logs. Bombs are bounded."""

from __future__ import annotations

import base64
import json
import sqlite3
import struct
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from support.written_texts import HOSTILE

from tuimon.formats._shared.crc32c import crc32c, masked
from tuimon.samples import Sample
from tuimon.samples.discovery import read_samples
from tuimon.samples.library import Library


def samples(path: Path, problems: list[str] | None = None) -> list[Sample]:
    return list(read_samples(str(path), [] if problems is None else problems))


def field(number: int, data: bytes) -> bytes:
    size, length = b"", len(data)
    while True:
        size += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            return bytes([number << 3 | 2]) + size + data


def text_event(step: int, tag: str, text: str) -> bytes:
    """Return a record of an event file with a text summary."""
    tensor = b"\x08\x07" + field(8, text.encode())
    value = field(1, tag.encode()) + field(8, tensor) + field(9, field(1, field(1, b"text")))
    event = b"\x09" + struct.pack("<d", 1.0) + b"\x10" + bytes([step]) + field(5, field(1, value))
    head = struct.pack("<Q", len(event))
    return head + struct.pack("<I", masked(crc32c(head))) + event + struct.pack("<I", masked(crc32c(event)))


def test_texts_of_an_event_file(tmp_path: Path) -> None:
    parts = [
        f"### Sample {number}\n**Input:** q\n\n**Output:** text {HOSTILE}{number}\n\n**Score:** {number}.5\n\n---\n\n"
        for number in (1, 2)
    ]
    verl = "**Generation Results - Step 3**\n\n" + "".join(parts)
    records = text_event(3, "val/generations/text_summary", verl)
    records += text_event(3, "config/text_summary", "### Sample 1\n**Input:** a\n**Output:** b\n**Score:** 1\n")
    records += text_event(4, "train/generated_samples/text_summary", "Sample:\\nq and a\\n\\nReward: 0.5000")
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(records + records[:50])
    found = samples(tmp_path)
    assert [(sample.step, sample.reward) for sample in found] == [(3, 1.5), (3, 2.5), (4, 0.5)]
    assert found[0].response == f"text {HOSTILE}1"
    assert found[2].response == "q and a"
    library = Library([str(tmp_path)])
    library.refresh()
    assert library.steps == (3, 4)
    path.write_bytes(records + text_event(5, "val/generations/text_summary", verl))
    assert 5 in library.refresh()
    assert [sample.response for entry in library.entries(4) if (sample := library.sample(entry))] == ["q and a"]


def test_conversations_of_a_console_get_the_step_of_the_following_line(tmp_path: Path) -> None:
    turns = [{"prompt": "q", "response": text, "episode_score": 0.5, "step_score": 0.0} for text in ("one", "two")]
    head = "[2026-08-19 12:00:05] [agentic_pipeline.py (611)] [INFO] [DRIVER 0 / 1][PID 42] "
    log = head + json.dumps([turns, turns[:1]]) + "\n" + head + '{"loss": 1.0, "system/global_step": 3}\n'
    (tmp_path / "driver.log").write_text(log + head + "[[{]]\n")
    first, second = samples(tmp_path)
    assert (first.step, first.reward, first.response, len(first.turns)) == (3, 0.5, "one\n\ntwo", 4)
    assert (second.step, second.response) == (3, "one")


def test_blocks_of_a_console_get_the_step_of_the_following_line(tmp_path: Path) -> None:
    text = "(TaskRunner pid=7) [prompt] q\n[response] one\ntwo\n[ground_truth] 4\n[score] 0.25\nother\nstep:12 - a:1\n"
    (tmp_path / "train.log").write_text(text + "[prompt] torn\n[response] text")
    (sample,) = samples(tmp_path)
    assert (sample.step, sample.reward, sample.prompt, sample.reference) == (12, 0.25, "q", "4")
    assert sample.response == "one\ntwo"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_step_that_is_written_after_its_samples_is_that_of_all_of_them(tmp_path: Path, count: int) -> None:
    path, library = tmp_path / "train.log", Library([str(tmp_path)])
    text = ""
    for step in (12, 13):
        for number in range(count):
            text += f"[prompt] q{number}\n[response] a\n[ground_truth] 4\n[score] 0.25\n"
            path.write_text(text)
            library.refresh()
            assert len(library.entries(None)) == number + 1
        text += f"step:{step} - a:1\n"
        path.write_text(text)
        assert {None, step} <= library.refresh()
        assert len(library.entries(step)) == count
    assert library.steps == (12, 13)
    assert len(library.entries(12)) == count


def test_blocks_of_generations_have_no_step(tmp_path: Path) -> None:
    block = "[prompt] q\nmore\n\n[output] a\nb\n[ground_truth] 4\n[score] 1.0\n\n"
    path = tmp_path / "generations.log"
    path.write_text(block * 2)
    library = Library([str(tmp_path)])
    library.refresh()
    entries = library.entries(None)
    assert [entry.reward for entry in entries] == [1.0, 1.0]
    sample = library.sample(entries[1])
    assert sample is not None
    assert (sample.prompt, sample.response) == ("q\nmore", "a\nb")
    with path.open("a") as file:
        file.write(block)
    library.refresh()
    assert len(library.entries(None)) == 3


def test_experiences_of_trinity_without_their_pickles(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "explorer_output.db")) as database, database:
        database.execute(
            "create table pipeline_input (id integer primary key, prompt text, response text, message_list json,"
            " reward float, model_version integer, experience_bytes blob)"
        )
        rows = [(1, "q", "a", None, 0.5, 3, b"\x80\x04."), (2, "q", "b", None, None, 4, b"\x80\x04.")]
        database.executemany("insert into pipeline_input values (?, ?, ?, ?, ?, ?, ?)", rows)
    found = samples(tmp_path)
    assert [(sample.step, sample.reward, sample.response) for sample in found] == [(3, 0.5, "a"), (4, None, "b")]


def test_rows_of_lm_eval_are_grouped_by_document(tmp_path: Path) -> None:
    row = {"doc_id": 3, "doc": {"question": "q", "answer": "4"}, "target": "4", "resps": [["text"]]}
    row |= {"filtered_resps": ["text"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}
    (tmp_path / "samples_gsm8k_2026-08-21T12-00-00.jsonl").write_text(json.dumps(row) + "\n")
    (sample,) = samples(tmp_path)
    assert (sample.reward, sample.group, sample.step, sample.reference) == (1.0, "3", None, "4")


def packed(document: object) -> bytes:
    return b"base64:" + base64.b64encode(zlib.compress(json.dumps(document).encode())) + b"\n"


def test_rollouts_of_beast_logger_and_a_bomb(tmp_path: Path) -> None:
    part = {"content": {"text": ["q ", "and", " a", "!"]}, "len_prompt_ids": 1, "len_response_ids": 3}
    part |= {"raw_reward": "0.500", "step_advantage": "-0.7"}
    good = packed({"header": "[6] Task t (Reward 0.5)", "nested_json": {"t.1.0.0": part, "u.0.0.1": part}})
    bomb = b"base64:" + base64.b64encode(zlib.compress(b" " * (64 << 20))) + b"\n"
    (tmp_path / "rollout.json.log").write_bytes(b"2026 | INFO - \n" + good + bomb + b"base64:!\n" + good[:40])
    found = samples(tmp_path)
    assert [(sample.step, sample.group, sample.prompt, sample.response) for sample in found] == [
        (6, "t", "q ", "and a!"),
        (6, "u", "q ", "and a!"),
    ]
    assert (found[0].reward, found[0].advantage, found[0].length, found[0].length_unit) == (0.5, -0.7, 3, "tokens")


def sample_document(number: int) -> bytes:
    message = {"role": "assistant", "content": f"reply {number}"}
    choice = {"message": message, "stop_reason": "max_tokens"}
    document = {"id": "a", "epoch": number, "input": "q", "target": "4", "scores": {"match": {"value": "C"}}}
    document |= {"messages": [{"role": "user", "content": "q"}, message], "events": [{"messages": [message]}]}
    document |= {"output": {"completion": f"reply {number}", "choices": [choice], "usage": {"output_tokens": 5}}}
    return json.dumps(document).encode()


def test_members_of_an_inspect_log_and_a_bomb(tmp_path: Path) -> None:
    path = tmp_path / "2026-11-22_task.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        for number in (1, 2):
            archive.writestr(f"samples/a_epoch_{number}.json", sample_document(number))
        archive.writestr("samples/b_epoch_1.json", b" " * (80 << 20))
        archive.writestr("samples/../../c_epoch_1.json", sample_document(9))
    found = samples(tmp_path)
    assert [(sample.response, sample.reward, sample.group) for sample in found] == [
        ("reply 1", 1.0, "a"),
        ("reply 2", 1.0, "a"),
    ]
    assert (found[0].truncated, found[0].length, found[0].step) == (True, 5, None)
    path.write_bytes(b"PK\x03\x04 damaged")
    problems: list[str] = []
    assert samples(tmp_path, problems) == []
    assert problems == [f"{path.name}: not a readable zip file"]
