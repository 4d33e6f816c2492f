"""TensorFlow's estimators and slim, which name the step after the metrics.

    INFO:tensorflow:loss = 0.6931, step = 100 (1.234 sec)
    INFO:tensorflow:accuracy = 0.81, loss = 0.52, step = 300 (2.1 sec)
    INFO:tensorflow:Saving dict for global step 300: accuracy = 0.80, global_step = 300, loss = 0.55
    I0503 10:00:01.123456 140123 basic_session_run_hooks.py:260] loss = 0.6931, step = 100 (1.234 sec)

The values of "Saving dict" are those of the evaluation: eval/<name>.
Source: tensorflow_estimator/python/estimator/estimator.py, tensorflow/python/training/basic_session_run_hooks.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, pairs

_LOGGED = re.compile(r"((?:[\w./ -]{1,80} = [^\s,]{1,40}, ){1,40})(?:global_)?step = (\d{1,18})(?= \(|$|, )", re.ASCII)
_SAVED = re.compile(r"Saving dict for global step (\d{1,18}): ", re.ASCII)
_LOGGER = "tensorflow:"
_MAX_LENGTH = 4000


class EstimatorReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        if len(text) > _MAX_LENGTH:
            return False
        text = text.partition(_LOGGER)[2] if text.startswith(("INFO:" + _LOGGER, _LOGGER)) else text
        if match := _SAVED.match(text):
            values = pairs(text[match.end() :], ", ", " = ")
            row = [(f"eval/{name}", value) for name, value in values if name != "global_step"]
            return self.sink.add_row(row, int(match[1]), line)
        if match := _LOGGED.match(text):
            return self.sink.add_row(list(pairs(match[1], ", ", " = ")), int(match[2]), line)
        return False


FAMILY = Family("tf-estimator", (", step = ", "Saving dict for global step"), EstimatorReader, order=31)
