"""Length of a training that its settings ask for: configured_steps(), configured_epochs()."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tuimon import lazy_re as re
from tuimon.analysis.comparing import flat, number_of

_TOTAL_KEYS = (
    "total_training_steps",
    "num_training_steps",
    "num_train_steps",
    "max_train_steps",
    "train_iters",
    "total_timesteps",
)
"""Settings that contain the total number of training steps."""
_AMBIGUOUS_TOTAL_KEYS = ("max_steps", "total_steps", "max_iters", "max_iterations")
"""Settings that contain the total unless they are part of a section that matches `_OTHER_LIMIT`. RLinf's runner counts
global steps where its trackers count updates of the model."""
_OTHER_LIMIT = re.compile(
    r"(?<![a-z])(?:rollouts?|sampling|generation|inference|turn|tools?|interaction|workflow|runner|agents?|env(?:ironment)?s?|"
    r"game|episode|eval(?:uation)?|val(?:idation)?|test)(?![a-z])",
    re.IGNORECASE,
)
_EPOCH_KEYS = ("num_train_epochs", "total_epochs")
"""Settings that contain the number of epochs of trainers that log their end even if they stop early."""


def configured_steps(config: Mapping[str, Any]) -> int | None:
    """Return the number of training steps that the settings ask for, or None."""
    return whole(_first_number(config, (*_TOTAL_KEYS, *_AMBIGUOUS_TOTAL_KEYS)))


def configured_epochs(config: Mapping[str, Any]) -> float:
    """Return the number of epochs that the settings ask for; NaN if there is none."""
    return number(_first_number(config, _EPOCH_KEYS))


def _first_number(config: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    """Return the first positive number among the settings with these keys, in the order of the keys.

    - "a/b/key" and "a.b.key" end with the key: they count.
    - Of several settings with a key, the one with the fewest parents wins.
    """
    settings = [(name.replace("/", ".").split("."), number(value)) for name, value in flat(config)]
    settings.sort(key=lambda setting: len(setting[0]))
    for key in keys:
        for (*sections, last), value in settings:
            is_other = key in _AMBIGUOUS_TOTAL_KEYS and any(map(_OTHER_LIMIT.search, sections))
            if last == key and value >= 1 and math.isfinite(value) and not is_other:
                return value
    return None


def number(value: Any) -> float:
    """Return a number that was logged or set, perhaps as text; NaN for what is not a number."""
    known = number_of(value)
    return math.nan if known is None else known


def whole(value: Any) -> int | None:
    """Return a number that was logged or set, without its fraction; None for what is not a finite number."""
    result = number(value)
    return int(result) if math.isfinite(result) else None
