"""HTML pages and SVG pictures, from jinja2 templates with autoescape: text of a log is never markup.

A page loads nothing. Its Content-Security-Policy allows one style sheet and one script, by their hashes; both are
files of this package and contain no text of a log.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

import tuimon
from tuimon.draw.numbers import format_number
from tuimon.exports.html import plot
from tuimon.text import clean, local_time


@cache
def environment() -> jinja2.Environment:
    """Return the templates, with the filters that they use."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tuimon.exports.html", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": lambda value: clean(str(value)),
        "number": format_number,
        "heat_cells": plot.heat_cells,
        "curves": plot.plot_lines,
        "ticks": plot.plot_ticks,
        "marks": plot.plot_marks,
        "spoken": plot.spoken,
        "lacks_unit": plot.lacks_unit,
        "ready": Markup,  # HTML that another template has made
    }
    environment.globals["SPARK_COLUMNS"] = plot.SPARK_COLUMNS
    return environment


def render(template: str, **values: Any) -> str:
    """Return the text of a template with these values."""
    return environment().get_template(template).render(**values)


def page(template: str, now: float, **values: Any) -> str:
    """Return an HTML page. now: wall time (s since epoch), printed at its end."""
    style, script = asset("style.css"), asset("chart.js")
    made = local_time(now, "%Y-%m-%d %H:%M:%S %Z")
    parts = {"style": style, "style_digest": _digest(style), "script": script, "script_digest": _digest(script)}
    return render(template, made=made, version=tuimon.__version__, **parts, **values)


def asset(file: str) -> Markup:
    """Return the text of a file of this package, marked as safe; nothing else ever is."""
    return Markup(files("tuimon.exports.html").joinpath(f"templates/{file}").read_text("utf-8"))


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
