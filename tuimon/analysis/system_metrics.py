"""Metrics that a tracker measured on the machine itself, beside those that the training logged."""

from __future__ import annotations

from collections.abc import Mapping

from tuimon import lazy_re as re
from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.points import Topic
from tuimon.store import Run
from tuimon.vocabulary import meanings

_MLFLOW = re.compile(
    r"system/(?:[^/]+/)?(?:gpu_\d+_(?:utilization|memory_usage|power_usage)_(?:percentage|megabytes|watts)"
    r"|cpu_utilization_percentage|system_memory_usage_(?:percentage|megabytes)"
    r"|disk_(?:usage|available)_(?:percentage|megabytes)|network_(?:receive|transmit)_megabytes)"
)
"""Names that MLflow's monitor writes; source: mlflow 3, mlflow/system_metrics/metrics. Its logs do not mark them."""


@cached_per_run
def system_metrics(run: Run) -> frozenset[str]:
    """Return the names of the metrics that a tracker measured on its own clock (GPU load, temperature, network).

    The log of W&B, SwanLab and Trackio says which these are. A trainer that logs `system/tps` itself, as ROLL does,
    is not among them.
    """
    marked = {
        metric
        for fact in run.facts(Topic.METRICS)
        for metric, known in fact.value.items()
        if isinstance(known, Mapping) and known.get("system")
    }
    known = meanings(run.metrics)
    mlflow = any(fact.value.get("name") == "mlflow" for fact in run.facts(Topic.WRITER))
    return frozenset(
        metric
        for metric in run.metrics
        if metric in marked or (mlflow and _MLFLOW.fullmatch(metric)) or known[metric].panel == "machine"
    )
