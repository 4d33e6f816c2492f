"""tuimon: a terminal monitor for training runs.

The library's face is small: `open_run(path)` reads what is there, `follow(path)` keeps reading. Both give
snapshots; neither needs textual or plotext.
"""

__version__ = "0.1.0"
