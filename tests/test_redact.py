"""Secrets are hidden in settings and text; values with similar names or forms are not."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import random
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.redact import HIDDEN, is_secret_name, redacted, redacted_text

NESTED_NAMES = ["wandb.api_key", "tracker_kwargs/login_kwargs/api_key"]
SECRET_NAMES = [*NESTED_NAMES, "github_token", "cookies", "gcs_credentials", "api_keys", "swanlab_api_key", "token"]
OPEN_NAMES = ("max_token_len", "hidden_size", "lora_target", "pad_token")
# not secrets of anybody: strings of the alphabets that the issuers publish
LOOKS = (
    "sk-proj-abcdEFGH1234ijklMNOP5678",
    "AKIAIOSFODNN7EXAMPLE",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
    hashlib.sha1(b"a key of W&B").hexdigest(),
)
PLAIN = (
    "/data/models/DeepSeek-R1-Distill-Qwen-1.5B/checkpoint-40",
    "run-20261121_014144-4pwtdvy8s3rbo7ox6v2ya",
    hashlib.sha256(b"data").hexdigest(),
    "cosine_with_min_lr",
    "webhook: cannot reach 127.0.0.1:8765; token: could not be read",
)
"""Examples that are not in the labelled corpus."""


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("your_wandb_api_key", HIDDEN),
        (["one", "two"], [HIDDEN, HIDDEN]),
        ({"inner": "value"}, {"inner": HIDDEN}),
        *((value, value) for value in (3, 1e-6, True, None, "")),
    ],
)
def test_names_of_secrets(value: object, hidden: object) -> None:
    assert redacted(dict.fromkeys(SECRET_NAMES, value)) == dict.fromkeys(SECRET_NAMES, hidden)
    assert redacted(dict.fromkeys(OPEN_NAMES, value)) == dict.fromkeys(OPEN_NAMES, value)
    assert [name for name in (*SECRET_NAMES, *OPEN_NAMES) if is_secret_name(name)] == SECRET_NAMES


def test_what_is_similar_to_a_secret_is_shown() -> None:
    assert redacted({"model": list(PLAIN)}) == {"model": list(PLAIN)}
    assert [redacted_text(value) for value in PLAIN] == list(PLAIN)


@pytest.mark.parametrize("value", LOOKS)
def test_forms_of_secrets(value: str) -> None:
    assert redacted({"notes": value}) == {"notes": HIDDEN}
    [result] = redacted({"notes": [f"use {value} here"]})["notes"]
    assert result == f"use {HIDDEN} here"


def test_hashes_of_code_and_data_are_shown() -> None:
    digest = hashlib.sha1(b"a commit").hexdigest()
    for name in ("git_commit", "commit", "revision", "model_revision", "sha", "data_hash", "gitCommit"):
        assert redacted({name: digest}) == {name: digest}
    assert redacted_text(f"at commit {digest}") == f"at commit {digest}"  # in text there is no name to go by


def test_values_assigned_to_a_secret_name_in_text() -> None:
    for text, wanted in {
        "python train.py --hf_token abc123 --lr 1e-6": f"python train.py --hf_token {HIDDEN} --lr 1e-6",
        "+logger.api_key=abc123": f"+logger.api_key={HIDDEN}",
        "WANDB_API_KEY=abc123 python train.py max_tokens=512": f"WANDB_API_KEY={HIDDEN} python train.py max_tokens=512",
        '{"api_key": "abc123", "lr": 1}': f'{{"api_key": "{HIDDEN}", "lr": 1}}',
        "Authorization: Bearer abcdef123456": f"Authorization: {HIDDEN} {HIDDEN}",
        "postgres://user:pass@host/db": f"postgres://user:{HIDDEN}@host/db",
        "密码：abc123": f"密码：{HIDDEN}",
        "prompt_key=question use_auth=true": "prompt_key=question use_auth=true",
        "token: 128": "token: 128",
    }.items():
        result = redacted_text(text)
        assert "abc" not in result
        assert "pass@" not in result
        if "Bearer" not in text:
            assert result == wanted


def test_most_random_strings_are_recognised() -> None:
    draw = random.Random(3)
    letters = string.ascii_letters + string.digits
    strings = ["".join(draw.choices(letters, k=40)) for _ in range(300)]
    strings += [base64.urlsafe_b64encode(draw.randbytes(48)).decode() for _ in range(300)]
    assert sum(redacted({"x": value})["x"] != value for value in strings) > 0.9 * len(strings)


def test_a_copy_is_made_and_the_settings_stay_as_they_are() -> None:
    settings = {"a": {"api_key": "x", "list": [{"token": "y"}]}, "lr": 1e-6}
    before = json.dumps(settings)
    assert redacted(settings) == {"a": {"api_key": HIDDEN, "list": [{"token": HIDDEN}]}, "lr": 1e-6}
    assert json.dumps(settings) == before


@given(st.text(max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    assert redacted_text(redacted_text(text)) == redacted_text(text)
    redacted({text: text})


def test_hostile_text_costs_linear_time() -> None:
    for text in (
        "a" * 200_000,
        "a=" * 100_000,
        "://" * 70_000,
        "--a " * 50_000,
        "eyJ" * 70_000,
        "x: " * 70_000,
        "sk-" * 60_000,
    ):
        redacted_text(text)


def test_settings_of_the_reference_logs(data: Path) -> None:
    import yaml

    settings = yaml.safe_load((data / "config" / "roll" / "config.yaml").read_text())
    result = redacted(settings)
    text = json.dumps(result)
    assert "your_wandb_api_key" not in text
    assert "your_swanlab_api_key" not in text
    assert result["tracker_kwargs"]["project"] == "roll-experiments"
    result["tracker_kwargs"] = settings["tracker_kwargs"]
    assert result == settings


NOT_CHECKED = frozenset(
    re.findall(
        r"\w+", "Bearer Basic token BEGIN OPENSSH PRIVATE sessionid csrftoken session HttpOnly https example hook"
    )
)
"""Words that may be hidden together with a secret: the scheme of a header, the frame of a key, other cookies."""


def labelled_examples(corpus: Path) -> Iterator[tuple[bool, str, list[str]]]:
    """Yield (is it settings as JSON, text, its secrets) of each example."""
    for line in corpus.read_text("utf-8").splitlines():
        kind, _, text = line.replace("¦", "").partition("\t")
        if kind == "name":
            for name in text.strip("«»").split():
                yield True, json.dumps({name: "ordinary-value"}), ["ordinary-value"] if "«" in text else []
            continue
        text = text.replace("\\n", "\n") if kind == "text" else json.dumps(json.loads(text), ensure_ascii=False)
        yield kind == "config", re.sub("[«»]", "", text), re.findall("(?s)«(.*?)»", text)


def test_recall_and_precision_on_the_labelled_examples(data: Path) -> None:
    """A secret is found if no part of it is left; what is harmless may not be hidden along with it."""
    missed, overdone, altered, secret, harmless = list[str](), list[str](), list[str](), 0, 0
    for is_settings, text, secrets in labelled_examples(data / "secrets" / "corpus.txt"):
        result = json.dumps(redacted(json.loads(text)), ensure_ascii=False) if is_settings else redacted_text(text)
        rest = functools.reduce(lambda rest, secret: rest.replace(secret, " "), secrets, text)
        words = set(re.findall("[A-Za-z]{4,}", rest)) - NOT_CHECKED if secrets else set[str]()
        altered += [text] if not secrets and text not in result else []
        missed += [text] if any(part in result for part in secrets) else []
        overdone += [text] if any(word not in result for word in words) else []
        secret, harmless = secret + bool(secrets), harmless + (not secrets)
    assert secret == 373  # as SECURITY.md says
    assert harmless >= 150
    assert (missed, altered) == ([], [])
    assert len(overdone) <= 0.02 * secret, overdone


def test_text_with_names_of_runs_keeps_random_strings() -> None:
    text = "/data/Zk81LqP0xWv27RtYm4Nc93JdBs5HgFa6: permission denied, token=abc12345"
    assert redacted_text(text, random=False) == text.replace("abc12345", HIDDEN)


def test_a_command_in_a_list_loses_its_password() -> None:
    command = ["curl", "-u", "user:pw99", "https://example.org"]
    assert redacted({"command": command}) == {"command": ["curl", "-u", HIDDEN, "https://example.org"]}
    assert redacted({"args": ["--hf_token", "X", "--lr", "1"]}) == {"args": ["--hf_token", HIDDEN, "--lr", "1"]}
    assert redacted({"env": [{"name": "HF_TOKEN", "value": "X"}]}) == {"env": [{"name": "HF_TOKEN", "value": HIDDEN}]}


@pytest.mark.parametrize("count", [1, 12, 13, 40])
def test_any_number_of_different_names_in_a_text(count: int) -> None:
    """Names are searched for one by one if they are few, and all at once if they are many."""
    names = [f"service{chr(97 + i % 26)}{chr(97 + i // 26)}_password" for i in range(count)]
    text = "".join(f"num_tokens=512 {name}=value{i}x pad_token=1\n" for i, name in enumerate(names))
    expected = "".join(f"num_tokens=512 {name}=[hidden] pad_token=1\n" for name in names)
    assert redacted_text(text) == expected
