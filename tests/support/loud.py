"""Failures of tuimon's decoders, which end the reading of one log, fail a test instead."""

from __future__ import annotations

from typing import NoReturn

from tuimon import registry

CONTAINED = registry._own_name
"""For a test of such a failure: what `loud` replaces."""


def loud(error: Exception) -> NoReturn:
    """Raise the failure of a decoder of tuimon."""
    raise error
