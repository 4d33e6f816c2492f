"""What logs hold besides numbers: media.jsonl, and the images, audio and video in it as files beside it.

{"source": …, "kind": "histogram", "tag": …, "step": 3, "edges": […], "counts": […]}; a text has "text", hyperparameters
"settings", a PR curve "precision" and "recall", and what is saved as a file "files". Secrets are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.media import Content, Item, Part


def _files(job: Job) -> Iterator[File]:
    from tuimon.analysis.metric_filter import chosen
    from tuimon.exports.safe_names import SafeNames
    from tuimon.media.saving import suffix_of

    tags = list(dict.fromkeys(item.tag for _, item in _items(job)))
    wanted = chosen(tags, job.patterns, titles=False)[0] if job.patterns else set(tags)
    if not wanted:
        if not job.patterns:
            job.print_status("the logs hold no media; TensorBoard, W&B and SwanLab write some")
        return
    names = SafeNames()
    saved: dict[int, tuple[str, ...]] = {}
    for number, (_, item) in enumerate(_items(job)):
        for part in item.parts if item.tag in wanted else ():
            name = f"{item.kind}/{names.name(f'{item.tag}-step-{item.step}')}{suffix_of(item, part)}"
            saved[number] = (*saved.get(number, ()), name)
            yield name, partial(_copy, item, part)
    yield "media.jsonl", partial(_write, job, wanted, saved)


def _items(job: Job) -> Iterator[tuple[str, Item]]:
    """Yield (source, item) of the logs of all runs, in file order."""
    from tuimon.media.library import media_files

    logs = dict.fromkeys((stream.info.source, stream.info.path) for run in job.runs() for stream in run.streams)
    for source, path in logs:
        for file, reader in media_files(path):
            for item in reader.items(file, lambda count: None):
                yield source, item


def _copy(item: Item, part: Part, stream: BinaryIO) -> None:
    from tuimon.media.saving import content_of_part

    stream.writelines(content_of_part(item, part))


def _write(job: Job, wanted: set[str], saved: dict[int, tuple[str, ...]], stream: BinaryIO) -> None:
    from tuimon.exports.documents import dumps
    from tuimon.media.library import content_of

    for number, (source, item) in enumerate(_items(job)):
        if item.tag in wanted:
            head = {"source": source, "kind": item.kind, "tag": item.tag, "step": item.step}
            files = {"files": saved[number]} if number in saved else {}
            stream.write(dumps(head | _fields(content_of(item)) | files, compact=True).encode() + b"\n")
            job.on_progress("writing", number + 1, 0, " values")


def _fields(content: Content) -> dict[str, Any]:
    """Return the fields of a value, secrets hidden: {"edges": …, "counts": …} of a histogram."""
    from tuimon.media import Distribution
    from tuimon.redact import redacted, redacted_text

    if isinstance(content, str):
        return {"text": redacted_text(content)}
    if isinstance(content, dict):
        return {"settings": redacted(content)}
    if isinstance(content, Distribution):
        moments = content.moments._asdict() if content.moments else {}
        known = {name: value for name, value in moments.items() if value is not None}
        return {"edges": content.edges, "counts": content.counts} | known
    return content._asdict() if content is not None else {}


EXPORT = Export("media", "histograms, texts and hyperparameters as JSON lines; images, audio, video", "", _files)
