"""Swin Transformer's main.py and its descendants: "now (average so far)" between tabs; results of ImageNet.

    [2021-10-12 10:00:00 swin_tiny] (main.py 205): INFO Train: [0/300][10/1251]\\teta 1:00:00 lr 0.000001\\t wd 0.0500
            \\ttime 0.4000 (0.5000)\\tloss 6.9000 (6.9500)\\tgrad_norm 1.4 (1.6)\\tmem 6000MB              (one line)
    … INFO Test: [40/49]\\tTime 0.150 (0.210)\\tLoss 0.9870 (1.1230)\\tAcc@1 75.000 (74.512)\\t…
    … INFO  * Acc@1 74.512 Acc@5 92.350                              also of PyTorch's example of ImageNet

Epochs and iterations count from 0; the step counts the iterations of all epochs. The current values of a training line
are read, not the averages. Lines within a test cover a part of the data only and are ignored; the result of a test
becomes test/Acc@1 … at the last step.
Sources: Swin-Transformer main.py, logger.py; pytorch/examples imagenet/main.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_WITHIN = 400
"""Characters within which the message begins."""
_TRAIN = re.compile(r"(?:^|\s)Train: \[(\d{1,9})/(\d{1,9})\]\[(\d{1,18})/(\d{1,18})\]\t", re.ASCII)
_FIELD = re.compile(
    rf"(?<!\S)([A-Za-z_][\w@]{{0,60}}) ({NUMBER})(?:MB)?(?=[\t ]|$)(?: \({NUMBER}\))?", re.IGNORECASE | re.ASCII
)
_RESULT = re.compile(r"(?:^|.{0,200}? )\* {1,4}(?=Acc@1 )", re.ASCII)


class SwinReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.text
        if match := _TRAIN.search(text, 0, _WITHIN):
            epoch, epochs, done, size = map(int, match.groups())
            step = epoch * size + done
            values = [(name, float(now)) for name, now in _FIELD.findall(text, match.end()) if name != "eta"]
            if not values:
                return False
            self.sink.report_progress(step, epochs * size)
            return self.sink.add_row([*values, ("epoch", float(epoch))], step, line)
        if match := _RESULT.match(text):
            result = ((f"test/{name}", float(value)) for name, value in _FIELD.findall(text, match.end()))
            return self.sink.add_row(result, None, line)
        return False


FAMILY = Family("swin", ("Train: ", "Acc@1 "), SwinReader, order=43)
