"""Names of secrets: which names of settings, variables, options, headers and columns have secret values.

The words `key` and `token` are ambiguous: a value is secret unless the word before names a column (key) or a vocabulary
(token). Joined words (`hftoken`, `PGPASSWORD`) are split by their endings.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from tuimon import lazy_re as re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


STEMS = word_set(
    "secret pwd token key auth cred cookie webhook signature sig pass _pw pat jwt kennwort geheim senha clave "
    "wachtwoord parola heslo salasana adgangskode"
)
"""Parts of words, in lower case. One is in each secret name that text assigns to."""


class Name(Enum):
    """Whether values of a name are secret."""

    OPEN = 0
    WEAK = 1
    """Secret only if the value looks like a credential: `tokens`, `pat`."""
    SECRET = 2


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


_ALWAYS = word_set(
    "secret secrets password passwords passwd passphrase passcode pwd credential credentials creds cred auth oauth "
    "authorization authentication cookie cookies apikey apikeys accesskey bearer jwt htpasswd sshpass "
    "passwort kennwort geheimnis contrasena senha clave passe wachtwoord parola heslo salasana adgangskode"
)
FOREIGN = ("密码", "密钥", "口令", "秘钥", "パスワード", "비밀번호", "пароль", "contraseña", "hasło", "şifre")
"""Words for a password or a secret key in other languages and scripts."""
_TAILS = word_set("id value string str text base b json data env pem raw hex plain plaintext list")
"""Words after "key" and "token" that do not change their meaning, as in aws_access_key_id."""
_DESCRIBING = word_set(
    "type method mode url uri path file filename dir name names provider class enabled len length size count expiry "
    "expires ttl timeout policy scheme scope scopes required backend module mechanism version header headers prefix "
    "manager plugin strategy store"
)
"""Last words that make a setting describe a secret instead of holding it."""
_OF_COLUMNS = word_set(
    "prompt input output response label image images video audio message messages reward fn data answer text question "
    "chosen rejected solution column group sort cache dict metric monitor target batch train val eval test score "
    "value query document field primary foreign index name loss sampling rng prng random jax lookup state tensor "
    "weight param params config cfg obs action step unique hash shard partition routing kv mlp attn attention option "
    "tag topic log record row object file filename path caption url feature meta parent nested dataset advantage "
    "padding mask missing unexpected duplicate invalid the a this each no per"
)
"""Words before "key" that make it the name of a column or entry."""
_OF_VOCABULARIES = word_set(
    "pad eos bos unk mask sep cls image images video audio stop special think thinking vision start end begin eot eom "
    "eod fim new next last first per additional extra system user assistant tool decoder forced suppress reward "
    "sample logit prompt response valid num max min total mean avg by each prev previous current cur top input output "
    "target draft accepted query visual register latent action class text speech bov patch newline space language "
    "lang task prefix suffix middle sentinel turn non one single random reserved control blank sot timestamp img the "
    "a this unexpected unknown padding generated"
)
"""Words before "token" that make it a unit of text."""
_HOLDERS = word_set(
    "api access secret private ssh signing encryption auth shared master account storage client service deploy "
    "license hf gh github gitlab git wandb swanlab openai azure aws gcp refresh bot bearer session security login hub "
    "npm pypi slack telegram discord oauth csrf xsrf jwt rsa gpg pgp sas app comet neptune clearml modelscope "
    "huggingface"
)
"""Words before "keys" and "tokens", or joined with "key" and "token", that make them credentials."""
_ACCOUNTS = word_set(
    "db smtp user mysql redis pg postgres mail email ftp sftp http https admin root proxy login mongo rabbitmq ldap "
    "sudo ssh vault kafka registry docker broker mqtt imap account sql database jupyter basic es elastic neo "
    "clickhouse rpc github gh gitlab azure devops git ado bitbucket personal jira my"
)
"""Words that make "pass", "pw" and "pat" after them a secret name."""
_JOINED = re.compile(r"\w+(?:password|passwd|passphrase|passwort|secret|secretkey|apikeys?|accesskey|privatekey|pwd)")
_JOINED_TOKEN = re.compile(r"(\w+?)(?:token|key)s?")
_JOINED_PASS = re.compile(r"(\w+?)(?:pass|pw|pat)")
_HASHES = word_set("commit sha md hash revision rev digest checksum fingerprint git uuid version sum")
_DIRECTORIES = ("PWD", "OLDPWD")
"""Variables of the shell that hold directories."""


def is_secret_name(name: str) -> bool:
    """Return True if values of this name are secret. Names are `like_this`, `likeThis`, `LIKE_THIS` or `a.b/c`."""
    return name_kind(name) is Name.SECRET


def is_open_name(name: str) -> bool:
    """Return True if a random string of this name identifies data or code: `git_commit`, `data_hash`."""
    return not _HASHES.isdisjoint(word.lower() for word in _WORD.findall(name[-200:]))


def name_kind(name: str) -> Name:
    """Return whether values of this name are secret."""
    return _name_kind(name[-200:])


@lru_cache(maxsize=8192)
def _name_kind(name: str) -> Name:
    if not name.isascii() and any(word in name.lower() for word in FOREIGN):
        return Name.SECRET
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or name in _DIRECTORIES:
        return Name.OPEN
    if words[-1] in _DESCRIBING and not ("webhook" in words and words[-1] in ("url", "uri")):
        return Name.OPEN
    if not _ALWAYS.isdisjoint(words) or "webhook" in words or "webhooks" in words:
        return Name.SECRET
    while len(words) > 1 and (words[-1] in _TAILS or words[-1].isdigit()):
        words.pop()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if _is_credential(last, before):
        return Name.SECRET
    return Name.WEAK if last in ("tokens", "pat") and not before else Name.OPEN


def _is_credential(last: str, before: str) -> bool:
    if last == "key":
        return before not in _OF_COLUMNS
    if last == "token":
        return before not in _OF_VOCABULARIES
    if last in ("keys", "tokens"):
        return before in _HOLDERS
    if last in ("pass", "pat"):
        return before in _ACCOUNTS
    if last in ("signature", "sig"):
        return before in ("amz", "goog", "sas", "ms", "request")
    if last == "pw" or _JOINED.fullmatch(last):
        return True
    if match := _JOINED_TOKEN.fullmatch(last):
        return match[1] in _HOLDERS
    match = _JOINED_PASS.fullmatch(last)
    return match is not None and match[1] in _ACCOUNTS
