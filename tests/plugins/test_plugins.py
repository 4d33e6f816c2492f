"""Plug-ins of installed packages: the example from its built wheel, broken ones, and none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.live import Live
from support.terminal import TUIMON, Terminal

EXAMPLE = Path(__file__).parent.parent.parent / "demo" / "plugin"
LOG = "#tally 1\n" + "".join(f"{step} tally/a {step * 10}\n{step} loss {1 / (step + 1)}\n" for step in range(20))
NAMES = {"tally", "tally_best", "tally_limit"}


def paths(site: Path) -> str:
    """Return a PYTHONPATH that begins with a directory."""
    return os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))


def tuimon(site: Path, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the program with the packages in a directory."""
    return python(site, ["-m", "tuimon", *words], expect)


def python(site: Path, words: Sequence[str], expect: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": paths(site)}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == expect, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip has installed the built wheel of the example."""
    pytest.importorskip("hatchling")
    root = tmp_path_factory.mktemp("example")
    source = shutil.copytree(EXAMPLE, root / "source", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(root), str(source)]
    subprocess.run(build, check=True, capture_output=True, timeout=100)
    (wheel,) = root.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(root / "site"), str(wheel)], check=True, capture_output=True, timeout=100)
    return root / "site"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "tallies").mkdir()
    (tmp_path / "tallies" / "run.tally").write_text(LOG)
    return tmp_path / "tallies"


def package(site: Path, name: str, entry_points: str, code: str) -> None:
    """Install a package as pip does."""
    described = site / f"{name}-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(entry_points)
    (site / f"{name}.py").write_text(code)


def test_its_log_is_read_and_drawn_if_the_package_is_installed(example: Path, log: Path) -> None:
    assert "no metric log" in tuimon(log, "summary", str(log), expect=3).stderr
    (run,) = json.loads(tuimon(example, "summary", str(log), "--json").stdout)["runs"]
    assert {metric["name"]: metric["last"] for metric in run["metrics"]} == {"tally/a": 190.0, "loss": 0.05}
    assert run["sources"][0]["format"] == "tally"
    drawn = tuimon(example, "--once", "--width", "120", "--height", "60", str(log)).stdout
    assert "best tallies" in drawn
    assert "190 at step 19  tally/a" in drawn
    lines = [line for line in tuimon(example, "doctor", str(log)).stdout.splitlines() if line.startswith("plug-in ")]
    assert {line.split()[1] for line in lines} == NAMES
    assert all("of tuimon-tally 1.0" in line and "left out" not in line for line in lines)


def test_a_detector_raises_alerts_and_has_settings(
    example: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tally/a is 190, above 100" in tuimon(example, "check", str(log), expect=4).stdout
    settings = tmp_path / "config.toml"
    settings.write_text("[detectors]\ntally_limit = { limit = 500.0 }\n")
    monkeypatch.setenv("TUIMON_CONFIG", str(settings))
    tuimon(example, "check", str(log))


def test_an_export_is_offered(example: Path, log: Path, tmp_path: Path) -> None:
    written = tmp_path / "out.tally"
    tuimon(example, "export", str(log), "--format", "tally", "-o", str(written))
    assert written.read_text().startswith("#tally 1\n0 tallies/tally/a 0.0\n")
    (run,) = json.loads(tuimon(example, "summary", str(written), "--json").stdout)["runs"]
    assert run["points"] == 40


def test_the_dashboard_reads_it(example: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", paths(example))
    with Live(log) as live:
        live.until(lambda snapshot: any(run.point_count == 40 for run in snapshot.runs))


def test_the_tests_of_the_example_pass(example: Path, tmp_path: Path) -> None:
    tests = shutil.copytree(EXAMPLE / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    done = python(example, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tests), str(tests)])
    assert "2 passed" in done.stdout


# ---------------------------------------------------------------------- broken plug-ins, and none

FORMAT = """
from tuimon.formats import Format, no_decoder
FORMAT = Format({id!r}, "x", "x", 30, lambda name, head: False, no_decoder)
"""
NO_DECODER = 'from tuimon.formats import Format\nFORMAT = Format("odd", "odd", "odd", 30, lambda name, head: True, int)'
BROKEN = {
    "missing": ("other:FORMAT", "", "AttributeError"),
    "raises": ("other:FORMAT", "raise ValueError('a\\x1b[2J')", "ValueError: a␛[2J"),
    "exits": ("other:FORMAT", "import sys; sys.exit(3)", "SystemExit: 3"),
    "no_module": ("elsewhere:FORMAT", "", "ModuleNotFoundError: No module named 'elsewhere'"),
    "wrong_kind": ("other:FORMAT", "FORMAT = 1", "int is not a Format"),
    "taken": ("other:FORMAT", FORMAT.format(id="jsonl"), "there is another 'jsonl'"),
    "no_decoder": ("other:FORMAT", NO_DECODER, "TypeError: int is not a decoder"),
    "not_whole": ("other:FORMAT", FORMAT.format(id="fine") + "FORMAT = FORMAT, 1", "int is not a Format"),
}


def test_broken_plug_ins_are_named_and_left_out(log: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, (target, code, _) in BROKEN.items():
        module = f"other_{name}"
        package(site, module, f"[tuimon.formats]\n{name} = {target.replace('other:', f'{module}:')}\n", code)
    (log / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n')
    summary, doctor = tuimon(site, "summary", str(log)), tuimon(site, "doctor", str(log))
    assert "loss" in summary.stdout
    assert summary.stderr.count("\n") == len(BROKEN)
    for name, (_, _, reason) in BROKEN.items():
        sentence = f"plug-in {name} (tuimon.formats) of other_{name} 1.0 is left out: {reason}"
        assert sentence in summary.stderr
        assert sentence in doctor.stdout


def test_every_group_is_checked(log: Path, tmp_path: Path) -> None:
    groups = ("formats", "panels", "detectors", "exports")
    text = "".join(f"[tuimon.{group}]\nbad_{group} = other:THING\n" for group in groups)
    package(tmp_path / "site", "other", text, "THING = object()")
    found = tuimon(tmp_path / "site", "doctor", str(log), expect=3).stdout
    for group, kind in zip(groups, ("Format", "Panel", "Detector", "Export"), strict=True):
        assert f"plug-in bad_{group} (tuimon.{group}) of other 1.0 is left out: object is not a {kind}" in found


RAISING = """
from typing import Any
from msgspec import Struct
from tuimon.exports.files import Export
from tuimon.formats import Format, StreamDecoder
from tuimon.panels import Panel

class Decoder(StreamDecoder):
    def feed(self, data): return [][1] if data else ()
    def flush(self): return ()

class Gauge(Panel, frozen=True):
    def view(self, run, size, now, symbols, options=None): return {}["gauge"]

class Detector(Struct, frozen=True):
    id = title = "worrier"
    def check(self, run): return 1 / 0

def files(job):
    raise TypeError("no files today")

FORMAT = Format("odd", "odd", "odd", 30, lambda name, head: head.startswith(b"#odd"), Decoder)
PANEL, DETECTOR, EXPORT = Gauge("gauge", "gauge", 5), Detector(), Export("odd", "odd files", "", files)
"""


@pytest.fixture
def raising(log: Path, tmp_path: Path) -> Path:
    """A directory with a package whose plug-ins raise when they are used."""
    names = {"formats": "FORMAT", "panels": "PANEL", "detectors": "DETECTOR", "exports": "EXPORT"}
    points = "".join(f"[tuimon.{group}]\nodd_{group} = other:{name}\n" for group, name in names.items())
    package(tmp_path / "site", "other", points, RAISING)
    (log / "metrics.jsonl").write_text("".join(f'{{"step": {n}, "loss": {1 / (n + 1)}}}\n' for n in range(30)))
    (log / "run.odd").write_text("#odd\n1\n")
    return tmp_path / "site"


def test_a_plug_in_that_raises_is_named_and_left_out(raising: Path, log: Path, tmp_path: Path) -> None:
    def sentence(group: str, reason: str) -> str:
        return f"plug-in odd_{group} (tuimon.{group}) of other 1.0 is left out: {reason}"

    done = tuimon(raising, "summary", "--json", str(log))
    document = json.loads(done.stdout)
    (run,) = document["runs"]
    assert {metric["name"]: metric["points"] for metric in run["metrics"]} == {"loss": 30}
    failed = "odd failed: IndexError: list index out of range (other.py, line 9)"
    notices = {notice["message"]: notice["hint"] for notice in document["notices"]}
    assert notices[f"{log / 'run.odd'}: {failed}"] == "report it to other 1.0"
    assert f"      {failed}\n" in tuimon(raising, "doctor", str(log)).stdout
    done = tuimon(raising, "--once", "--width", "120", "--height", "40", str(log))
    assert "the plug-in gauge failed: KeyError: 'gauge'" in done.stdout
    assert "loss" in done.stdout
    done = tuimon(raising, "check", str(log))
    assert sentence("detectors", "ZeroDivisionError: division by zero") in done.stderr
    done = tuimon(raising, "export", str(log), "--format", "odd", "-o", str(tmp_path / "out"), expect=1)
    assert "tuimon: the plug-in odd failed: TypeError: no files today" in done.stderr


def test_the_dashboard_names_plug_ins_that_raise_or_are_broken(raising: Path, log: Path) -> None:
    package(raising, "broken", "[tuimon.formats]\nbad = broken:FORMAT\n", "1 / 0")
    with Terminal([*TUIMON, str(log)], environment={"PYTHONPATH": paths(raising)}) as terminal:
        terminal.until(lambda output: b"loss" in output)
        terminal.type("a")
        for name in (b"odd failed: IndexError", b"plug-in odd_panels", b"plug-in odd_detectors", b"plug-in bad"):
            terminal.until(lambda output, name=name: name in output)


def test_without_plug_ins_nothing_is_imported_for_them(tmp_path: Path) -> None:
    code = (
        "import sys; from tuimon.formats import all_formats; all_formats(); print('importlib.metadata' in sys.modules)"
    )
    assert python(tmp_path, ["-c", code]).stdout == "False\n"
    package(tmp_path, "other", "[console_scripts]\nx = other:main\n", "")
    assert python(tmp_path, ["-c", code]).stdout == "False\n"
