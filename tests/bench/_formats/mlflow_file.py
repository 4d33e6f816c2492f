"""MLflow's file store, beside MlflowClient.get_metric_history and beside split() and float()."""

from __future__ import annotations

import os
from pathlib import Path

from tests.bench._formats import NAMES, WALL, Case, Collected, Series, table

EXPERIMENT, RUN = "231623728248466301", "1aa84f0dd0d442049dfd593365bbfd12"


def write(folder: Path, steps: int) -> None:
    store = folder / "mlruns" / EXPERIMENT
    run = store / RUN
    for name in ("params", "tags", "artifacts"):
        (run / name).mkdir(parents=True)
    (store / "meta.yaml").write_text(
        f"artifact_location: file:///runs/{EXPERIMENT}\ncreation_time: 1795226051000\nexperiment_id: '{EXPERIMENT}'\n"
        "last_update_time: 1795226051000\nlifecycle_stage: active\nname: tiny\n"
    )
    (run / "meta.yaml").write_text(
        f"artifact_uri: file:///runs/{EXPERIMENT}/{RUN}/artifacts\nend_time: null\nentry_point_name: ''\n"
        f"experiment_id: '{EXPERIMENT}'\nlifecycle_stage: active\nrun_id: {RUN}\nrun_name: run\nsource_name: ''\n"
        "source_type: 4\nsource_version: ''\nstart_time: 1795226051000\nstatus: 1\ntags: []\nuser_id: me\n"
    )
    for name, column in zip(NAMES, table(steps).T.tolist(), strict=True):
        path = run / "metrics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{int(WALL + step) * 1000} {value!r} {step}\n" for step, value in enumerate(column)))


def split(folder: Path) -> Series:
    metrics, series = folder / "mlruns" / EXPERIMENT / RUN / "metrics", Collected()
    for path in metrics.rglob("*"):
        if path.is_file():
            for line in path.read_text().splitlines():
                _, value, step = line.split()
                series.row(int(step), [(str(path.relative_to(metrics)), float(value))])
    return series


def client(folder: Path) -> Series:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # 3.17 asks for it
    return history(f"file://{folder / 'mlruns'}", RUN)


def history(address: str, run: str) -> Series:
    """All metrics of a run, from any store of MLflow."""
    from mlflow import MlflowClient

    store = MlflowClient(address)
    histories = {name: store.get_metric_history(run, name) for name in store.get_run(run).data.metrics}
    return {name: ([m.step for m in metrics], [m.value for m in metrics]) for name, metrics in histories.items()}


CASE = Case("MLflow file store", write, {"MlflowClient.get_metric_history": client, "split and float": split})
