"""Test that every theme can be read, also by colour-blind people and in a terminal of few colours."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from rich._palettes import EIGHT_BIT_PALETTE
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet

from tuimon import config
from tuimon.errors import UsageError
from tuimon.model.views import DIM_ROLES, HEAT_ROLES, SERIES_ROLES, Role
from tuimon.tui import themes
from tuimon.tui.box import segments

BACKGROUNDS = {
    "dark": ("#000000", "#1e1e1e"),
    "light": ("#ffffff",),
    "contrast": ("#000000", "#1e1e1e"),
    "contrast-light": ("#ffffff",),
    "ansi": ("#000000", "#ffffff"),
    "ansi-dark": ("#000000", "#1e1e1e"),
    "ansi-light": ("#ffffff",),
}
XTERM_16 = (
    *("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"),
    *("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
)
"""Colours of xterm, from its resource file XTerm-col.ad."""
# Matrices of severity 1.0 for linear RGB; source: Machado, Oliveira and Fernandes (2009), table 1.
VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def shown(color: Color, theme: str, colours: int) -> ColorTriplet:
    """Return a colour as a terminal with this number of colours shows it."""
    if theme.startswith("ansi"):
        assert color.number is not None, "only the colours of the terminal"
        assert color.number < 16
        return Color.parse(XTERM_16[color.number]).get_truecolor()
    if colours == 256:
        number = color.downgrade(ColorSystem.EIGHT_BIT).number
        return EIGHT_BIT_PALETTE[number]
    return color.get_truecolor()


def linear(color: ColorTriplet) -> np.ndarray:
    """Return linear RGB from sRGB (IEC 61966-2-1)."""
    values = np.array(color) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(first: ColorTriplet, second: ColorTriplet) -> float:
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(float(linear(color) @ (0.2126, 0.7152, 0.0722)) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(color: ColorTriplet, vision: str) -> np.ndarray:
    """Return CIE L*a*b* (D65) of a colour as seen with a kind of vision."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(VISION[vision] @ linear(color), 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_contrast(theme: str, role: Role, colours: int) -> float:
    style = themes.style(theme, role)
    if style.color.is_default:  # readable on the terminal's own background, or reversed
        assert style.bgcolor is None
        return 21.0
    backgrounds = [Color.parse(name).get_truecolor() for name in BACKGROUNDS[theme]]
    if style.bgcolor is not None:
        backgrounds = [shown(style.bgcolor, theme, colours)]
    return min(contrast(shown(style.color, theme, colours), background) for background in backgrounds)


@pytest.mark.parametrize("colours", [256, 1 << 24])
@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_text_and_curves_have_enough_contrast(theme: str, colours: int) -> None:
    """Names are text in the colours of curves, except in those of the terminal, see test_names_in_16_colours."""
    text, curve = 7.0 if theme.startswith("contrast") else 4.5, 3.0 if theme.startswith("ansi") else 4.5
    assert themes.terminal_colours(theme) == (set(SERIES_ROLES) if theme.startswith("ansi") else set())
    if colours == 256:  # the darkest yellow of the palette has 6.7 on white
        text = min(text, 6.5)
    low = {
        str(role): round(ratio, 2)
        for role in Role
        if role is not Role.FAINT
        and role not in DIM_ROLES
        and (ratio := least_contrast(theme, role, colours)) < (curve if role in SERIES_ROLES else text)
    }
    assert not low


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "contrast-light"])
def test_raw_values_are_seen_and_are_fainter_than_their_curve(theme: str) -> None:
    """Both in the colour of the curve: of all curves, its own is the nearest in hue."""
    hues = {}
    for role in (*SERIES_ROLES, *DIM_ROLES):
        color = themes.style(theme, role).color
        _, a, b = lab(color.get_truecolor(), "usual")
        hues[role] = a, b
    for dim, curve in zip(DIM_ROLES, SERIES_ROLES, strict=True):
        raw, smooth = least_contrast(theme, dim, 1 << 24), least_contrast(theme, curve, 1 << 24)
        assert raw >= (3.0 if theme.startswith("contrast") else 2.0)
        assert smooth >= 1.4 * raw, dim
        assert least_contrast(theme, dim, 256) > 1.5
        chroma = math.hypot(*hues[dim]), math.hypot(*hues[curve])
        assert max(chroma) < 1 or np.dot(hues[dim], hues[curve]) > 0.8 * math.prod(chroma), dim  # greys have no hue


@pytest.mark.parametrize("theme", ["ansi", "ansi-dark", "ansi-light"])
def test_raw_values_have_the_dim_colour_of_their_curve_in_the_colours_of_the_terminal(theme: str) -> None:
    for dim, curve in zip(DIM_ROLES, SERIES_ROLES, strict=True):
        raw = themes.style(theme, dim)
        assert (raw.dim, raw.color) == (True, themes.style(theme, curve).color)


DISTINCT = {"ansi": 4, "ansi-light": 5, "ansi-dark": 6}
"""Theme → number of curves, from the first, whose colours differ for all; 8 in other themes."""


def shades(theme: str, role: Role, colours: int) -> list[ColorTriplet]:
    """Return the colours that a role may have: the foreground of the terminal is unknown."""
    color = themes.style(theme, role).color
    if not color.is_default:
        return [shown(color, theme, colours)]
    names = {"ansi": ("#000000", "#e5e5e5", "#ffffff"), "ansi-light": ("#000000",)}[theme]
    return [Color.parse(name).get_truecolor() for name in names]


def least_difference(theme: str, first: Role, second: Role, vision: str, colours: int) -> float:
    pairs = itertools.product(shades(theme, first, colours), shades(theme, second, colours))
    return min(float(np.linalg.norm(lab(one, vision) - lab(other, vision))) for one, other in pairs)


@pytest.mark.parametrize("colours", [256, 1 << 24])
@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_curves_can_be_distinguished(theme: str, vision: str, colours: int) -> None:
    """A difference of 2.3 is just noticeable side by side (Sharma, Digital Color Imaging Handbook)."""
    count = DISTINCT.get(theme, 8) if vision != "usual" else 7 if theme == "ansi" else 8
    pairs = itertools.combinations(SERIES_ROLES[:count], 2)
    distances = {pair: least_difference(theme, *pair, vision, colours) for pair in pairs}
    assert not {pair: distance for pair, distance in distances.items() if distance < 15}


@pytest.mark.parametrize("colours", [256, 1 << 24])
@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_alerts_differ_from_curves(theme: str, colours: int) -> None:
    """Alerts on a background of their own do in any case."""
    alerts = [role for role in (Role.WARNING, Role.CRITICAL, Role.GOOD) if not themes.style(theme, role).bgcolor]
    alerts = [role for role in alerts if (color := themes.style(theme, role).color) and not color.is_default]
    pairs = itertools.product(alerts, SERIES_ROLES[: DISTINCT.get(theme, 8)])
    distances = {pair: least_difference(theme, *pair, "usual", colours) for pair in pairs}
    assert not {pair: distance for pair, distance in distances.items() if distance < 15}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("● reward (val) 0.5  ", ("● ", "reward (val) 0.5", "  ")),
        ("o output", ("o ", "output")),
        ("███ rollout ▉▉", ("███ ", "rollout", " ▉▉")),
        ("● pos x …", ("● ", "pos x …")),
        ("■ 报酬", ("■ ", "报酬")),
        ("step 3 ", ("step 3", " ")),
        ("⠁⠂  ●⡇", ("⠁⠂  ●⡇",)),
        ("'o  oo v| xx", ("'o  oo v| xx",)),
    ],
)
def test_names_in_16_colours(text: str, parts: tuple[str, ...]) -> None:
    """They are in the plain foreground after a mark in the colour of the curve."""
    plain = themes.style("ansi-light", Role.TEXT)
    assert plain.color.is_default
    pieces = segments(((text, Role.SERIES_1),), "ansi-light")
    assert tuple(piece.text for piece in pieces) == parts
    coloured = themes.style("ansi-light", Role.SERIES_1)
    assert [piece.style == plain for piece in pieces] == [any(c.isalnum() and c not in "ovx" for c in p) for p in parts]
    assert all(piece.style in (plain, coloured) for piece in pieces)
    assert [piece.text for piece in segments(((text, Role.SERIES_1),), "light")] == [text]


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_levels_of_heat_differ(theme: str) -> None:
    assert len({themes.style(theme, role) for role in HEAT_ROLES}) == len(HEAT_ROLES)


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_a_blank_is_never_reversed(theme: str) -> None:
    blank, cursor = segments(((" ", Role.ACCENT), ("▌", Role.ACCENT)), theme)
    assert not blank.style.reverse
    assert blank.style.bgcolor is None or blank.style.bgcolor.is_default
    assert cursor.style == themes.style(theme, Role.ACCENT)


def test_there_is_a_test_for_each_theme() -> None:
    assert set(BACKGROUNDS) == set(config.THEMES) - {"auto"} == set(themes.names())


@pytest.fixture
def kept_themes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(themes, "_STYLES", dict(themes._STYLES))


def settings(tmp_path: Path, text: str) -> config.Settings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return config.load({"TUIMON_CONFIG": str(path)})


@pytest.mark.usefixtures("kept_themes")
def test_theme_of_the_user_extends_another(tmp_path: Path) -> None:
    loaded = settings(tmp_path, 'theme = "mine"\n[themes.mine]\nbase = "light"\nseries-0 = "bold #0000ff"\n')
    assert loaded.theme == "mine"
    themes.define(loaded.themes, "config.toml")
    assert themes.style("mine", Role.SERIES_0) == themes.Style.parse("bold #0000ff")
    dims = [themes.style("mine", role).color for role in DIM_ROLES]
    assert dims[1:] == [themes.style("light", role).color for role in DIM_ROLES[1:]]
    assert (dims[0], themes.style("mine", Role.DIM_0).dim) == (themes.style("mine", Role.SERIES_0).color, True)
    assert themes.style("mine", Role.TEXT) == themes.style("light", Role.TEXT)
    assert themes.names()[-1] == "mine"


@pytest.mark.usefixtures("kept_themes")
@pytest.mark.parametrize(
    ("styles", "words"),
    [
        ({"base": "pink"}, "unknown base 'pink'"),
        ({"colour": "red"}, "unknown role 'colour'"),
        ({"title": "bold as love"}, "invalid style 'bold as love'"),
    ],
)
def test_invalid_theme_is_reported_with_its_place(styles: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        themes.define({"mine": styles}, "config.toml")
    assert str(raised.value).startswith("config.toml: themes.mine")


@pytest.mark.parametrize("text", ['theme = "mine"', "[themes]\nmine = 1", "[themes.mine]\ntitle = 1"])
def test_invalid_themes_in_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="theme"):
        settings(tmp_path, text)


def test_removed_theme_is_drawn_as_dark() -> None:
    assert themes.style("removed", Role.TITLE) == themes.style("dark", Role.TITLE)
