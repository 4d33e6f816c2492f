"""redacted(): settings without their secrets. A config holds API keys, and a screen is shared, a report is sent.

A value is hidden for its name (`api_key`, `hf_token`, `password`, `login_kwargs.auth`) or for its own look (`sk-…`,
`hf_…`, a private key, a long random string). What only sounds like one is shown: `tokenizer`, `max_tokens`,
`pad_token`, `prompt_key`, `num_key_value_heads`, numbers and flags, and what is called a commit or a hash. Two words
are ambiguous, and hidden unless the word before says more: `key` of a column, and `token` of a vocabulary.

By look: the prefixes that the issuers publish (GitHub, AWS, Hugging Face, OpenAI, Slack, Google, NVIDIA), 40
hexadecimal digits (W&B's keys), and 24 and more letters and digits in which cases and digits are thoroughly mixed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALWAYS = _words(
    "secret secrets password passwords passwd passphrase passcode pwd credential credentials auth oauth authorization "
    "authentication cookie cookies apikey accesskey bearer"
)
_TAILS = _words("id value string str text base b json data env")
"""Words behind "key" and "token" that do not change what they are: aws_access_key_id."""
_OF_COLUMNS = _words(
    "prompt input output response label image images video audio message messages reward fn data answer text question "
    "chosen rejected solution column group sort cache dict metric monitor target batch train val eval test score value "
    "query document field primary foreign index name loss sampling"
)
"""Words before "key" that make it the name of a column or an entry."""
_OF_VOCABULARIES = _words(
    "pad eos bos unk mask sep cls image images video audio stop special think thinking vision start end begin eot eom "
    "eod fim new next last first per additional extra system user assistant tool decoder forced suppress reward sample "
    "logit prompt response valid num max min total mean avg"
)
"""Words before "token" that make it a token of text."""
_OPEN = _words("commit sha md hash revision rev digest checksum fingerprint git uuid version")
"""Words of names under which a random string is shown: it names data or code."""

_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|LTAI[A-Za-z0-9]{12,}|nvapi-[\w-]{20,}|gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|dapi[0-9a-f]{32}"
    r"|wandb_v\d_\w{20,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
_USER_OF_URL = re.compile(r"(?<=://)([^/\s:@]{0,200}):[^/\s@]{1,500}@")
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")
_RANDOM = re.compile(r"[A-Za-z0-9]{24,}")
_MIXING = re.compile(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")
_ENOUGH = 4
"""Changes between digits and letters: `Qwen2VLForConditionalGeneration` has two, in random ones every fourth is one."""
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]{0,100})(?P<between>[\"']?\s{0,3}[=:]\s{0,3})(?P<quote>[\"']?)(?P<value>[^\s\"',;&}\])]+)"
)
_OPTION = re.compile(r"(?P<name>--[A-Za-z][\w.-]{0,100})(?P<between>\s+)(?P<quote>[\"']?)(?P<value>[^\s\"'-][^\s\"']*)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/-]{8,}=*")


def redacted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which HIDDEN stands for every secret, at any depth."""
    return {key: _value(str(key), value) for key, value in settings.items()}


def redacted_text(text: str) -> str:
    """Text in which HIDDEN stands for what looks like a secret, and for what is given to a secret name: `api_key=…`."""
    text = _PRIVATE_KEY.sub(HIDDEN, text) if "PRIVATE KEY" in text else text
    text = _USER_OF_URL.sub(rf"\1:{HIDDEN}@", text) if "://" in text else text
    text = _ISSUED.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
    text = _OPTION.sub(_pair, text) if "--" in text else text
    text = _PAIR.sub(_pair, text) if "=" in text or ":" in text else text
    return _RANDOM.sub(lambda found: HIDDEN if _is_random(found[0]) else found[0], text)


def is_secret_name(name: str) -> bool:
    """Does what has this name have to be hidden? Names are `like_this`, `likeThis`, `LIKE_THIS` or `a.b/c`."""
    words = [word.lower() for word in _WORD.findall(name[-200:])]
    if not _ALWAYS.isdisjoint(words):
        return True
    while len(words) > 1 and (words[-1] in _TAILS or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    before = words[-2] if len(words) > 1 else ""
    if words[-1] in ("key", "keys"):
        return before not in _OF_COLUMNS and (words[-1] == "key" or before in ("api", "access", "private", "ssh"))
    return words[-1] == "token" and before not in _OF_VOCABULARIES


def _value(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        secret = is_secret_name(name)
        return {key: _value(name if secret else str(key), inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(name, inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    if is_secret_name(name):
        return HIDDEN
    if not _OPEN.isdisjoint(word.lower() for word in _WORD.findall(name)):
        return value
    return _HEX.sub(HIDDEN, redacted_text(value))


def _pair(found: re.Match[str]) -> str:
    name, between, quote = found["name"], found["between"], found["quote"]
    hidden_before = found["value"] == HIDDEN.rstrip("]")  # a value ends before a bracket
    if hidden_before or not is_secret_name(name) or _is_number(found["value"]):
        return found[0]
    return f"{name}{between}{quote}{HIDDEN}"


def _is_number(text: str) -> bool:
    return text.lower() in ("true", "false", "none", "null") or text.replace(".", "", 1).replace("e-", "", 1).isdigit()


def _is_random(text: str) -> bool:
    return (
        not text.islower()
        and not text.isupper()
        and not text.isdigit()
        and len(_MIXING.findall(text)) >= max(_ENOUGH, len(text) // 10)
    )
