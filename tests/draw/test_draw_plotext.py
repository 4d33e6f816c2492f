"""plotext is imported without its manual."""

from __future__ import annotations

import subprocess
import sys

_MANUAL = "any(name.startswith('plotext._doc') for name in sys.modules)"


def _said(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_chart_does_not_load_the_manual() -> None:
    assert _said(f"import sys; from tuimon import draw; draw.preload(); print({_MANUAL})") == "False\n"


def test_an_already_imported_plotext_is_not_changed() -> None:
    code = "import plotext; before = plotext.doc; from tuimon import draw; draw.preload(); print(plotext.doc is before)"
    assert _said(code) == "True\n"
