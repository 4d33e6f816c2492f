"""The recipes of CONTRIBUTING.md: their code is complete and works; the quick selection has tests of every package."""

from __future__ import annotations

import argparse
import io
import re
import time
from pathlib import Path
from types import ModuleType

import pytest
from conftest import DATA

from tuimon.commands import Command
from tuimon.detectors import Checker, Detector
from tuimon.exports.files import Export, Job
from tuimon.exports.points import curve_batches
from tuimon.formats import Format
from tuimon.model.views import Size, Symbols, TextView
from tuimon.monitor.local import open_run
from tuimon.panels import Panel
from tuimon.testing.given import fed

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = dict(re.findall(r"<!-- (tuimon/\S+\.py) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
RUN = DATA / "exports" / "qwen3vl_grpo"


def module(path: str) -> ModuleType:
    """Return the module that a recipe writes to `path`."""
    assert not (ROOT / path).exists(), "the recipe would overwrite a module"
    result = ModuleType(path.removesuffix(".py").replace("/", "."))
    exec(compile(RECIPES[path], path, "exec"), result.__dict__)
    assert result.__doc__
    return result


def test_there_is_a_recipe_for_each_kind_of_plugin() -> None:
    packages = sorted(path.rpartition("/")[0] for path in RECIPES)
    assert packages == [f"tuimon/{name}" for name in ("commands", "detectors", "exports/files", "formats", "panels")]


def test_the_format_decodes_its_log() -> None:
    log_format = module("tuimon/formats/tally.py").FORMAT
    assert isinstance(log_format, Format)
    data = b"#tally 1\n0 loss 1.5\n1 loss 1.25\nnot a point\n2 loss nan\n3 loss 1"
    assert log_format.wants_name("run.tally")
    assert log_format.matches("run.tally", data)
    decoded = fed(log_format, data, range(len(data)))
    assert {name: [(step, value) for step, value, _ in points] for name, points in decoded.series.items()} == {
        "loss": [(0, "1.5"), (1, "1.25"), (2, "nan")]
    }
    assert [(damage.offset, damage.length) for damage in decoded.damage] == [(32, 12)]


def test_the_panel_shows_the_highest_reward() -> None:
    panel = module("tuimon/panels/best_reward.py").PANEL
    assert isinstance(panel, Panel)
    run = open_run(RUN).runs[0]
    assert panel.relevant(run)
    view = panel.view(run, Size(40, 2), time.time(), Symbols.BRAILLE)
    assert isinstance(view, TextView)
    assert "".join(text for text, _ in view.rows[0]).startswith("0.6000 at step 60")


def test_the_detector_reports_a_clipped_critic(tmp_path: Path) -> None:
    detector = module("tuimon/detectors/value_clip.py").DETECTOR
    assert isinstance(detector, Detector)
    assert detector.id not in {known.id for known in Checker().detectors}
    rows = [f'{{"step": {step}, "critic/vf_clipfrac": {0.1 if step < 20 else 0.9}}}\n' for step in range(40)]
    (tmp_path / "metrics.jsonl").write_text("".join(rows))
    [alert] = detector.check(open_run(tmp_path).runs[0])
    assert (alert.rule, alert.step) == ("value_clip", 20)


def test_the_subcommand_prints_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    command = module("tuimon/commands/names.py").COMMAND
    assert isinstance(command, Command)
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    assert command.run(parser.parse_args([str(RUN)])) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == sorted(open_run(RUN).runs[0].metrics)
    assert "train_history/reward" in printed


def test_the_export_writes_every_point() -> None:
    export = module("tuimon/exports/files/tsv.py").EXPORT
    assert isinstance(export, Export)
    snapshot = open_run(RUN)
    job = Job(
        snapshot=lambda: snapshot,
        runs=lambda: snapshot.runs,
        checked=lambda: snapshot,
        batches=lambda: curve_batches(snapshot),
        owner="run",
        wanted=lambda name: True,
        patterns=(),
        smooth=0.0,
        now=time.time(),
        on_terminal=False,
        print_status=print,
    )
    [(name, write)] = export.files(job)
    stream = io.BytesIO()
    write(stream)
    lines = stream.getvalue().decode().splitlines()
    assert name == "points.tsv"
    assert len(lines) == snapshot.runs[0].point_count
    assert all(line.count("\t") == 4 for line in lines)


def test_the_quick_selection_has_tests_of_every_package() -> None:
    paths = (ROOT / "tests" / "quick.txt").read_text("utf-8").splitlines()
    assert paths == sorted(set(paths))
    assert [path for path in paths if not (ROOT / path).exists()] == []
    packages = {path.name for path in (ROOT / "tuimon").iterdir() if path.is_dir() and not path.name.startswith("__")}
    tested = {path.split("/")[1] for path in paths}
    assert packages & {path.name for path in (ROOT / "tests").iterdir()} <= tested | {"demo"}
