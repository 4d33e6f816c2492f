"""The console text, the ranks and the media of a run."""

from support.scenario_tables import scenarios_of

test_log = scenarios_of("log")
