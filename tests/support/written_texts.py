"""Runs with generated texts, written as verl's `rollout_data_dir` has them: one file a step, one line a sample."""

from __future__ import annotations

import json
from pathlib import Path

HOSTILE = "so\u2028\x1b[31m\x1b]8;;http://x\x07\u202e 4 [bold]x[/bold]\r\n\ufffd\ufffd\ufffd\ufffd\u200b"
PROMPTS, ATTEMPTS = 4, 4


def reward(prompt: int, attempt: int, step: int) -> float:
    """Return the reward of an attempt: prompt 0 is never solved, prompt 3 always."""
    return float(prompt == 3 or (prompt > 0 and attempt < step))


def row(prompt: int, attempt: int, step: int) -> dict[str, object]:
    """Return the row of a sample. The first attempt of prompt 1 has hostile text, the last one of prompt 2 loops."""
    score = reward(prompt, attempt, step)
    answer = prompt * 3 + (0 if score else 1)
    text = f"<think>\nstep {step}: is it {prompt} times 3?\n</think>\nattempt {attempt} says \\boxed{{{answer}}}"
    if (prompt, attempt) == (1, 0):
        text += HOSTILE
    if (prompt, attempt) == (2, ATTEMPTS - 1):
        text = "<think>" + "wait, no. " * 300
    return {
        "input": f"user\nWhat is {prompt} times 3?\nassistant\n",
        "output": text,
        "gts": str(prompt * 3),
        "score": score,
        "step": step,
        "format": float("boxed" in text),
    }


def write_step(run: Path, step: int) -> None:
    """Write the texts of a step."""
    (run / "rollouts").mkdir(parents=True, exist_ok=True)
    rows = [row(prompt, attempt, step) for prompt in range(PROMPTS) for attempt in range(ATTEMPTS)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (run / "rollouts" / f"{step}.jsonl").write_text(text, encoding="utf-8")


def mean_reward(step: int) -> float:
    """Return the mean reward of the texts of a step."""
    return sum(reward(p, a, step) for p in range(PROMPTS) for a in range(ATTEMPTS)) / (PROMPTS * ATTEMPTS)


def write_run(run: Path, steps: range) -> Path:
    """Write metrics and texts of some steps."""
    run.mkdir(parents=True, exist_ok=True)
    rows = ({"step": step, "critic/score/mean": mean_reward(step), "actor/loss": 1 / (step + 1)} for step in steps)
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in steps:
        write_step(run, step)
    return run
