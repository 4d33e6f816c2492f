"""The state of the link to another machine, as a row of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.draw.numbers import format_bytes
from tuimon.model.links import Link
from tuimon.model.views import Role, Row, Span
from tuimon.panels._text import plural
from tuimon.text import clean, local_time


def link_row(link: Link, now: float) -> Row:
    """Return the state of a link: "gpu01 live 84 ms", "gpu01 lost 00:42, shown as of 12:03:10, retry in 5 s (Ctrl+r:
    now)"."""
    return ((f"{clean(link.host)} ", Role.MUTED), _state(link, now))


def with_live_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Add the links that are up to the head of a list; those that are down are in the head of each screen."""
    up = sum(link.up for link in links)
    if up == 1 == len(links):
        return (*head, ("  ", Role.TEXT), *link_row(links[0], now))
    return (*head, (f"  {plural(up, 'host')} live", Role.MUTED)) if up else head


def with_lost_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Put the links that are down in front of a head, where they are never cut."""
    down = [link for link in links if not link.up]
    for link in down[1::-1]:
        head = (*link_row(link, now), ("  ", Role.TEXT), *head)
    return (*head, (f"  {len(down) - 2} more hosts down", Role.WARNING)) if len(down) > 2 else head


def _state(link: Link, now: float) -> Span:
    match link.state:
        case "live" if link.members and link.detail:
            return f"live without {clean(link.detail, 60)}", Role.WARNING
        case "live":
            return ("live" if math.isnan(link.delay) else f"live {1000 * link.delay:.0f} ms"), Role.MUTED
        case "copying":
            amount = f" {format_bytes(link.here)} of {format_bytes(link.total)}" if link.total else ""
            return f"copying{amount}", Role.ACCENT
        case "lost" | "connecting" if link.state == "lost" or link.detail:
            left = max(0, math.ceil(link.retry - now))
            attempt = f"retry in {left} s (Ctrl+r: now)" if link.state == "lost" else "connecting"
            return f"lost {_clock(now - link.since)}{_as_of(link)}, {attempt}", Role.WARNING
        case "connecting":
            return f"connecting{_as_of(link)}", Role.WARNING
        case "login":
            return f"login needed: press L{_as_of(link)}", Role.CRITICAL
        case "offline":
            return f"offline{_as_of(link)}", Role.WARNING
        case "shared":
            return "copied by another tuimon", Role.MUTED
        case "missing":
            return "no such path", Role.WARNING
        case _:
            return f"{clean(link.detail, 80)}{_as_of(link)}", Role.CRITICAL


def _as_of(link: Link) -> str:
    return "" if math.isnan(link.heard) else f", shown as of {local_time(link.heard)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes:02d}:{rest:02d}"
