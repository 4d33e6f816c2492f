"""Text of one sample as rows: its numbers, the answer check, and the messages, wrapped and folded."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value, thousands
from tuimon.model.views import Role, Row, Span
from tuimon.redact import redacted_text
from tuimon.samples import Sample, Turn
from tuimon.samples.answers import agrees, answer_of
from tuimon.samples.difference import differences
from tuimon.samples.export import group_of, reference_text
from tuimon.samples.flags import NAMES, flags_of
from tuimon.samples.media import without_data_urls
from tuimon.samples.parts import parts_of
from tuimon.samples.searching import Search, Spans
from tuimon.text import cell_width, clean

FOLDS = ("long prompts and tool output are folded", "thinking is folded, too", "nothing is folded")
_MOST = 200_000
"""Characters of one message that are displayed; of a longer one the beginning and the end are."""
_LONG_PROMPT, _PROMPT_ROWS = 6, 3
"""A folded prompt or tool output of more rows than the first is cut to the second."""
_SAME_LINES = 2
"""Equal lines that are shown before and after a difference."""
_THINKING = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_TOOLS = ("tool", "function", "observation", "environment")
_ROLES = {"assistant": Role.GOOD, "user": Role.TITLE, "system": Role.MUTED, "thinking": Role.MUTED}
_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:pad|eos|bos)>")


def sample_rows(sample: Sample, width: int, fold: int, raw: bool, search: Search | None, label: str = "") -> list[Row]:
    """Return the rows of a sample. fold: index in FOLDS; raw: the texts without any reading aid, and no folding; label:
    label of its group in the list.

    Raises TooSlow.
    """
    rows = [(("─" * width, Role.AXIS),), *_numbers(sample, width, label), *_answer(sample)]
    if raw:
        sections = [Turn("prompt", sample.prompt or ""), Turn("response", sample.response)]
    else:
        sections = list(_sections(sample))
    for role, text, note in sections:
        rows += [(), _heading(role, text, note, width)]
        shown = shown_text(text)
        body = list(_body(shown, width, search, raw))
        foldable = role.lower() in _TOOLS or role in ("prompt", "user", "system")
        if fold < 2 and not raw and (role == "thinking" and fold == 1):
            body = [((f"▸ {thousands(len(text))} characters folded", Role.MUTED),)]
        elif fold < 2 and not raw and foldable and len(body) > _LONG_PROMPT:
            more = len(body) - _PROMPT_ROWS
            body = [*body[:_PROMPT_ROWS], ((f"▸ {thousands(more)} more rows", Role.MUTED),)]
        rows += body
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
                rows += _wrapped_spans(line, width)
                line = []
            if part:
                line.append((clean(part.expandtabs(4), len(part) * 4 + 1), role))
    rows += _wrapped_spans(line, width)
    return rows


def _wrapped_spans(spans: list[Span], width: int) -> Iterator[Row]:
    """Wrap the spans of a line at `width` cells, after a blank where there is one."""
    text = "".join(part for part, _ in spans)
    roles = [(len(part), role) for part, role in spans]
    for piece in wrap_text(text, width - 1):
        row: list[Span] = [(" ", Role.TEXT)]
        left = len(piece)
        start = 0
        while left and roles:
            size, role = roles[0]
            taken = min(size, left)
            row.append((piece[start : start + taken], role))
            start, left = start + taken, left - taken
            roles[0] = (size - taken, role)
            if size == taken:
                roles.pop(0)
        yield tuple(row)


def shown_text(text: str) -> str:
    """Return a text as it is displayed and copied: secrets hidden, data URLs replaced, cut in the middle. It is not
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
        if role not in ("assistant", "response") or "<think" not in text:
            if text or role == "response":
                yield Turn(role, text, note)
            continue
        end = 0
        for match in _THINKING.finditer(text):
            if before := text[end : match.start()].strip("\n"):
                yield Turn(role, before)
            yield Turn("thinking", match[1].strip("\n"))
            end = match.end()
        yield Turn(role, text[end:].strip("\n"), note)


def _numbers(sample: Sample, width: int, label: str) -> Iterator[Row]:
    spans: list[Span] = [(" reward ", Role.MUTED), (_number(sample.reward), Role.VALUE)]
    for name, value in sample.components.items():
        spans.append((f"  {clean(name, 40)} {format_value(value)}", Role.TEXT))
    if sample.advantage is not None:
        spans.append((f"  advantage {format_value(sample.advantage)}", Role.TEXT))
    unit = "tokens" if sample.length_unit == "tokens" else "characters"
    spans.append((f"  {thousands(sample.length)} {unit}", Role.TEXT))
    truncated = {True: ("  truncated", Role.WARNING), False: ("  complete", Role.MUTED)}
    if sample.truncated is not None:
        spans.append(truncated[sample.truncated])
    if sample.group:
        name = clean(group_of(sample), 40)
        # A group without a name has only its number, as in the list. A name too long for the list is added.
        named = f" ({name})" if label and label != name and sample.group != sample.prompt else ""
        spans.append((f"  group {label or name}{named}", Role.MUTED))
    flags = flags_of(sample.response, sample.prompt)
    spans += [(f"  {name}", Role.WARNING) for bit, name in NAMES.items() if flags & bit]
    yield from _wrapped(spans, width)
    if sample.error:
        yield ((" error  ", Role.MUTED), (clean(redacted_text(sample.error), 400), Role.CRITICAL))


def _answer(sample: Sample) -> Iterator[Row]:
    if sample.reference is None:
        return
    answer = answer_of(parts_of(sample)[1], sample.reference)
    same = agrees(answer, sample.reference)
    reference = clean(redacted_text(reference_text(sample.reference))[:200])
    spans: list[Span] = [(" reference ", Role.MUTED), (reference, Role.TEXT)]
    if answer is not None and same is not None:
        spans += [("  answer ", Role.MUTED), (clean(answer, 200), Role.GOOD if same else Role.WARNING)]
        if same and sample.reward is not None and sample.reward <= 0:
            spans.append(("  equal, but the reward is not above 0", Role.WARNING))
        elif not same and sample.reward is not None and sample.reward >= 1:
            spans.append(("  different, but the reward is 1", Role.WARNING))
    yield tuple(spans)


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


def _body(text: str, width: int, search: Search | None, raw: bool) -> Iterator[Row]:
    pieces: list[str] = []
    for line in text.split("\n"):
        line = line if raw else line.expandtabs(4)
        pieces += wrap_text(clean(line, len(line) + 1), width - 1)
    found: list[Spans] = search.spans(pieces) if search else [[]] * len(pieces)
    for piece, spans in zip(pieces, found, strict=True):
        yield ((" ", Role.TEXT), *_marked(piece, spans, raw))


def _marked(text: str, found: Spans, raw: bool) -> Iterator[Span]:
    """Yield the text with the matches of a search highlighted and special tokens dimmed."""
    marks = [(start, end, Role.ACCENT) for start, end in found]
    if not raw and not marks and "<" in text:
        marks = [(match.start(), match.end(), Role.MUTED) for match in _SPECIAL.finditer(text)]
    end = 0
    for start, stop, role in marks:
        if stop > start:
            yield text[end:start], Role.TEXT
            yield text[start:stop], role
            end = stop
    yield text[end:], Role.TEXT


def wrap_text(text: str, width: int) -> list[str]:
    """Split cleaned text into pieces of at most `width` cells, after a blank where there is one."""
    width = max(width, 2)
    if cell_width(text) <= width if len(text) < 4 * width else False:
        return [text]
    pieces: list[str] = []
    start, ascii_only = 0, text.isascii()
    while start < len(text):
        end = start + width
        if not ascii_only:
            end = _fitting(text, start, width)
        if end < len(text):
            blank = text.rfind(" ", start + 1, end)
            if blank > start + width // 2:
                end = blank + 1
        pieces.append(text[start:end])
        start = end
    return pieces or [""]


def _fitting(text: str, start: int, width: int) -> int:
    """Return the end of the longest piece from `start` on that has at most `width` cells."""
    end = min(len(text), start + width)
    used = cell_width(text[start:end])
    while used > width:
        end -= 1
        used -= cell_width(text[end])
    while end < len(text) and used + cell_width(text[end]) <= width:
        used += cell_width(text[end])
        end += 1
    return max(end, start + 1)


def _wrapped(spans: list[Span], width: int) -> Iterator[Row]:
    row: list[Span] = []
    used = 0
    for text, role in spans:
        wide = cell_width(text)
        if row and used + wide > width:
            yield tuple(row)
            row, used = [], 0
        row.append((text, role))
        used += wide
    yield tuple(row)
