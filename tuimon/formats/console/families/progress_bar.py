"""Progress bars (tqdm) of a whole training: its progress, and the metrics that RLinf writes into its bar.

    Global Step:  10%|###   | 1/10 [00:10<01:30, 10.00s/it, step_time=10, reward_scores=0, actor/lr=1e-6]

RLinf's bar counts the steps done, while its loggers count from 0, so the step is that of the bar minus one. Its timers
carry the suffix "_time", other metrics have no prefix; values have three digits. Other bars only give the total number
of steps, if they are named after a training. They give no points: they are redrawn many times per step, and the values
in them may be out of date (Lightning). Source: rlinf/runners/reasoning_runner.py, tqdm/std.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, pairs

_RLINF = "Global Step"
_TRAINING = re.compile(r"(?:global step|train\w*(?: progress| step\w*)?|steps?)\s*:?", re.IGNORECASE)


class ProgressBarReader(LineReader):
    _done = 0

    def read(self, line: Line) -> bool:
        bar = line.bar
        if bar is None or not _TRAINING.fullmatch(bar["name"].strip()):
            return False
        done = int(bar["done"])
        rlinf = bar["name"].lstrip().startswith(_RLINF)
        self.sink.report_progress(max(0, done - 1) if rlinf else done, int(bar["total"]))
        self.sink.note_rate(int(bar["total"]), bar["inside"])
        if rlinf and done != self._done:  # the last state is drawn again at the end
            inside = bar["inside"]
            if not bar[0].endswith("]"):  # cut at the width of the terminal, so the last number may be incomplete
                inside = inside.rpartition(",")[0]
            if self.sink.add_row(pairs(inside, ",", "="), done - 1, line):
                self._done = done
        return line.message is line.drawn  # otherwise a row follows the bar


FAMILY = Family("progress-bar", ("it/s", "s/it"), ProgressBarReader, order=22, self_closing=True)
