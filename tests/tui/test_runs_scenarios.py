"""The list of runs as table, grid of charts and comparison."""

from support.scenario_tables import scenarios_of

test_runs = scenarios_of("runs")
