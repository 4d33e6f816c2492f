"""What the one metric of a file is called, where the file does not say it itself.

Its path may tell (Format.metric_name), or a database near it (Format.metric_elsewhere: SwanLab's runs.swanlab). The
row of the database can come after the file, so an uncertain name is waited for, a moment; a name that was taken too
early is put right when the certain one comes.
"""

from __future__ import annotations

import os
import time

from tuimon.formats import Format
from tuimon.sources.swanlab_names import SwanLabNames, log_path

PATIENCE = 5.0
"""Seconds to wait for a certain name."""


class MetricName:
    """The name of the metric of the file at `path`; `names` is shared by all files."""

    def __init__(self, path: str, log_format: Format, names: SwanLabNames) -> None:
        self.taken: str | None = None
        """None: not known yet."""
        self._where = log_path(path) if log_format.metric_elsewhere else None
        self._names = names
        self._until = time.monotonic() + PATIENCE
        if log_format.metric_name is not None:
            self.taken = log_format.metric_name(path)
        elif self._where is None:
            self.taken = os.path.basename(os.path.dirname(path))

    def look(self, hurry: bool = False) -> bool:
        """Look for the name; True when another one was taken before. hurry: take an uncertain one at once."""
        if self._where is None:
            return False
        name, certain = self._names.metric(self._where)
        if certain:
            self._where = None
        if not certain and not hurry and time.monotonic() < self._until:
            return False
        before, self.taken = self.taken, name
        return before not in (None, name)


def metric_name(path: str, log_format: Format, names: SwanLabNames) -> MetricName | None:
    """None for a file that names its metrics itself."""
    if log_format.metric_elsewhere or (log_format.metric_name is not None and log_format.metric_name(path) is not None):
        return MetricName(path, log_format, names)
    return None
