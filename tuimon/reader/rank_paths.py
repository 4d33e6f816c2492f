"""The files of a job of many ranks: which are read, and what their paths say about the processes that wrote them."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tuimon import lazy_re as re
from tuimon.ranks.evidence import LogFile
from tuimon.ranks.lines import HOST, NUMBERED
from tuimon.sources.job_hosts import host_of, job_root, merged, real_paths

HEAD = 4096
"""Bytes of the beginning of a file that say which process writes it."""
_MOST_FILES, _DEPTH = 8192, 8
_TEXT = re.compile(r".*\.(log|out|err|txt|jsonl|dmesg)(\.\d+)?|slurm-.*|.*\.[oe]\d+", re.IGNORECASE)
_SKIPPED = re.compile(
    r"checkpoints?|ckpts?|events|export_events|wandb|\.git|__pycache__|core\..*|.*\.distcp", re.IGNORECASE
)
_IDLE_WORKER = re.compile(r"(worker|python-core-worker)-[0-9a-f]{56}-ffffffff-.*")
_TORCHRUN = re.compile(r"attempt_\d+/\d+/(stdout\.log|stderr\.log|error\.json)$")
_NODE = re.compile(r"(?:node|host|worker|gpu)[-_]?[a-z]*\d[\w]*|\d{1,3}(?:\.\d{1,3}){3}", re.IGNORECASE)
_NAMED_RANK = re.compile(r"(?:^|[^a-z])(?:global[-_]?)?rank[-_]?(\d+)", re.IGNORECASE)
_ROLL = re.compile(r"log_rank_(?P<role>[A-Za-z_]+)-?(?P<rank>\d+)")
_RANK_IN_TEXT = re.compile(
    rb'\[rank(\d+)\]|"(?:global_)?rank": ?(\d+)|\brank +(\d+)\b|\[\w+ (\d+) ?/ ?\d+\]|^ *(\d+): |Rank (\d+)\b',
    re.MULTILINE,
)
_LOOKED_AT = 64
"""Files whose heads are searched for ranks."""
_END = 1 << 16
"""Bytes of the end of a file that are searched for ranks."""
_LAUNCHER = re.compile(
    rb"^ +rank +: \d+ \(local_rank: \d+\)|=   RANK \d+ PID \d+ RUNNING AT|process rank \d+ with PID \d+ on node ",
    re.MULTILINE,
)
"""Reports of launchers that name a rank."""
_SAYS_RANK = re.compile(rb'rank ?\d+|"rank"|WORLD_SIZE|\[\w+ \d+ / \d+\]')


def job_directory(paths: Sequence[str]) -> str:
    """Return the directory that holds all files of a run, or its only file if that is a text; else "".

    Of hosts that have a directory each, the path has "*" in place of the host.
    """
    root = job_root(paths[0]) if paths else ""
    if root:
        common = os.path.commonpath([os.path.dirname(merged(path)) for path in paths])
        return f"{root}/*{common[len(root) :]}" if f"{common}/".startswith(f"{root}/") else ""
    if len(paths) == 1 and _TEXT.fullmatch(os.path.basename(paths[0])):
        return paths[0]
    directory = os.path.commonpath([os.path.dirname(path) for path in paths]) if len(paths) > 1 else ""
    return directory if directory != "/" and os.path.isdir(directory) else ""


def base_of(place: str) -> str:
    """Return the directory that the paths in reports are below, for a place of `job_directory`."""
    root, star, _ = place.partition("/*")
    if star and real_paths(place) != [place]:
        return root
    return os.path.dirname(place) if os.path.isfile(place) else place


def repeated(paths: Sequence[str]) -> set[str]:
    """Return the paths whose names occur on several hosts, so that numbers in them are not those of ranks."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_name[merged(path)].append(path)
    return {path for same in by_name.values() if len(same) > 1 for path in same}


def is_job(directory: str) -> bool:
    """Do the files below a directory, or a file, look as if several ranks had written them, or a launcher of ranks?

    Reads only their beginnings and ends: where one file has the lines of all ranks, only errors name a rank."""
    paths = list(files_of(directory))
    if task_numbers(directory, paths):
        return True
    ranks: set[int] = set()
    for path in paths:
        ranks.update(int(number) for number in _NAMED_RANK.findall(os.path.relpath(merged(path), base_of(directory))))
    for path in paths[:_LOOKED_AT]:
        if len(ranks) > 1:
            return True
        head, end = head_of(path), _end_of(path)
        if _LAUNCHER.search(end):
            return True
        ranks.update(int(next(filter(None, found))) for found in _RANK_IN_TEXT.findall(head + end))
    return len(ranks) > 1


def files_of(directory: str) -> Iterator[str]:
    """Yield the paths of the files below a directory that are read; of a file, its own path."""
    if os.path.isfile(directory):
        yield directory
        return
    pending, count = [(path, 0) for path in reversed(real_paths(directory))], 0
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in children:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEPTH and not _SKIPPED.fullmatch(entry.name):
                        pending.append((entry.path, depth + 1))
                elif entry.is_file() and _is_read(entry.name):
                    count += 1
                    if count > _MOST_FILES:
                        return
                    yield entry.path
            except OSError:
                continue


def _is_read(name: str) -> bool:
    if _IDLE_WORKER.fullmatch(name):
        return False
    return bool(_TEXT.fullmatch(name)) or name == "error.json" or is_hardware(name)


def is_hardware(name: str) -> bool:
    """Does a file name look like the output of a monitor of GPUs?"""
    return name.endswith((".csv", ".prom")) or (name.endswith(".json") and "gpustat" in name)


def task_numbers(directory: str, paths: Sequence[str]) -> dict[str, int]:
    """Return the rank of each file in whose name a number takes the values 0 … n-1, as Slurm's %t does.

    A number counts only if the text of such a file mentions ranks, because the files of a sweep are named alike.
    """
    families: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    twice, base = repeated(paths), base_of(directory)
    for path in paths:
        if not _TORCHRUN.search(path) and not is_hardware(os.path.basename(path)) and path not in twice:
            name = os.path.relpath(merged(path), base)
            families[re.sub(r"\d+", "#", name)].append((path, re.findall(r"\d+", name)))
    ranks: dict[str, int] = {}
    for members in families.values():
        best: list[int] = []
        for column in zip(*(numbers for _, numbers in members), strict=True):
            values = [int(value) for value in column]
            if (
                len(set(values)) > 3
                and set(values) == set(range(max(values) + 1))
                and len(set(values)) > len(set(best))
            ):
                best = values
        if best and any(_SAYS_RANK.search(head_of(path)) for path, _ in members[:4]):
            ranks |= {path: value for (path, _), value in zip(members, best, strict=True)}
    return ranks


def head_of(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(HEAD)
    except OSError:
        return b""


def _end_of(path: str) -> bytes:
    """Return the last bytes of a file, without those that `head_of` returns."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(HEAD, os.fstat(stream.fileno()).st_size - _END))
            return stream.read(_END)
    except OSError:
        return b""


def node_of(relative: str) -> str:
    """Return the node that a path names, or ""."""
    for part in reversed(relative.split("/")):
        stem = part.rsplit(".", 1)[0] if not re.fullmatch(r"[\d.]+", part) else part
        for word in re.split(r"[-_](?=[A-Za-z])|(?<=\d)[-_]", stem):
            if _NODE.fullmatch(word) and not word.startswith("worker"):
                return word
    return ""


def log_file(path: str, relative: str, number: int | None, modified: float, is_repeated: bool = False) -> LogFile:
    """Return what is known about the writer of a file.

    number: its rank by `task_numbers`; modified: time of its last change (s since the epoch). is_repeated: whether
    other hosts have a file of this name.
    """
    name = os.path.basename(path)
    key = ("", number) if number is not None else None
    if key is None and (match := _ROLL.match(name)) and match["role"] != "DRIVER_":
        key = match["role"], int(match["rank"])
    elif key is None and not is_repeated and not _TORCHRUN.search(relative) and (match := _NAMED_RANK.search(relative)):
        key = "", int(match[1])
    launcher = key is None and not _TORCHRUN.search(relative) and not name.startswith("worker-")
    head = head_of(path).decode("utf-8", "replace").splitlines()[:-1] if launcher else []
    numbered, names_hosts = _are_labelled(head, NUMBERED), _are_labelled(head, HOST)
    node = node_of(merged(path)[len(job_root(path)) :] if job_root(path) else relative) or host_of(path)
    return LogFile(relative, node, key, launcher, numbered, names_hosts, time.localtime(modified).tm_year)


def _are_labelled(lines: list[str], label: re.Pattern[str]) -> bool:
    """Do most lines begin with a label, each of a few that occur several times?"""
    labels = [match[0] for match in map(label.match, lines) if match]
    return len(labels) > 3 and len(labels) * 5 >= len(lines) * 4 and 1 < len(set(labels)) <= max(len(labels) / 2, 2)
