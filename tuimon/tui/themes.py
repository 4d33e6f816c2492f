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

from rich.color import ColorType, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.errors import StyleSyntaxError
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, Role, Row

_NAME = re.compile(r"(?<!\S)\S*[^\W_ovx](?:.*[\w…]\S*)?")
"""From the first word with a letter or digit to the last; o, v and x are also marks in ASCII."""

_STYLES: dict[str, dict[Role, str]] = {
    "dark": {
        Role.TEXT: "#d0d0d0",
        Role.TITLE: "bold #f2f2f2",
        Role.VALUE: "bold #ffffff",
        Role.MUTED: "#9a9a9a",
        Role.AXIS: "#98a0aa",
        Role.GOOD: "#4cc38a",
        Role.WARNING: "#f2b84b",
        Role.CRITICAL: "bold #ff6b5e",
        Role.ACCENT: "bold #56b4e9",
        Role.FAINT: "#4a5058",
        Role.HEAT_0: "#cfe3f2 on #14344d",
        Role.HEAT_1: "#e3f1fb on #1c5480",
        Role.HEAT_2: "#ffffff on #1f6a9e",
        Role.HEAT_3: "#20180a on #e0a63a",
        Role.HEAT_4: "#1c0d05 on #ee8434",
        Role.HEAT_5: "bold #ffffff on #af1f1a",
    },
    "light": {
        Role.TEXT: "#303030",
        Role.TITLE: "bold #101010",
        Role.VALUE: "bold #000000",
        Role.MUTED: "#626262",
        Role.AXIS: "#5c646e",
        Role.GOOD: "#005f00",
        Role.WARNING: "#875f00",
        Role.CRITICAL: "bold #b81810",
        Role.ACCENT: "bold #005a9c",
        Role.FAINT: "#c4c8cc",
        Role.HEAT_0: "#10364f on #dcebf7",
        Role.HEAT_1: "#0b2f49 on #b4d6ee",
        Role.HEAT_2: "#06263d on #7fb8e0",
        Role.HEAT_3: "#2b1c00 on #f4cf7a",
        Role.HEAT_4: "#2b1200 on #f3a35c",
        Role.HEAT_5: "bold #ffffff on #af1f1a",
    },
    "contrast": {
        Role.TEXT: "#ffffff",
        Role.TITLE: "bold #ffffff",
        Role.VALUE: "bold #ffffff",
        Role.MUTED: "#d8d8d8",
        Role.AXIS: "#d8d8d8",
        Role.GOOD: "#5fd787",
        Role.WARNING: "#ffd75f",
        Role.CRITICAL: "bold #ffa097",
        Role.ACCENT: "bold #8ad4ff",
        Role.FAINT: "#808080",
        Role.HEAT_0: "#ffffff on #0a2236",
        Role.HEAT_1: "#ffffff on #10395c",
        Role.HEAT_2: "#ffffff on #175a8a",
        Role.HEAT_3: "#000000 on #e0a63a",
        Role.HEAT_4: "#000000 on #ee8434",
        Role.HEAT_5: "bold #ffffff on #901010",
    },
    "contrast-light": {
        Role.TEXT: "#000000",
        Role.TITLE: "bold #000000",
        Role.VALUE: "bold #000000",
        Role.MUTED: "#303030",
        Role.AXIS: "#303030",
        Role.GOOD: "#004d2f",
        Role.WARNING: "#5c3000",
        Role.CRITICAL: "bold #af0000",
        Role.ACCENT: "bold #00407a",
        Role.FAINT: "#909090",
        Role.HEAT_0: "#000000 on #e6f1fa",
        Role.HEAT_1: "#000000 on #b4d6ee",
        Role.HEAT_2: "#000000 on #7fb8e0",
        Role.HEAT_3: "#000000 on #f4cf7a",
        Role.HEAT_4: "#000000 on #f3a35c",
        Role.HEAT_5: "bold #ffffff on #901010",
    },
    # Each holds on black and on white: text in yellow, green or cyan cannot be read on white, blue not on black.
    "ansi": {
        Role.TEXT: "default",
        Role.TITLE: "bold default",
        Role.VALUE: "bold default",
        Role.MUTED: "default",
        Role.AXIS: "default",
        Role.GOOD: "default",
        Role.WARNING: "black on yellow",
        Role.CRITICAL: "bold bright_white on red",
        Role.ACCENT: "bold reverse default",
        Role.FAINT: "bright_black",
        Role.HEAT_0: "default",
        Role.HEAT_1: "bright_white on blue",
        Role.HEAT_2: "black on cyan",
        Role.HEAT_3: "black on yellow",
        Role.HEAT_4: "bright_white on magenta",
        Role.HEAT_5: "bold bright_white on red",
    },
}
_STYLES["ansi-dark"] = _STYLES["ansi"] | {
    Role.GOOD: "green",
    Role.WARNING: "yellow",
    Role.ACCENT: "bold bright_cyan",
}
_STYLES["ansi-light"] = _STYLES["ansi"] | {
    Role.CRITICAL: "bold red",
    Role.ACCENT: "bold blue",
}
_CURVES_ON_DARK = "#5fafd7 #ffaf00 #5fffaf #ffd7ff #d7ff5f #8787ff #ff875f #af8787"
_CURVES_ON_LIGHT = "#005fff #af5f00 #00875f #5f005f #d700af #0000af #870000 #3a3a3a"
_CURVES = {
    "dark": _CURVES_ON_DARK,
    "light": _CURVES_ON_LIGHT,
    "contrast": _CURVES_ON_DARK,
    "contrast-light": _CURVES_ON_LIGHT,
    "ansi": "bright_blue red default bright_black magenta bright_red bright_magenta default",
    "ansi-dark": "bright_cyan bright_yellow bright_magenta bright_red cyan bright_black bright_green bright_blue",
    "ansi-light": "blue magenta default bright_red bright_black bright_blue bright_magenta red",
}
"""Theme → colours of SERIES_ROLES."""
for _theme, _colours in _CURVES.items():
    _STYLES[_theme] |= zip(SERIES_ROLES, _colours.split(), strict=True)
for _styles in _STYLES.values():  # text in the colour of the background, on the accent: seen without colours, too
    _styles[Role.SELECTED] = f"{_styles[Role.ACCENT].replace('reverse ', '')} reverse"
LIGHT = ("light", "contrast-light", "ansi-light")
"""Themes for a light background."""


_CURVE_OF = dict(zip(DIM_ROLES, SERIES_ROLES, strict=True))
"""Role of raw values → role of their curve."""


def _dim(curve: str, theme: str) -> str:
    """Return the style of the raw values behind a curve of this style: its colour mixed with the background until the
    contrast is 2, or 3 in themes of high contrast; the attribute "dim" for colours of the terminal."""
    color = Style.parse(curve).color
    if color is None or color.triplet is None:
        return f"dim {curve}"
    paper = ColorTriplet(255, 255, 255) if theme in LIGHT else ColorTriplet(30, 30, 30)
    wanted = 3.0 if theme.startswith("contrast") else 2.0
    mixed = (blend_rgb(paper, color.triplet, percent / 100) for percent in range(100))
    return next((mix.hex for mix in mixed if _contrast(mix, paper) >= wanted), color.triplet.hex)


def _contrast(first: ColorTriplet, second: ColorTriplet) -> float:
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(map(_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: ColorTriplet) -> float:
    linear = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in color.normalized)
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


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
        dims = {dim: curve for dim, curve in _CURVE_OF.items() if curve in given or dim not in styles}
        styles |= {dim: _dim(styles[curve], base) for dim, curve in dims.items() if dim not in given}
        _STYLES[name] = styles
    style.cache_clear()
    terminal_colours.cache_clear()


@cache
def style(theme: str, role: Role) -> Style:
    """Return the style of a role; never None, since Textual fails on a segment without a style under NO_COLOR. The
    theme may be one that the user has removed from the settings."""
    styles = _STYLES.get(theme, _STYLES["dark"])
    return Style.parse(styles[role] if role in styles else _dim(styles[_CURVE_OF[role]], theme))


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
