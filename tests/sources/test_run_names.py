"""Names of runs, and the directories of one distributed job, from their paths."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tuimon.sources.job_files import homes_of_jobs
from tuimon.sources.run_names import run_names

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("paths.toml").read_text("utf-8"))


@pytest.mark.parametrize(("path", "name"), TABLE["names"])
def test_a_name_says_which_run_it_is(path: str, name: str) -> None:
    assert run_names([path], {path: "/data/grpo" if path.startswith("/data") else "/s"}) == {path: name}


@pytest.mark.parametrize(("roots", "names"), TABLE["given"])
def test_a_given_directory_keeps_its_name(roots: list[str], names: list[str]) -> None:
    assert [*run_names(roots, {root: root for root in roots}).values()] == names


def test_a_directory_below_the_given_one_is_named_by_its_parent() -> None:
    assert run_names(["/s/own/console"], {"/s/own/console": "/s"}) == {"/s/own/console": "own"}


def test_attempts_of_two_agents_join_the_run_with_metrics() -> None:
    parts = [
        ("torchrun_logs", f"job_{name}", "attempt_0", str(rank)) for name in ("ab12cd34", "__x0bii_") for rank in (0, 1)
    ]
    homes = {("/j", part): True for part in parts} | {("/j", ("rank_metrics",)): True}
    assert homes_of_jobs(homes) == {("/j", part): ("/j", ("rank_metrics",)) for part in parts}


def test_attempts_of_two_jobs_stay_apart() -> None:
    homes = {("/j", (job, "logs", "x_ab12cd34", "attempt_0", "0")): True for job in ("small", "large")}
    assert homes_of_jobs(homes) == {home: ("/j", home[1][:1]) for home in homes}


def test_ray_sessions_of_nodes_are_a_job_unless_a_node_has_several() -> None:
    nodes = {("/j", (node, "session_latest")): True for node in ("10.0.0.1", "10.0.0.2")}
    assert homes_of_jobs(nodes) == dict.fromkeys(nodes, ("/j", ()))
    nodes["/j", ("10.0.0.1", "session_2026-03-05_10-00-00_1_2")] = True
    assert homes_of_jobs(nodes) == {}
