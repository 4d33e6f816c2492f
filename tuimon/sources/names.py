"""What runs are called: the shortest tail of a path that tells a run from the others and says something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tuimon.sources.layout import is_generic, is_vague


def run_names(paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """A name for each path, no two alike: "grpo-1.5b" for …/logs/grpo-1.5b, "agentic_sokoban/20261121-014812".

    known: names given before, by path; they stay as they are.
    """
    names = {path: known[path] for path in paths if path in known}
    candidates = {path: _candidates(path) for path in paths if path not in known}
    levels = dict.fromkeys(candidates, 0)
    while True:
        chosen = {path: candidates[path][level] for path, level in levels.items()}
        uses = Counter([*chosen.values(), *known.values()])
        longer = [path for path, name in chosen.items() if uses[name] > 1 and levels[path] + 1 < len(candidates[path])]
        if not longer:
            return names | chosen
        for path in longer:
            levels[path] += 1


def _candidates(path: str) -> list[str]:
    """Names for the path from the shortest that says something to the whole path."""
    parts = [part for part in path.split("/") if part]
    telling = [index for index, part in enumerate(parts) if not is_generic(part)]
    starts = telling[::-1] or [max(0, len(parts) - 1)]
    while len(starts) > 1 and is_vague(parts[starts[0]]):
        del starts[0]
    names = []
    for start in starts:
        names.append("/".join(part for part in parts[start:] if not is_generic(part)) or "/".join(parts[start:]))
        names.append("/".join(parts[start:]))
    return [*names, path]
