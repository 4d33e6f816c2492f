"""Generated texts."""

from support.scenario_tables import scenarios_of

test_texts = scenarios_of("texts")
