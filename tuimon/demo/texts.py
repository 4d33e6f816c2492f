"""The responses of a step as texts: rows as verl writes them with `trainer.rollout_data_dir`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.demo.task import BLANK, DIGITS, END, Tokens, answer


def rows(
    step: int, prompts: Tokens, responses: Tokens, scores: npt.NDArray[np.float64], advantages: npt.NDArray[np.float64]
) -> Iterator[dict[str, Any]]:
    """Yield a row per response. All arrays have the same length."""
    for prompt, response, score, advantage in zip(
        prompts.tolist(), responses.tolist(), scores.tolist(), advantages.tolist(), strict=True
    ):
        written = [token for token in response if token != BLANK]
        yield {
            "input": f"Sort {words([token for token in prompt if token != BLANK])}",
            "output": words(written),
            "gts": words(answer(prompt)),
            "score": score,
            "step": step,
            "advantage": advantage,
            "response_length": len(written),
            "is_truncated": END not in written,
        }


def words(tokens: list[int]) -> str:
    """Return digits with blanks between them; the end is not written."""
    return " ".join(str(token) for token in tokens if token < DIGITS)


def write(path: Path, lines: Iterator[dict[str, Any]]) -> None:
    """Write rows as JSON Lines; a file of an earlier attempt is replaced."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
