"""Which requests are answered: the token, Host (DNS rebinding), Origin and Sec-Fetch-Site."""

from __future__ import annotations

import re
from collections.abc import Mapping

from support.value_cases import values_of

from tuimon.web.guard import HEADERS, Guard

TOKEN = "kZ0-token_of_32_characters______"
LOCAL = Guard(TOKEN, frozenset({"localhost", "127.0.0.1", "[::1]", "runs.example"}))
OPEN = Guard(TOKEN, frozenset({"localhost", "node01"}), any_address=True)
test_requests = values_of(globals())


def header_status(headers: Mapping[str, str], path: str = f"/{TOKEN}/", guard: Guard = LOCAL) -> int:
    refusal = guard.refusal(path, {"Host": "127.0.0.1:8600", **headers})
    return refusal.status if refusal else 200


def path_status(path: str) -> int:
    """Return the status of a path. TOKEN is the token, TOKE without its last character."""
    words = {"TOKEN": TOKEN, "TOKE": TOKEN[:-1], "SURROGATE": "\ud800"}
    return header_status({}, re.sub("|".join(words), lambda word: words[word[0]], path))


def host_status(host: str) -> int:
    return header_status({"Host": host})


def network_status(host: str) -> int:
    return header_status({"Host": host}, guard=OPEN)


def test_the_policy_allows_files_of_the_server_only() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
