"""The metric list, the scatter plot, health, help and the palette."""

from support.scenario_tables import scenarios_of

test_lists = scenarios_of("lists")
