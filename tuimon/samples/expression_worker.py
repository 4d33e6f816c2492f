"""Program that searches texts for a regular expression. `tuimon.samples.searching` starts it by its path.

A line of standard input is a JSON text: first [expression, flags, seconds], then lists of texts. For each list it
prints a line with the list of the matches of each text, as [start, end], at most _MOST of them. A list that takes
more CPU time than the given seconds ends the program by SIGVTALRM. It ends with standard input, too.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from itertools import islice

_MOST = 10_000


def main() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    expression, flags, seconds = json.loads(sys.stdin.readline())
    pattern = re.compile(expression, flags)
    for line in sys.stdin:
        most, texts = json.loads(line)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        found = [[match.span() for match in islice(pattern.finditer(text), min(most, _MOST))] for text in texts]
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
