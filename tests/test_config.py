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


def test_defaults_without_a_file(tmp_path: Path) -> None:
    assert config.load({"TUIMON_CONFIG": str(tmp_path / "none.toml")}) == config.Settings()


def test_file_environment_flag(tmp_path: Path) -> None:
    environment = written(tmp_path, 'theme = "light"\ninterval = 2\n[keys]\nquit = "x"\n')
    assert config.load(environment).theme == "light"
    assert config.load(environment).interval == 2.0
    assert config.load(environment).keys == {"quit": "x"}
    environment["TUIMON_THEME"] = "ansi"
    environment["TUIMON_POLL"] = "1"
    assert config.load(environment).theme == "ansi"
    assert config.load(environment).poll is True
    assert config.load(environment).with_changes(theme="dark", interval=None).theme == "dark"


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


@pytest.mark.parametrize("key", ["f13x", "wat", "ctrl+", "q, f13x"])
def test_a_key_that_does_not_exist_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match=r"\[keys\] open: there is no key"):
        with_user_keys({"open": key})


def test_every_key_of_an_action_exists() -> None:
    defaults = {action.id: action.keys for action in all_actions()}
    assert with_user_keys(defaults) == all_actions()
    assert with_user_keys({"open": "ä, ctrl+pagedown, alt+x, f12, full_stop, shift+tab"})


def test_tables_of_the_file(tmp_path: Path) -> None:
    text = 'theme = "dark"\n[detectors]\nlength = false\n[[rules]]\nrule = "loss > 9"\n[notify]\nbell = true\n'
    settings = config.load(written(tmp_path, text) | {"TUIMON_RULES": "loss > 1", "TUIMON_NOTIFY": "x"})
    assert settings.detectors == {"length": False}
    assert settings.rules == ({"rule": "loss > 9"},)
    assert settings.notify == {"bell": True}


def test_an_invalid_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        config.load({"TUIMON_CONFIG": str(tmp_path / "none"), "TUIMON_INTERVAL": "soon"})


def test_keys_of_unknown_actions_are_refused() -> None:
    with pytest.raises(UsageError, match="no action"):
        with_user_keys({"explode": "x"})
    assert next(a for a in with_user_keys({"quit": "x, y"}) if a.id == "quit").keys == "x,y"


def test_no_default_key_is_taken_by_tmux_screen_or_the_terminal() -> None:
    actions = all_actions()
    for screen in {where for action in actions for where in action.where}:
        here = (action for action in actions if screen in action.where)
        keys = [key for action in here for key in action.keys.split(",") if key]
        assert len(keys) == len(set(keys)), f"one key, two actions: {screen}"
        assert not {f"ctrl+{letter}" for letter in "absqhijm"} & set(keys)


@pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        config.load({"TUIMON_CONFIG": str(path)})
