"""For every test: no settings and no terminal of the developer, a fixed locale."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import warm
from support.browser import Browser, chromium_path
from support.loud import loud

from tuimon import registry

# With CI set, every run tests the same examples; without it, each run tests new ones. The night's are many and new:
# --hypothesis-profile nightly, see .ci/nightly. A test that names a number of examples has that number in both.
settings.register_profile(
    "tuimon",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.register_profile("nightly", settings.get_profile("tuimon"), max_examples=1500, derandomize=False)
settings.load_profile("tuimon")

# Processes that the tests start share compiled modules. Where the variable is set, as in images of containers, each of
# them would compile tuimon anew: 1.0 s of a core for a `tuimon summary` instead of 0.6 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Start the collection of each pytest-xdist worker at another test module.

    Modules of a new checkout are compiled when they are first imported. If all workers import them in the same order,
    each compiles everything: 24 s of a core for the collection by each of four workers, instead of 14 s.
    """
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if isinstance(collector, pytest.Directory):
        start = len(report.result) * int(worker[2:]) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        report.result = report.result[start:] + report.result[:start]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by path again: all workers must have the same order."""
    items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Collect garbage less often, and not among the collected tests: 1.0 instead of 2.9 s of 44 s of a part of them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session", autouse=True)
def warm_processes() -> Iterator[None]:
    """Start the processes of tuimon from one that has imported it: half of the processor time of such tests."""
    cold = subprocess.Popen
    subprocess.Popen = warm.WarmPopen  # type: ignore[misc]
    yield
    subprocess.Popen = cold  # type: ignore[misc]
    warm.stop()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h")


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch, homes: Path) -> None:
    """The user's config file and TUIMON_* variables must not decide a test. A decoder that fails is a failed test."""
    home = Path(tempfile.mkdtemp("", "", homes))  # mktemp lists the directories of all earlier tests: 2 ms
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name[4:-5].lower()))  # short: a screen of 120 columns shows it
    for name in [name for name in os.environ if name.startswith("TUIMON_")] + ["NO_COLOR", "COLORFGBG"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(registry, "_failure_of", loud)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium."""
    command = chromium_path()
    if command is None:
        pytest.skip("no Chromium on PATH")
    one = Browser(command, tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


@pytest.fixture
def data() -> Path:
    """tests/data: small logs that real libraries wrote."""
    return DATA
