"""SwanLab's run file, version 2, beside the reader that its own `swanlab sync` has (0.8 and later)."""

from __future__ import annotations

from pathlib import Path

from support.log_writer import SWANLAB, framed

from tests.bench import wandb as binary
from tests.bench._formats import Case, Collected, Series


def write(folder: Path, steps: int) -> None:
    records = binary.swanlab_records(steps * 2 // 5)  # 50 metrics a step, not 20
    (folder / "run-abcdefgh.swanlab").write_bytes(framed(SWANLAB + b"\x02", records))


def swanlabs_own(folder: Path) -> Series:
    from swanlab.proto.swanlab.record.v1 import record_pb2
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    store, series = DataStoreReader(), Collected()
    store.open(str(next(folder.glob("*.swanlab"))))
    while (data := store.scan()) is not None:
        record = record_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("scalar"):
            series.row(record.scalar.step, [(record.scalar.key, record.scalar.value.number)])
    store.close()
    return series


CASE = Case("SwanLab run file", write, {"swanlab's DataStoreReader": swanlabs_own})
