"""Load the user's settings and check the user's vocabulary."""

from __future__ import annotations

from tuimon import config


def load() -> config.Settings:
    """Return the settings. Raise UsageError for an invalid setting, or an invalid entry of vocabulary.toml."""
    settings = config.load()
    if config.vocabulary_path().exists():
        from tuimon.vocabulary import own

        own.load()
    return settings
