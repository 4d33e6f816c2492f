"""The live page in a real browser: it changes by itself, keeps what its reader has chosen, and is accessible."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, Page, violations
from support.web_server import PATIENCE, WebServer

CHART = "document.querySelector('.chart')"
READOUT = "document.querySelector('.readout').textContent.split(', ')[1]"
TICKS = f"[...{CHART}.querySelectorAll('.zoomed')].map(tick => tick.textContent)"
PHONE = 390
"""Width of its screen in pixels."""


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


def test_a_page_follows_its_run_through_a_lost_connection_until_the_server_ends(browser: Browser, log: Path) -> None:
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
        conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        page.call("Network.emulateNetworkConditions", offline=True, **conditions)
        # The browser may apply the conditions after the call has returned: connect anew until a connection fails.
        connection = "document.querySelector('#connection').className"
        reconnect = "dispatchEvent(new Event('pagehide')), dispatchEvent(new Event('pageshow'))"
        until(page, f"{connection} == 'lost' || ({connection} == 'live' && ({reconnect}), false)")
        append(log, *range(42, 60))
        page.call("Network.emulateNetworkConditions", offline=False, **conditions)
        until(page, step_is(59))
        until(page, f"{connection} == 'live'")
    until(page, f"{connection} == 'lost'")
    assert "reward" in page.run("document.body.innerText")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (PHONE, True)])
def test_axe_reports_no_violation(width: int, dark: bool, browser: Browser, log: Path) -> None:
    """With all parts drawn."""
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
        assert violations(page) == []


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


def test_new_metrics_appear_in_their_places_and_are_drawn_when_they_come_into_view(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        page = opened(browser, server)
        append(log, 40, metrics=36)
        until(page, "document.querySelectorAll('[data-group=others] .slot').length == 36")
        until(page, "document.querySelector('[data-group=metrics] caption').textContent.startsWith('41 ')")
        empty = "document.querySelectorAll('.slot:empty').length"
        assert page.run(empty) > 10
        page.run("document.querySelector('[data-key=metrics-0]').scrollIntoView()")
        until(page, "document.querySelector('[data-key=metrics-0] td')")
        assert page.run(empty) > 10
        append(log, 41, metrics=36)
        until(page, "document.querySelector('[data-key=metrics-0] .n + .n + .n').textContent == '41'")
        order = "[...document.querySelectorAll('.slot')].map(slot => slot.dataset.key)"
        assert opened(browser, server).run(order) == page.run(order)


def test_without_scripts_the_page_leads_to_the_report(browser: Browser, log: Path) -> None:
    with WebServer(log.parent) as server:
        server.run_key()
        page = browser.page(server.address, scripts=False)
        assert "reward" in page.run("document.body.innerText")
        assert page.run("document.querySelector('noscript a').getAttribute('href')") == "report"
        report = browser.page(server.address + "report")
        assert report.complaints() == []
        assert "Provenance" in report.run("document.body.innerText")
