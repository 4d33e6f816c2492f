"""Which requests are answered: the token, Host (DNS rebinding), Origin and Sec-Fetch-Site."""

from __future__ import annotations

import pytest

from tuimon.web.guard import HEADERS, Guard

TOKEN = "kZ0-token_of_32_characters______"
LOCAL = Guard(TOKEN, frozenset({"localhost", "127.0.0.1", "[::1]", "runs.example"}))
OPEN = Guard(TOKEN, frozenset({"localhost", "node01"}), any_address=True)


def status(guard: Guard, path: str = f"/{TOKEN}/", host: str = "127.0.0.1:8600", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    refusal = guard.refusal(path, {"Host": host, **named})
    return refusal.status if refusal else 200


@pytest.mark.parametrize("path", ["/", "", "//", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", "/ü/", f"/x/{TOKEN}/", "/\ud800/"])
def test_a_path_without_the_token_is_not_found(path: str) -> None:
    assert status(LOCAL, path) == 404


@pytest.mark.parametrize("path", [f"/{TOKEN}", f"/{TOKEN}/", f"/{TOKEN}/events"])
def test_a_path_with_the_token_is_answered(path: str) -> None:
    assert status(LOCAL, path) == 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:1", "[::1]:8600", "LOCALHOST:80", "localhost.:8600"]
)
def test_a_tunnel_may_have_another_port(host: str) -> None:
    assert status(LOCAL, host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example:8600", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:8600", "a@localhost"),
        *("", "[::1", "localhost/", "localhost:8600:1", "[::ffff:7f00:1]:8600", "localhost:123456", "local host"),
    ],
)
def test_another_host_is_refused(host: str) -> None:
    assert status(LOCAL, host=host) == 421


def test_a_server_for_the_network_answers_to_addresses_but_not_to_any_name() -> None:
    assert status(OPEN, host="10.0.0.1:8600") == 200
    assert status(OPEN, host="[fe80::1]:8600") == 200
    assert status(OPEN, host="node01:8600") == 200
    assert status(OPEN, host="evil.example:8600") == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8600", "127.0.0.1:8600", ""]
)
def test_another_origin_is_refused(origin: str) -> None:
    assert status(LOCAL, Origin=origin) == 403


def test_the_pages_own_origin_is_answered() -> None:
    assert status(LOCAL, Origin="http://127.0.0.1:8600", Sec_Fetch_Site="same-origin") == 200


def test_a_link_may_be_followed_but_other_sites_load_nothing() -> None:
    assert status(LOCAL, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document") == 200
    for dest in ("script", "image", "empty", "iframe"):
        assert status(LOCAL, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest=dest) == 403
    assert status(LOCAL, Sec_Fetch_Site="same-site", Sec_Fetch_Dest="empty") == 403


def test_the_policy_allows_files_of_the_server_only() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
