r"""Texts in event files of TensorBoard, as verl and OpenRLHF write them. Positions are byte offsets of records.

verl (utils/tracking.py): Markdown with "### Sample 1", "**Input:** …", "**Output:** …" and "**Score:** …"; "---" is
between samples. OpenRLHF (ppo_trainer.py): "Sample:\n<text>\n\nReward: 1.0", in which each \n is two characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import Message
from tuimon.formats.tensorboard._records import HEADER
from tuimon.media.readers._records import event_records
from tuimon.samples import Rows, Shape
from tuimon.sources.files import open_regular

_TAG = re.compile(r"generat|sample|completion|rollout|prompt|response", re.IGNORECASE)
_SAMPLE = re.compile(r"(?:^|\n)(?:---\n+)?### Sample \d+\n")
_FIELDS = re.compile(
    r"\s*\*\*Input:\*\* (?P<input>.*?)\n+\*\*Output:\*\* (?P<output>.*?)\n+\*\*Score:\*\* (?P<score>\S+)", re.DOTALL
)
_OPENRLHF = re.compile(r"Sample:\n(?P<response>.*)\n\nReward: (?P<reward>\S+)\s*", re.DOTALL)
_SUMMARY, _VALUE, _STEP = 5, 1, 2
_VALUE_TAG, _VALUE_TENSOR, _STRINGS = 1, 8, 8


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        file.seek(start)
        for offset, record in event_records(file):
            if b"text" in record:
                for row in _rows_of_event(record):
                    yield offset - HEADER, row


def _rows_of_event(record: bytes) -> Iterator[dict[str, Any]]:
    try:
        event = Message(record)
        for part in event.message(_SUMMARY).all_bytes(_VALUE):
            value = Message(part)
            if _TAG.search(value.text(_VALUE_TAG)):
                for text in value.message(_VALUE_TENSOR).all_bytes(_STRINGS):
                    for row in _rows_of_text(text.decode("utf-8", "replace")):
                        yield {"step": event.integer(_STEP)} | row
    except FormatError:
        return


def _rows_of_text(text: str) -> Iterator[dict[str, Any]]:
    if match := _OPENRLHF.fullmatch(text.replace("\\n", "\n")):
        yield match.groupdict()
        return
    for part in _SAMPLE.split(text)[1:]:
        if match := _FIELDS.match(part):
            yield match.groupdict()


SHAPE = Shape("tensorboard_text", lambda path: "tfevents" in path, _rows, grows=True)
