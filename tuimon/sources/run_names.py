"""Name runs after the nearest directory with a specific name of their paths."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping

from tuimon.sources import layout


def run_names(paths: Iterable[str], roots: Mapping[str, str]) -> dict[str, str]:
    """A unique name for each path: the shortest tail of the path that is descriptive and unique.

    For example "grpo-1.5b" for …/logs/grpo-1.5b, "agentic_sokoban/20261121-014812". roots: the given path that each
    path is below. A run at a given path keeps the name of its directory, such as "sweep/console", unless several given
    paths end with it (a/tensorboard and b/tensorboard).
    """
    ends = Counter(posixpath.basename(root) for root in {*roots.values()})
    candidates = {path: _candidates(path, roots.get(path, ""), ends[posixpath.basename(path)] == 1) for path in paths}
    levels = dict.fromkeys(candidates, 0)
    while True:
        chosen = {path: candidates[path][level] for path, level in levels.items()}
        uses = Counter(chosen.values())
        longer = [path for path, name in chosen.items() if uses[name] > 1 and levels[path] + 1 < len(candidates[path])]
        if not longer:
            return chosen
        for path in longer:
            levels[path] += 1


def _candidates(path: str, root: str, keeps_end: bool) -> list[str]:
    """Possible names, from the shortest descriptive tail to the whole path.

    keeps_end: whether the last component of `path` is kept if `path` is the given path."""
    parts = [part for part in path.split("/") if part]
    descriptive = [index for index, part in enumerate(parts) if not layout.is_generic(part)]
    starts = descriptive[::-1] or [max(0, len(parts) - 1)]
    while len(starts) > 1 and layout.is_vague(parts[starts[0]]):
        del starts[0]
    below = len([part for part in root.split("/") if part])
    says = (i for i, start in enumerate(starts) if not (layout.is_vague(parts[start]) or layout.is_weak(parts[start])))
    first = next(says, 0)
    if starts[first] >= below:
        del starts[:first]
    names = []
    for start in starts:
        names.append("/".join(part for part in parts[start:] if not layout.is_generic(part)) or "/".join(parts[start:]))
        names.append("/".join(parts[start:]))
    if keeps_end and path == root and starts[0] < len(parts) - 1 and _is_kind(parts[-1]):
        names.insert(0, f"{names[0]}/{parts[-1]}")
    return [*names, path]


def _is_kind(name: str) -> bool:
    """Return whether a name is that of a kind of output or of a part of a run, which a user may also give to a run."""
    return layout.is_facet(name) or layout.is_role(name)
