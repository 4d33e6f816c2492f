"""timm's train.py: fields between two blanks, "now (on average so far)".

    Train: 0 [  50/1251 (  4%)]  Loss: 6.94 (6.95)  Time: 0.900s, 1137.78/s  (0.950s, 1077.89/s)  LR: 1.000e-05
            Data: 0.010 (0.020)                                                                        (one line)
    Test: [  48/48]  Time: 0.150 (0.210)  Loss:   0.987 ( 1.123)  Acc@1:  75.000 ( 74.512)  Acc@5:  92.188 ( 92.350)
    Test (EMA): [  48/48]  …

Epochs and updates count from 0; the step is that of all epochs. Of a training the number of now is read, of a test the
average at its last batch, which is its result: test/Acc@1, "test (EMA)/Acc@1", at the last step of the training told.
Images a second are called `rate`, as in the source. Source: pytorch-image-models train.py (train_one_epoch, validate).
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER

_TRAIN = re.compile(r"Train: (\d{1,9}) \[ {0,8}(\d{1,18})/(\d{1,18}) \( {0,3}-?\d{1,3}%\)\] ", re.ASCII)
_TEST = re.compile(r"Test( \([\w -]{1,20}\))?: \[ {0,8}(\d{1,18})/(\d{1,18})\]  ", re.ASCII)
_FIELD = re.compile(
    rf"(?<=\s)([A-Za-z_][\w@/-]{{0,60}}(?: [\w-]{{1,20}}){{0,3}}): {{1,8}}({NUMBER})s?(?=[\s,]|$)"
    rf"(?:, {{1,8}}({NUMBER})/s)?(?: {{1,2}}\( {{0,8}}({NUMBER})\))?",
    re.IGNORECASE | re.ASCII,
)


class TimmReader(LineReader):
    def read(self, line: Line) -> bool:
        if found := _TRAIN.match(line.message):
            epoch, done, size = int(found[1]), int(found[2]), int(found[3])
            values = [("epoch", float(epoch))]
            for name, now, rate, _ in _FIELD.findall(line.message, found.end() - 1):
                values.append((name, float(now)))
                if rate:
                    values.append(("rate", float(rate)))
            return len(values) > 1 and self.sink.row(values, epoch * size + done, line)
        if found := _TEST.match(line.message):
            if found[2] == found[3]:
                step = self.sink.step
                fields = _FIELD.findall(line.message, found.end() - 1)
                result = [(f"test{found[1] or ''}/{name}", float(mean)) for name, _, _, mean in fields if mean]
                self.sink.row(result, step or 0, line, counted=step is None)
            return True
        return False


FAMILY = Family("timm", ("Train: ", "Test"), TimmReader, order=42)
