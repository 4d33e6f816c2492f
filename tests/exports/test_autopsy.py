"""The page of a run that failed: its facts, from runs whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path

import html5lib
import pytest

from tuimon.commands import main
from tuimon.errors import NothingFound
from tuimon.exports.html.autopsy import autopsy_of, failed_run
from tuimon.monitor.local import LocalMonitor
from tuimon.store import Snapshot

LAST, BROKEN, LATER = 399, 250, 300
NOW = 1.7e9 + 30 * LAST + 5
SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3k"


def write_run(directory: Path, rate: float, collapses: bool) -> None:
    """Write a run of which KL rises tenfold at BROKEN, and the reward falls by half at LATER."""
    (directory / "checkpoint-200").mkdir(parents=True)
    (directory / "checkpoint-200" / "model.safetensors").write_bytes(b"x")
    (directory / "checkpoint-320").mkdir()
    (directory / "checkpoint-320" / "model.safetensors").write_bytes(b"x")
    (directory / "rollouts").mkdir()
    (directory / "config.json").write_text(json.dumps({"learning_rate": rate, "seed": 1, "hf_token": SECRET}))
    rows = []
    for step in range(LAST + 1):
        noise = step * 7 % 11 / 550
        kl = 0.5 if collapses and step >= BROKEN else 0.02
        reward = 0.3 if collapses and step >= LATER else 0.6
        rows.append({"step": step, "timestamp": 1.7e9 + 30 * step, "kl": kl + noise / 9, "reward": reward + noise})
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in (200, LAST):
        texts = ({"step": step, "input": "q", "output": f"answer {step}", "score": n / 4} for n in range(4))
        (directory / "rollouts" / f"{step}.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    write_run(tmp_path / "healthy", 1e-6, collapses=False)
    write_run(tmp_path / "bad", 5e-6, collapses=True)
    return tmp_path


def read(*paths: Path) -> Snapshot:
    monitor = LocalMonitor(paths, clock=lambda: NOW)
    monitor.update()
    return monitor.snapshot()


def test_the_facts_of_a_collapse(sweep: Path) -> None:
    snapshot = read(sweep)
    run = failed_run(snapshot, NOW)
    found = autopsy_of(run, snapshot, NOW)
    assert run.name == "bad"
    assert BROKEN <= found.onset <= BROKEN + 9, "a level is the median of nine points"
    assert [finding.metric for finding in found.findings][:1] == ["kl"]
    assert "reward" in {finding.metric for finding in found.findings}
    assert list(found.findings) == sorted(found.findings)
    assert found.healthy.name == "healthy"
    assert found.differences == (("learning_rate", (5e-6, 1e-6)),)
    assert found.checkpoint == 200, "that of step 320 is after the onset"
    assert (found.lost_steps, found.lost_seconds) == (LAST - 200, 30.0 * (LAST - 200))
    assert found.window[0] < found.onset < found.window[1] <= LAST
    assert {"kl", "reward"} <= set(found.metrics)


def test_a_run_alone_is_taken_and_of_healthy_runs_none(sweep: Path) -> None:
    snapshot = read(sweep / "healthy")
    found = autopsy_of(failed_run(snapshot, NOW), snapshot, NOW)
    assert (found.findings, found.onset, found.healthy) == ((), LAST, None)
    write_run(sweep / "again", 1e-6, collapses=False)
    with pytest.raises(NothingFound):
        failed_run(read(sweep / "healthy", sweep / "again"), NOW)


def test_the_page_has_the_facts_and_no_secret(sweep: Path) -> None:
    page = sweep / "autopsy.html"
    assert main(["report", "--autopsy", str(sweep), "-o", str(page)]) == 0
    text = page.read_text()
    assert SECRET not in text
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)  # fails on the first error
    words = "".join(parser.parse(text).itertext())
    for expected in ("Autopsy of bad", "What changed first", "answer 200", "answer 399", "learning_rate", "step 200"):
        assert expected in words
    assert text.count('<svg class="chart"') >= 2
