"""Settings: option > environment > file > default, and a clear error for an unknown or invalid one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tuimon import config
from tuimon.errors import UsageError
from tuimon.tui.actions import all_actions, with_user_keys


def written(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "config.toml"
    path.write_text(text, "utf-8")
    return {"TUIMON_CONFIG": str(path)}


def test_option_environment_file_default(tmp_path: Path) -> None:
    assert config.load({"TUIMON_CONFIG": str(tmp_path / "none.toml")}) == config.Settings()
    text = 'theme = "light"\ninterval = 2\n[keys]\nquit = "x"\n[detectors]\nlength = false\n'
    environment = written(tmp_path, text + '[[rules]]\nrule = "loss > 9"\n[notify]\nbell = true\n')
    settings = config.load(environment)
    assert (settings.theme, settings.interval, settings.keys) == ("light", 2.0, {"quit": "x"})
    tables = ({"length": False}, ({"rule": "loss > 9"},), {"bell": True})
    changed = config.load(environment | {"TUIMON_THEME": "ansi", "TUIMON_POLL": "1", "TUIMON_RULES": "x"})
    assert (changed.theme, changed.poll, changed.with_changes(theme="dark", interval=None).theme) == (
        "ansi",
        True,
        "dark",
    )
    for read in (settings, changed):
        assert (read.detectors, read.rules, read.notify) == tables, "a table has no variable"


@pytest.mark.parametrize(
    "text",
    [
        'theme = "pink"',
        "nonsense = 1",
        "poll = 3",
        "interval = 0",
        "not toml",
        "[keys]\nquit = 1",
        "frame_rate = 1000",
        "rules = 3",
        "rules = [1]",
        "notify = true",
        "[rules]",
    ],
)
def test_invalid_settings_are_usage_errors(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.load(written(tmp_path, text))
    assert "config.toml" in caught.value.message


def test_every_error_of_the_file_has_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    text = '# theme = "x"\ntheme = "drak"\nintervall = 2\n\nsamples = [\n  "a"]\nframe_rate = 9000\n'
    text += '[themes.x]\npoll = "1"\n[notify]\ntheme = 1\n[[detectors]]\n'
    with pytest.raises(UsageError) as caught:
        config.load(written(tmp_path, text))
    said = [line.partition("config.toml:")[2] for line in caught.value.message.splitlines()]
    assert [line.split(":")[0] for line in said] == ["2", "3", "7", "12"]
    assert said[0].endswith("not 'drak'; did you mean dark?")
    assert said[1] == "3: unknown setting 'intervall'; did you mean interval?"


def test_an_invalid_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        config.load({"TUIMON_CONFIG": str(tmp_path / "none"), "TUIMON_INTERVAL": "soon"})


def test_keys_of_actions_exist() -> None:
    defaults = {action.id: action.keys for action in all_actions()}
    assert with_user_keys(defaults) == all_actions()
    assert with_user_keys({"open": "ä, ctrl+pagedown, alt+x, f12, full_stop, shift+tab"})
    assert next(a for a in with_user_keys({"quit": "x, y"}) if a.id == "quit").keys == "x,y"
    for key in ("f13x", "wat", "ctrl+", "q, f13x"):
        with pytest.raises(UsageError, match=r"\[keys\] open: there is no key"):
            with_user_keys({"open": key})
    with pytest.raises(UsageError, match="no action"):
        with_user_keys({"explode": "x"})


def test_no_default_key_is_taken_by_tmux_screen_or_the_terminal() -> None:
    actions = all_actions()
    for screen in {where for action in actions for where in action.where}:
        here = (action for action in actions if screen in action.where)
        keys = [key for action in here for key in action.keys.split(",") if key]
        assert len(keys) == len(set(keys)), f"one key, two actions: {screen}"
        assert not {f"ctrl+{letter}" for letter in "absqhijm"} & set(keys)


def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    for path in (tmp_path / "fifo", tmp_path / "device", tmp_path):
        with pytest.raises(UsageError, match="not a regular file"):
            config.load({"TUIMON_CONFIG": str(path)})
