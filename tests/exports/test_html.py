"""The pages: text of a log is never markup, no request is made, and charts show what was logged."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import numpy as np
import pytest
from conftest import DATA
from msgspec.structs import replace
from support.made_run import snapshot_of
from support.pages import HOSTILE, NOW, pages, write_hostile
from support.programs import write_rows

from tuimon.commands import main
from tuimon.exports.html import environment
from tuimon.exports.html.comparison import as_html as comparison
from tuimon.exports.html.parts import draw, slots
from tuimon.exports.html.plot import GRID, plot_lines, sparkline, with_metric_names
from tuimon.exports.html.report import as_html as report
from tuimon.model.alerts import Alert
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role
from tuimon.monitor.local import open_run
from tuimon.panels.lists.comparison import compare
from tuimon.store import Curve
from tuimon.tui import themes

TAGS = (
    "html head meta title style body header nav main footer section h1 h2 h3 p a span strong ul li dl dt dd div figure "
    "figcaption table caption thead tbody tr th td pre svg g path line rect text script"
)
ATTRIBUTES = (
    "lang charset http-equiv content name id class href scope role aria-label aria-hidden tabindex viewBox "
    "preserveAspectRatio d x y x1 x2 y1 y2 width height text-anchor "
    "data-columns data-x data-y data-unit data-label"
)


SMALL = snapshot_of({"loss": ([1, 2], [2.0, 1.0])})


def parse(html: str) -> Element:
    """The page as a browser has it. Any error of its syntax raises."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    page: Element = parser.parse(html)
    return page


def elements(page: Element) -> Iterator[tuple[str, Element]]:
    for element in page.iter():
        if isinstance(element.tag, str):
            yield element.tag.rpartition("}")[2], element


def text_of(element: Element | None) -> str:
    return "".join(element.itertext())


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    write_hostile(tmp_path)
    return tmp_path


def test_names_with_markup_are_escaped(hostile: Path) -> None:
    for html in pages(hostile):
        page = parse(html)
        for tag, element in elements(page):
            assert tag in TAGS.split(), tag
            assert set(element.attrib) <= set(ATTRIBUTES.split()), element.attrib
            for name, value in element.attrib.items():
                assert name in ("content", "aria-label", "data-label") or not re.search(
                    r"//|javascript|data:|url\(", value
                ), value
            if "href" in element.attrib:
                assert element.attrib["href"].startswith("#")
        shown = text_of(page)
        for name in HOSTILE[:7]:
            assert name in shown  # unchanged, as text
        assert "\x1b" not in html
        assert "\u202e" not in html
        assert "sk-abcdefghijklmnop" not in html
        style = next(element for tag, element in elements(page) if tag == "style")
        assert "url(" not in text_of(style)
        assert "@import" not in text_of(style)


@pytest.mark.parametrize("name", ["wandb", "json", "console/srun_label.out"])
def test_pages_are_well_formed_and_accessible(name: str) -> None:
    """The rules of WCAG 2 that a page of tables and charts can break, as axe and pa11y check them."""
    for html in pages(DATA / name):
        page = parse(html)
        nodes = list(elements(page))
        tags = Counter(tag for tag, _ in nodes)
        assert page.attrib["lang"] == "en"
        assert text_of(page.find("head/title"))
        assert tags["h1"] == tags["main"] == 1
        ids = [element.attrib["id"] for _, element in nodes if "id" in element.attrib]
        assert len(ids) == len(set(ids))
        levels = [int(tag[1]) for tag, _ in nodes if re.fullmatch("h[1-6]", tag)]
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert all(text_of(element).strip() for tag, element in nodes if re.fullmatch("h[1-6]|title|caption|th", tag))
        pictures = [element for tag, element in nodes if tag == "svg"]
        places = [element.attrib["aria-label"] for tag, element in nodes if tag in ("section", "nav")]
        assert len(places) == len(set(places))
        inner = {id(child) for picture in pictures for child in picture.iter() if child is not picture}
        for tag, element in nodes:
            if tag == "svg" and id(element) not in inner:
                assert element.attrib.get("aria-hidden") == "true" or (
                    element.attrib["role"] == "img" and element.attrib["aria-label"]
                )
            if tag == "table":
                heads = [child for name, child in elements(element) if name == "th"]
                assert heads
                assert all("scope" in head.attrib for head in heads)
            if element.attrib.get("class") == "wide":  # what scrolls can be scrolled with keys
                assert element.attrib["tabindex"] == "0"
                assert element.attrib["aria-label"]


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrasts(theme: int) -> None:
    style = next(text_of(element) for tag, element in elements(parse(report(SMALL, NOW))) if tag == "style")
    blocks = [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r":root\{([^}]*)\}", style)]
    colours = blocks[0] | blocks[theme]
    for ground in ("bg", "card"):
        for text in ("text", "muted", "good", "warning", "critical", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for line in range(8):
            assert contrast(colours[f"s{line}"], colours[ground]) >= 3, line
    styles = [themes.style("dark" if theme == 1 else "light", role).color for role in SERIES_ROLES]
    assert [colours[f"s{line}"] for line in range(8)] == [color and color.name for color in styles], "as on the screen"
    for level, text in enumerate((colours["ht"],) * 3 + ("#1c1408",) * 2 + (colours["h5t"],)):
        assert contrast(text, colours[f"h{level}"]) >= 4.5, level


def test_the_policy_allows_only_the_style_and_script_of_the_page() -> None:
    """Style and script are the same on every page, so they contain no text of a log."""
    allowed = set()
    for snapshot in (SMALL, snapshot_of({"reward": ([1], [0.5])}, {"kl": ([1], [0.5])})):
        for html in (report(snapshot, NOW), comparison(compare(snapshot.runs), NOW)):
            page = parse(html)
            policy = next(e.attrib["content"] for _, e in elements(page) if "http-equiv" in e.attrib)
            [style], [script] = (
                [text_of(e) for tag, e in elements(page) if tag == kind] for kind in ("style", "script")
            )
            digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
            assert policy == (
                f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
                "base-uri 'none'; form-action 'none'"
            )
            assert not any("style" in element.attrib for _, element in elements(page))
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function|fetch|import", script
            )
            allowed.add(policy)
    assert len(allowed) == 1


def test_a_page_has_less_than_5_kilobytes_for_each_metric(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    names = [f"train/module_{index:03}/loss" for index in range(200)]
    write_rows(tmp_path, ({"step": step, **{name: random.normal() for name in names}} for step in range(200)))
    html = report(open_run(tmp_path), NOW)
    assert len(html.encode()) < 5_000 * len(names)
    assert all(name in html for name in names)


def test_values_have_their_unit(tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = [{"step": step, "loss": 1 / step, "mem/allocated_gb": 2.5} for step in range(1, 20)]
        write_rows(tmp_path / name, rows)
    runs = open_run(tmp_path / "a", tmp_path / "b")
    whole, compared = report(runs, NOW), comparison(compare(runs.runs), NOW)
    for page in (whole, compared):
        parse(page)
        assert page.count('data-unit="GB"') == page.count("data-unit=") > 0
        assert re.search(r'aria-label="mem/allocated_gb: chart, [^"]* values from [\d.]+ to [\d.]+ GB', page)
    assert "<td>GB</td>" in whole
    assert "2.500 GB" in whole
    assert "(GB)" not in whole, "the headline has the unit"
    assert 'mem/allocated_gb <span class="muted">(GB)</span>' in compared
    for name in ("a", "b"):
        (tmp_path / name / "config.json").write_text(json.dumps({"seed": name}))
    seeds = comparison(compare(open_run(tmp_path / "a", tmp_path / "b").runs), NOW)
    assert "seeds: mean" in seeds
    assert 'mem/allocated_gb <span class="muted">(GB)</span>' in seeds
    assert '<td class="n">2.500 GB</td>' in compared


# ---------------------------------------------------------------------- what is drawn


def extents(path: str) -> dict[int, tuple[int, int]]:
    """Column -> (top, bottom) of what a path draws in it: an interpreter of its own for M, l, v and h."""
    columns: dict[int, tuple[int, int]] = {}
    x = y = 0
    for command, numbers in re.findall(r"([Mlvh])([-\d ]+)", path):
        values = [int(number) for number in numbers.split()]
        if command == "M":
            x, y = values
        elif command == "l":
            x, y = x + values[0], y + values[1]
        elif command == "v":
            y += values[0]
        low, high = columns.get(x, (y, y))
        columns[x] = (min(low, y), max(high, y))
    return columns


def test_a_column_shows_minimum_and_maximum() -> None:
    random = np.random.default_rng(5)
    count, columns = 100_000, 250
    values = random.normal(0, 0.1, count)
    values[54_321] = 7.5  # one spike among them
    values[1000:1400] = np.nan
    curve = Curve.from_arrays("loss", np.arange(count, dtype=np.int64), values)
    drawn = extents(sparkline(curve, columns))
    low, high = np.nanmin(values), np.nanmax(values)
    column_of = np.minimum(np.arange(count) * columns // (count - 1), columns - 1)
    for column in range(columns):
        inside = values[column_of == column]
        inside = inside[np.isfinite(inside)]
        if not len(inside):
            assert column not in drawn
            continue
        top, bottom = (round((1 - (v - low) / (high - low)) * GRID) for v in (inside.max(), inside.min()))
        assert abs(drawn[column][0] - top) <= 1
        assert abs(drawn[column][1] - bottom) <= 1
    assert drawn[54_321 * columns // (count - 1)][0] == 0


def test_gaps_stay_open_and_single_points_are_visible() -> None:
    values = np.array([1.0, 2.0, np.nan, 3.0, np.nan, 4.0, 5.0])
    curve = Curve.from_arrays("loss", np.arange(7, dtype=np.int64), values)
    view = ChartView("", (), Axis(0, 6), Axis(1, 5), (Line("", Role.SERIES_0, curve.envelope(0, 6, 7)),), columns=7)
    path = plot_lines(view)[0].path
    assert path.count("M") == 3
    assert "h0" in path


def test_an_area_is_closed_between_low_and_high() -> None:
    low, high = np.array([0.0, 1.0, np.nan, 2.0]), np.array([1.0, 3.0, np.nan, 4.0])
    unknown = np.full(4, np.nan)
    area = Line("", Role.SERIES_0, Envelope(low, high, unknown, unknown, np.zeros(4)), filled=True)
    [line] = plot_lines(ChartView("", (), Axis(0, 3), Axis(0, 4), (area,), columns=4))
    assert not line.behind
    assert line.path == "M0 750l1 -500h1V750h-1l-1 250zM3 0h1V500h-1z"


def test_background_curves_are_drawn_first_and_the_first_curve_last() -> None:
    envelope = Curve.from_arrays("x", np.arange(4, dtype=np.int64), np.ones(4)).envelope(0, 3, 4)
    band = Line("", Role.FAINT, envelope, filled=True, behind=True)
    lines = [band, *(Line(name, Role.SERIES_0, envelope) for name in ("first", "second"))]
    lines.append(Line("raw", Role.SERIES_1, envelope, behind=True))
    view = ChartView("", (), Axis(0, 3), Axis(0, 4), tuple(lines), columns=4)
    macros: Any = environment().get_template("macros.html").module
    drawn = macros.chart(view, False, "step")
    assert re.findall(r'data-label="(\w+)"', drawn) == ["raw", "second", "first"]
    assert re.findall(r"</svg>(\w+)</li>", drawn) == ["first", "second", "raw"]


def test_a_logarithmic_axis() -> None:
    curve = Curve.from_arrays("loss", np.arange(4, dtype=np.int64), np.array([1.0, 10.0, 100.0, 1000.0]))
    line = Line("", Role.SERIES_0, curve.envelope(0, 3, 4))
    view = ChartView("", (), Axis(0, 3), Axis(1, 1000, "log"), (line,), columns=4)
    assert [top for top, _ in extents(plot_lines(view)[0].path).values()] == [1000, 667, 333, 0]


# ---------------------------------------------------------------------- the commands


def test_the_commands_write_a_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(DATA / "exports" / name) for name in ("qwen3vl_grpo", "qwen3vl_dpo")]
    for command in ("report", "compare"):
        target = tmp_path / f"{command}.html"
        assert main([command, *runs, "-o", str(target)]) == 0
        parse(target.read_text())
        before = target.read_bytes()
        assert main([command, *runs, "-o", str(target)]) == 2
        assert target.read_bytes() == before
        assert main([command, *runs, "-o", str(target), "--force"]) == 0
        assert "Traceback" not in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "report.html"]
    assert main(["report", runs[0]]) == 0
    parse(capsys.readouterr().out)


def test_charts_of_several_runs_merge_those_that_differ_only_in_their_seed() -> None:
    configs = [{"algo": algo, "seed": seed} for algo in ("ppo", "sac") for seed in range(2)]
    values = ([0.0] * 9, [2.0] * 9, [4.0] * 9, [4.0] * 9)
    runs = snapshot_of(*({"reward": (range(9), own)} for own in values), configs=configs)
    collapse = Alert("divergence", "critical", 1, "reward", 3, "collapsed")
    runs = replace(runs, alerts=(collapse,))
    in_report = report(runs, NOW)
    compared = compare(runs.runs, alerts=runs.alerts)
    for document in (in_report[: in_report.index('id="run-1"')], comparison(compared, NOW)):
        assert "run2 with 1 other run" in compared.first_line
        assert f"<strong>{compared.first_line}</strong>" in document, "a report begins with it, too"
        assert "mean level" in document
        labels = re.findall(r'<path class="curve series-\d" data-label="([^"]+)"', document)
        assert sorted(labels) == ["run0 ×2 ✗", "run2 ×2"]
        assert re.findall(r'<path class="behind fill-(dim-\d)"', document)[::-1] == ["dim-0", "dim-1"]
        assert "run0 ×2 ✗: 1 of 2 not healthy, seeds: mean, area min to max" in document


def test_a_report_begins_with_all_runs_and_draws_each_point_of_short_curves() -> None:
    runs = snapshot_of(*({"reward": (range(200), [number + step % 2 for step in range(200)])} for number in range(10)))
    document = report(runs, NOW)
    chart = document[document.index(">All runs<") : document.index('id="run-1"')]
    paths = re.findall(r'<path class="(curve [^"]+)" data-label="(\w+)" d="([^"]+)"', chart)
    assert [name for _, name, _ in paths[::-1]] == [f"run{number}" for number in range(10)]
    assert len({classes for classes, *_ in paths}) == 10, "lines of one colour have different widths"
    assert all(path.count("l") == 199 and "v" not in path for *_, path in paths)
    heads = re.findall(r">([^<]*)</th>", document[: document.index("</thead>")])
    assert heads[:4] == ["run", "state", "step", "points"], "no column without a value, such as the total of steps"
    assert ">All runs<" not in report(snapshot_of({"reward": (range(9), [0.5] * 9)}), NOW)
    run = runs.runs[0]
    curve = next(slot for slot in slots(run, runs) if slot.group == "curves")
    assert 'd="' + re.findall(r' d="(M[^"]+)"', draw(curve, run, runs, NOW))[0] in document, "live, too"


def test_the_legend_of_a_run_has_the_logged_names() -> None:
    envelope = Envelope(*[np.zeros(4)] * 5)
    band = Line("", Role.FAINT, envelope, behind=True)
    lines = [Line("train", Role.SERIES_0, envelope, metric="critic/score/mean"), Line("gen", Role.SERIES_1, envelope)]
    view = ChartView("reward", (), Axis(0, 3), Axis(0, 1), (band, *lines), columns=4)
    assert [line.label for line in with_metric_names(view).lines] == ["", "train (critic/score/mean)", "gen"]
    alone = replace(view, lines=(replace(lines[0], label=""),))
    assert [line.label for line in with_metric_names(alone).lines] == ["critic/score/mean"]
    named = replace(alone, title="critic/score/mean")
    assert with_metric_names(named) is named
