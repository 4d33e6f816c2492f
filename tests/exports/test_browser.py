"""The pages in a real browser: no request, no console message, readable without the script and usable with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA
from support.browser import Browser, Page, violations
from support.pages import HOSTILE, pages, write_hostile
from support.programs import write_rows

CHART = "document.querySelector('.chart')"


def written(name: str, directory: Path) -> list[Path]:
    """The report and, of several runs, the comparison."""
    if name == "hostile":
        write_hostile(directory)
    html = list(pages(directory if name == "hostile" else DATA / name))
    paths = [directory / f"{name}-{index}.html" for index in range(len(html))]
    for path, text in zip(paths, html, strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(("name", "scripts"), [("exports", False), ("tensorboard", True), ("hostile", True)])
def test_a_page_loads_nothing_and_works_without_scripts(
    name: str, scripts: bool, browser: Browser, tmp_path: Path
) -> None:
    for path in written(name, tmp_path):
        page = browser.page(path, scripts)
        assert page.requests() == [path.as_uri()]
        assert page.complaints() == []
        shown = page.run("document.body.innerText")
        assert ("Point at a chart" in shown) == scripts
        for text in ("Provenance", "Metrics") if path.stem.endswith("0") else ("Runs", "Curves"):
            assert text in shown
        assert page.run(
            "[...document.querySelectorAll('.chart')].every(svg => svg.getBoundingClientRect().height > 99)"
        )
        if name == "hostile":
            assert all(text in shown for text in HOSTILE[:7])
            assert page.run("document.querySelectorAll('img, iframe, object, [onload], [onerror]').length") == 0
            assert page.run("document.querySelectorAll('script, style').length") == 2
            assert not page.received("Page.javascriptDialogOpening")


@pytest.mark.parametrize(("name", "dark"), [("exports", False), ("tensorboard", True)])
def test_axe_reports_no_violation(name: str, dark: bool, browser: Browser, tmp_path: Path) -> None:
    for path in written(name, tmp_path):
        assert violations(browser.page(path, dark=dark)) == []


# ---------------------------------------------------------------------- the script


VALUES = [round(0.5 + step * step * 0.01, 2) for step in range(40)]
"""Values of the loss; the validation has every tenth of them, plus 1."""


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Page:
    rows: list[dict[str, Any]] = [{"step": 100 + step, "loss": value} for step, value in enumerate(VALUES)]
    for row in rows[::10]:
        row["val_loss"] = row["loss"] + 1
    write_rows(tmp_path, rows)
    (tmp_path / "report.html").write_text(next(pages(tmp_path / "metrics.jsonl")))
    page = browser.page(tmp_path / "report.html")
    assert page.run("document.querySelectorAll('.chart').length") == 1
    return page


def frame(page: Page) -> tuple[float, float, float]:
    """Left, width and middle of the height, of the first chart."""
    box = page.run(f"{CHART}.querySelector('.frame').getBoundingClientRect().toJSON()")
    return box["left"], box["width"], box["top"] + box["height"] / 2


def point_at(
    page: Page, step: float, kind: str = "mouseMoved", low: float = 100, high: float = 140, **more: Any
) -> None:
    left, width, y = frame(page)
    part = (step - low) / (high - low)
    page.mouse(kind, left + part * width, y, **more)


def readout(page: Page) -> list[tuple[str, float, int]]:
    """(curve, value, step) of each line."""
    lines = page.run("[...document.querySelectorAll('.readout p')].map(line => line.textContent)")
    split = [re.fullmatch(r"(.*) ([-\d.e]+), step (\d+)", line) for line in lines]
    assert all(split), lines
    return [(match[1], float(match[2]), int(match[3])) for match in split if match]


def ticks(page: Page) -> list[int]:
    """Return the visible elements."""
    seen = "filter(tick => tick.getAttribute('visibility') != 'hidden').map(tick => tick.textContent)"
    return [int(label) for label in page.run(f"[...{CHART}.querySelectorAll('.tick, .zoomed')].{seen}")]


def drag(page: Page, start: float, end: float) -> None:
    point_at(page, start, "mousePressed", button="left", clickCount=1)
    point_at(page, (start + end) / 2, buttons=1)
    assert page.run("document.querySelectorAll('.band').length") == 1
    point_at(page, end, "mouseReleased", button="left", clickCount=1)


def test_the_pointer_shows_value_and_step_of_each_curve(page: Page) -> None:
    for step in (100.1, 107, 123, 138.9):
        point_at(page, step)
        [(_, value, at), (_, validation, val_at)] = readout(page)
        assert at == round(step)
        assert value == pytest.approx(VALUES[at - 100], abs=max(VALUES) / 300)
        assert val_at == 100 + min(range(0, 40, 10), key=lambda row: abs(row + 100 - step))
        assert validation == pytest.approx(VALUES[val_at - 100] + 1, abs=max(VALUES) / 300)
    page.mouse("mouseMoved", 2, 2)
    assert readout(page) == []


def test_dragging_zooms_and_a_double_click_shows_all(page: Page) -> None:
    whole = ticks(page)
    drag(page, 110, 120)
    assert all(109 <= tick <= 121 for tick in ticks(page))
    assert len(ticks(page)) > 2
    point_at(page, 115, low=110, high=120)
    assert readout(page)[0][2] == 115
    for count in (1, 2):
        point_at(page, 120, "mousePressed", button="left", clickCount=count)
        point_at(page, 120, "mouseReleased", button="left", clickCount=count)
    assert ticks(page) == whole


def test_keys_do_the_same_as_the_mouse(page: Page) -> None:
    whole = ticks(page)
    page.key("Tab")
    while not page.run(f"document.activeElement === {CHART}"):
        page.key("Tab")
    page.key("Home")
    assert readout(page)[0][2] == 100
    page.key("End")
    assert readout(page)[0][2] == 139
    page.key("ArrowLeft")
    assert readout(page)[0][2] in (138, 139)
    for _ in range(3):
        page.key("+", "+")
    assert min(ticks(page)) > 130
    assert readout(page)[0][2] in (138, 139)
    page.key("0", "0")
    assert ticks(page) == whole
    page.key("Escape")
    assert readout(page) == []
