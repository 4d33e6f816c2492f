"""DeepSpeed's engine: the learning rate and the speed.

    […] [INFO] [logging.py:107:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]
    […] [INFO] [timer.py:264:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=220.1,
        CurrSamplesPerSec=221.1, MemAllocated=0.07GB, MaxMemAllocated=1.36GB                            (one line)

Further parameter groups become lr/1, lr/2 …; the momenta are left out.
Sources: deepspeed/runtime/engine.py (_report_progress), deepspeed/utils/timer.py (ThroughputTimer).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Quantity

_PROGRESS = re.compile(r"step=(\d{1,18}), skipped=(\d{1,18}), lr=\[([^\]]{0,4000}+)\]", re.ASCII)
_SPEED = re.compile(r"epoch=\d{1,9}/micro_step=\d{1,18}/global_step=(\d{1,18}), (?=\w+SamplesPerSec=)", re.ASCII)
_FIELD = re.compile(rf"(\w{{1,60}})=({NUMBER})(GB|MB)?(?=[,\s]|$)", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(rf"(?:^|(?<=[\s,(])){NUMBER}(?=[\s,)]|$)", re.IGNORECASE | re.ASCII)


class DeepSpeedReader(LineReader):
    def read(self, line: Line) -> bool:
        if match := _SPEED.search(line.text, 0, 300):
            fields = (
                (name, Quantity(float(value), unit) if unit else float(value))
                for name, value, unit in _FIELD.findall(line.text, match.end())
            )
            return self.sink.add_row(fields, int(match[1]), line)
        if match := _PROGRESS.search(line.text, 0, 4400):
            rates = [
                (f"lr/{index}" if index else "lr", float(lr)) for index, lr in enumerate(_NUMBER.findall(match[3]))
            ]
            return self.sink.add_row([*rates, ("skipped", float(match[2]))], int(match[1]), line)
        return False


FAMILY = Family("deepspeed", (", skipped=", "SamplesPerSec="), DeepSpeedReader, order=33)
