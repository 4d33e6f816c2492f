"""Failures of tuimon's decoders, which end the reading of one log, fail a test instead."""

from __future__ import annotations

from typing import Any

from tuimon import registry

CONTAINED = registry._failure_of
"""For a test of such a failure: what `loud` replaces."""


def loud(package: str, plugin: Any, error: Exception) -> tuple[str, str]:
    """Raise the failure of a decoder of tuimon; return what failed in one of an installed package."""
    if registry.is_installed(package, plugin):
        return CONTAINED(package, plugin, error)
    raise error
