"""Text of one sample as rows: its numbers and the messages, wrapped and folded; or the difference to another one."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value, thousands
from tuimon.draw.rows import row_width, wrap_text
from tuimon.model.views import Role, Row, Span
from tuimon.redact import redacted_text
from tuimon.samples import Sample, Turn
from tuimon.samples.difference import differences
from tuimon.samples.export import group_of, reference_text
from tuimon.samples.flags import NAMES, flags_of
from tuimon.samples.media import without_data_urls
from tuimon.samples.parts import SPECIAL, parts_of
from tuimon.samples.searching import Search, Spans
from tuimon.text import cell_width, clean

_MOST = 200_000
"""Characters of one message that are displayed; of a longer one the beginning and the end are."""
_LONG_PROMPT, _PROMPT_ROWS = 6, 3
"""A folded prompt or tool output of more rows than the first is cut to the second."""
_SAME_LINES = 2
"""Equal lines that are shown before and after a difference."""
_THINKING = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FOLDED = ("prompt", "user", "system", "tool", "function", "observation", "environment")
_ROLES = {"assistant": Role.GOOD, "user": Role.TITLE, "system": Role.MUTED, "thinking": Role.MUTED}


def sample_rows(
    sample: Sample, width: int, folded: bool, raw: bool, search: Search | None, label: str = ""
) -> list[Row]:
    """Return the rows of a sample. folded: cut long prompts and tool output; raw: the texts without any reading aid;
    label: label of its group in the list.

    Raises TooSlow.
    """
    rows: list[Row] = [(("─" * width, Role.AXIS),), *_numbers(sample, width, label)]
    if raw:
        sections = [Turn("prompt", sample.prompt or ""), Turn("response", sample.response)]
    else:
        sections = list(_sections(sample))
    for role, text, note in sections:
        body = _body(shown_text(text), width, search, raw)
        if folded and not raw and role.lower() in _FOLDED and len(body) > _LONG_PROMPT:
            more = thousands(len(body) - _PROMPT_ROWS)
            body = [*body[:_PROMPT_ROWS], ((f"▸ {more} more rows", Role.MUTED),)]
        rows += [(), _heading(role, text, note, width), *body]
    return rows


def difference_rows(first: Sample, second: Sample, width: int) -> list[Row]:
    """Return the rows of the difference between two responses: [-only in the first-], {+only in the second+}."""
    rows: list[Row] = [(("─" * width, Role.AXIS),)]
    for sign, role, sample in (("[-", Role.CRITICAL, first), ("{+", Role.GOOD, second)):
        step = "" if sample.step is None else f"step {sample.step}, "
        words = f" {step}reward {_number(sample.reward)}, {thousands(sample.length)} {sample.length_unit}"
        rows.append(((f" {sign}", role), (words, Role.TEXT)))
    if first.prompt != second.prompt:
        rows.append(((" the prompts differ", Role.WARNING),))
    rows.append(())
    line: list[Span] = []
    for kind, text in differences(shown_text(first.response), shown_text(second.response)):
        role = {"same": Role.MUTED, "removed": Role.CRITICAL, "added": Role.GOOD}[kind]
        before, after = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}[kind]
        parts = f"{before}{text}{after}".split("\n")
        if kind == "same" and len(parts) > 2 * _SAME_LINES + 1:
            skipped = thousands(len(parts) - 2 * _SAME_LINES)
            parts = [*parts[:_SAME_LINES], f"⋯ {skipped} equal lines ⋯", *parts[-_SAME_LINES:]]
        for index, part in enumerate(parts):
            if index:
                rows += _wrapped(line, width)
                line = []
            if part:
                line.append((clean(part.expandtabs(4), len(part) * 4 + 1), role))
    rows += _wrapped(line, width)
    return rows


def _wrapped(spans: list[Span], width: int) -> Iterator[Row]:
    """Wrap the spans of a line at `width` cells, after a blank where there is one."""
    left = list(spans)
    for piece in wrap_text("".join(part for part, _ in spans), width - 1):
        row: list[Span] = [(" ", Role.TEXT)]
        room = len(piece)
        while room and left:
            text, role = left.pop(0)
            if len(text) > room:
                left.insert(0, (text[room:], role))
            row.append((text[:room], role))
            room -= min(len(text), room)
        yield tuple(row)


def shown_text(text: str) -> str:
    """Return a text as it is displayed: secrets hidden, data URLs replaced, cut in the middle. It is not
    cleaned yet."""
    text = without_data_urls(text)
    if len(text) > _MOST:
        half = _MOST // 2
        text = f"{text[:half]}\n… {thousands(len(text) - _MOST)} characters are not displayed …\n{text[-half:]}"
    return redacted_text(text)


def _sections(sample: Sample) -> Iterator[Turn]:
    """Yield the messages, with the thinking inside a message as one of its own."""
    prompt, response = parts_of(sample)
    turns = sample.turns or (Turn("prompt", prompt), Turn("response", response, sample.note))
    for role, text, note in turns:
        end = 0
        for match in _THINKING.finditer(text) if role in ("assistant", "response") else ():
            if before := text[end : match.start()].strip("\n"):
                yield Turn(role, before)
            yield Turn("thinking", match[1].strip("\n"))
            end = match.end()
        if text or role == "response":
            yield Turn(role, text[end:].strip("\n") if end else text, note)


def _numbers(sample: Sample, width: int, label: str) -> Iterator[Row]:
    """Yield what the file says about a sample: numbers, flags, its error, and the right answer."""
    spans: list[Span] = [(" reward ", Role.MUTED), (_number(sample.reward), Role.VALUE)]
    for name, value in sample.components.items():
        spans.append((f"  {clean(name, 40)} {format_value(value)}", Role.TEXT))
    if sample.advantage is not None:
        spans.append((f"  advantage {format_value(sample.advantage)}", Role.TEXT))
    unit = "tokens" if sample.length_unit == "tokens" else "characters"
    spans.append((f"  {thousands(sample.length)} {unit}", Role.TEXT))
    if sample.truncated is not None:
        spans.append(("  truncated", Role.WARNING) if sample.truncated else ("  complete", Role.MUTED))
    if sample.group:
        name = clean(group_of(sample), 40)
        # A group without a name has only its number, as in the list. A name too long for the list is added.
        named = f" ({name})" if label and label != name and sample.group != sample.prompt else ""
        spans.append((f"  group {label or name}{named}", Role.MUTED))
    flags = flags_of(sample.response, sample.prompt)
    spans += [(f"  {name}", Role.WARNING) for bit, name in NAMES.items() if flags & bit]
    row: Row = ()
    for span in spans:
        if row and row_width((*row, span)) > width:
            yield row
            row = ()
        row = (*row, span)
    yield row
    if sample.error:
        yield ((" error  ", Role.MUTED), (clean(redacted_text(sample.error), 400), Role.CRITICAL))
    if sample.reference is not None:
        reference = clean(redacted_text(reference_text(sample.reference))[:200])
        yield ((" reference ", Role.MUTED), (reference, Role.TEXT))


def _number(value: float | None) -> str:
    return "unknown" if value is None else format_value(value)


def _heading(role: str, text: str, note: str, width: int) -> Row:
    title = f" {clean(role, 30)} "
    size = f" {clean(note)}{', ' * bool(note)}{thousands(len(text))} "
    return (
        ("─", Role.AXIS),
        (title, _ROLES.get(role, Role.ACCENT)),
        ("─" * max(1, width - cell_width(title) - len(size) - 3), Role.AXIS),
        (size, Role.MUTED),
        ("─", Role.AXIS),
    )


def _body(text: str, width: int, search: Search | None, raw: bool) -> list[Row]:
    """Return the rows of a text, with the matches of a search highlighted, else with special tokens dimmed."""
    pieces: list[str] = []
    for line in text.split("\n"):
        line = line if raw else line.expandtabs(4)
        pieces += wrap_text(clean(line, len(line) + 1), width - 1)
    if search is not None:
        return [_marked(piece, spans, Role.ACCENT) for piece, spans in zip(pieces, search.spans(pieces), strict=True)]
    found = ([] if raw else [match.span() for match in SPECIAL.finditer(piece)] for piece in pieces)
    return [_marked(piece, spans, Role.MUTED) for piece, spans in zip(pieces, found, strict=True)]


def _marked(text: str, places: Spans, role: Role) -> Row:
    """Return a row of text whose parts at some places have another role."""
    spans: list[Span] = [(" ", Role.TEXT)]
    end = 0
    for start, stop in places:
        spans += [(text[end:start], Role.TEXT), (text[start:stop], role)]
        end = stop
    return (*spans, (text[end:], Role.TEXT))
