"""The rows of `tuimon samples --prompts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.rollouts.prompt_changes import PromptChange

_WIDTH = 60
HEAD = f"{'change':>9} {'first':>8} {'last':>8} {'steps':>15}  prompt"


def prompt_line(prompt: PromptChange) -> str:
    """Return the line of a prompt. Shares of samples that passed are in percent."""
    from tuimon.draw.numbers import format_value
    from tuimon.redact import redacted_text
    from tuimon.text import clean, fit

    if prompt.is_share:
        change, first, last = f"{round(100 * prompt.change):+d} pp", f"{prompt.first:.0%}", f"{prompt.last:.0%}"
    else:
        sign = "+" if prompt.change > 0 else ""
        change, first, last = sign + format_value(prompt.change), format_value(prompt.first), format_value(prompt.last)
    steps = f"{prompt.first_step} to {prompt.last_step}"
    words = fit(clean(redacted_text(prompt.head)), _WIDTH).rstrip()
    split = ", validation" if prompt.split == "validation" else ""
    return f"{change:>9} {first:>8} {last:>8} {steps:>15}  {words}{split}\n"
