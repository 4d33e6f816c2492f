"""One metric in several sources that grow and disagree. What is drawn of them: logs.toml."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stores import Log

from tuimon.model.equal import compare_series, decimals
from tuimon.store.arrays import usual_stride

NAN = float("nan")
WANDB, EVENTS, JSON, TEXT = 50, 40, 30, 10


class Sources(Log):
    """A run with sources of these ranks; the values of its points are different at each step."""

    def __init__(self, **sources):
        super().__init__()
        for name, rank in sources.items():
            self.stream(name, name, rank)

    def add(self, name, steps, values=None, wall_times=None):
        return super().add(name, steps, value(steps) if values is None else values, wall_times)


def value(steps):
    """Return the logged values of steps, all different."""
    return np.sin(np.asarray(steps) * 0.7) + 2.0


def printed(steps):
    return [float(f"{number:.4g}") for number in value(steps)]


def is_true(curve):
    return bool(np.allclose(curve.values, value(curve.steps), rtol=1e-3) and (np.diff(curve.steps) > 0).all())


def test_a_source_with_the_same_values_at_other_steps_fills_nothing_and_does_not_disagree():
    values = value(np.arange(50))
    log = Sources(wandb=WANDB, events=EVENTS).add("wandb", range(50), values).add("events", range(0, 500, 10), values)
    assert log.curve().steps.tolist() == list(range(50))
    assert log.disagreement() is None


@given(
    st.integers(0, 40),
    st.lists(st.tuples(st.sampled_from(["events", "state", "console"]), st.integers(1, 15)), min_size=1, max_size=25),
)
def test_live_growth_equals_reading_everything_at_once(lost, moves):
    """Three sources grow in turns and a curve is drawn after each; the event file has lost its first points."""
    ends = {"events": lost, "state": 0, "console": 0}
    log, old = Sources(events=EVENTS, state=JSON, console=TEXT), []
    for name, count in moves:
        steps = range(ends[name], ends[name] + count)
        ends[name] += count
        log.add(name, steps, printed(steps) if name == "console" else None)
        curve = log.curve()
        old.append((curve, curve.steps.copy(), curve.values.copy(), curve.envelope(0, 500, 50)))
        assert is_true(curve)
    whole = Sources(events=EVENTS, state=JSON, console=TEXT)
    for name, end in ends.items():
        steps = range(lost if name == "events" else 0, end)
        if len(steps):
            whole.add(name, steps, printed(steps) if name == "console" else None)
    assert whole.curve().steps.tolist() == log.curve().steps.tolist()
    assert whole.curve().values.tolist() == log.curve().values.tolist()
    assert whole.curve().filled == log.curve().filled
    for curve, steps, values, envelope in old:  # curves returned earlier never change
        assert curve.steps.tolist() == steps.tolist()
        assert curve.values.tolist() == values.tolist()
        assert np.array_equal(curve.envelope(0, 500, 50).high, envelope.high, equal_nan=True)
        assert curve.finite_count == len(curve)


@pytest.mark.parametrize(
    ("here", "there", "rank", "disagrees"),
    [
        (0.1234567, float(np.float32(0.1234567)), JSON, False),
        (1e30, float(np.float32(1e30)), JSON, False),
        (0.1234567, 0.1234580, JSON, True),
        (NAN, NAN, JSON, False),
        (NAN, 0.5, JSON, True),
        (np.inf, np.inf, JSON, False),
        (np.inf, -np.inf, JSON, True),
        (np.inf, 1e308, TEXT, True),
        (0.12345, 0.123, JSON, False),  # rounded
        (0.12345, 0.125, JSON, True),
        (0.12345, 0.123, TEXT, False),
        (0.12345, 0.13, TEXT, True),
        (123.4, 123.0, TEXT, False),
        (3e-6, 0.0, TEXT, False),  # printed as 0.000
        (0.01, 0.0, TEXT, True),
        (0.0, -0.0, JSON, False),
    ],
)
def test_differences_that_are_disagreements(here, there, rank, disagrees):
    log = Sources(events=EVENTS, other=rank)
    log.add("events", [*range(10), 10], [*value(range(10)), here])
    rounded = [float(f"{number:.3f}") for number in value(range(10))]
    log.add("other", [*range(10), 10], [*(rounded if there == 0.123 else value(range(10))), there])
    assert (log.disagreement() is not None) is disagrees


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), max_size=40),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), max_size=40),
)
def test_a_comparison_equals_the_definition(best, other):
    """Compare with a loop over the steps; of several points at one step the last one counts."""
    columns = [
        (np.array([step for step, _ in points], np.int64), np.array([float(number) for _, number in points]))
        for points in (best, other)
    ]
    seen = compare_series(*columns[0], *columns[1])
    ours, theirs = dict(best), dict(other)
    meeting = sorted(ours.keys() & theirs.keys())
    differing = [step for step in meeting if ours[step] != theirs[step]]
    assert seen.steps.tolist() == meeting
    assert seen.values.tolist() == [ours[step] for step in meeting]
    assert seen.differing == len(differing)
    assert seen.first == ((differing[0], ours[differing[0]], theirs[differing[0]]) if differing else None)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=300), st.integers(0, 2**32))
def test_sources_read_in_turns_agree_when_steps_have_several_points(apart, seed):
    """The sources overtake each other; the one ahead logs the last value of a step before the other."""
    chance, steps = np.random.default_rng(seed), np.cumsum(apart)
    values = np.arange(len(steps)) * 0.37
    log, ends = Sources(events=EVENTS, state=JSON), {"events": 0, "state": 0}
    while min(ends.values()) < len(steps):
        name, count = chance.choice(["events", "state"]), chance.choice([1, 2, 30])
        part = slice(ends[name], ends[name] + count)
        if len(steps[part]):
            log.add(name, steps[part], values[part])
            ends[name] = part.stop
            if chance.random() < 0.7:
                _ = log.disagreement()  # compares what has been read so far
    assert log.disagreement() is None
    assert log.curve().values.tolist() == values.tolist()


def test_usual_stride_and_decimals():
    assert [usual_stride(np.array(steps)) for steps in ([], [1], [5, 5], [1, 4], [0, 2, 4, 6, 100])] == [0, 0, 0, 3, 2]
    assert usual_stride(np.arange(0, 10**6, 7)) == 7
    counts = [
        decimals(np.array(numbers)) for numbers in ([], [1.0, 2.0], [0.5], [0.123, 1.0], [1 / 3], [NAN, np.inf, 0.25])
    ]
    assert counts == [0, 0, 1, 3, 12, 2]
