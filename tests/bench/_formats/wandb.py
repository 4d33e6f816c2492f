"""W&B's run file, beside the reader that wandb itself has (up to 0.29)."""

from __future__ import annotations

from pathlib import Path

from support.log_writer import WANDB, framed

from tests.bench import wandb as binary
from tests.bench._formats import Case, Collected, Series


def write(folder: Path, steps: int) -> None:
    directory = folder / "wandb" / "run-20261121_010101-abcdefgh"
    directory.mkdir(parents=True)
    records = binary.wandb_records(steps * 2 // 5)  # 50 metrics a step, not 20
    (directory / "run-abcdefgh.wandb").write_bytes(framed(WANDB, records))


def wandbs_own(folder: Path) -> Series:
    from wandb.proto import wandb_internal_pb2 as pb
    from wandb.sdk.internal.datastore import DataStore

    store, series = DataStore(), Collected()
    store.open_for_scan(str(next(folder.glob("wandb/*/*.wandb"))))
    while (data := store.scan_data()) is not None:
        record = pb.Record()
        record.ParseFromString(data)
        items = record.history.item
        row = [(item.key or "/".join(item.nested_key), float(item.value_json)) for item in items]
        series.row(record.history.step.num, row)
    return series


CASE = Case("W&B run file", write, {"wandb's DataStore": wandbs_own})
