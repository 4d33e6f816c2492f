"""A table of calls that end with a word to the user: the exit code, the message, and that nothing else is done."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import DATA
from support.programs import run, write_rows

from tuimon.commands import commands

NAMES = ("train/reward", "train/reward_std", "train/loss", "train/loss_scale")
TORCH = DATA / "tensorboard" / "torch"
MISSPELT = r"no metric matches rewrd; did you mean [^;]*reward"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which the calls are made: runs, and files of other kinds."""
    root = tmp_path_factory.mktemp("logs")
    write_rows(root / "log", ({"step": step, **dict.fromkeys(NAMES, step / 10)} for step in range(30)))
    shutil.copytree(root / "log", root / "other")
    write_rows(
        root / "late", ({"step": step, "loss": 1.0} | ({"late": 1.0} if step > 45 else {}) for step in range(50))
    )
    write_rows(root / "nan", ({"step": step, "loss": "NaN" if step > 5 else 0.5, "reward": 0.5} for step in range(10)))
    (root / "nothing").mkdir()
    (root / "nothing" / "notes.json").write_text('{"a": "b"}')
    (root / "nothing" / "weights.bin").write_bytes(bytes(100))
    (root / "waiting").mkdir()
    (root / "waiting" / "events.out.tfevents.1.host.1.0").touch()
    (root / "model.bin").write_bytes(bytes(range(256)) * 20)
    (root / "entries.json").write_text(json.dumps({"title": "Log", "entries": ["a", "b"]}))
    return root


CALLS = [
    # what is not there, and what is no log
    ("nowhere/run", 3, "nowhere.*--wait"),
    *((f"{command} nowhere/run", 3, "nowhere.*--wait") for command in ("summary", "export", "doctor", "check", "line")),
    ("watch --json nowhere", 3, "nowhere.*--wait"),
    *(
        (f"{command} nothing", 3, "notes.json: not a metric log.*TensorBoard, W&B")
        for command in ("", "summary", "export --by-source", "export --format jsonl", "export --format parquet")
    ),
    ("summary model.bin", 3, "not a metric log"),
    ("check entries.json", 3, "entries.json"),
    ("summary 'log/nothing*'", 3, "nothing"),
    ("summary waiting", 0, "no point yet"),
    # what does not exist
    *((words, 2, "-h") for words in ("--nonsense", "summary --nonsense", "export x --format doc")),
    ("sumary log", 2, r"Did you mean `tuimon summary`\?"),
    ("exprot log", 2, r"Did you mean `tuimon export`\?"),
    ("dctor log", 2, r"Did you mean `tuimon doctor`\?"),
    ("./sumary", 3, "^((?!Did you mean).)*$"),
    ("no-such-logs", 3, "^((?!Did you mean).)*$"),
    ("export log --metric rewrd", 2, MISSPELT),
    ("export log --by-source --metric rewrd", 2, MISSPELT),
    ("doctor log --metric rewrd", 2, MISSPELT),
    ("check log --rule 'rewrd < 0.2 for 10 steps'", 2, MISSPELT),
    (f"export {TORCH} --format media --metric wieght -o {{out}}/none/", 2, "nothing to write matches wieght"),
    ("compare log other --metric nothing", 2, "no metric matches nothing"),
    ("summary late --step 40 --metric lost", 2, "no metric matches lost; did you mean"),
    *(
        (f"{command} --metric {pattern}", 2, f"invalid expression {re.escape(pattern)}")
        for command in ("compare log other", "export log", "doctor log", "export log --format jsonl")
        for pattern in ("re:[", "/(/")
    ),
    # steps without a point
    *((f"summary late --step 9999{form}", 3, "no point at step 9999; its last step is 49") for form in ("", " --json")),
    *((f"summary late --step -1{form}", 3, "has no point at step -1") for form in ("", " --json")),
    ("summary late --step 40 --metric late", 3, "has no point of these metrics at step 40"),
    ("export log --steps 100-200", 2, "no point has a step from 100 to 200"),
    ("export log --steps 100-", 2, "no point has a step from 100 on"),
    ("export log --steps 9-3", 2, "invalid range of steps: '9-3'"),
    ("export log --steps=-", 2, "invalid range of steps"),
    ("export log --steps 100- --format wide", 2, "no chosen metric has a point in these steps"),
    # options that do not go together, or say too little
    ("export log --steps 1-2 --format openmetrics", 2, "--steps does not apply to openmetrics"),
    ("export log --smooth 0.9", 2, "--smooth applies to pictures only, not to csv"),
    ("summary log --unusual", 2, "--step"),
    ("compare log", 2, "two"),
    ("check log --only-rules", 2, "--only-rules without a rule"),
    ("check nan --rule 'reward below much'", 2, "--rule: invalid rule: reward below much"),
    *((f"check {words} .", 2, "--follow") for words in ("--follow --since 2h", "--follow --past", "--unit")),
    ("watch --json --once log", 2, "not allowed with"),
    ("--schema", 0, "tuimon watch --json"),
    ("watch --schema", 0, "tuimon watch --json"),
    ("demo --once --inject fire@3", 1, "did not start"),
    # files that cannot be written
    ("export log -o /proc/nothing/here.csv", 1, "cannot write /proc/nothing"),
    ("export log -o {out}/reward.gif", 2, r"no format has the suffix \.gif.*\.png"),
    ("report log -o {out}/r.md", 2, r"no report has the suffix \.md"),
    ("report log -o {out}/r.pdf", 2, r"no report has the suffix \.pdf"),
    ("compare log other -o {out}/r.png", 2, r"r\.png: a comparison is HTML, CSV or LaTeX"),
]


@pytest.mark.parametrize(("line", "code", "said"), CALLS, ids=[line for line, *_ in CALLS])
def test_a_call_ends_with_a_word(
    line: str, code: int, said: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs)
    done = run(*shlex.split(line.format(out=tmp_path)), expect=code)
    assert re.search(said, done.stderr if code else done.stdout, re.DOTALL)
    assert not code or done.stdout == ""
    assert list(tmp_path.iterdir()) == []


WRITTEN = [
    ("export log --format history -o {out}/grpo-1.5b", "grpo-1.5b"),
    ("export log --metric reward -o {out}/reward.png", "reward.png"),
    ("export log -o {out}/points.csv", "points.csv"),
    ("report log -o {out}/r.HTML", "r.HTML"),
    ("report log -o {out}/lr-1.5b", "lr-1.5b"),
]


@pytest.mark.parametrize(("line", "name"), WRITTEN)
def test_what_was_written_is_one_file_and_is_named(
    line: str, name: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs)
    done = run(*shlex.split(line.format(out=tmp_path)))
    assert re.search(f"wrote (1 file to )?{tmp_path / name}", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).is_dir() == ("--format history" in line)
    assert not name.endswith("png") or (tmp_path / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_what_one_path_or_pattern_gives_is_printed_before_the_error_about_another(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs)
    alert = run("check", "nope", "nan", "--rule", "loss > 0", expect=4)
    assert "loss has reached 0.5" in alert.stdout
    assert "No such file or directory: nope" in alert.stderr
    for command, text in (("check nope log", "no active alerts"), ("summary nope log", "train/loss")):
        done = run(*command.split(), expect=3)
        assert text in done.stdout
        assert "No such file or directory: nope" in done.stderr
    for command in ("export log -o -", "summary log --step 20", "compare log other"):
        both = run(*command.split(), "--metric", "scale", "--metric", "lss", expect=2)
        assert both.stdout == run(*command.split(), "--metric", "scale").stdout != ""
        assert "no metric matches lss; did you mean train/loss" in both.stderr


def test_only_the_given_rules_are_checked(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs)
    run("check", "nan", expect=4)
    none = run("check", "nan", "--only-rules", "--rule", "rewar < 0.1")
    assert "no active alerts" in none.stdout
    assert "--rule rewar < 0.1 checks reward" in none.stderr
    assert "1 active alert in 1 run" in run("check", "nan", "--only-rules", "--rule", "reward < 0.9", expect=4).stdout


def test_every_command_that_reads_logs_is_in_the_table() -> None:
    called = {line.split()[0] for line, *_ in CALLS}
    assert commands().keys() - called <= {"completion", "note", "mcp", "samples", "serve", "skill"}
