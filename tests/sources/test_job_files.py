"""Directories of one distributed job."""

from __future__ import annotations

from tuimon.sources.job_files import homes_of_jobs


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
