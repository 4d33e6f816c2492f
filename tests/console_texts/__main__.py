"""python -m tests.console_texts {diff,show ID,update}; diff exits with 1 if something is different."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.console_texts.decoding import TEXTS, WRITTEN, decode, differences, load, save

TIME_ZONE = "XXX-5:30"
"""Zone of timestamps that name none, which are local time. It is not UTC: such a mistake would not be seen."""
FIRST_CHARACTERS = 60
"""Number of characters of a text that are quoted."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.console_texts")
    parser.add_argument("action", choices=["diff", "show", "update"])
    parser.add_argument("id", nargs="?", default="", help="of the text to show, as diff prints it")
    options = parser.parse_args()
    os.environ["TZ"] = TIME_ZONE
    time.tzset()
    known = load()
    if options.action == "show":
        text = next((text for text in known if text.id == options.id), None)
        if text is None:
            parser.error(f"no text has the id {options.id!r}")
        found = decode(text.test, text.text)
        print(found.test, found.text.encode("utf-8", "replace").decode(), sep="\n\n")
        for metric, rows in found.points.items():
            print(metric, *rows, sep="\n  ")
        print(*found.others, sep="\n")
        return 0
    current = [decode(text.test, text.text) for text in known]
    changed = 0
    for old, new in zip(known, current, strict=True):
        sentences = list(differences(old, new))
        changed += bool(sentences)
        for sentence in sentences:
            print(f"{old.id} ({old.test}: {old.text[:FIRST_CHARACTERS]!a}): {sentence}")
    print(f"{changed} of {len(known)} texts are different", file=sys.stderr)
    if options.action == "update":
        count = len(load(TEXTS))
        save(current[:count])
        save(current[count:], WRITTEN)
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
