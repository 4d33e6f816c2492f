"""W&B runs whose metrics were sent to its server and not kept: recognised by the file that is left, and not read.

    wandb/run-<stamp>-<id>/files/wandb-metadata.json       without the run-<id>.wandb beside files/ that every mode but
                                                           "disabled" writes: it was deleted or not copied

The file also exists in runs with metrics, which are then read as usual. For SwanLab see swanlab.metadata. Source:
`wandb sync --clean`, and files of W&B.
"""

from __future__ import annotations

import re

from tuimon.formats import Format, no_decoder

_PATH = re.compile(r"/(?:offline-)?run-\d{8}_\d{6}-[^/]+/files/wandb-metadata\.json\Z")

FORMAT = Format(
    id="wandb-cloud",
    title="W&B run without its metrics",
    writers="",
    rank=1,
    matches=lambda name, head: head.lstrip().startswith(b"{"),
    decoder=no_decoder,
    wants_path=lambda path: _PATH.search(path) is not None,
    describes_run=True,
    unsupported="its metrics are only on W&B's server, or its writer died before writing any: copy the whole run "
    "directory with its run-<id>.wandb, or keep it (no `wandb sync --clean`)",
)
