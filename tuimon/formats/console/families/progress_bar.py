"""Progress bars (tqdm) of a whole training: its progress.

Bars only give the total number of steps, if they are named after a training. They give no points: they are redrawn many
times per step, and the values in them may be out of date (Lightning). Source: tqdm/std.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader

_TRAINING = re.compile(r"(?:global step|train\w*(?: progress| step\w*)?|steps?)\s*:?", re.IGNORECASE)


class ProgressBarReader(LineReader):
    def read(self, line: Line) -> bool:
        bar = line.bar
        if bar is None or not _TRAINING.fullmatch(bar["name"].strip()):
            return False
        done = int(bar["done"])
        self.sink.facts.report_progress(done, int(bar["total"]))
        self.sink.facts.note_rate(int(bar["total"]), bar["inside"])
        return line.message is line.drawn  # otherwise a row follows the bar


FAMILY = Family("progress-bar", ("it/s", "s/it"), ProgressBarReader, order=22, self_closing=True)
