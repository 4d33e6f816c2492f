"""Tests of tuimon.platform_support; hidden modules are in test_imports.py."""

from __future__ import annotations

from tuimon.platform_support import TRIM_AFTER, HeapTrimmer


def test_the_heap_is_trimmed_after_every_mebibyte() -> None:
    heap = HeapTrimmer()
    totals = (0, TRIM_AFTER - 1, TRIM_AFTER, TRIM_AFTER + 1, 2 * TRIM_AFTER, 10 * TRIM_AFTER)
    assert [heap.trim(total) for total in totals] == [False, False, True, False, True, True]
