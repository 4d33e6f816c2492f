"""Names in the settings that mean nothing: what the dashboard and the commands say about them."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.dashboard import rows
from support.made_run import run_of

from tuimon.commands import main
from tuimon.config import Settings
from tuimon.errors import UsageError
from tuimon.model.events import Notice
from tuimon.panels import parse_dashboard
from tuimon.tui.actions import with_user_keys
from tuimon.tui.settings_check import duplicate_keys, notices_of

RUN = run_of({name: (range(3), [0.1, 0.2, 0.3]) for name in ("train/reward", "val/acc", "kl")})
TABLE = {"panels": ["rewrd", "val/*", "kl"], "values": ["vall/acc"], "thresholds": {"rewrd": 0.1, "kl": 0.1}}
RULES = ({"rule": "rewrd < 0.1"}, {"rule": "kl > 0.5"}, {"rule": "my_phase_ms > 600"})
CONFIG = """
[keys]
quit = "m"
[dashboard]
panels = ["rewrd", "kl"]
[[rules]]
rule = "rewrd < 0.1"
"""


def test_names_with_typos_are_named_with_the_nearest_name() -> None:
    settings = Settings(theme="dark", rules=RULES)
    said = [notice.message for notice in notices_of(settings, parse_dashboard(TABLE, ""), [RUN], rules=False)]
    assert [message.split(":")[0] for message in said] == [
        "[dashboard] panels",
        "[dashboard] values",
        "[dashboard] thresholds",
    ]
    assert "no panel or metric matches rewrd; did you mean reward" in said[0]
    assert "did you mean val/acc" in said[1]
    [*_, alike, last] = notices_of(settings, parse_dashboard(TABLE, ""), [RUN])
    assert alike.level == "warning"
    assert alike.message.startswith("[[rules]] rewrd < 0.1: no metric matches rewrd; did you mean reward")
    assert last == Notice("info", "[[rules]] my_phase_ms > 600: no metric matches my_phase_ms")
    other_run = parse_dashboard({"panels": ["env/episode_length"]}, "")
    assert list(notices_of(Settings(theme="dark"), other_run, [RUN])) == [], "it may belong to another kind of run"
    assert list(notices_of(settings, parse_dashboard(TABLE, ""), [run_of({})])) == [], "nothing has been read yet"


def test_a_key_of_two_actions_is_named() -> None:
    [said] = duplicate_keys({"quit": "m"})
    assert said.startswith("[keys] quit: m is also the key of metrics, ")
    assert list(duplicate_keys({"quit": "ctrl+x"})) == []


def test_an_unknown_action_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UsageError) as error:
        with_user_keys({"qit": "x"})
    assert "Did you mean quit" in error.value.hint
    assert len(error.value.hint) < 100


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text(rows(*range(20)))
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    monkeypatch.setenv("TUIMON_CONFIG", str(config))
    return path.parent


@pytest.mark.parametrize("command", [["doctor"], ["check"], ["watch", "--once"]])
def test_commands_name_them(log: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*command, str(log)])
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "[dashboard] panels: no panel" in said
    assert "[keys] quit: m is also" in said
    assert ("[[rules]] rewrd < 0.1: no metric matches" in said) == (command != ["watch", "--once"])


MISSPELLED = "rewrd > 3: no metric matches rewrd; did you mean reward?"


@pytest.mark.parametrize(
    ("rules", "is_running", "code", "said"),
    [
        (["rewrd > 3"], False, 2, [MISSPELLED]),
        (["reward > 9", "rewrd > 3"], False, 2, [MISSPELLED]),
        (["reward > 9", "rewrd > 3"], True, 0, [f"{MISSPELLED} (not logged yet)"]),
        (["reward < 9", "rewrd > 3"], False, 4, [MISSPELLED]),
        (["entropy > 3"], False, 0, ["entropy > 3: no metric matches entropy"]),  # of another kind of run
        (["reward > 9"], False, 0, []),
    ],
)
def test_check_names_each_rule_without_a_metric(
    log: Path, rules: list[str], is_running: bool, code: int, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (log.parent / "config.toml").write_text("".join(f'[[rules]]\nrule = "{rule}"\n' for rule in rules))
    path = log / "metrics.jsonl"
    with path.open("a") if is_running else nullcontext():  # a run goes on as long as its log is open
        modified = time.time() - (0 if is_running else 1e6)
        os.utime(path, (modified, modified))
        assert main(["check", str(log)]) == code
    assert [line.partition("[[rules]] ")[2] for line in capsys.readouterr().err.splitlines()] == said


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('[keys]\nqit = "m"', "[keys] has no action 'qit'"),
        ("[notify]\nbeep = true", "beep"),
        ('[themes.mine]\nbase = "no"', "unknown base"),
    ],
)
def test_once_reports_the_settings_that_the_dashboard_refuses(
    log: Path, table: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (log.parent / "config.toml").write_text(table)
    assert main(["watch", "--once", str(log)]) == 2
    assert words in capsys.readouterr().err
