"""Columns of points as they were logged, and the curves they make.

    store = Store(); store.apply(event) …          one thread owns the writing
    snapshot = store.snapshot()                    copies nothing; any thread may read it while writing goes on
    snapshot.runs[0].curve("train/loss").envelope(low, high, columns)

The public names are Store, Spool, Snapshot, Run, StreamState, Curve, Disagreement, Scale, Sample and of_points.
"""

from tuimon.store.axes import Scale
from tuimon.store.compare import Disagreement
from tuimon.store.curve import Curve, Sample
from tuimon.store.envelope import of_points
from tuimon.store.records import StreamState
from tuimon.store.run import Run
from tuimon.store.snapshot import Snapshot
from tuimon.store.spool import Spool
from tuimon.store.store import Store

__all__ = ["Curve", "Disagreement", "Run", "Sample", "Scale", "Snapshot", "Spool", "Store", "StreamState", "of_points"]
