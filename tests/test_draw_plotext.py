"""plotext comes without its manual, of which whoever asks for it finds nothing missing."""

from __future__ import annotations

import subprocess
import sys

_MANUAL = "any(name.startswith('plotext._doc') for name in sys.modules)"


def _said(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_chart_loads_no_manual_and_the_manual_is_there_when_asked_for() -> None:
    asked = "import plotext; plotext.doc.plot_size()"
    own = _said(asked)
    assert "Sets the size" in own
    found = _said(f"import sys; from tuimon import draw; draw.prepare(); print({_MANUAL}); {asked}")
    assert found == f"False\n{own}"


def test_the_plotext_of_a_program_that_has_it_already_stays_as_it_is() -> None:
    code = "import plotext; before = plotext.doc; from tuimon import draw; draw.prepare(); print(plotext.doc is before)"
    assert _said(code) == "True\n"
