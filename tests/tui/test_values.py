"""Replies of terminals, themes, titles and choices: see support.value_cases for the words of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.stores import add_run, store_of
from support.value_cases import values_of

from tuimon.errors import UsageError
from tuimon.model.views import Role
from tuimon.panels import parse_dashboard
from tuimon.samples import Sample
from tuimon.tui.run_choice import RunChoice, runs_to_compare
from tuimon.tui.screens.scatter import plot_head
from tuimon.tui.screens.text_pane import sample_rows
from tuimon.tui.terminal import capabilities
from tuimon.tui.terminal.background import theme_of, typed_in
from tuimon.tui.terminal.capabilities import pictures, theme, theme_on

test_values = values_of(globals())


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LC_ALL": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "ascii"),
        ({"LC_ALL": "C.UTF-8"}, "braille"),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "braille"),
        ({"LANG": "en_US.UTF-8"}, "braille"),
        ({}, "braille"),
    ],
)
def test_the_c_locale_gets_ascii(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        encoding = "utf-8"

    monkeypatch.setattr("sys.__stderr__", Stream())
    assert capabilities.symbols("auto", environment) == expected


def theme_of_reply(reply: str) -> str | None:
    return theme_of(reply.encode())


def typed_in_reply(reply: str) -> str:
    return typed_in(reply.encode())


def themes_in(environment: Mapping[str, str]) -> list[str | None]:
    """Return the theme before a reply, and after one that says that the background is dark, or light."""
    assert theme_on(None, environment) is None
    assert theme("contrast", environment) == "contrast"
    return [theme("auto", environment), theme_on("dark", environment), theme_on("light", environment)]


def protocol(environment: Mapping[str, str], has_sixel: bool) -> str:
    assert pictures("blocks", has_sixel, environment) == "blocks"
    return pictures("auto", has_sixel, environment)


def group_label(group: str, label: str) -> str:
    rows = sample_rows(Sample("rollouts/1.jsonl", 1, "train", group, 1.0, "a", "q"), 100, True, False, None, label)
    return "".join(part for part, _ in rows[1]).rpartition("  ")[2]


def refused(table: dict[str, Any], words: str) -> bool:
    with pytest.raises(UsageError) as raised:
        parse_dashboard(table, "config.toml")
    return words in str(raised.value)


def compared_runs(count: int, marked: list[str], base: str) -> list[int]:
    """Return the ids of the runs that are compared if the one with id 1 is selected."""
    store = store_of({"loss": [1.0]}, run=0 if count > 1 else 1)
    for number in range(1, count):
        add_run(store, {"loss": [1.0]}, number)
    snapshot = store.snapshot()
    selected = next(run for run in snapshot.runs if run.id == 1)
    return [run.id for run in runs_to_compare(snapshot, RunChoice(marked=tuple(marked), base=base), selected)]


def scatter_title(width: int) -> str:
    words = "r 0.381  rho 0.389  n 41"
    title, headline = plot_head("train/completions/mean_length", "train/reward", words, width)
    assert (title, headline) == (words, ()) or headline == ((words, Role.VALUE),)
    return title if headline else ""
