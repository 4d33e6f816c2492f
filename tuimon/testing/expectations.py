"""A failed expectation, for any test runner."""

from __future__ import annotations


def expect(condition: object, message: str) -> None:
    """Raise AssertionError with a message unless `condition` is true, under `python -O` as well."""
    if not condition:
        raise AssertionError(message)
