"""What a role looks like. Series colours are those of Okabe and Ito, told apart by colour-blind eyes too
(https://jfly.uni-koeln.de/color/); colour is never the only carrier: labels, marks and numbers say the same.

No background is ever painted but for heat cells and the selection: the terminal's own shows through, and a repaint
costs half the bytes.
"""

from __future__ import annotations

from functools import cache

from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from tuimon.model.views import Role

_DARK = {
    Role.TEXT: "#d0d0d0",
    Role.TITLE: "bold #f2f2f2",
    Role.VALUE: "bold #ffffff",
    Role.MUTED: "#8a8a8a",
    Role.AXIS: "#808892",
    Role.GOOD: "#4cc38a",
    Role.WARNING: "#f2b84b",
    Role.CRITICAL: "bold #ff6b5e",
    Role.ACCENT: "bold #56b4e9",
    Role.SERIES_0: "#56b4e9",
    Role.SERIES_1: "#e69f00",
    Role.SERIES_2: "#2bbf95",
    Role.SERIES_3: "#dd8fbb",
    Role.SERIES_4: "#f0e442",
    Role.SERIES_5: "#6f8dff",
    Role.SERIES_6: "#ee7733",
    Role.SERIES_7: "#b0b0b0",
    Role.FAINT: "#4a5058",
    Role.HEAT_0: "#cfe3f2 on #14344d",
    Role.HEAT_1: "#e3f1fb on #1c5480",
    Role.HEAT_2: "#ffffff on #2a7ab0",
    Role.HEAT_3: "#20180a on #e0a63a",
    Role.HEAT_4: "#1c0d05 on #ee8434",
    Role.HEAT_5: "bold #ffffff on #c8322b",
}
_LIGHT = {
    Role.TEXT: "#303030",
    Role.TITLE: "bold #101010",
    Role.VALUE: "bold #000000",
    Role.MUTED: "#6a6a6a",
    Role.AXIS: "#6c747e",
    Role.GOOD: "#00744f",
    Role.WARNING: "#9a5b00",
    Role.CRITICAL: "bold #c01c12",
    Role.ACCENT: "bold #005a9c",
    Role.SERIES_0: "#0072b2",
    Role.SERIES_1: "#b35c00",
    Role.SERIES_2: "#007a57",
    Role.SERIES_3: "#a8447c",
    Role.SERIES_4: "#8a7a00",
    Role.SERIES_5: "#3a4fd0",
    Role.SERIES_6: "#c24a00",
    Role.SERIES_7: "#606060",
    Role.FAINT: "#c4c8cc",
    Role.HEAT_0: "#10364f on #dcebf7",
    Role.HEAT_1: "#0b2f49 on #b4d6ee",
    Role.HEAT_2: "#06263d on #7fb8e0",
    Role.HEAT_3: "#2b1c00 on #f4cf7a",
    Role.HEAT_4: "#2b1200 on #f3a35c",
    Role.HEAT_5: "bold #ffffff on #c8322b",
}
_ANSI = {
    Role.TEXT: "default",
    Role.TITLE: "bold default",
    Role.VALUE: "bold default",
    Role.MUTED: "bright_black",
    Role.AXIS: "bright_black",
    Role.GOOD: "green",
    Role.WARNING: "yellow",
    Role.CRITICAL: "bold red",
    Role.ACCENT: "bold cyan",
    Role.SERIES_0: "cyan",
    Role.SERIES_1: "yellow",
    Role.SERIES_2: "green",
    Role.SERIES_3: "magenta",
    Role.SERIES_4: "bright_yellow",
    Role.SERIES_5: "blue",
    Role.SERIES_6: "bright_red",
    Role.SERIES_7: "default",
    Role.FAINT: "bright_black",
    Role.HEAT_0: "default",
    Role.HEAT_1: "cyan",
    Role.HEAT_2: "bright_cyan",
    Role.HEAT_3: "yellow",
    Role.HEAT_4: "bright_red",
    Role.HEAT_5: "bold reverse red",
}
THEMES = {"dark": _DARK, "light": _LIGHT, "ansi": _ANSI}


@cache
def style(theme: str, role: Role) -> Style:
    """The style of a role. Never None: a segment without a style ends Textual under NO_COLOR."""
    return Style.parse(THEMES[theme][role])


def on_paper(svg: str, theme: str) -> str:
    """A screenshot with the background that its theme is made for; Textual's own is always dark."""
    if theme != "light":
        return svg
    background, foreground = SVG_EXPORT_THEME.background_color.hex, SVG_EXPORT_THEME.foreground_color.hex
    return svg.replace(background, "#ffffff").replace(foreground, "#303030").replace("rgba(255,255,255", "rgba(0,0,0")
