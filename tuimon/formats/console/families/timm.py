"""timm's train.py: fields separated by two blanks, "now (average so far)".

    Train: 0 [  50/1251 (  4%)]  Loss: 6.94 (6.95)  Time: 0.900s, 1137.78/s  (0.950s, 1077.89/s)  LR: 1.000e-05
            Data: 0.010 (0.020)                                                                        (one line)
    Test: [  48/48]  Time: 0.150 (0.210)  Loss:   0.987 ( 1.123)  Acc@1:  75.000 ( 74.512)  Acc@5:  92.188 ( 92.350)
    Test (EMA): [  48/48]  …

Epochs and updates count from 0; the step counts the updates of all epochs. The current values of a training line are
read, not the averages. Of a test the averages at its last batch are read, which are its result: test/Acc@1,
"test (EMA)/Acc@1", at the last step of the training. Images per second are named `rate`, as in the source.
Source: pytorch-image-models train.py (train_one_epoch, validate).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_TRAIN = re.compile(r"Train: (\d{1,9}) \[ {0,8}(\d{1,18})/(\d{1,18}) \( {0,3}-?\d{1,3}%\)\] ", re.ASCII)
_TEST = re.compile(r"Test( \([\w -]{1,20}\))?: \[ {0,8}(\d{1,18})/(\d{1,18})\]  ", re.ASCII)
_FIELD = re.compile(
    rf"(?<=\s)([A-Za-z_][\w@/-]{{0,60}}(?: [\w-]{{1,20}}){{0,3}}): {{1,8}}({NUMBER})s?(?=[\s,]|$)"
    rf"(?:, {{1,8}}({NUMBER})/s)?(?: {{1,2}}\( {{0,8}}({NUMBER})\))?",
    re.IGNORECASE | re.ASCII,
)


class TimmReader(LineReader):
    def read(self, line: Line) -> bool:
        if match := _TRAIN.match(line.message):
            epoch, done, size = map(int, match.groups())
            values = [("epoch", float(epoch))]
            for name, now, rate, _ in _FIELD.findall(line.message, match.end() - 1):
                values.append((name, float(now)))
                if rate:
                    values.append(("rate", float(rate)))
            return len(values) > 1 and self.sink.add_row(values, epoch * size + done, line)
        if match := _TEST.match(line.message):
            if match[2] == match[3]:
                prefix = f"test{match[1] or ''}/"
                fields = _FIELD.findall(line.message, match.end() - 1)
                result = [(prefix + name, float(mean)) for name, _, _, mean in fields if mean]
                self.sink.add_row(result, None, line)
            return True
        return False


FAMILY = Family("timm", ("Train: ", "Test"), TimmReader, order=42)
