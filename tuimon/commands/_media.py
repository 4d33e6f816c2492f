"""`tuimon summary PATH --media`: list histograms, curves, texts, tables, images, audio and video of a log."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from tuimon.commands._shared import checked_paths
from tuimon.commands._stderr import Progress, count_of
from tuimon.errors import ExitCode, NothingFound, UsageError

if TYPE_CHECKING:
    from tuimon.media import Distribution
    from tuimon.media.library import Found, Tag

_KINDS = ("histogram", "pr-curve", "text", "hparams", "table", "image", "audio", "video", "other")
_BUCKETS = 40
_LEVELS = " ▁▂▃▄▅▆▇█"
_PLAIN_LEVELS = " .:-=+*#@"


def add_media(parser: argparse.ArgumentParser) -> None:
    """Add the option that lists what is not a scalar."""
    text = "list histograms, curves, texts, hyperparameters, tables, images, audio and video"
    parser.add_argument("--media", action="store_true", help=text)
    kind = f"only this kind of --media, may be repeated: {', '.join(_KINDS)}"
    parser.add_argument("--kind", action="append", choices=_KINDS, default=[], metavar="KIND", help=kind)


def print_media(options: argparse.Namespace) -> int:
    """Print the media below the only path; return the exit code."""
    from tuimon.media import Kind
    from tuimon.media.library import read_media
    from tuimon.text import clean

    path, *others = checked_paths(options.paths, options=options)
    if others:
        raise UsageError("--media lists one path at a time")
    kinds = [Kind(kind) for kind in options.kind]
    with Progress("reading") as progress:

        def show(found: Found) -> None:
            progress.update(found.read, found.size, f" bytes, {count_of(len(found.tags), 'tag')}")

        found = read_media(path, kinds, on_read=show)
    for problem in found.problems:
        print(f"tuimon: cannot read {clean(problem)}", file=sys.stderr)
    if found.left_out:
        print(f"tuimon: too many tags: {found.left_out} values of further tags are not listed", file=sys.stderr)
    if options.json:
        from tuimon.exports.documents import plain
        from tuimon.exports.media import media_document

        print(json.dumps(plain(media_document(path, found)), allow_nan=False))  # ASCII: names are those of others
    elif not found.tags:
        what = f"{' or '.join(options.kind)} value" if options.kind else "value that is not a scalar"
        raise NothingFound(
            f"No {what} in {count_of(found.files, 'log file')} at or below {clean(path)}.",
            "TensorBoard event files, .wandb and .swanlab files are searched.",
        )
    else:
        for tag in found.tags:
            sys.stdout.write(_text(tag))
    return ExitCode.OK


def _text(tag: Tag) -> str:
    from tuimon.media import Distribution
    from tuimon.media.shape import area_under
    from tuimon.media.texts import content_of
    from tuimon.redact import redacted_text
    from tuimon.text import clean

    last = tag.items[-1]
    steps = f"step {tag.last_step}" if tag.first_step == tag.last_step else f"steps {tag.first_step}-{tag.last_step}"
    again = f", {tag.again} logged again" if tag.again else ""
    parts = [f"{tag.kind:<9} {clean(tag.name)}", f"{tag.count} × {steps}{again}", f"{tag.bytes} bytes"]
    parts += [clean(last.detail)] if last.detail else []
    lines = ["  ".join(parts)]
    content = content_of(last)
    if isinstance(content, str):
        lines.append(f"    {clean(redacted_text(' '.join(content[:400].split())), 110)}")
    elif isinstance(content, dict):
        lines.append(f"    {clean(_settings(content), 110)}")
    elif isinstance(content, Distribution):
        lines.append(f"    {_bar(content)}")
    elif content is not None:
        lines.append(f"    area under the curve {area_under(content.precision, content.recall):.4g}")
    return "\n".join(lines) + "\n"


def _settings(settings: dict[str, Any]) -> str:
    from tuimon.redact import redacted

    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in redacted(settings).items()
    )


def _bar(shown: Distribution) -> str:
    """Return the last distribution as one row of bars between its limits."""
    from tuimon.media.shape import is_exact, limited, mean, normalized, rebucket, total

    levels = _LEVELS if "utf" in (sys.stdout.encoding or "").lower() else _PLAIN_LEVELS
    shown = limited(shown)
    low, high = shown.edges[0], shown.edges[-1]
    parts = normalized(rebucket(shown, low, high, _BUCKETS))
    bars = "".join(levels[math.ceil(part * (len(levels) - 1))] for part in parts)
    about = "" if is_exact(shown) else "about "
    borders = "" if shown.moments else ", by the borders of the buckets"
    count = total(shown)
    return (
        f"{low:.4g} {bars} {high:.4g}  mean {about}{mean(shown):.4g}, "
        f"{count:.15g} value{'s' if count != 1 else ''}{borders}"
    )
