"""List one directory: files that may be logs, directories to search, and problems with the rest.

Directories are classified by name alone (`place`): caches, media and the insides of checkpoints are not searched. A
long run leaves thousands of checkpoint directories with thousands of weight files, of which a monitor needs the small
JSON files of the newest. So only the newest checkpoints of a directory are listed, and not deeper; the names of the
others show that they are there. Weight files are not stat'ed.

Costs one scandir() per directory and one stat() per wanted file or link: the type comes with the directory entry.
No file is opened.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from msgspec import Struct, field

from tuimon import lazy_re as re
from tuimon.sources.files import CHECK_ACCESS, explain, fresh, kind_name


class SearchMode(Enum):
    """How a directory is searched."""

    OPEN = 1
    """Search everything below it."""
    STORE = 2
    """A directory for checkpoints: a child whose name fits is a checkpoint."""
    IN_STORE = 3
    """A child of a STORE with another name (e.g. a project's): a checkpoint if it holds weights."""
    CHECKPOINT = 4
    """Take only the JSON files in the directory itself."""
    CLOSED = 5
    """Do not enter."""


WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".distcp", ".gguf", ".npz", ".npy", ".h5", ".keras", ".onnx"),
    *(".msgpack", ".orbax", ".pkl", ".index", ".zarr", ".model"),
)
"""Suffixes of files that hold weights, not metrics, unless a format wants a file of this name (evaluations.npz)."""
SAVED = (".ckpt", ".pt", ".pth", ".safetensors")
"""Suffixes of weight files that can be a complete checkpoint (Lightning, scripts). They are not opened."""
JSON = (".json", ".jsonl")
OF_A_MODEL = frozenset(
    f"{stem}.json"
    for stem in (
        *("config", "generation_config", "adapter_config", "model_index", "processor_config", "preprocessor_config"),
        *("video_preprocessor_config", "tokenizer", "tokenizer_config", "special_tokens_map", "added_tokens", "vocab"),
        *("chat_template", "model.safetensors.index", "pytorch_model.bin.index", "modules", "sentence_bert_config"),
    )
)
"""Model descriptions that transformers and similar libraries save in each checkpoint, next to the weights."""
KEPT_IN_CHECKPOINT = frozenset({"pipeline"})
"""ROLL keeps its metric history in checkpoint-N/pipeline/worker_state_pipeline.json."""

MOST_CHECKPOINTS = 16
"""Number of checkpoints of one directory that are entered, the newest ones."""
SAME_SAVE = 60.0
"""Difference (s) of times up to which they do not decide which of two checkpoints is newer (a copied directory)."""

CLOSED_NAMES = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "site-packages", "media", "rollouts", ".cache"}
    | {".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".conda"}
)
"""Names of directories that are not searched."""
CLOSED_PATHS = frozenset({"/proc", "/sys", "/dev"})
"""Directories that are never searched, whatever leads to them."""
_NUMBER = re.compile(r"\d{1,15}")
CHECKPOINT_NAME = re.compile(r"checkpoint[-_].*|ckpt[-_]?\d+.*|global_step[-_]?\d+")
STORE_NAME = re.compile(r"checkpoints|.*ckpts?", re.IGNORECASE)
STEP_NAME = re.compile(
    r"(.*[-_=.])?(checkpoint|ckpt|global_?step|step|iter|iteration|epoch|batch)[-_=]?\d+.*|\d+|best|last|final|latest",
    re.IGNORECASE,
)


def place(path: str, parent: SearchMode) -> SearchMode:
    """How to search the directory at `path`, found in a directory that is searched as `parent`."""
    name = path.rpartition("/")[2]
    if name in CLOSED_NAMES or path in CLOSED_PATHS:
        return SearchMode.CLOSED
    if parent is SearchMode.CHECKPOINT:
        return SearchMode.CHECKPOINT if name in KEPT_IN_CHECKPOINT else SearchMode.CLOSED
    if CHECKPOINT_NAME.fullmatch(name):
        return SearchMode.CHECKPOINT
    if parent in (SearchMode.STORE, SearchMode.IN_STORE):
        return SearchMode.CHECKPOINT if STEP_NAME.fullmatch(name) else SearchMode.IN_STORE
    return SearchMode.STORE if STORE_NAME.fullmatch(name) else SearchMode.OPEN


Wants = Callable[[str], bool]
"""(path) -> should the file be listed?"""
Child: TypeAlias = tuple[str, SearchMode, bool]
"""A directory in another: (path, place, is it a link)."""
REVISIT = 60.0
"""Interval (s) after which a directory is listed again even if its time stamps are unchanged."""
REVISIT_UNRESOLVED = 5.0
"""Interval (s) after which a directory that holds a link without a target is listed again."""


class FoundFile(Struct, frozen=True):
    """A regular file that may be a log."""

    path: str
    """Absolute; symbolic links are not resolved. Bytes that are not UTF-8 are surrogate escapes."""
    root: str
    """The given path below which it was found, absolute; equal to `path` if that is a file."""
    size: int
    """Bytes when its directory was listed."""
    modified: float
    """Time of the last change (s since the epoch) when its directory was listed."""
    inode: tuple[int, int]
    """(device, inode)."""

    @classmethod
    def of(cls, path: str, root: str, status: os.stat_result) -> FoundFile:
        return cls(path, root, status.st_size, status.st_mtime, (status.st_dev, status.st_ino))


class Problem(Struct, frozen=True):
    """Something at or below a given path that cannot be searched or read."""

    path: str
    reason: str
    """Short, lower case: "permission denied", "missing", "a FIFO, not a file"."""
    hint: str = ""


class Listing(Struct):
    """Content of a directory when it was listed."""

    stamp: tuple[int, ...]
    """(device, inode, mtime in ns, ctime in ns)."""
    modified: float
    listed: float
    """Monotonic time of the listing."""
    good_for: float
    """Seconds after which it has to be listed again."""
    entries: int = 0
    """Number of directory entries."""
    files: list[tuple[FoundFile, bool]] = field(default_factory=list)
    """(file, is it a link)."""
    directories: list[Child] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    """Paths of files that may be complete checkpoints, by their names, and of checkpoints that are not entered."""
    problems: list[Problem] = field(default_factory=list)

    def expired(self, now: float) -> bool:
        return now - self.listed >= self.good_for


def list_directory(
    path: str, root: str, where: SearchMode, status: os.stat_result, wants: Wants, limit: int
) -> Listing:
    """List the directory. limit: maximum number of entries."""
    listing = Listing(stamp_of(status), status.st_mtime, time.monotonic(), 0.0 if fresh(status) else REVISIT)
    prefix = path if path.endswith("/") else path + "/"
    holds_weights = False
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                listing.entries += 1
                if listing.entries > limit:
                    break
                name = entry.name
                if where is SearchMode.CHECKPOINT:
                    if name.endswith(JSON):
                        if name not in OF_A_MODEL and wants(prefix + name):
                            _take(entry, root, listing, entry.is_symlink())
                    elif name in KEPT_IN_CHECKPOINT and entry.is_dir(follow_symlinks=False):
                        listing.directories.append((prefix + name, where, False))
                elif name.endswith(WEIGHTS) and not wants(prefix + name):
                    holds_weights = True
                    if name.endswith(SAVED):
                        listing.saved.append(prefix + name)
                elif entry.is_dir(follow_symlinks=False):
                    _branch(prefix + name, where, listing, False)
                elif entry.is_symlink():
                    _follow(entry, root, where, listing, wants)
                elif wants(prefix + name):
                    _take(entry, root, listing, False)
    except OSError as error:
        listing.problems.append(Problem(path, explain(error), CHECK_ACCESS))
    if where is SearchMode.IN_STORE and holds_weights:
        listing.directories.clear()
    if where is not SearchMode.CHECKPOINT:
        _leave_old(listing)
    listing.directories.sort(key=lambda child: child[0])
    listing.saved.sort()
    return listing


def _leave_old(listing: Listing) -> None:
    """Leave only the newest of many checkpoints among the directories to enter."""
    saved = [child for child in listing.directories if child[1] is SearchMode.CHECKPOINT]
    if len(saved) > MOST_CHECKPOINTS:
        statuses = {path: try_stat(path)[0] for path, *_ in saved}
        ages = {path: checkpoint_age(path, status.st_mtime if status else 0.0) for path, status in statuses.items()}
        old = set(sorted(ages, key=lambda path: ages[path])[:-MOST_CHECKPOINTS])
        listing.directories = [child for child in listing.directories if child[0] not in old]
        listing.saved += old


def checkpoint_age(path: str, modified: float) -> tuple[float, int]:
    """Return what sorts checkpoints from the oldest to the newest; copied ones have equal times, but numbers."""
    numbers = _NUMBER.findall(path.rpartition("/")[2])
    return modified // SAME_SAVE, int(numbers[-1]) if numbers else 0


def _branch(path: str, parent: SearchMode, listing: Listing, is_link: bool) -> None:
    where = place(path, parent)
    if where is not SearchMode.CLOSED:
        listing.directories.append((path, where, is_link))


def _follow(entry: os.DirEntry[str], root: str, where: SearchMode, listing: Listing, wants: Wants) -> None:
    """Add what a symbolic link leads to: a directory, a file, or nothing yet."""
    status, _ = try_stat(entry.path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        _branch(entry.path, where, listing, True)
    elif wants(entry.path):
        _take(entry, root, listing, True)
    elif status is None:
        listing.good_for = min(listing.good_for, REVISIT_UNRESOLVED)


def _take(entry: os.DirEntry[str], root: str, listing: Listing, is_link: bool) -> None:
    """Add a file with a wanted name, or the problem with it."""
    status, reason = try_stat(entry.path)
    if status is None:
        listing.good_for = min(listing.good_for, REVISIT_UNRESOLVED)
        if reason != "missing":  # otherwise deleted since it was listed
            listing.problems.append(Problem(entry.path, reason))
    elif stat.S_ISREG(status.st_mode):
        listing.files.append((FoundFile.of(entry.path, root, status), is_link))
    elif not stat.S_ISDIR(status.st_mode):
        listing.problems.append(special(entry.path, status))


def try_stat(path: str) -> tuple[os.stat_result | None, str]:
    """(status of what the path leads to, ""), or (None, reason)."""
    try:
        return os.stat(path), ""
    except FileNotFoundError:
        return None, "a link to nothing" if os.path.islink(path) else "missing"
    except OSError as error:
        return None, explain(error)


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """A value that changes when a directory must be listed again."""
    # ctime changes with mode and owner as well, and cannot be set back
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def special(path: str, status: os.stat_result) -> Problem:
    """The problem of a FIFO, a device or a socket at the path of a log."""
    return Problem(path, f"{kind_name(status.st_mode)}, not a file", "it is not opened")
