"""Lines cut at their numbers.

    "Epoch 3/10 | loss: 0.52 | acc 81%"      texts ("Epoch ", "/", " | loss: ", " | acc ", "%"), numbers 3 10 0.52 81

Numbers are cut loosely: "1.2.3" and "0.5" are one number, "0h5m9s" three, "@10" and "top1" none. nan, inf,
null, None, 1.#QNAN and -nan(ind) are numbers, but not in "number of nan iterations: 0" of Megatron. All expressions
take linear time.
"""

from __future__ import annotations

from math import inf, nan

from tuimon import lazy_re as re

_EXPONENT = r"(?:[eE][-+]?\d{1,4}+(?![\w.]))?"
_NUMBER = re.compile(
    r"(?=[-+.\dnNiI])"  # first, as most characters of a line begin no number: it takes half the time
    r"((?<![\w.@])(?:"
    rf"[-+]?\d++(?:\.\d++)*+(?:\.(?=[eE#]))?{_EXPONENT}(?:\.?#[A-Z]{{2,5}})?"
    rf"|[-+]?\.\d++(?:\.\d++)*+{_EXPONENT}"
    r"|(?!nan\s{1,99}iterations\b)[-+]?(?:nan|NaN|NAN)(?:\(\w{1,9}\))?(?!\w)"
    r"|[-+]?(?:inf|Inf|INF)(?:inity)?(?!\w)|(?:null|None)(?!\w)"
    r")|(?<=poch_)\d++|(?<=poch)\d++|(?<=step_)\d++|(?<=(?<!\w)E)\d{1,4}(?!\w)|(?<=(?<!\w)[Ee]p)\d++(?!\w)"
    r"|(?<=\d[hm])\d{1,2}(?=[ms](?!\w)))",
    re.ASCII,
)
MISSING = frozenset(("null", "None"))
"""Numbers that are printed where there is none."""


def cut(text: str) -> list[str]:
    """Return the texts and numbers of a line in turn: ["loss ", "0.5", ", acc ", "0.8", ""]."""
    return _NUMBER.split(text)


def places(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each number of a line."""
    return [match.span() for match in _NUMBER.finditer(text)]


def number(text: str) -> float:
    """Return the value of a cut number: "1.#INF" and "9e999" are infinite; "1.2.3" and "null" are NaN."""
    try:
        return float(text)
    except ValueError:
        if "#INF" in text:
            return -inf if text[0] == "-" else inf
        return nan
