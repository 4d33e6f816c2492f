"""The one way to HTML: jinja2 templates with autoescape. Whatever a log says is text in them, never markup.

A page asks for nothing: its Content-Security-Policy allows one style sheet and one script, by their hashes, no more.
Both are our own files; no word of a log is ever in them.
"""

from __future__ import annotations

import base64
import hashlib
import time
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

import tuimon
from tuimon.text import clean


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tuimon.exports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clean"] = lambda value: clean(str(value))
    return environment


def picture(template: str, style: str, **values: Any) -> str:
    """A picture with a style sheet of its own."""
    own = Markup(files("tuimon.exports").joinpath(f"templates/{style}").read_text("utf-8"))  # our own file
    return _environment().get_template(template).render(style=own, **values)


def page(template: str, now: float, **values: Any) -> str:
    """A whole page. now: seconds since the epoch, said on it."""
    made = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now))
    own = {**_own("style", "style.css"), **_own("script", "chart.js")}
    return _environment().get_template(template).render(made=made, version=tuimon.__version__, **own, **values)


def _own(name: str, file: str) -> dict[str, str]:
    """A file of ours for a page, and its hash. What is marked as safe is these, and nothing else ever is."""
    text = files("tuimon.exports").joinpath(f"templates/{file}").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {name: Markup(text), f"{name}_digest": digest}
