"""The dashboard: its panels, charts and gestures, and the keys that work everywhere."""

from support.scenario_tables import scenarios_of

test_dashboard = scenarios_of("dashboard")
