"""A sample as Markdown, with secrets hidden."""

from __future__ import annotations

import json
from typing import Any

from tuimon.redact import redacted_text
from tuimon.samples import Sample
from tuimon.samples.library import digest
from tuimon.samples.media import without_data_urls
from tuimon.text import clean


def group_of(sample: Sample) -> str:
    """Return the group; a prompt is replaced by its digest."""
    return digest(sample.group) if sample.group and sample.group == sample.prompt else sample.group


def as_markdown(sample: Sample) -> str:
    """Return a sample as a section of Markdown; the texts are fenced and cleaned."""
    step = "" if sample.step is None else f"step {sample.step}, "
    reward = "unknown" if sample.reward is None else f"{sample.reward:.6g}"
    parts = "".join(f", {clean(name)} {value:.6g}" for name, value in sample.components.items())
    lines = [f"### {step}reward {reward}{parts}", ""]
    texts = [("prompt", sample.prompt), ("response", sample.response)]
    if sample.reference is not None:
        texts.append(("reference", reference_text(sample.reference)))
    for name, text in texts:
        if text is not None:
            lines += [f"{name.capitalize()}:", "", *_fenced(text), ""]
    return "\n".join(lines) + "\n"


def reference_text(reference: Any) -> str:
    """Return a reference as text."""
    return reference if isinstance(reference, str) else json.dumps(reference, ensure_ascii=False, default=str)


def shown_lines(text: str) -> list[str]:
    """Return the cleaned lines of a text, with secrets hidden and data URLs replaced."""
    return [clean(line, len(line) + 1) for line in redacted_text(without_data_urls(text)).split("\n")]


def _fenced(text: str) -> list[str]:
    lines = shown_lines(text)
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [fence, *lines, fence]
