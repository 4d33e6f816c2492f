"""The shells that tests of mirrors run over."""

from __future__ import annotations

import shutil

import pytest
from support.mirrored import Mirrored, by_shell

_SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "sh")}


@pytest.fixture(params=_SHELLS)
def shell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test over each of several shells; that of BusyBox finds the programs of BusyBox first."""
    name = str(request.param)
    words = _SHELLS[name]
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    monkeypatch.setattr(Mirrored, "transport", staticmethod(lambda: by_shell(*words)))
    return name
