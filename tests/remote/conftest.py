"""The agents that tests of mirrors run over."""

from __future__ import annotations

import shutil

import pytest
from support.mirrored import Mirrored, by_shell

_SHELLS = {"sh": ("/bin/sh",), "busybox": ("busybox", "sh")}


@pytest.fixture(params=["python", *_SHELLS])
def agent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test over the agent in Python, and over that for hosts without Python in several shells."""
    name = str(request.param)
    if words := _SHELLS.get(name):
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        monkeypatch.setattr(Mirrored, "transport", staticmethod(lambda: by_shell(*words)))
    return name
