"""Settings: flag > TUIMON_* in the environment > config.toml of the user > default.

The file is `$XDG_CONFIG_HOME/tuimon/config.toml`, or the one that TUIMON_CONFIG names. It is data: nothing in it is
executed, and a run's own directory is never looked at for one.

    theme = "dark"            # dark | light | ansi
    symbols = "braille"       # braille | block | ascii
    poll = false
    interval = 1.0
    console_patterns = ["it {step} | loss {loss}"]
    [keys]
    quit = "q"                # action = key, or a comma-separated list of keys
    [detectors]
    plateau = false           # a detector turned off, or a table of its thresholds: clip_fraction = { limit = 0.5 }
    [[rules]]
    rule = "reward < 0.1 for 20 steps"
    severity = "warning"      # info | warning | critical
    [notify]                  # see tuimon/notify
    bell = true
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tuimon.errors import UsageError

THEMES = ("auto", "dark", "light", "ansi")
SYMBOLS = ("auto", "braille", "block", "ascii")
TABLES = ("keys", "detectors", "rules", "notify")
"""Settings of the file alone."""
_KINDS = {str: "a text", bool: "true or false", float: "a number", dict: "a table: [name]", tuple: "tables: [[rules]]"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person can choose. Every field can be set in the file, by TUIMON_<NAME>, and most by a flag."""

    theme: str = "auto"
    """auto | dark | light | ansi (the terminal's own 16 colours)."""
    symbols: str = "auto"
    """auto | braille | block | ascii. auto: braille where the locale and the terminal can show it."""
    poll: bool = False
    """Do not use file system events; look at the files every `interval` seconds."""
    interval: float = 1.0
    """Seconds between two looks at the files when no event comes."""
    frame_rate: float = 10.0
    """Redraws a second at most."""
    mouse: bool = True
    console_patterns: tuple[str, ...] = ()
    """How the lines of one's own trainer look: "it {step} | loss {loss} | {}lr={lr}". In the file a list; in
    TUIMON_CONSOLE_PATTERNS one a line. What a pattern may hold is said in tuimon/formats/_console/_own.py."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """action -> key or keys; see `tuimon --help` and the ? screen for the actions."""
    detectors: Mapping[str, Any] = field(default_factory=dict)
    """Name of a detector -> true, false or its thresholds; detectors.Checker tells what is none."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """The user's own: tables with `rule` and `severity`."""
    notify: Mapping[str, Any] = field(default_factory=dict)
    """Where alerts are told; notify.channels tells what is none."""

    def with_changes(self, **changes: Any) -> Settings:
        """These settings with those that are not None replaced; checked."""
        chosen = {name: value for name, value in changes.items() if value is not None}
        return _checked(replace(self, **chosen), "on the command line")


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's file is, or would be."""
    if named := environment.get("TUIMON_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("tuimon") / "config.toml"


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Defaults, then the file, then the environment. Raises UsageError for what is not a setting."""
    settings = Settings()
    path = config_path(environment)
    try:
        written = path.read_text("utf-8")
        import tomllib  # for who has a file

        values = tomllib.loads(written)
    except FileNotFoundError:
        values = {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "mend it, or point TUIMON_CONFIG elsewhere") from error
    known = {f.name: f for f in fields(Settings)}
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{path}: there is no setting {name!r}", f"the settings are: {', '.join(known)}")
        settings = _set(settings, name, value, str(path))
    for name in known:
        text = environment.get(f"TUIMON_{name.upper()}")
        if text and name not in TABLES:
            settings = _set(settings, name, _from_text(getattr(settings, name), text), f"TUIMON_{name.upper()}")
    return settings


def _from_text(example: object, text: str) -> object:
    if isinstance(example, tuple):
        return list(filter(None, map(str.strip, text.split("\n"))))
    if isinstance(example, bool):
        return text.lower() in ("1", "true", "yes", "on")
    if isinstance(example, float):
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _set(settings: Settings, name: str, value: Any, where: str) -> Settings:
    if name == "rules" and isinstance(value, list) and all(isinstance(rule, dict) for rule in value):
        value = tuple(value)
    wanted = type(getattr(settings, name))
    if wanted is float and type(value) is int:
        value = float(value)
    if wanted is tuple and name != "rules":
        if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            raise UsageError(f"{where}: {name} is a list of texts, not {value!r}")
        value = tuple(value)
    if not isinstance(value, wanted):
        raise UsageError(f"{where}: {name} must be {_KINDS[wanted]}, not {value!r}")
    if name == "keys" and not all(isinstance(k, str) and isinstance(v, str) for k, v in value.items()):
        raise UsageError(f'{where}: [keys] maps an action to a key: quit = "q"')
    return _checked(replace(settings, **{name: value}), where)


def _checked(settings: Settings, where: str) -> Settings:
    if settings.theme not in THEMES:
        raise UsageError(f"{where}: theme is one of {', '.join(THEMES)}, not {settings.theme!r}")
    if settings.symbols not in SYMBOLS:
        raise UsageError(f"{where}: symbols is one of {', '.join(SYMBOLS)}, not {settings.symbols!r}")
    if not 0.05 <= settings.interval <= 3600:
        raise UsageError(f"{where}: interval is a number of seconds from 0.05 to 3600, not {settings.interval}")
    if not 0.1 <= settings.frame_rate <= 60:
        raise UsageError(f"{where}: frame_rate is from 0.1 to 60 a second, not {settings.frame_rate}")
    return settings
