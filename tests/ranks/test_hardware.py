"""GPUs of nodes, from what monitors write."""

from __future__ import annotations

import json

from tuimon.ranks.evidence import Evidence
from tuimon.ranks.hardware import read_gpus

_DMON = """\
#YYYYMMDD   HH:MM:SS     gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
#YYYYMMDD   HH:MM:SS     Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
 20260305   10:00:00       0    650     55      -     99     40      0      0      -      -   2619   1980
 20260305   10:00:00       1    400     88      -    100     40      0      0      -      -   2619   1005
# gpu   pwr gtemp mtemp    sm   mem
# Idx     W     C     C     %     %
    0   651    56     -    98    40
"""


def test_rows_of_dmon_with_repeated_headings() -> None:
    evidence = Evidence()
    read_gpus(_DMON, "node02", evidence)
    assert sorted(evidence.gpus) == [("node02", 0), ("node02", 1)]
    hot, usual = evidence.gpus["node02", 1], evidence.gpus["node02", 0]
    assert (hot.temperature, hot.clock, hot.utilization) == (88, 1005, 100)
    assert (usual.temperature, usual.clock, usual.power) == (56, 1980, 651)


def test_newest_of_several_objects_of_gpustat() -> None:
    def document(temperature: int) -> str:
        gpus = [{"index": 3, "temperature.gpu": temperature, "memory.used": 60000, "memory.total": 80000}]
        return json.dumps({"hostname": "node07", "query_time": "2026-03-05T10:00:00", "gpus": gpus}, indent=4)

    evidence = Evidence()
    read_gpus(document(50) + "\n" + document(91) + "\n" + document(99)[:40], "file", evidence)
    gpu = evidence.gpus["node07", 3]
    assert (gpu.temperature, gpu.memory_used, gpu.memory_total) == (91, 60000, 80000)


def test_metrics_of_dcgm_name_their_node() -> None:
    labels = 'gpu="5",UUID="GPU-1",device="nvidia5",modelName="H100",Hostname="node41"'
    text = "".join(
        f"# HELP {name} x\n{name}{{{labels}}} {value}\n"
        for name, value in (
            ("DCGM_FI_DEV_GPU_TEMP", "92"),
            ("DCGM_FI_DEV_SM_CLOCK", "1005"),
            ("DCGM_FI_DEV_FB_USED", "60000"),
            ("DCGM_FI_DEV_FB_FREE", "20000"),
            ("DCGM_FI_DEV_XID_ERRORS", "79"),
        )
    )
    evidence = Evidence()
    read_gpus(text, "file", evidence)
    gpu = evidence.gpus["node41", 5]
    assert (gpu.temperature, gpu.clock, gpu.memory_total, gpu.xid) == (92, 1005, 80000, 79)


def test_damaged_texts_are_skipped() -> None:
    evidence = Evidence()
    for text in ("", "\x00\xff", '{"gpus": [', '{\n"gpus": 3}', "# gpu pwr\n x y\n", 'DCGM_FI_DEV_GPU_TEMP{gpu="x"} 1'):
        read_gpus(text, "node", evidence)
    assert not evidence.gpus
