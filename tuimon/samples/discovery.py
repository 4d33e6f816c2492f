"""Find the files with samples below a directory and read them; say how trainers write them, for runs that have none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml
from tuimon.errors import FormatError
from tuimon.media.files import files_below
from tuimon.registry import discover
from tuimon.samples import Sample, Shape
from tuimon.samples.copies import Repeats, reading_order, source_of
from tuimon.samples.fields import sample_of

_EXCLUDED = re.compile(
    r"aggregated_results|.*metadata|results_.*|batch_summary|trainer_log.*|trainer_state|logging|metrics|history|config.*"
    r"|truth|expected|tokenizer.*|vocab|.*\.index"
)
_CLOSED = re.compile(r"\..*|checkpoints?|checkpoint-\d+|node_modules|__pycache__|site-packages")
_MAX_OTHERS = 64
"""A file is left after this many rows if none of them is a sample."""
_TOKENS = ("prompt_tokens", "response_tokens", "prompt_ids", "response_ids", "output_ids")
_NO_TEXT = (
    "token ids without texts; open-instruct writes such files, and texts only into the W&B table of its evaluations "
    "(--with_tracking)"
)
_PLACES = ("rollout_data_dir", "validation_data_dir", "rollout_dump_dir", "export_path", "rollouts_save_path")
_UNREADABLE = (".pt", ".pkl", ".pickle")


def sample_files(path: str) -> Iterator[tuple[str, Shape]]:
    """Yield the files at or below `path` that may contain samples, in the order of their names, numbers by value."""
    shapes: tuple[Shape, ...] = discover("tuimon.samples.shapes", "SHAPE")
    media: set[str] = set()
    for file in files_below(path, _is_closed):
        folder, _, name = file.rpartition("/")
        if folder.rpartition("/")[0].endswith("/media"):  # SwanLab may store a table in two folders of `media`
            copy = f"{folder.rpartition('/')[0]}/{name}"
            if copy in media:
                continue
            media.add(copy)
        if file != path and _EXCLUDED.fullmatch(name.rpartition(".")[0]):
            continue
        shape = next((shape for shape in shapes if shape.matches(name)), None)
        if shape is not None:
            yield file, shape


def unreadable_files(path: str) -> list[str]:
    """Return the pickles at or below `path` whose directory says that they contain samples."""
    folders = ("rollout_data", "dumped_data", "debug_rollout")
    pickles = (file for file in files_below(path, _is_closed) if file.endswith(_UNREADABLE))
    return [file for file in pickles if any(f"/{folder}" in file for folder in folders)]


class Location(NamedTuple):
    """Place of a row: rows at the same position are numbered."""

    position: int
    number: int


def samples_in(file: str, shape: Shape, below: str, start: int = 0) -> Iterator[tuple[Location, Sample]]:
    """Yield the samples of a file from a position on. below: path of the file relative to the searched directory.
    Raises OSError and FormatError."""
    position, number, others, only_tokens = -1, 0, 0, False
    for here, row in shape.rows(file, start):
        number = number + 1 if here == position else 0
        position = here
        sample = sample_of(row, file, below)
        if sample is not None:
            others, only_tokens = _MAX_OTHERS, False  # the file has samples: read it to its end
            yield Location(position, number), sample
            continue
        others += 1
        only_tokens |= others <= _MAX_OTHERS and any(isinstance(row.get(key), list) for key in _TOKENS)
        if others == _MAX_OTHERS:
            break
    if only_tokens:
        raise FormatError(_NO_TEXT)


def read_samples(path: str, problems: list[str]) -> Iterator[Sample]:
    """Yield the samples at or below `path`; append a sentence to `problems` for each file that cannot be read.

    A text that several kinds of files have is yielded once, see copies.py.
    """
    files = [(file, shape, path_below(file, path)) for file, shape in sample_files(path)]
    repeats = Repeats(source_of(shape.id, below) for _, shape, below in files)
    for file, shape, below in sorted(files, key=lambda found: reading_order(found[1].id, found[2])):
        source = source_of(shape.id, below)
        try:
            for _, sample in samples_in(file, shape, below):
                if not repeats.repeated(sample, source, below):
                    yield sample
        except (OSError, FormatError) as error:
            problems.append(f"{below}: {error}")


def has_samples(paths: Iterable[str]) -> bool:
    """Return whether there are files with samples at or below the paths, or some that cannot be read and may have
    them."""
    for path in paths:
        for file, shape in sample_files(path):
            try:
                if next(samples_in(file, shape, path_below(file, path)), None) is not None:
                    return True
            except FormatError as error:
                if str(error) == _NO_TEXT or "pyarrow" in str(error):
                    return True  # reading it reports what it needs
            except OSError:
                continue
        if unreadable_files(path):
            return True
    return False


def advice(settings: Mapping[str, Any]) -> list[str]:
    """Return lines about the options of trainers, and the directories that the settings of a run name."""
    named = [f"The settings name {name} = {place}: open it with --samples {place}" for name, place in _places(settings)]
    options = load_toml(Path(__file__).with_name("options.toml"))
    return [
        *named,
        "Trainers write texts if an option is set:",
        *(f"  {name:<15}{text}" for name, text in options.items()),
    ]


def path_below(file: str, path: str) -> str:
    """Return the path of a file relative to the searched directory; the name of the file if it was searched itself."""
    return os.path.relpath(file, path) if file != path else os.path.basename(file)


def _is_closed(folder: str) -> bool:
    above, _, name = folder.rpartition("/")
    is_repeated = name == "effective" and Path(above, "all").is_dir()
    return is_repeated or _CLOSED.fullmatch(name) is not None


def _places(settings: Mapping[str, Any], depth: int = 0) -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _places(value, depth + 1)
        elif isinstance(value, str) and value and key.rpartition(".")[2] in _PLACES:
            yield key, value
