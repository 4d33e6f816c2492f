"""Marian: the number of updates after the epoch, then parts between colons; a validation names its metric first.

    Ep. 1 : Up. 100 : Sen. 64,000 : Cost 2.2727 * 1,000 after 100,000 : Time 1.50s : 12345.67 words/s : gNorm 1.2
    [valid] Ep. 1 : Up. 100 : cross-entropy : 45.45 : new best

Source: marian-dev, src/training/scheduler.h.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair

_HEAD = re.compile(r"(.{0,80}?\[valid\] )?.{0,80}?\bEp\. ([\d,]{1,12}) : Up\. ([\d,]{1,24}) : ", re.ASCII)
_PART = re.compile(rf"([A-Za-z][\w.-]{{0,40}}) ({NUMBER})(?:s| \*.*)?", re.IGNORECASE | re.ASCII)
_SPEED = re.compile(rf"({NUMBER}) (words/s)", re.IGNORECASE | re.ASCII)
_VALUE = re.compile(rf"(?:{NUMBER})", re.IGNORECASE | re.ASCII)


class MarianReader(LineReader):
    def read(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if head is None:
            return False
        epoch, step = (int(group.replace(",", "")) for group in (head[2], head[3]))
        parts = line.text[head.end() :].split(" : ")
        values: list[Pair] = []
        if head[1]:
            if len(parts) > 1 and _VALUE.fullmatch(parts[1]):
                values.append((f"valid/{parts[0]}", float(parts[1])))
        else:
            values += [(match[1], float(match[2])) for part in parts if (match := _PART.fullmatch(part))]
            values += [(match[2], float(match[1])) for part in parts if (match := _SPEED.fullmatch(part))]
            values.append(("epoch", float(epoch)))
        return self.sink.add_row(values, step, line)


FAMILY = Family("marian", (" : Up. ",), MarianReader, order=30)
