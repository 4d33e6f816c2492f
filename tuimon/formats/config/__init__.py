"""Settings of a run that lie beside its logs.

yaml, json  the formats; their configs are emitted as Fact("config", ...). Their decoder is in _shared.settings.
"""
