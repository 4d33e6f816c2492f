"""Columns of points as they were logged, and the curves built from them.

    store = Store(); store.apply(event) …          one thread writes
    snapshot = store.snapshot()                    copies nothing; any thread may read it while writing goes on
    snapshot.runs[0].curve("train/loss").envelope(low, high, bins)

Public names: METRIC_AXIS, Store, Snapshot, Run, StreamView, Curve, Disagreement, Scale, CurvePoint,
envelope_of_points.
"""

from tuimon.store.axes import METRIC_AXIS, Scale
from tuimon.store.curve import Curve, CurvePoint, Disagreement
from tuimon.store.envelope import envelope_of_points
from tuimon.store.run import Run
from tuimon.store.snapshot import Snapshot
from tuimon.store.store import Store
from tuimon.store.streams import StreamView

__all__ = ["METRIC_AXIS", "Curve", "CurvePoint", "Disagreement", "Run", "Scale", "Snapshot", "Store", "StreamView"]
__all__ += ["envelope_of_points"]
