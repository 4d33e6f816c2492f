"""Write the generated blocks of docs/*.md from the registries: formats, concepts, panels, rules, keys.

python docs/generate.py           write the blocks
python docs/generate.py --check   exit with 1 if a page is not up to date

A block is what lies between `<!-- generated: NAME -->` and `<!-- end -->`; the rest of a page is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from tuimon.detectors import Rule, all_detectors
from tuimon.formats import all_formats
from tuimon.panels import all_panels
from tuimon.tui.action import key_names
from tuimon.tui.actions import all_actions
from tuimon.vocabulary import concepts

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


BEST = "1.00"
"""Recall or precision without an error, as in the measured figures."""
MOST_WORDS = 12
"""Words of the effect of a key, from which on its last part is left out."""


def page_of(text: str) -> str:
    """Return a page with the present content of its blocks."""
    return BLOCK.sub(lambda found: f"{found[1]}{found[2]}{BLOCKS[found[1]]()}", text)


def listed(names: Iterable[str]) -> str:
    """Return names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def readable_formats() -> str:
    formats = sorted(all_formats(), key=lambda own: (-own.rank, own.title))
    return "".join(f"- **{own.title}**: {own.writers}\n" for own in formats if not own.unsupported)


def unreadable_formats() -> str:
    titles = sorted(own.title for own in all_formats() if own.unsupported)
    return f"{', '.join(titles)}.\n"


def units() -> str:
    known = sorted({concept.unit for concept in concepts() if concept.panel != "hidden"})
    return f"Units: {listed(known)}.\n"


def concepts_of_panels() -> str:
    """Return a line for each panel with the concepts that it draws."""
    known = [concept for concept in concepts() if concept.panel != "hidden"]
    panels = dict.fromkeys(concept.panel for concept in known)
    return "".join(f"- {panel}: {listed(own.id for own in known if own.panel == panel)}\n" for panel in panels)


def panels() -> str:
    return f"{listed(panel.id for panel in sorted(all_panels(), key=lambda panel: panel.order))}.\n"


def rules() -> str:
    """Return a line for each detector: its rule with the thresholds, measured figures."""
    measured = json.loads((DOCS.parent / "tests" / "bench" / "detectors.json").read_text("utf-8"))["detectors"]
    lines = []
    for rule in sorted((own for own in all_detectors() if isinstance(own, Rule)), key=lambda rule: rule.id):
        own = measured.get(rule.id, {})
        figures = [f"{name} {own[name]}" for name in ("delay", "recall", "precision") if own.get(name, BEST) != BEST]
        shown = f" *{', '.join(figures).capitalize()}.*" if figures else ""
        lines.append(f"- `{rule.id}`: {text_with_thresholds(rule)}{shown}\n")
    return "".join(lines)


def text_with_thresholds(rule: Rule) -> str:
    """Return the text of a rule, with a value after the name of each threshold: "is above `limit` (0.5)"."""
    text = rule.text
    for own in rule.settings:
        name, value = f"`{own.name}`", f"`{own.name}` ({own.value:g})"
        text = text.replace(name, value, 1) if name in text else f"{text} {value}: {own.meaning}"
    return text


def healthy_runs() -> str:
    measured = json.loads((DOCS.parent / "tests" / "bench" / "detectors.json").read_text("utf-8"))
    return f"Of {measured['healthy']} healthy runs, {measured['quiet']} raise no alert.\n"


def keys() -> str:
    """Return a block for each section of the help: key, action, effect. An action without a key is in the palette."""
    parts = []
    for section, actions in groupby(all_actions(), key=lambda action: action.section):
        rows = (f"{key_names(own.keys):<12}{own.id:<18}{_first_effect(own.help)}".strip() for own in actions)
        parts.append(f"## {section}\n\n```text\n" + "\n".join(rows) + "\n```\n")
    return "\n".join(parts)


def _first_effect(text: str) -> str:
    """Return the beginning of a help text that can be understood alone: "Pause the screen"."""
    effect = re.split(r"[;.] ", text)[0]
    short = effect.partition(": ")[0]
    effect = short if len(short.split()) > 3 else effect
    return effect.rpartition(", ")[0] or effect if len(effect.split()) > MOST_WORDS else effect


BLOCKS: dict[str, Callable[[], str]] = {
    "readable_formats": readable_formats,
    "unreadable_formats": unreadable_formats,
    "units": units,
    "concepts_of_panels": concepts_of_panels,
    "panels": panels,
    "rules": rules,
    "healthy_runs": healthy_runs,
    "keys": keys,
}


def main(arguments: Sequence[str]) -> int:
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text("utf-8")
        if (page := page_of(text)) != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(page, "utf-8")
    if stale and "--check" in arguments:
        print(f"not up to date: {', '.join(stale)}; run python docs/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
