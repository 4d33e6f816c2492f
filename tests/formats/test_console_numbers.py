"""Numbers of console text in every notation: each is read whole or not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder

HEADS = ("step {}: ", "[{:03}/099] ", "Epoch {}/99 - ", "{} | ", "Iter {}, ")
BEFORE = ("name {}", "name: {}", "name={}", "{} name/s", "name {} img/s", "name: {} tok/s", "({} name/s)")
JOINTS = (" ", " | ", ", ", " - ")


def read(text: str) -> dict[str, list[tuple[int, float]]]:
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    return {name: [(step, float(value)) for step, value in points] for name, points in metrics.items()}


@st.composite
def printed(draw: st.DrawFn) -> tuple[str, float]:
    """A number in one of many notations, and its value."""
    whole = draw(st.integers(0, 10**9))
    fraction = draw(st.integers(0, 999))
    notation = draw(st.sampled_from(("comma", "comma and point", "quote", "underscore", "factor", "exponent", "times")))
    if notation == "comma":
        return f"{whole:,}", whole
    if notation == "comma and point":
        return f"{whole:,}.{fraction}", float(f"{whole}.{fraction}")
    if notation == "quote":
        return f"{whole:,}".replace(",", "'"), whole
    if notation == "underscore":
        return f"{whole:_}", whole
    small = whole % 1000
    if notation == "factor":
        factor = draw(st.sampled_from("kKMG"))
        exponent = {"k": 3, "K": 3, "M": 6, "G": 9}[factor]
        return f"{small}.{fraction}{draw(st.sampled_from(('', ' ')))}{factor}", float(f"{small}.{fraction}e{exponent}")
    exponent = draw(st.integers(-9, 9))
    if notation == "exponent":
        return f"{small}.{fraction}{draw(st.sampled_from('eE'))}{exponent:+03}", float(f"{small}.{fraction}e{exponent}")
    return f"{small}.{fraction} x 10^{exponent}", float(f"{small}.{fraction}e{exponent}")


@given(st.sampled_from(HEADS), st.sampled_from(BEFORE), st.sampled_from(JOINTS), printed(), st.booleans())
def test_a_number_is_read_whole_or_not_at_all(
    head: str, before: str, joint: str, number: tuple[str, float], first: bool
) -> None:
    text, value = number
    parts = [before.format(text), "loss 0.25"]
    lines = [head.format(step) + joint.join(parts if first else parts[::-1]) for step in range(1, 4)]
    points = read("\n".join(lines) + "\n")
    others = {name: values for name, values in points.items() if name not in ("loss", "epoch")}
    assert {number for values in others.values() for _, number in values} <= {value}
    assert {number for _, number in points.get("loss", [])} <= {0.25}


def test_a_number_within_a_name_that_changes_gives_no_metric_per_value() -> None:
    lines = [f"step {step}: loss: 0.5 | image {step % 97} score: 0.25\n" for step in range(1, 200)]
    points = read("".join(lines))
    assert len(points["loss"]) == 199
    assert len(points) < 20
