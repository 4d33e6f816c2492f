"""The pipeline from paths to snapshots: in this process (`local`) or a child (`process`).

    from tuimon.monitor.local import open_run

    snapshot = open_run("logs/grpo-1.5b")               read everything once

Commands and tests use `LocalMonitor`, the dashboard uses `ReaderProcess`. This package imports neither of them: the
reader process is spawned before numpy and Textual are loaded.
"""

from __future__ import annotations

from tuimon import config


def load_settings() -> config.Settings:
    """Return the settings. Raise UsageError for an invalid setting, or an invalid entry of vocabulary.toml."""
    settings = config.load()
    if config.vocabulary_path().exists():
        from tuimon.vocabulary import own

        own.load()
    return settings
