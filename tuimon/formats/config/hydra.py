"""The name of a job of Hydra: .hydra/hydra.yaml beside its settings.

    hydra:
      mode: RUN                       MULTIRUN: a job of a sweep
      job:
        name: train                   name of the script, unless the user sets it
        override_dirname: lr=0.1      what distinguishes the jobs of a sweep
      runtime:
        output_dir: /srv/outputs/2026-11-21/01-41-19

A name that does not describe a run, such as train, is followed by the date and the time of the output directory.
Source: hydra/core/utils.py and hydra/conf/__init__.py of Hydra 1.3, and files written by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.safe_yaml import LARGEST, parse_yaml
from tuimon.formats._shared.settings import FactsDocument, mapping
from tuimon.model.points import Fact, Topic

_SCRIPTS = frozenset({"main", "app", "my_app", "run", "train", "trainer", "training", "learn", "eval", "test"})
"""Usual names of scripts, which do not describe a run."""
_TIME = re.compile(r"\d{4}-(\d\d-\d\d)[/_](\d\d)-(\d\d)-\d\d(?:/\d+)?/?")


def read_job(data: bytes) -> list[Fact]:
    """Return the name of the job as a fact about the writer."""
    document = parse_yaml(data)
    hydra = mapping(document if isinstance(document, dict) else {}, "hydra")
    job = mapping(hydra, "job")
    name = job.get("name")
    if not isinstance(name, str):
        raise FormatError("no job of Hydra in this document")
    name = _full_name(name, hydra, job)
    return [Fact(Topic.WRITER, {"job": name})] if name else []


def _full_name(name: str, hydra: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """Return the name of the job with what distinguishes it; "" if it does not describe a run."""
    overrides = job.get("override_dirname")
    if "MULTIRUN" in str(hydra.get("mode")) and isinstance(overrides, str) and overrides:
        return f"{name} {overrides}"
    if name not in _SCRIPTS:
        return name
    when = _TIME.search(str(mapping(hydra, "runtime").get("output_dir")))
    return f"{name} {when[1]} {when[2]}:{when[3]}" if when else ""


FORMAT = Format(
    id="hydra-job",
    title="Hydra job",
    writers=".hydra/hydra.yaml of Hydra 1.1 to 1.3: the name of a job",
    rank=4,
    matches=lambda name, head: head.lstrip().startswith(b"hydra:"),
    decoder=partial(FactsDocument, read_job),
    wants_name=lambda name: name == "hydra.yaml",
    describes_run=True,
    max_size=LARGEST,
)
