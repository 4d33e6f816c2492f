"""results.txt of YOLOv3, YOLOv5 (until 2021) and YOLOv7: a row of unnamed columns for each epoch.

      0/99     0.56G   0.01204  0.003545         0   0.01559        13       640    0.9841    0.9758    0.9925 …

The columns are epoch/last epoch, memory (G), box, objectness, class and total loss, number of labels, image size,
precision, recall, mAP at 0.5, mAP at 0.5:0.95, and box, objectness and class loss of the validation. YOLOv3 has F1 in
place of the last mAP. Metrics are named as in the event files of YOLOv5; the two counts are left out. Epochs count
from 0.
Source: train.py and utils/plots.py (plot_results) of ultralytics/yolov5 5.0 and WongKinYiu/yolov7.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_ROW = re.compile(
    rf"\s{{1,12}}(\d{{1,6}})/(\d{{1,6}})\s{{1,12}}(\d{{1,4}}(?:\.\d{{1,4}})?)G((?:\s{{1,12}}{NUMBER}){{13}})\s*",
    re.ASCII,
)
_NAMES = (
    *("train/box_loss", "train/obj_loss", "train/cls_loss", "train/total_loss", "", ""),
    *("metrics/precision", "metrics/recall", "metrics/mAP_0.5", "metrics/mAP_0.5:0.95"),
    *("val/box_loss", "val/obj_loss", "val/cls_loss"),
)
_PRECISION, _F1 = _NAMES.index("metrics/precision"), _NAMES.index("metrics/mAP_0.5:0.95")
_ROUNDING = 0.002


class YoloResultsReader(LineReader):
    def read(self, line: Line) -> bool:
        match = _ROW.fullmatch(line.text)
        if match is None:
            return False
        values = [float(text) for text in match[4].split()]
        names = list(_NAMES)
        precision, recall = values[_PRECISION : _PRECISION + 2]
        if recall and precision and abs(values[_F1] - 2 * precision * recall / (precision + recall)) < _ROUNDING:
            names[_F1] = "metrics/F1"
        self.sink.report_progress(int(match[1]), int(match[2]) + 1)
        row = [
            ("gpu_mem", float(match[3])),
            *((name, value) for name, value in zip(names, values, strict=True) if name),
        ]
        return self.sink.add_row(row, int(match[1]), line)


FAMILY = Family("yolo-results", ("G  ",), YoloResultsReader, order=46)
