"""Units that a log prints, instead of those of the vocabulary."""

from __future__ import annotations

from pathlib import Path

from tuimon.analysis.printed_units import meaning_of, seconds_of
from tuimon.monitor.local import open_run
from tuimon.store import Run


def run_of(path: Path) -> Run:
    [run] = open_run(path).runs
    return run


def console(rows: str, count: int = 30) -> str:
    return "".join(f"step {step}/30 loss: 0.{step + 10}, {rows}\n" for step in range(1, count + 1))


def test_printed_units_replace_those_of_the_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("step_time: 160ms, throughput: 1,060 img/s, gpu_mem: 2.40GB, acc: 8%"))
    run = run_of(tmp_path)
    units = {name: meaning_of(run, name).unit for name in run.metrics}
    assert units == {"loss": "1", "step_time": "ms", "throughput": "img/s", "gpu_mem": "GB", "acc": "pct"}
    assert seconds_of(run, "step_time") == 1e-3
    assert seconds_of(run, "loss") == 1.0
    assert meaning_of(run, "step_time").logged_unit == "ms"


def test_a_throughput_is_of_tokens_only_if_the_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("throughput: 1060"))
    assert meaning_of(run_of(tmp_path), "throughput").unit == "1"
    (tmp_path / "train.log").write_text(console("throughput: 1060, total_tokens: 5120"))
    assert meaning_of(run_of(tmp_path), "throughput").unit == "tokens/s"


def test_units_belong_to_the_source_that_prints_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("step_time: 160ms"))
    rows = "".join(f'{{"step": {step}, "loss": 0.{step + 10}, "step_time": 0.16}}\n' for step in range(1, 31))
    (tmp_path / "metrics.jsonl").write_text(rows)
    run = run_of(tmp_path)
    assert run.provenance("step_time")[0][0] != run.provenance("step_time")[-1][0]
    assert meaning_of(run, "step_time").unit == "s"
