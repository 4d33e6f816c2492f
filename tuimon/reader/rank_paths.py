"""The processes of a job that the paths and the texts of its logs name."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Sequence

from tuimon import lazy_re as re
from tuimon.ranks.evidence import LogFile
from tuimon.ranks.lines import HOST, NUMBERED, is_counter
from tuimon.sources.files import head_of
from tuimon.sources.job_hosts import host_of, job_root, merged

HEAD = 4096
"""Bytes of the beginning of a file that say which process writes it."""
_TEXT = re.compile(r".*\.(log|out|err|txt|jsonl|dmesg)(\.\d+)?|slurm-.*|.*\.[oe]\d+", re.IGNORECASE)
_IDLE_WORKER = re.compile(r"(worker|python-core-worker)-[0-9a-f]{56}-ffffffff-.*")
_TORCHRUN = re.compile(r"attempt_\d+/\d+/(stdout\.log|stderr\.log|error\.json)$")
_NODE = re.compile(r"(?:node|host|worker|gpu)[-_]?[a-z]*\d[\w]*|\d{1,3}(?:\.\d{1,3}){3}", re.IGNORECASE)
_NAMED_RANK = re.compile(r"(?:^|[^a-z])(?:global[-_]?)?rank[-_]?(\d+)", re.IGNORECASE)
_ROLL = re.compile(r"log_rank_(?P<role>[A-Za-z_]+)-?(?P<rank>\d+)")
_RANK_IN_TEXT = re.compile(
    rb'\[rank(\d+)\]|"(?:global_)?rank": ?(\d+)|\brank[ =:]{1,2}(\d+)\b|\[(?P<word>\w+) (\d+) ?/ ?\d+\]'
    rb"|^ *(\d+): |Rank (\d+)\b",
    re.MULTILINE,
)
_LAUNCHER = re.compile(
    rb"^ +rank +: \d+ \(local_rank: \d+\)|=   RANK \d+ PID \d+ RUNNING AT|process rank \d+ with PID \d+ on node ",
    re.MULTILINE,
)
"""Reports of launchers that name a rank."""
_SAYS_RANK = re.compile(rb'rank ?\d+|"rank"|WORLD_SIZE|\[\w+ \d+ / \d+\]')


def repeated(paths: Sequence[str]) -> set[str]:
    """Return the paths whose names occur on several hosts, so that numbers in them are not those of ranks."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_name[merged(path)].append(path)
    return {path for same in by_name.values() if len(same) > 1 for path in same}


def has_rank_lines(path: str) -> bool:
    """Return whether the lines of a file are looked at for ranks, by its name: texts, and reports of failures."""
    name = os.path.basename(path)
    return not _IDLE_WORKER.fullmatch(name) and (bool(_TEXT.fullmatch(name)) or name == "error.json")


def ranks_in_path(path: str, directory: str) -> set[int]:
    """Return the ranks that a path below a directory names: 3 of rank_3/stderr.log."""
    return set(map(int, _NAMED_RANK.findall(os.path.relpath(merged(path), directory))))


def named_ranks(text: bytes) -> tuple[set[int], bool]:
    """Return the ranks that lines name, and whether a launcher reports about one of them."""
    found = (match for match in _RANK_IN_TEXT.finditer(text) if not is_counter(match["word"]))
    return {int(next(filter(None, match.group(1, 2, 3, 5, 6, 7)))) for match in found}, bool(_LAUNCHER.search(text))


def task_numbers(directory: str, paths: Sequence[str]) -> dict[str, int]:
    """Return the rank of each file in whose name a number takes the values 0 … n-1, as Slurm's %t does.

    A number counts only if the text of such a file mentions ranks, because the files of a sweep are named alike.
    """
    families: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    twice = repeated(paths)
    for path in paths:
        if not _TORCHRUN.search(path) and not path.endswith(".csv") and path not in twice:
            name = os.path.relpath(merged(path), directory)
            families[re.sub(r"\d+", "#", name)].append((path, re.findall(r"\d+", name)))
    ranks: dict[str, int] = {}
    for members in families.values():
        best: list[int] = []
        for column in zip(*(numbers for _, numbers in members), strict=True):
            values = [int(value) for value in column]
            count = len(set(values))
            if count > 3 and max(values) == count - 1 and count > len(set(best)):
                best = values
        if best and any(_SAYS_RANK.search(head_of(path, HEAD)) for path, _ in members[:4]):
            ranks |= {path: value for (path, _), value in zip(members, best, strict=True)}
    return ranks


def node_of(relative: str) -> str:
    """Return the node that a path names, or ""."""
    for part in reversed(relative.split("/")):
        stem = part.rsplit(".", 1)[0] if not re.fullmatch(r"[\d.]+", part) else part
        for word in re.split(r"[-_](?=[A-Za-z])|(?<=\d)[-_]", stem):
            if _NODE.fullmatch(word) and not word.startswith("worker"):
                return word
    return ""


def log_file(
    path: str, relative: str, number: int | None, modified: float, is_repeated: bool, beginning: bytes
) -> LogFile:
    """Return what is known about the writer of a file.

    number: its rank by `task_numbers`; modified: time of its last change (s since the epoch). is_repeated: whether
    other hosts have a file of this name. beginning: its first bytes.
    """
    name = os.path.basename(path)
    key = ("", number) if number is not None else None
    if key is None and (match := _ROLL.match(name)) and match["role"] != "DRIVER_":
        key = match["role"], int(match["rank"])
    elif key is None and not is_repeated and not _TORCHRUN.search(relative) and (match := _NAMED_RANK.search(relative)):
        key = "", int(match[1])
    launcher = key is None and not _TORCHRUN.search(relative) and not name.startswith("worker-")
    head = beginning.decode("utf-8", "replace").splitlines()[:-1] if launcher else []
    numbered, names_hosts = _are_labelled(head, NUMBERED), _are_labelled(head, HOST)
    node = node_of(merged(path)[len(job_root(path)) :] if job_root(path) else relative) or host_of(path)
    return LogFile(
        relative,
        node,
        key,
        launcher,
        numbered,
        names_hosts,
        time.localtime(modified if modified == modified else None).tm_year,
    )


def _are_labelled(lines: list[str], label: re.Pattern[str]) -> bool:
    """Do most lines begin with a label, each of a few that occur several times?"""
    labels = [match[0] for match in map(label.match, lines) if match]
    return len(labels) > 3 and len(labels) * 5 >= len(lines) * 4 and 1 < len(set(labels)) <= max(len(labels) / 2, 2)
