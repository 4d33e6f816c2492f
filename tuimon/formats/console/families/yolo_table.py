"""YOLOv5 and Ultralytics: a header, the losses in front of a bar, then the results of the validation.

          Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
            1/100      2.5G      1.234      2.345      1.456         23        640: 100%|██████████| 100/100 [00:30<…
                     Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 10/10 …
                       all        128        929      0.605       0.55        0.6      0.412

The step is the epoch as printed. The losses are those of the last state of the bar: train/box_loss. The validation
gives metrics/precision, metrics/recall, metrics/mAP50, metrics/mAP50-95, as in results.csv without the letter of the
task; if there are masks or poses, theirs are named "metrics/precision(M)" or, without a letter, by their place.
Source: ultralytics/engine/trainer.py, ultralytics/models/yolo/detect/val.py; yolov5 train.py, val.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, number

_HEAD = re.compile(r"\s*Epoch\s{1,20}[Gg][Pp][Uu]_mem\s{1,20}(\S.{0,400})")
_TRAIN = re.compile(r"\s*(\d{1,9})/(\d{1,9})\s{1,20}([\d.]{1,12}[GM]?)\s{1,20}([^:|%]{1,400}): 100%.{0,300}", re.ASCII)
_CLASS = re.compile(r"\s*Class\s{1,20}Images\s{1,20}(\S[^|%]{0,400}?)(?::\s.{0,300})?")
_ALL = re.compile(r"\s*all\s{1,20}(\d.{0,400})", re.ASCII)
_NAMES = {"P": "precision", "R": "recall", "mAP@.5": "mAP50", "mAP@.5:.95": "mAP50-95", "mAP@0.5": "mAP50"}
_SIZES = frozenset({"Instances", "Labels", "labels", "targets", "Size", "img_size", "Images"})


class YoloTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._losses: list[str] = []
        self._results: list[str] = []
        self._step = 0
        self._given = -1

    def interrupt(self) -> None:
        super().interrupt()
        self._step, self._results = -1, []

    def read(self, line: Line) -> bool:
        text = line.text
        if match := _HEAD.fullmatch(text):
            self._losses = match[1].split()
            return True
        if not self._losses:
            return False
        if match := _TRAIN.fullmatch(text):
            self._step = int(match[1])
            if self._step == self._given:
                return True
            self._given = self._step
            row = [pair for pair in _row(self._losses, match[4].split()) if pair[0] not in _SIZES]
            self.sink.report_progress(self._step, int(match[2]))
            return self.sink.add_row([(f"train/{name}", value) for name, value in row], self._step, line)
        if match := _CLASS.fullmatch(text):
            self._results = _result_names(match[1])
            return True
        if self._results and self._step >= 0 and (match := _ALL.fullmatch(text)):
            row = [pair for pair in _row(self._results, match[1].split()[1:]) if pair[0] not in _SIZES]
            return self.sink.add_row([(f"metrics/{name}", value) for name, value in row], self._step, line)
        return False


def _result_names(text: str) -> list[str]:
    """Return the names of the columns: "Instances Box(P R mAP50 mAP50-95) Mask(P R …)"."""
    names: list[str] = []
    letter = ""
    for word in text.rstrip(" :").split():
        kind, opened, name = word.rpartition("(")
        if opened:
            letter = "" if kind == "Box" else f"({kind[:1]})"
        name = name.rstrip("):")
        names.append(_NAMES.get(name, name) + (letter if name not in _SIZES else ""))
        if word.endswith(")"):
            letter = ""
    return names


def _row(names: list[str], cells: list[str]) -> list[Pair]:
    if len(names) != len(cells):
        return []
    values = zip(names, map(number, cells), strict=True)
    return [(name, value) for name, value in values if value is not None]


FAMILY = Family("yolo-table", ("GPU_mem", "gpu_mem", ": 100%", "mAP", "   all "), YoloTableReader, order=23)
