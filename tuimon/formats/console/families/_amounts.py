"""Amounts printed with the whole of which they are a part, or with that part in percent.

    mem 61.3/80 GB   VRAM: 9.8GB / 15.9 GB (62%)     61.3 GB of 80 GB, 9.8 GB of 15.9 GB
    mem=61.3GiB(77.5%)                               61.3 GiB, and 77.5 % as mem(%)

Such a field is replaced by the plain amount ("mem 61.3GB") before the pairs of its line are read, so that it has the
same place among them as any other number with a unit. All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from tuimon.formats.console.families._units import converted
from tuimon.formats.console.families._values import NUMBER, Pair, Quantity

_AMOUNT = re.compile(
    rf"(?<=[\s=:])({NUMBER})\s?([kMGT]i?B)?(?:\s?/\s?(\d{{1,12}}+(?:\.\d{{1,9}}+)?)\s?([kMGT]i?B))?"
    rf"(?:\s?\(\s?(\d{{1,3}}+(?:\.\d{{1,9}}+)?)\s?%\))?(?![\w/.])",
    re.IGNORECASE | re.ASCII,
)


class Amount(Struct, frozen=True):
    """An amount that was replaced by a number and a unit."""

    value: float
    unit: str
    whole: float | None
    percent: float | None
    """Part of the whole in percent, if the whole is not printed."""


def may_have_amounts(text: str) -> bool:
    """Return False for nearly all texts without amounts."""
    return ("B" in text or "b" in text) and ("/" in text or "%)" in text or "% )" in text)


def without_parts(text: str) -> tuple[str, list[Amount]]:
    """Return the text with plain amounts, and what was printed with them."""
    amounts: list[Amount] = []

    def plain(match: re.Match[str]) -> str:
        printed, own, whole, unit, percent = match.groups()
        if not (whole or (own and percent)):
            return match[0]
        kept = own or unit
        total = None if not whole else float(whole) if unit == kept else converted(float(whole), unit, kept)
        if whole and total is None:
            return match[0]
        amounts.append(Amount(float(printed), kept, total, float(percent) if percent and not whole else None))
        return f"{printed}{kept}"

    return _AMOUNT.sub(plain, text), amounts


def with_parts(pairs: Iterable[Pair], amounts: list[Amount]) -> Iterator[Pair]:
    """Yield the pairs of a text of `without_parts`, with the wholes of its amounts and their parts in percent."""
    left = list(amounts)
    for name, value in pairs:
        unit = value.unit if isinstance(value, Quantity) else ""
        amount = next((known for known in left if known.unit == unit and known.value == value), None)
        if amount is None:
            yield name, value
            continue
        left.remove(amount)
        yield name, Quantity(value, unit, amount.whole)
        if amount.percent is not None:
            yield f"{name}(%)", Quantity(amount.percent, "%")
