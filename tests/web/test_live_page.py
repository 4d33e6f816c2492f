"""The live page in a real browser: it changes by itself, keeps what its reader has chosen, and is accessible."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, Page, chromium_path
from support.pages import HOSTILE, write_hostile
from support.web_server import PATIENCE, WebServer

CHROMIUM = chromium_path()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
CHART = "document.querySelector('.chart')"
READOUT = "document.querySelector('.readout').textContent.split(', ')[1]"
TICKS = f"[...{CHART}.querySelectorAll('.zoomed')].map(tick => tick.textContent)"
PHONE = 390
"""Width of its screen in pixels."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    one = Browser(CHROMIUM, tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


def append(path: Path, *steps: int, metrics: int = 0) -> None:
    with path.open("a") as file:
        for step in steps:
            row: dict[str, Any] = {"step": step, "train/reward": step / 10, "loss": 1 / (step + 1)}
            row |= {f"group{i % 9}/number_{i}": i + step for i in range(metrics)}
            row |= {"timing_s/gen": 3.0, "timing_s/update_actor": 2.0, "timing_s/step": 5.5}
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "grpo" / "metrics.jsonl"
    path.parent.mkdir()
    append(path, *range(40))
    return path


def until(page: Page, expression: str) -> None:
    """Wait until a JavaScript expression is true."""
    end = time.monotonic() + PATIENCE
    while not page.run(f"!!({expression})"):
        assert time.monotonic() < end, (expression, page.run("document.body.innerText")[:2000])
        time.sleep(0.02)


def opened(browser: Browser, server: WebServer, **options: Any) -> Page:
    """Return the page once it is connected and shows a run."""
    server.run_key()
    page = browser.page(server.address, **options)
    until(page, "document.querySelector('#connection').textContent == 'live' && document.querySelector('.chart')")
    return page


def step_is(step: int) -> str:
    return f"document.querySelector('.facts').textContent.match(/step{step}\\D/)"


def test_a_page_changes_and_loads_nothing_from_elsewhere(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server, width=PHONE)
        until(page, step_is(39))
        append(log, 40, 41)
        until(page, step_is(41))
        assert page.complaints() == []
        assert all(address.startswith(server.address) for address in page.requests())
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.run(
            "[...document.querySelectorAll('.chart')].every(svg => svg.getBoundingClientRect().width > 250)"
        )


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (PHONE, True)])
def test_axe_reports_no_violation(width: int, dark: bool, browser: Browser, log: Path) -> None:
    """Every rule of axe-core for WCAG 2.2 A and AA, and its best practices, with all parts drawn."""
    (log.parent.parent / "other").mkdir()
    append(log.parent.parent / "other" / "metrics.jsonl", *range(5))
    for run in ("grpo", "other"):
        texts = log.parent.parent / run / "rollouts" / "7.jsonl"
        texts.parent.mkdir()
        rows = [{"input": "7 * 8?", "output": "56 " * n, "score": n % 2, "step": 7} for n in range(1, 400)]
        texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with WebServer(log.parent.parent) as server:
        page = opened(browser, server, width=width, dark=dark)
        until(page, "window.scrollTo(0, 1e6), document.querySelectorAll('[data-key=texts] pre').length == 20")
        until(page, "window.scrollTo(0, 1e6), !document.querySelector('[data-group=metrics] .slot:empty')")
        axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        page.run(axe + ";0")
        report = page.run("axe.run(document, {resultTypes: ['violations']})")
        assert len(report["passes"]) > 15
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in report["violations"]] == []


def test_markup_in_names_is_text(browser: Browser, tmp_path: Path) -> None:
    write_hostile(tmp_path)
    with WebServer(tmp_path) as server:
        page = opened(browser, server)
        until(page, "window.scrollTo(0, 1e6), !document.querySelector('[data-group=metrics] .slot:empty')")
        shown = page.run("document.body.textContent")
        assert all(text in shown for text in HOSTILE[:7])
        assert page.run("document.querySelectorAll('img, iframe, object, [onload], [onerror]').length") == 0
        assert not page.received("Page.javascriptDialogOpening")
        assert page.complaints() == []
        assert all(address.startswith(server.address) for address in page.requests())


def test_zoom_and_readout_stay_when_a_chart_changes(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server)
        page.run(f"{CHART}.focus()")
        for key in ("Home", *["ArrowRight"] * 10):
            page.key(key)
        page.key("+", "+")
        read, ticks = page.run(READOUT), page.run(TICKS)
        assert read == "step 1"
        assert len(ticks) > 2
        page.run(f"window.before = {CHART}, 0")
        append(log, 40)
        until(page, f"{step_is(40)} && {CHART} !== window.before")
        assert page.run(READOUT) == read
        assert page.run(TICKS) == ticks
        assert page.run(f"document.activeElement === {CHART}")
        page.key("Escape")
        assert page.run("document.querySelectorAll('.readout').length") == 0


def test_parts_are_drawn_when_they_come_into_view(browser: Browser, log: Path) -> None:
    append(log, 40, metrics=200)
    with WebServer(log.parent) as server:
        page = opened(browser, server)
        empty = "document.querySelectorAll('.slot:empty').length"
        count = page.run(empty)
        assert count > 10
        page.run("document.querySelector('[data-key=metrics-0]').scrollIntoView()")
        until(page, "document.querySelector('[data-key=metrics-0] td')")
        assert 0 < page.run(empty) < count
        append(log, 41, metrics=200)
        until(page, "document.querySelector('[data-key=metrics-0] .n + .n + .n').textContent == '41'")


def test_a_new_metric_appears_in_its_place(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server)
        append(log, 40, metrics=30)
        until(page, "document.querySelectorAll('[data-group=others] .slot').length == 30")
        order = page.run("[...document.querySelectorAll('.slot')].map(slot => slot.dataset.key)")
        other = opened(browser, server)
        assert other.run("[...document.querySelectorAll('.slot')].map(slot => slot.dataset.key)") == order
        until(page, "document.querySelector('[data-group=metrics] caption').textContent.startsWith('35 ')")


def test_a_page_that_lost_its_connection_continues(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server)
        conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        page.call("Network.emulateNetworkConditions", offline=True, **conditions)
        # The browser may apply the conditions after the call has returned: connect anew until a connection fails.
        connection = "document.querySelector('#connection').className"
        reconnect = "dispatchEvent(new Event('pagehide')), dispatchEvent(new Event('pageshow'))"
        until(page, f"{connection} == 'lost' || ({connection} == 'live' && ({reconnect}), false)")
        append(log, *range(40, 60))
        page.call("Network.emulateNetworkConditions", offline=False, **conditions)
        until(page, step_is(59))
        until(page, "document.querySelector('#connection').textContent == 'live'")


def test_the_page_says_when_the_server_has_ended(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server)
    until(page, "document.querySelector('#connection').className == 'lost'")
    assert "reward" in page.run("document.body.innerText")


def test_without_scripts_the_page_leads_to_the_report(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        server.run_key()
        page = browser.page(server.address, scripts=False)
        assert "reward" in page.run("document.body.innerText")
        assert page.run("document.querySelector('noscript a').getAttribute('href')") == "report"
        report = browser.page(server.address + "report")
        assert report.complaints() == []
        assert "Provenance" in report.run("document.body.innerText")
