"""Remove secrets from settings and text before they are shown, copied, sent or exported.

A value is hidden because of its name (`api_key`, `hf_token`, `PGPASSWORD`, `login_kwargs.auth`), because of its form
(`sk-…`, `hf_…`, a private key, a long random string) or because of its place (the user information and the signature in
a URL, the path of a chat service's hook, `curl -u user:password`). Values with similar names are shown: `tokenizer`,
`max_tokens`, `pad_token`, `prompt_key`, `num_key_value_heads`, numbers and flags. A hexadecimal or random string is
shown in a setting that is named like a commit or a hash.

Names are in tuimon/secret_names.py. Forms are the prefixes that the issuers publish; the rules of detect-secrets and
gitleaks were the reference. tests/test_redact.py measures recall and precision on a labelled corpus.

Expressions are matched at words, at long runs of letters and digits, and where a short literal is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tuimon import lazy_re as re
from tuimon.secret_names import FOREIGN, STEMS, Name, is_open_name, is_secret_name, name_kind, word_set

__all__ = ["HIDDEN", "is_secret_name", "redacted", "redacted_text"]

HIDDEN = "[hidden]"


_Span = tuple[int, int]

# ---------------------------------------------------------------------- forms

_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
    r"|xapp-[\w-]{10,}|A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29[\w-]{16,}|LTAI[A-Za-z0-9]{12,}"
    r"|AKID[A-Za-z0-9]{24,}|nvapi-[\w-]{20,}|gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|dapi[0-9a-f]{32}"
    r"|wandb_v\d_\w{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{16,}|dckr_pat_[\w-]{20,}|do[opr]_v1_[0-9a-f]{32,}|hv[bs]-?\w{20,}"
    r"|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|lin_api_\w{30,}|figd_[\w-]{20,}|ntn_\w{30,}|tskey-[\w-]{16,}|xai-\w{30,}"
    r"|pplx-\w{30,}|tvly-[\w-]{16,}|whsec_\w{20,}|sntry[su]_\w{20,}|ATATT3\w{20,}|AGE-SECRET-KEY-1\w{20,}|PMAK-[\w-]{20,}"
    r"|eyJ[\w-]{20,}(?=\Z))"
)
_JWT = re.compile(r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")
_RANDOM = re.compile(r"[A-Za-z0-9]{24,}")
_MIXING = re.compile(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")
_MIN_CHANGES = 4
"""Minimum changes between digits and letters: `Qwen2VLForConditionalGeneration` has 2, a random string one in four."""
_RUN = re.compile(r"[A-Za-z0-9_-]{14,}")
"""Letters, digits, "_" and "-" that may be a secret."""
_DOTTED = re.compile(r"[\w.-]+")

# ---------------------------------------------------------------------- places

_AUTHORITY = re.compile(
    r"(?:(?P<user>[^/\s:@\"']{0,200}):(?P<password>[^\s/\"']{1,500})|(?P<token>[^/\s:@\"']{8,500}))@"
)
_HOOK = re.compile(
    r"(?i)[\w.-]*(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/"
    r"|(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v\d/)?hook/|webhook\.office\.com/\w+/|outlook\.office\.com/webhook/"
    r"|maker\.ifttt\.com/trigger/[^/\s]+/with/key/|hc-ping\.com/|sctapi\.ftqq\.com/"
    r"|sc\.ftqq\.com/|api\.day\.app/|chat\.googleapis\.com/v1/spaces/[^/\s]+/messages\?|events\.pagerduty\.com/integration/"
    r"|hooks\.zapier\.com/hooks/catch/)(?P<value>[^\s\"'<>)\]},]+)"
)
_LISTED = re.compile(
    r"\\?[\"']?(?:\s{0,3},\s{0,3}|[^\S\n]{0,3}\n[ \t]{1,12})\\?[\"']?(?:value|val|default)\\?[\"']?\s{0,3}[:=]\s{0,3}"
)
"""Text between a listed secret name and its value: {"name": "HF_TOKEN", "value": …}, also in YAML."""
_ASSIGN = re.compile(
    r"\\?[\"']?\]?\s{0,3}(?:=>|:=|=|[:：是为は])\s{0,3}|\\?[\"']\s{0,3},\s{0,3}(?=\\?[\"'])|(?P<blank>\s+)"
)
_PLAIN_BLANK = re.compile(r"\s{1,3}[\w(<-]|[,.)/]")
"""Text that follows a name in prose, where nothing is assigned to it."""
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}(?P<quote>\\?[\"'])")
_VALUE = re.compile(r"[^\s\"',;&}\])]+")
_WORD_VALUE = re.compile(r"[^\s\"']*[^\s\"',;)}\]]")
_HEADER = re.compile(r"[^\n\"']+")
_PASSWORD = re.compile(
    r"\s{1,3}(?:(?:is|was|to|ist|lautet)\s{1,3})?[\"']?(?P<value>(?=\S*[0-9])(?=\S*[A-Za-z])[^\s/\\<>|{}()$\"']{6,})"
)
"""Text with digits and letters after the word password: "password is hunter2"."""
_KEY = re.compile(r"\\?[\"']\w+\\?[\"']\s{0,3}:")
_PART = re.compile(
    r"[{\[(}\])]|(?:\\?(?P<quote>[\"'])(?P<text>[^\"'\n]*?)\\?(?P=quote)|(?P<word>[^\s\"'{}\[\](),:=]+))(?P<key>\s{0,3}[:=])?"
)
_WORD = re.compile(r"(?:[^\W是为は]+|[.-]+)+")
"""A word that may be a name; it ends before a copula of Chinese or Japanese, as in "密码是hunter2"."""
_STEM = re.compile("|".join((*STEMS, *FOREIGN)), re.IGNORECASE)
_IN_QUERIES = ("sig", "signature")
_MAX_QUOTED = 1000
"""Maximum length of a value in quotes."""
_COMMANDS = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        ("sshpass", r"(?i)sshpass\s+-p\s*[\"']?(?P<value>[^\s\"']+)"),
        ("curl", r"(?i)curl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:(?P<value>[^\s\"']+)"),
        ("login", r"(?i)login\s+\S+\s+password\s+(?P<value>\S+)"),
        ("login ", r"(?<=(?:andb|-cli|nlab|auth|omet) )login (?:--?\S+\s+)*(?P<value>[^\s-]\S{15,})"),
        ("login ", r"(?<=(?:cker|dman|stry) )login\b[^\n|;]{0,200}?\s-p[ =](?P<value>\S+)"),
        ("mysql", r"(?i)mysql(?:dump|admin)?\b[^\n|;]{0,200}?\s-p(?P<value>[^\s]+)"),
        ("redis-cli", r"(?i)redis-cli\b[^\n|;]{0,200}?\s-a\s+(?P<value>\S+)"),
        ("bearer ", r"(?i:bearer)\s+(?P<value>(?=\S*[0-9A-Z=])[\w.~+/-]{8,}=*)"),
        ("basic ", r"(?i:basic)\s+(?P<value>(?=\S*[0-9=])(?=\S*[A-Z])[\w.~+/-]{8,}=*)"),
    )
)
_PLAIN_VALUE = re.compile(
    r"(?i)true|false|none|null|nan|yes|no|\[hidden\]?|\*+|\$\{[\w.:,/-]*\}?|\$[A-Z_]{3,}|os\.environ.*|os\.getenv.*|\[?\]?|\.+"
)
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?[kKMGTB%]?")
_PROSE = word_set(
    "a an and are cannot could default denied did does down empty error expired failed for found from given in "
    "incorrect invalid is loaded may missing must no not of on or provided read required set the to unauthorized "
    "unknown unset using was with wrong"
)
"""Words after "password:" or "token:" that are the rest of a sentence."""
_CREDENTIAL = re.compile(r"(?=\S*[0-9])(?=\S*[A-Za-z])[^\s/\\<>|{}()$]{8,}")


def redacted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy in which HIDDEN replaces every secret, at any depth."""
    return {key: _hidden_value(str(key), value) for key, value in _named_values(settings)}


def redacted_text(text: str, random: bool = True) -> str:
    """Replace secrets by HIDDEN: by their form, their place, and the name that they are assigned to.

    random: also hide long random strings of no known issuer; False for text with paths and names of runs.
    """
    if len(text) < 8:
        return text
    spans = sorted(_spans(text, random))
    if not spans:
        return text
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        if stop <= end:
            continue
        if start >= end and (start > end or not parts):
            parts += [text[end:start], HIDDEN]
        end = stop
    return "".join(parts) + text[end:]


# ---------------------------------------------------------------------- settings


def _named_values(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the items; the value in {"name": "HF_TOKEN", "value": …} gets the name that it is listed under."""
    for key, value in settings.items():
        if key in ("value", "Value", "val", "default") and isinstance(value, str):
            name = next((settings[k] for k in ("name", "Name", "key", "Key", "env", "variable") if k in settings), "")
            if isinstance(name, str) and is_secret_name(name):
                value = HIDDEN if value else value
        yield key, value


def _hidden_value(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        secret = is_secret_name(name)
        return {key: _hidden_value(name if secret else str(key), inner) for key, inner in _named_values(value)}
    if isinstance(value, (list, tuple)):
        return list(_hidden_items(name, value))
    if not isinstance(value, str) or not value or value == HIDDEN:
        return value
    kind = name_kind(name)
    if kind is Name.SECRET or (kind is Name.WEAK and _CREDENTIAL.fullmatch(value)):
        return value if _PLAIN_VALUE.fullmatch(value) else HIDDEN
    if is_open_name(name):
        return redacted_text(value, random=False)
    return _HEX.sub(HIDDEN, redacted_text(value))


def _hidden_items(name: str, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of a list; a word after "--hf_token" or after a secret name in a pair is hidden."""
    values = list(values)
    words = [value if isinstance(value, str) else "" for value in values]
    if any(word.startswith("-") for word in words):  # a command line, whose program explains options like -u
        line = redacted_text(" ".join(words))
        words = [HIDDEN if len(word) > 3 and word not in line else word for word in words]
    before = ""
    for value, word in zip(values, words, strict=True):
        option = before.startswith("-") or (len(values) == 2 and ("_" in before or before.isupper()))
        if word == HIDDEN:
            yield HIDDEN
        elif word and option and not word.startswith("-") and is_secret_name(before.lstrip("-")):
            yield word if _NUMBER.fullmatch(word) or _PLAIN_VALUE.fullmatch(word) else HIDDEN
        else:
            yield _hidden_value(name, value)
        before = word


# ---------------------------------------------------------------------- text


def _spans(text: str, random: bool) -> Iterator[_Span]:
    """Yield (start, end) of what is to be hidden, in no order; spans may overlap."""
    low = text.lower()
    if "private key" in low:
        yield from (match.span() for match in _PRIVATE_KEY.finditer(text))
    yield from _in_runs(text, random)
    if "://" in text:
        yield from _in_urls(text)
    for literal, pattern in _COMMANDS:
        if literal in low:
            yield from (match.span("value") for match in pattern.finditer(text))
    if _STEM.search(text):
        yield from _after_names(text)


def _in_runs(text: str, random: bool) -> Iterator[_Span]:
    """Yield what has the form of a secret."""
    for found in _RUN.finditer(text):
        run, (start, end) = found[0], found.span()
        if (run.startswith("eyJ") and (match := _JWT.match(text, start))) or (
            text[max(0, start - 4) : start].endswith(("SG.", "hvs.", "hvb.")) and (match := _DOTTED.match(text, start))
        ):
            yield match.span()
        elif end - start >= 30 and run.startswith("AA") and text[max(0, start - 2) : start].endswith(":"):
            yield start, end  # a bot of Telegram: 123456789:AA…
        else:
            for begin, stop in _in_run(run, random):
                yield start + begin, start + stop


@lru_cache(maxsize=8192)
def _in_run(run: str, random: bool) -> tuple[_Span, ...]:
    spans = [match.span() for match in _ISSUED.finditer(run)]
    if random:
        spans += [match.span() for match in _RANDOM.finditer(run) if _is_random(match[0])]
    return tuple(spans)


def _is_random(text: str) -> bool:
    return (
        not text.islower()
        and not text.isupper()
        and not text.isdigit()
        and len(_MIXING.findall(text)) >= max(_MIN_CHANGES, len(text) // 10)
    )


def _in_urls(text: str) -> Iterator[_Span]:
    """Yield passwords and tokens in the user information of URLs, and the secret part of addresses of hooks."""
    for found in re.finditer("://", text):
        position = found.end()
        if match := _AUTHORITY.match(text, position):
            if match["password"] is not None:
                both = match["user"] and (len(match["user"]) >= 20 or match["password"] == "x-oauth-basic")
                yield match.start("user") if both else match.start("password"), match.end("password")
            elif text[max(0, position - 8) : position - 3].lower().endswith(("http", "https")):
                yield match.span("token")
        if match := _HOOK.match(text, position):
            yield match.span("value")


def _after_names(text: str) -> Iterator[_Span]:
    """Yield what is assigned to secret names. Each distinct word is examined once."""
    kinds: dict[str, Name] = {}
    for found in _WORD.finditer(text):
        word = found[0]
        kind = kinds.get(word)
        if kind is None:
            kind = kinds[word] = name_kind(word) if _STEM.search(word) else Name.OPEN
        if kind is not Name.OPEN or word.lower() in _IN_QUERIES:
            yield from _assigned(text, *found.span(), kind)


def _assigned(text: str, start: int, end: int, kind: Name) -> Iterator[_Span]:
    """Yield what is assigned to the name at start:end: a value, or the values in brackets."""
    name = text[start:end]
    before = text[max(0, start - 4) : start]
    in_query = before.endswith(("?", "&"))
    if before.endswith("://") or (kind is Name.OPEN and not in_query):
        return  # a user and a password, see _in_urls; or a word that is secret only in the query of a URL
    is_named = name.startswith("--") or before in ("env ", "ENV ")
    listed = _LISTED.match(text, end)
    if listed is None and _PLAIN_BLANK.match(text, end) and not is_named:
        if "pass" in name.lower() and (match := _PASSWORD.match(text, end)):
            yield match.span("value")
        return
    match = listed or _ASSIGN.match(text, end)
    if match is None or (listed is None and match["blank"] and not is_named):
        return
    position = match.end()
    if listed is None and "," in match[0] and _KEY.match(text, position):
        return  # the next key of an object
    if listed is None and (name.lower() == "key" or (name.lower() == "token" and not in_query)):  # a metric, a word
        kind = Name.WEAK
    if text[position : position + 1] in ("{", "[", "("):
        if kind is Name.SECRET:
            yield from _texts_in_brackets(text, position)
        return
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        if span := _quoted(text, quoted, kind):
            yield span
        return
    if name.lower().endswith(("authorization", "cookie")) and ":" in match[0]:
        value = _HEADER.match(text, position)
    elif "=" in match[0] and name.isupper():
        value = _WORD_VALUE.match(text, position)
    else:
        value = _VALUE.match(text, position)
    if value is None or _is_harmless(name, value[0], kind, prose=match[0].endswith((": ", ":\t"))):
        return
    if not (listed is None and match["blank"] and value[0].startswith("-")):
        yield value.span()


def _texts_in_brackets(text: str, start: int) -> Iterator[_Span]:
    """Yield the texts between brackets that open at `start`, but not the keys before a colon."""
    depth = 0
    for match in _PART.finditer(text, start, start + _MAX_QUOTED):
        part = match["text"] or match["word"]
        if part is None:
            depth += 1 if match[0] in "{[(" else -1
            if depth <= 0:
                return
        elif not match["key"] and not _PLAIN_VALUE.fullmatch(part) and not _NUMBER.fullmatch(part):
            yield match.span("text" if match["text"] else "word")


def _quoted(text: str, opening: re.Match[str], kind: Name) -> _Span | None:
    """Return the text in quotes after `opening`, which may contain blanks."""
    quote, start = opening["quote"], opening.end()
    end = text.find(quote, start, start + _MAX_QUOTED)
    while len(quote) == 1 and end > start and text[end - 1] == "\\":
        end = text.find(quote, end + 1, start + _MAX_QUOTED)
    if end < 0 or "\n" in text[start:end]:
        match = _VALUE.match(text, start)
        return match.span() if match else None
    value = text[start:end]
    if not value or _PLAIN_VALUE.fullmatch(value) or (kind is Name.WEAK and not _CREDENTIAL.fullmatch(value)):
        return None
    return start, end


def _is_harmless(name: str, value: str, kind: Name, prose: bool) -> bool:
    """Return whether a value without quotes is a number, a flag or the rest of a sentence."""
    if _PLAIN_VALUE.fullmatch(value):
        return True
    if _NUMBER.fullmatch(value):
        return kind is Name.WEAK or "pass" not in name.lower() or len(value) < 4
    if kind is Name.WEAK or (prose and name.lower() in ("key", "token", "auth", "secret")):
        return not _CREDENTIAL.fullmatch(value)
    return prose and value.lower() in _PROSE
