"""Console logs of the trainers of computer vision: OpenMMLab, detectron2, timm, Swin."""

from __future__ import annotations

import math
import re
from datetime import datetime
from pathlib import Path

from support.json_points import feed, rows, series

from tuimon.formats.console._decoder import ConsoleDecoder

DATA = Path(__file__).parent.parent / "data" / "console"


def read(name: str) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), (DATA / name).read_bytes()))


def printed(name: str, label: str, of: str) -> list[str]:
    """Return the numbers after a label, in lines that contain `of`."""
    lines = [line for line in (DATA / name).read_text().splitlines() if of in line]
    return [repr(float(result[1])) for line in lines if (result := re.search(rf"[\s,]{label}:? +([\w.+-]+)", line))]


def points(*values: tuple[int, float]) -> list[tuple[int, str]]:
    return [(step, repr(float(value))) for step, value in values]


def test_mmengine() -> None:
    metrics = read("mmengine.log")
    for name in ("lr", "time", "data_time", "memory", "grad_norm", "loss", "loss_cls", "loss_bbox"):
        assert metrics[name] == list(zip(range(20, 361, 20), printed("mmengine.log", name, "(train)"), strict=True))
    assert metrics["coco/bbox_mAP"] == points((1, 0.1), (2, 0.2), (3, 0.3))
    assert metrics["val/time"] == points((1, 0.1019), (2, 0.1019), (3, 0.1019))
    assert {name for name in metrics if "eta" in name or "copypaste" in name} == set()
    first = rows(feed(ConsoleDecoder(), (DATA / "mmengine.log").read_bytes()))[0]
    assert float(first[3]) == datetime(2026, 8, 21, 21, 30, 14).timestamp()


def test_mmcv() -> None:
    metrics = read("mmcv.log")
    steps = [*range(50, 251, 50), *range(310, 511, 50)]
    for name in ("lr", "time", "data_time", "memory", "loss_rpn_cls", "loss_cls", "acc", "loss_bbox", "loss"):
        assert metrics[name] == list(zip(steps, printed("mmcv.log", name, "Epoch ["), strict=True))
    assert metrics["val/bbox_mAP"] == points((260, 0.11), (520, 0.22))
    assert set(metrics) == {
        *("lr", "time", "data_time", "memory", "loss_rpn_cls", "loss_cls", "acc", "loss_bbox", "loss", "epoch"),
        *("val/bbox_mAP", "val/bbox_mAP_50"),
    }


def test_validation_does_not_change_the_current_step() -> None:
    """Lines without a step, and a crash, have the step of the training."""
    text = (DATA / "mmengine.log").read_text() + "Segmentation fault\n"
    (state,) = [item for item in feed(ConsoleDecoder(), text.encode()) if getattr(item, "topic", "") == "state"]
    assert state.step == 360


def test_test_without_a_training_is_read() -> None:
    line = "2026/08/21 21:30:01 - mmengine - INFO - Epoch(test) [9/9]    coco/bbox_mAP: 0.4  data_time: 0.0  time: 0.1"
    metrics = series(feed(ConsoleDecoder(), f"{line}\n".encode()))
    assert metrics == {
        "test/coco/bbox_mAP": points((0, 0.4)),
        "test/data_time": points((0, 0)),
        "test/time": points((0, 0.1)),
    }


def test_detectron2() -> None:
    decoder = ConsoleDecoder()
    metrics = series([*feed(decoder, (DATA / "detectron2.log").read_bytes()), *decoder.end()])
    for name in ("total_loss", "loss_cls", "loss_mask", "time", "last_time", "last_data_time", "lr"):
        assert metrics[name] == list(zip(range(19, 400, 20), printed("detectron2.log", name, "iter:"), strict=True))
    assert metrics["max_mem"] == points(*((step, 2712) for step in range(19, 400, 20)))
    assert metrics["bbox/AP"] == points((199, 7.5), (299, 11.25), (399, 15)), "the next row, or the last one"
    assert metrics["segm/APs"] == points((199, math.nan), (299, math.nan), (399, math.nan))
    assert not {name for name in metrics if name.startswith(("|", "eta", "ETA"))}


def test_evaluation_is_held_until_the_row_of_its_iteration() -> None:
    head = "[11/20 10:00:00 d2.evaluation.testing]: copypaste: "
    decoder = ConsoleDecoder()
    row = "[11/20 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: {}  total_loss: 1.5  lr: 0.1  max_mem: 9M\n"
    begun = row.format(19) + f"{head}Task: bbox\n{head}AP,AP50\n{head}1.5,2.5\n"
    assert "bbox/AP" not in series(feed(decoder, begun.encode()))
    assert series(feed(decoder, row.format(39).encode()))["bbox/AP"] == points((39, 1.5))


def test_maskrcnn_benchmark() -> None:
    line = (
        "2019-01-01 10:00:00,000 maskrcnn_benchmark.trainer INFO: eta: 1 day, 0:10:00  iter: 60  loss: 1.9 (2.1)  "
        "time: 0.25 (0.26)  data: 0.1 (0.2)  lr: 0.002000  max mem: 2000\n"
    )
    values = {"loss": 1.9, "time": 0.25, "data": 0.1, "lr": 0.002, "max mem": 2000}
    assert series(feed(ConsoleDecoder(), line.encode())) == {
        name: points((60, value)) for name, value in values.items()
    }


def test_timm_current_loss_and_test_result() -> None:
    metrics = read("timm.log")
    steps = range(0, 500, 50)
    for name in ("Loss", "Time", "LR", "Data"):
        assert [step for step, _ in metrics[name]] == list(steps)
    assert metrics["Loss"] == list(zip(steps, printed("timm.log", "Loss", "Train:"), strict=True))
    assert metrics["rate"] == points(*((step, 1108.2) for step in steps))
    assert metrics["test/Acc@1"] == points((200, 10), (450, 20))
    assert metrics["test (EMA)/Loss"] == points((200, 5.5), (450, 4.5))


def test_swin() -> None:
    metrics = read("swin.log")
    steps = range(0, 240, 10)
    for name in ("lr", "wd", "time", "loss", "grad_norm", "loss_scale"):
        assert metrics[name] == list(zip(steps, printed("swin.log", name, "Train:"), strict=True))
    assert metrics["grad_norm"][1] == (10, "inf")
    assert metrics["mem"] == points(*((step, 6012) for step in steps))
    assert metrics["test/Acc@1"] == points((110, 11.25), (230, 22.5))
    assert set(metrics) == {
        *("lr", "wd", "time", "loss", "grad_norm", "loss_scale", "mem", "epoch", "test/Acc@1", "test/Acc@5")
    }


def test_imagenet_example_results() -> None:
    text = "Epoch: [0][ 100/5005]\tTime  0.5 ( 0.6)\tLoss 7.01 (7.10)\n *   Acc@1 0.512 Acc@5 2.034\n"
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    assert metrics["Loss"] == points((100, 7.01))
    assert metrics["test/Acc@1"] == points((100, 0.512))


def test_ranks_labelled_by_srun_and_torchrun() -> None:
    metrics = read("srun_label.out")
    by_rank = {
        rank: points(*((step, round(2.5 - step / 100 - rank / 1000, 4)) for step in range(0, 200, 10)))
        for rank in range(4)
    }
    first = next(rank for rank, values in by_rank.items() if metrics["loss"] == values)
    assert {rank: metrics[f"{rank}/loss"] for rank in range(4) if rank != first} == {
        rank: values for rank, values in by_rank.items() if rank != first
    }
    assert metrics["val loss"] == points((0, 2.6), (100, 1.6))
