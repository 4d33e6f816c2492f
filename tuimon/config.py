"""Settings. A command-line option overrides TUIMON_<NAME>, which overrides config.toml, which overrides the default.

The file is `$XDG_CONFIG_HOME/tuimon/config.toml`, or the one named by TUIMON_CONFIG. Nothing in it is executed. A
`.tuimon.toml` beside or above the logs can set [dashboard] and [runs] (tuimon/sources/overrides.py) and nothing else.

    theme = "dark"            # dark | light | contrast | contrast-light | ansi …, or one of [themes]
    symbols = "braille"       # braille | block | ascii
    pictures = "sixel"        # kitty | sixel | blocks
    frames = false            # true: borders around the panels from 160 columns on
    poll = false
    interval = 1.0
    console_patterns = ["it {step} | loss {loss}"]
    [keys]
    quit = "q"                # action = key, or a comma-separated list of keys
    [detectors]
    length = false            # false: off; or a table of thresholds: clip_fraction = { limit = 0.5 }
    [[rules]]
    rule = "reward < 0.1 for 20 steps"
    severity = "warning"      # info | warning | critical
    [notify]                  # see tuimon/notify
    bell = true
    [themes.mine]             # role = style, see tuimon/tui/themes.py
    base = "light"
    series-0 = "#0000ff"
    [dashboard]               # see docs/screens.md
    panels = ["reward", "kl", "val/*"]
    [hosts."pod-*"]           # logs on other machines, see docs/remote.md
    via = "kubectl exec -i pod -- sh"
    max_bytes = "20G"
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tuimon.errors import UsageError

THEMES = ("auto", "dark", "light", "contrast", "contrast-light", "ansi", "ansi-dark", "ansi-light")
SYMBOLS = ("auto", "braille", "block", "ascii")
PICTURES = ("auto", "kitty", "sixel", "blocks")
TABLES = ("keys", "detectors", "rules", "notify", "themes", "dashboard", "hosts")
"""Settings that only the file can have."""
_KINDS = {
    str: "a string",
    bool: "true or false",
    float: "a number",
    dict: "a table: [name]",
    tuple: "tables: [[rules]]",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. Each field can be set in the file, most also by TUIMON_<NAME> and a command-line option."""

    theme: str = "auto"
    """auto, one of THEMES or of `themes`. ansi: the 16 colours of the terminal, for any background; ansi-dark and
    ansi-light: for a background that is known."""
    symbols: str = "auto"
    """auto, braille, block or ascii. auto is braille if the locale and the terminal support it."""
    pictures: str = "auto"
    """auto, kitty, sixel or blocks (half blocks). auto is the best one that the terminal says it supports."""
    frames: bool = False
    """Draw borders around the panels of the dashboard from 160 columns on."""
    poll: bool = False
    """Do not use file system events; poll the files every `interval` seconds."""
    interval: float = 1.0
    """Seconds between two polls if there are no file system events."""
    frame_rate: float = 10.0
    """Maximum number of redraws per second."""
    mouse: bool = True
    """Capture the mouse."""
    console_patterns: tuple[str, ...] = ()
    """Patterns of console lines: "it {step} | loss {loss} | {}lr={lr}". A list in the file; one per line in
    TUIMON_CONSOLE_PATTERNS. The syntax is documented in tuimon/formats/console/_patterns.py."""
    samples: tuple[str, ...] = ()
    """Directories outside of the run with generated texts, such as verl's rollout_data_dir."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Action -> key or comma-separated keys. The ? screen lists the actions."""
    detectors: Mapping[str, Any] = field(default_factory=dict)
    """Name of a detector -> true, false or its thresholds. Checked by detectors.Checker."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """Alert rules of the user: tables with `rule` and `severity`."""
    notify: Mapping[str, Any] = field(default_factory=dict)
    """Channels that alerts are sent to. Checked by notify.channels."""
    themes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Themes of the user: name -> role -> style. Checked by tui.themes.define."""
    dashboard: Mapping[str, Any] = field(default_factory=dict)
    """Panels, values and thresholds of the user's dashboard. Checked by panels.parse_dashboard."""
    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a host, or a pattern -> `via` and `max_bytes`. Checked by commands._remote."""

    def with_changes(self, **changes: Any) -> Settings:
        """Return checked settings in which the values that are not None replace the present ones."""
        chosen = {name: value for name, value in changes.items() if value is not None}
        return _checked(replace(self, **chosen), "on the command line")


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's file, which need not exist."""
    if named := environment.get("TUIMON_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("tuimon") / "config.toml"


def vocabulary_path() -> Path:
    """Return the path of the user's vocabulary, which need not exist; see tuimon/vocabulary/own.py."""
    return config_path().with_name("vocabulary.toml")


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from the file and the environment. Raise UsageError for unknown or invalid ones.

    The error names every such setting of the file, with its line.
    """
    settings, written, errors = Settings(), "", []
    path = config_path(environment)
    try:
        # Reading a device or a FIFO may never end; the null device is no settings.
        if path.exists() and not path.is_file() and str(path) != os.devnull:
            raise ValueError("it is not a regular file")
        written = path.read_text("utf-8")
        import tomllib  # not imported if there is no file

        values = tomllib.loads(written)
    except FileNotFoundError:
        values = {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {path}: {error}", "Fix the file, or set TUIMON_CONFIG to another one."
        ) from error
    known = {f.name: f for f in fields(Settings)}
    for name, value in sorted(values.items(), key=lambda item: item[0] != "themes"):  # theme may be one of them
        where = f"{path}:{_line_of(written, name)}"
        try:
            if name not in known:
                nearest = _nearest_name(name, known)
                hint = "" if nearest else f"The settings are: {', '.join(known)}."
                raise UsageError(f"{where}: unknown setting {name!r}{nearest}", hint)
            settings = _set(settings, name, value, where)
        except UsageError as error:
            errors.append(error)
    if errors:
        raise UsageError("\n".join(error.message for error in errors), errors[0].hint)
    for name in known:
        text = environment.get(f"TUIMON_{name.upper()}")
        if text and name not in TABLES:
            settings = _set(settings, name, _from_text(getattr(settings, name), text), f"TUIMON_{name.upper()}")
    return settings


def _line_of(written: str, name: str) -> int:
    """Return the number of the line that sets `name` at the top of a TOML text; tomllib does not give it.

    1 if it is not found, as for a quoted name with escapes.
    """
    assignment = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*[=.]""")
    header = re.compile(rf"""\s*\[\[?\s*["']?{re.escape(name)}["']?\s*[\].]""")
    inside = False
    for number, line in enumerate(written.splitlines(), 1):
        if header.match(line) or (not inside and assignment.match(line)):
            return number
        inside = inside or line.lstrip().startswith("[")
    return 1


def _nearest_name(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean dark?" for a name that resembles a known one, else ""."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


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
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise UsageError(f"{where}: {name} must be a list of strings, not {value!r}")
        value = tuple(value)
    if not isinstance(value, wanted):
        raise UsageError(f"{where}: {name} must be {_KINDS[wanted]}, not {value!r}")
    if name == "keys" and not all(isinstance(k, str) and isinstance(v, str) for k, v in value.items()):
        raise UsageError(f'{where}: [keys] must map actions to keys, as in quit = "q"')
    if name == "themes" and not all(
        isinstance(styles, dict) and all(isinstance(text, str) for text in styles.values()) for styles in value.values()
    ):
        raise UsageError(f'{where}: [themes.NAME] must map roles to styles, as in title = "bold #ffffff"')
    return _checked(replace(settings, **{name: value}), where)


def _checked(settings: Settings, where: str) -> Settings:
    for name, choices in (("theme", (*THEMES, *settings.themes)), ("symbols", SYMBOLS), ("pictures", PICTURES)):
        if getattr(settings, name) not in choices:
            value = getattr(settings, name)
            raise UsageError(
                f"{where}: {name} must be one of {', '.join(choices)}, not {value!r}{_nearest_name(value, choices)}"
            )
    if not 0.05 <= settings.interval <= 3600:
        raise UsageError(f"{where}: interval must be between 0.05 and 3600 s, not {settings.interval}")
    if not 0.1 <= settings.frame_rate <= 60:
        raise UsageError(f"{where}: frame_rate must be between 0.1 and 60 per second, not {settings.frame_rate}")
    return settings
