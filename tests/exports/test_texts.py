"""The best and worst texts of a step in `summary --step` and `report`, against the rows that were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pages import NOW
from support.written_texts import ATTEMPTS, HOSTILE, PROMPTS, mean_reward, reward, write_run, write_step

from tuimon.commands import main
from tuimon.exports.html.report import as_html
from tuimon.monitor.local import open_run
from tuimon.samples.extremes import extremes


def test_extremes_of_the_step_at_or_before(tmp_path: Path) -> None:
    for step in (2, 5):
        write_step(tmp_path, step)
    assert extremes([str(tmp_path)], 1) is None
    found = extremes([str(tmp_path)], 4)
    assert (found.step, found.count, found.mean) == (2, PROMPTS * ATTEMPTS, mean_reward(2))
    rewards = sorted(reward(prompt, attempt, 2) for prompt in range(PROMPTS) for attempt in range(ATTEMPTS))
    assert [sample.reward for sample in found.worst] == rewards[:5]
    assert [sample.reward for sample in found.best] == rewards[:-6:-1]
    last = extremes([str(tmp_path)])
    assert last.step == 5


def test_extremes_are_of_the_training_if_the_step_has_both(tmp_path: Path) -> None:
    for folder, score in (("rollout", 1.0), ("validation", 0.0)):
        (tmp_path / folder).mkdir()
        row = {"input": "p", "output": folder, "score": score, "step": 1}
        (tmp_path / folder / "1.jsonl").write_text(json.dumps(row) + "\n")
    found = extremes([str(tmp_path)])
    assert (found.split, found.count, found.mean) == ("train", 1, 1.0)


def test_few_samples_are_named_once(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "response": f"r{reward}", "reward": reward, "step": 1} for reward in (3, 1, 2, None)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = extremes([str(tmp_path)])
    assert [sample.response for sample in found.worst] == ["r1", "r2"]
    assert [sample.response for sample in found.best] == ["r3"]


def test_at_and_report_name_the_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", range(1, 4))
    assert main(["summary", str(run), "--step", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index(f"texts of step 2: 16, mean reward {mean_reward(2):.4f}")
    assert [line.split()[0] for line in lines[at + 1 :]] == ["worst"] * 5 + ["best"] * 5
    assert main(["summary", str(run), "--step", "2", "--json"]) == 0
    texts = json.loads(capsys.readouterr().out)["runs"][0]["texts"]
    assert (texts["step"], texts["mean_reward"], len(texts["best"])) == (2, mean_reward(2), 5)
    html = as_html(open_run(str(run)), NOW)
    assert "Texts of step 3" in html
    assert html.count("<h3>Worst: reward 0") == html.count("<h3>Best: reward 1") == 5
    assert not {"\x1b", "\u202e", "\u2028"} & set(html)
    assert "[bold]x[/bold]" in html  # the hostile text, cleaned
    assert HOSTILE not in html


def test_texts_outside_of_the_run_and_of_runs_that_share_a_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", range(1, 4))
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    for loss, name in enumerate(("seed1", "seed2")):
        (metrics / f"{name}.jsonl").write_text("".join(f'{{"step": {step}, "loss": {loss}}}\n' for step in range(9)))
    monkeypatch.setenv("TUIMON_SAMPLES", str(run))
    assert main(["summary", str(metrics / "seed1.jsonl"), "--step", "2"]) == 0
    assert "texts of step 2: 16" in capsys.readouterr().out
    assert main(["report", str(metrics), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert page.count('<section class="run"') == 2
    assert page.count("Texts of step 3") == 1
