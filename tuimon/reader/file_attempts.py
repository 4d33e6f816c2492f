"""file_attempts(): the steps of each file of a run whose attempts have files of their own, for the report on ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuimon.ranks.evidence import FileAttempt
from tuimon.reader.follow import Followed
from tuimon.reader.log_chains import training_key
from tuimon.sources.grouped_files import Member


def file_attempts(members: Sequence[Member], logs: Mapping[str, Followed]) -> dict[str, FileAttempt]:
    """Return the attempts of the training by path; {} if there is only one. logs: the followed logs by path.

    A file without points, such as slurm-1001.err, is of the attempt that its name says."""
    if not any(member.attempt for member in members):
        return {}
    attempts: dict[str, FileAttempt] = {}
    by_name: dict[str, FileAttempt] = {}
    for member in members:
        log = logs.get(member.path)
        if log is not None and member.joined:
            first, last = log.encoder.first_steps, log.encoder.last_step
            stride = first[1] - first[0] if len(first) > 1 else 1
            resumed = log.encoder.resumed_from
            resumed = resumed if resumed is not None and first and resumed <= first[0] else None
            attempt = FileAttempt(member.attempt, first[0] if first else None, stride, last, resumed)
            attempts[member.path] = by_name[training_key(member.path)] = attempt
    for member in members if attempts else ():
        if (key := training_key(member.path)) in by_name:
            attempts.setdefault(member.path, by_name[key])
    return attempts
