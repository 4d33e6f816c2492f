"""Styles of the roles, by theme.

The colours of curves are also those of names. They are fixed colours of the palette of 256, so that terminals with 256
and with 16 million colours show the same. They differ in lightness, too: they were chosen by a search for the largest
smallest distance in CIE L*a*b* of any two of them, as seen with and without each kind of dichromacy, among those of
enough contrast for text. The colours of a terminal with 16 are not enough for that: the first of them differ for all
(six in ansi-dark, five in ansi-light, four in ansi), and names are drawn in the plain foreground after a coloured mark.
tests/tui/test_themes.py computes distances and contrasts. Colour is never the only carrier: labels, marks and numbers
say the same.

Only heat cells, the title of the selected panel and warnings in 16 colours have a background; elsewhere the background
of the terminal shows, which halves the bytes of a repaint.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rich.color import ColorType
from rich.errors import StyleSyntaxError
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, Role, Row
from tuimon.text_tables import table_rows

_NAME = re.compile(r"(?<!\S)\S*[^\W_ovx](?:.*[\w…]\S*)?")
"""From the first word with a letter or digit to the last; o, v and x are also marks in ASCII."""


def _read_table() -> dict[str, dict[Role, str]]:
    head, *rows = table_rows(__file__, "themes.txt")
    return {theme: {Role(row[0]): row[column] for row in rows} for column, theme in enumerate(head) if column}


_STYLES = _read_table()
"""Theme → role → style; also the themes of the user."""
LIGHT = ("light", "contrast-light", "ansi-light")
"""Themes for a light background."""
_CURVE_OF = dict(zip(DIM_ROLES, SERIES_ROLES, strict=True))
"""Role of raw values → role of their curve."""


def names() -> tuple[str, ...]:
    """Return the names of the themes, including those of the user."""
    return tuple(_STYLES)


def define(themes: Mapping[str, Mapping[str, str]], where: str) -> None:
    """Add the themes of the user: name → role → style, and `base`, the theme of the roles that are not given.

    Raise UsageError, which names the file `where`, for an unknown role or base or an invalid style.
    """
    for name, given in themes.items():
        base = given.get("base", "dark")
        if base not in _STYLES:
            raise UsageError(f"{where}: themes.{name}: unknown base {base!r}", f"The themes are: {', '.join(_STYLES)}.")
        styles = dict(_STYLES[base])
        for role, text in given.items():
            if role == "base":
                continue
            try:
                Style.parse(text)
                styles[Role(role)] = text
            except StyleSyntaxError as error:
                example = 'A style is "bold #56b4e9", "red" or "black on yellow".'
                raise UsageError(f"{where}: themes.{name}.{role}: invalid style {text!r}", example) from error
            except ValueError as error:
                raise UsageError(
                    f"{where}: themes.{name}: unknown role {role!r}", f"The roles are: {', '.join(Role)}."
                ) from error
        dims = {dim: curve for dim, curve in _CURVE_OF.items() if curve in given and dim not in given}
        styles |= {dim: f"dim {styles[curve]}" for dim, curve in dims.items()}
        _STYLES[name] = styles
    style.cache_clear()
    terminal_colours.cache_clear()


@cache
def style(theme: str, role: Role) -> Style:
    """Return the style of a role; never None, since Textual fails on a segment without a style under NO_COLOR. The
    theme may be one that the user has removed from the settings."""
    return Style.parse(_STYLES.get(theme, _STYLES["dark"])[role])


@cache
def terminal_colours(theme: str) -> frozenset[Role]:
    """Return the roles of curves that a theme draws in one of the 16 colours of the terminal or in its foreground."""
    of_terminal = (ColorType.DEFAULT, ColorType.STANDARD)
    colours = {role: style(theme, role).color for role in SERIES_ROLES}
    return frozenset(role for role, color in colours.items() if color is None or color.type in of_terminal)


def parts(row: Row, theme: str) -> Row:
    """Return a row as a theme draws it.

    - Names are in the plain foreground after a coloured mark where the theme has the 16 colours of the terminal.
    - The place of a cursor that is elsewhere is not reversed.
    """
    if marked := terminal_colours(theme):
        row = tuple(part for span in row for part in (_plain_name(*span) if span[1] in marked else (span,)))
    return tuple((text, Role.TEXT if role is Role.ACCENT and text.isspace() else role) for text, role in row)


def _plain_name(text: str, role: Role) -> Row:
    """Return a span with its name, if it has one, in the foreground colour: "● reward", "███ rollout ███"."""
    if (match := _NAME.search(text)) is None:
        return ((text, role),)
    start, end = match.span()
    return tuple(part for part in ((text[:start], role), (text[start:end], Role.TEXT), (text[end:], role)) if part[0])


def on_paper(svg: str, theme: str) -> str:
    """Return a screenshot with the background of its theme; Textual always uses a dark one."""
    if theme not in LIGHT:
        return svg
    background, foreground = SVG_EXPORT_THEME.background_color.hex, SVG_EXPORT_THEME.foreground_color.hex
    return svg.replace(background, "#ffffff").replace(foreground, "#303030").replace("rgba(255,255,255", "rgba(0,0,0")
