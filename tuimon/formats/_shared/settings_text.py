"""Settings that trainers log as text: JSON (transformers, TRL), a Markdown table (CleanRL), YAML, lines with a key and
a value, or the text of an argparse.Namespace or of a dict.

Only a text whose tag names settings ("args", "model_config", "hyperparameters") is parsed.
"""

from __future__ import annotations

from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError, Unfinished
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.rows import trimmed
from tuimon.formats._shared.safe_yaml import parse_yaml

MAX_TEXT = 64 << 10
"""Bytes of a text that are parsed."""
MAX_SETTINGS = 2000
"""Settings of one text; the others are dropped."""

_NAME = re.compile(
    r"(?:(?P<of>\w+?)[ _.-]?)??(?:hyper[ _-]?)?(?:args|arguments|argparse|cfg|conf|configs?|configuration|hparams"
    r"|params|parameters|settings|options|opts)",
    re.IGNORECASE,
)
_OF_TRAINING = frozenset({"train", "training", "trainer", "run", "exp", "experiment", "all", "full", "command_line"})
"""Words before "args" and "config" that do not restrict the settings to a part of the job."""
_TABLE_ROW = re.compile(r"\s*\|(?P<key>[^|]+)\|(?P<value>.*?)\|?\s*")
_RULE = re.compile(r"[\s|:-]+")
_FENCE = re.compile(r"\s*(?:```\w*|<pre>|<code>|</pre>|</code>)\s*")
_PAIR = re.compile(r"\s*(?:[-*] )?[`*\"']*(?P<key>[A-Za-z_][\w./-]{0,100})[`*\"']*\s*[:=]\s*(?P<value>\S.*?)?\s*")
_NAMESPACE = re.compile(r"\s*(?:argparse\.)?\w+\((?P<inner>.*)\)\s*", re.DOTALL)
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def read_settings(tag: str, text: str) -> dict[str, Any] | None:
    """Return the settings in a text with this tag, or None without settings. Those of a part of the job, such as
    "model_config", are nested under its name."""
    name = tag.removesuffix("/text_summary").rstrip("/").rpartition("/")[2]
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    settings = _parsed(text)
    if not settings:
        return None
    settings = trimmed(dict(list(settings.items())[:MAX_SETTINGS]))
    part = match["of"]
    return settings if part is None or part.lower() in _OF_TRAINING else {name: settings}


def _parsed(text: str) -> dict[str, Any] | None:
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.fullmatch(line)]
    if not lines:
        return None
    text = "\n".join(lines)
    if text.lstrip().startswith("{"):
        try:
            value = parse(text.encode())
        except FormatError:
            return _yaml(text)  # as the text of a Python dict
        return value if isinstance(value, dict) else None
    if lines[0].lstrip().startswith("|"):
        return _table(lines)
    namespace = _NAMESPACE.fullmatch(text)
    if namespace is not None:
        return _namespace(namespace["inner"])
    return _yaml(text) or _pairs(lines)


def _table(lines: list[str]) -> dict[str, Any] | None:
    """Read a Markdown table with a header and the columns name and value."""
    rows = [match for line in lines[1:] if not _RULE.fullmatch(line) and (match := _TABLE_ROW.fullmatch(line))]
    return {row["key"].strip().strip("`*"): scalar(row["value"]) for row in rows} or None


def _namespace(inner: str) -> dict[str, Any] | None:
    """Read `lr=0.1, layers=[1, 2]`. Values other than numbers, flags and None stay text."""
    settings: dict[str, Any] = {}
    depth, begin, quote = 0, 0, ""
    for position, character in enumerate(inner + ","):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and not depth:
            key, equals, value = inner[begin:position].partition("=")
            if not equals or not key.strip().isidentifier():
                return None
            settings[key.strip()] = scalar(value)
            begin = position + 1
    return settings


def _yaml(text: str) -> dict[str, Any] | None:
    try:
        value = parse_yaml(text.encode() + b"\n")
    except (FormatError, Unfinished):
        return None
    return value if isinstance(value, dict) else None


def _pairs(lines: list[str]) -> dict[str, Any] | None:
    """Read lines `key: value` and `key = value`, if all lines have this form."""
    pairs = [match for line in lines if (match := _PAIR.fullmatch(line))]
    return {pair["key"]: scalar(pair["value"] or "") for pair in pairs} if len(pairs) == len(lines) else None


def scalar(text: str) -> Any:
    """Return the number, flag or None that a text represents, or the text itself."""
    text = text.strip().strip("`*")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return int(text) if len(text) < 20 and text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return text
