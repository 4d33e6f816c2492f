"""`tuimon samples PATH`: print the texts that a model has generated."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tuimon.commands import Command
from tuimon.commands._remote import add_remote, copy_texts, hide_mirrors
from tuimon.commands._shared import add_schema, checked_paths, step_range
from tuimon.commands._stderr import Progress, interruptible
from tuimon.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from tuimon.rollouts import Sample

_WIDTH = 60
_SOURCES = 3
"""Maximum number of sources that a heading names."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a directory, or a file with samples")
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument("--step", type=int, metavar="N", help="only the samples of step N")
    within = "only the samples of these steps, both included; either may be left out"
    steps.add_argument("--steps", type=step_range, metavar="FIRST-LAST", help=within)
    order = parser.add_mutually_exclusive_group()
    of_last = "reward: of the last step, unless --step or --steps is given"
    order.add_argument("--worst", type=_count, metavar="K", help=f"only the K samples with the lowest {of_last}")
    order.add_argument("--best", type=_count, metavar="K", help=f"only the K samples with the highest {of_last}")
    prompts = "one row per prompt: its change from the first to the last step (to --step N) with it, losses first"
    order.add_argument("--prompts", action="store_true", help=prompts)
    parser.add_argument(
        "--split",
        choices=("train", "validation", "all"),
        help="only the samples of this split (default: all; with --worst and --best: train, if there are any)",
    )
    parser.add_argument("--group", metavar="G", help="only the samples of group G: its name, or its number in a step")
    search = (
        "only samples whose response or prompt contains TEXT; or re:EXPRESSION, or a comparison such as 'length>512'"
    )
    parser.add_argument("--search", metavar="TEXT", help=search)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object per sample (see --schema)")
    add_schema(parser)
    form.add_argument("--markdown", action="store_true", help="print a section of Markdown per sample")
    add_remote(parser)
    copy_texts(parser, sys.maxsize)


def _count(text: str) -> int:
    """Return the number of an option. Raises ArgumentTypeError if it is not a positive integer."""
    if not re.fullmatch(r"\d{1,9}", text) or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer of at least 1")
    return int(text)


@interruptible("interrupted before all texts were read")
def _run(options: argparse.Namespace) -> int:
    from tuimon.commands._chosen_samples import ChosenSamples
    from tuimon.exports.sample_lines import sample_json
    from tuimon.rollouts.discovery import read_samples, unreadable_files
    from tuimon.rollouts.export import as_markdown
    from tuimon.text import clean

    path = checked_paths([options.path], options=options)[0]
    if options.prompts and options.markdown:
        raise UsageError("--markdown does not apply to --prompts", "Use --json, or neither.")
    problems: list[str] = []
    progress = Progress("reading")
    chosen = ChosenSamples(options)
    samples = chosen.of(progress.counted(read_samples(path, problems), " texts"))
    count = options.worst if options.worst is not None else options.best
    of_all: dict[tuple[int | None, str], _Rewards] = {}
    extreme = None
    of_last = options.step is None and options.steps is None
    if count is not None:
        counted = _counted(samples, of_all)
        extreme = _extreme(counted, count, options.worst is None, options.split is None, of_last)
        samples = iter(extreme.samples)
    printed = 0
    if options.prompts:
        printed = _print_prompts(samples, options)
    elif options.json or options.markdown:
        for sample in samples:
            progress.close()
            sys.stdout.write(sample_json(sample, path) if options.json else as_markdown(sample))
            printed += 1
    else:
        parts: dict[tuple[int | None, str], _Part] = {}
        for sample in samples:
            parts.setdefault((sample.step, sample.split), _Part()).add_line(sample, chosen.label(sample))
            printed += 1
        progress.close()
        for step, split in sorted(parts, key=lambda key: (key[0] is None, key[0] or 0, key[1])):
            sys.stdout.writelines(parts[step, split].lines(step, split, path, of_all.get((step, split))))
        if extreme is not None and extreme.samples:
            print(_searched(extreme, of_all, of_last))
    progress.close()
    for problem in problems:
        print(f"tuimon: cannot read {clean(problem)}", file=sys.stderr)
    if not printed:
        pickles = unreadable_files(path)
        raise chosen.nothing(clean(path), clean(hide_mirrors(pickles[0])) if pickles else "")
    return ExitCode.OK


def _print_prompts(samples: Iterable[Sample], options: argparse.Namespace) -> int:
    """Print the change of each prompt over the run and return the number of prompts."""
    from tuimon.commands._prompt_table import HEAD, prompt_line
    from tuimon.exports.sample_lines import prompt_json
    from tuimon.rollouts.prompt_changes import prompt_changes

    changes = prompt_changes(samples, options.step)
    if options.json:
        sys.stdout.writelines(map(prompt_json, changes))
    elif changes:
        print(HEAD)
        sys.stdout.writelines(map(prompt_line, changes))
    return len(changes)


class _Extreme(NamedTuple):
    """The samples with the lowest or highest rewards."""

    samples: list[Sample]
    split: str
    """The split that was searched, or "" for all."""
    omitted: int
    """Number of further samples with the reward of the last one."""


def _extreme(samples: Iterable[Sample], count: int, best: bool, one_split: bool, of_last: bool) -> _Extreme:
    """Return the first of the samples with the lowest or highest rewards. one_split: only those of training, if it has
    any; of_last: only those of the last step that has rewards."""
    import heapq

    newest: dict[str, float] = {}  # split → last step so far, if only that counts
    kept: dict[str, list[tuple[float, int, Sample]]] = {}
    omitted: dict[str, tuple[float, int]] = {}  # split → (reward of the last one kept, number of those left out)
    for number, sample in enumerate(samples):
        if sample.reward is None or math.isnan(sample.reward):
            continue
        split = sample.split if one_split else ""
        step = sample.step if of_last and sample.step is not None else -1
        if step < newest.get(split, step):
            continue
        if step > newest.get(split, step):
            kept.pop(split, None)
            omitted.pop(split, None)
        newest[split] = step
        heap = kept.setdefault(split, [])
        entry = (sample.reward if best else -sample.reward, -number, sample)
        if len(heap) < count:
            heapq.heappush(heap, entry)
            continue
        reward = heapq.heappushpop(heap, entry)[0]
        if reward == heap[0][0]:
            known, equal = omitted.get(split, (reward, 0))
            omitted[split] = reward, equal + 1 if known == reward else 1
    split = "train" if "train" in kept else next(iter(kept), "")
    heap = kept.get(split, [])
    reward, equal = omitted.get(split, (math.nan, 0))
    ordered = [sample for _, _, sample in sorted(heap, key=lambda entry: entry[:2], reverse=True)]
    return _Extreme(ordered, split, equal if heap and reward == heap[0][0] else 0)


def _searched(extreme: _Extreme, of_all: dict[tuple[int | None, str], _Rewards], of_last: bool) -> str:
    """Return which samples were searched, and how many have the reward of the last one that is printed. of_last: only
    those of its step were searched."""
    searched = {key: rewards for key, rewards in of_all.items() if extreme.split in ("", key[1])}
    known = [step for step, _ in searched if step is not None]
    last_step = extreme.samples[-1].step
    if of_last:
        searched = {key: rewards for key, rewards in searched.items() if key[0] == last_step}
    steps = [step for step, _ in searched if step is not None]
    words = sorted({split for _, split in searched})
    if steps:
        first, last = min(steps), max(steps)
        words.append(f"step {first}" if first == last else f"steps {first} to {last}")
    more = f"; --steps {min(known)}-{max(known)} searches all" if of_last and len(set(known)) > 1 else ""
    count = sum(rewards.count for rewards in searched.values())
    line = f"searched {count} text{'s' if count != 1 else ''} ({', '.join(words)}{more})"
    if extreme.omitted:
        reward = extreme.samples[-1].reward
        printed = sum(sample.reward == reward for sample in extreme.samples)
        line += f": the first {printed} of {printed + extreme.omitted} texts with reward {reward:.4g}"
    return line


class _Rewards:
    """The number of the samples of a step and a split, their finite rewards and their files."""

    def __init__(self) -> None:
        self.count = 0
        self._rewards: list[float] = []
        self.files: dict[str, None] = {}

    def add(self, sample: Sample) -> None:
        self.count += 1
        self.files[sample.source] = None
        if sample.reward is not None and math.isfinite(sample.reward):
            self._rewards.append(sample.reward)

    def mean(self, of: str = "") -> str:
        """Return "mean reward 0.5", or "mean reward of all 0.5" with `of`; "" without rewards."""
        from tuimon.rollouts.selection import mean_and_std

        return f"mean reward{of} {mean_and_std(self._rewards)[0]:.4g}" if self._rewards else ""


def _counted(samples: Iterable[Sample], of_all: dict[tuple[int | None, str], _Rewards]) -> Iterator[Sample]:
    """Yield the samples and count them by step and split."""
    for sample in samples:
        of_all.setdefault((sample.step, sample.split), _Rewards()).add(sample)
        yield sample


class _Part(_Rewards):
    """The lines of the samples of a step and a split, as printed, and their rewards."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._loops = 0
        self._groups: dict[str, list[int]] = {}
        """Hashes of the responses by label of the group."""

    def add_line(self, sample: Sample, label: str) -> None:
        """Add a sample, and its line with the label of its group."""
        from tuimon.rollouts.flags import loops
        from tuimon.rollouts.parts import parts_of

        self.add(sample)
        self._lines.append(_line(sample, label))
        self._loops += loops(sample.response.strip())
        self._groups.setdefault(label, []).append(hash(parts_of(sample)[1]))

    def lines(self, step: int | None, split: str, path: str, of_all: _Rewards | None) -> Iterator[str]:
        """Yield a heading, then the lines in the order in which the samples came. path: the searched directory; of_all:
        numbers of all samples of the step and the split, if only the best or worst are printed."""
        from tuimon.rollouts.copies import source_of
        from tuimon.rollouts.discovery import path_below
        from tuimon.text import clean

        if of_all is None:
            count, mean = f"{self.count} text{'s' if self.count != 1 else ''}", self.mean()
        else:
            count = f"{self.count} of {of_all.count} text{'s' if of_all.count != 1 else ''}"
            mean = of_all.mean(" of all")
        folders = dict.fromkeys(source_of("", path_below(file, path)).folder for file in self.files)
        sources = f"{len(folders)} sources: {clean(', '.join([*folders][:_SOURCES]), 80)}" if len(folders) > 1 else ""
        looping = f"{self._loops} repeat{'s' if self._loops == 1 else ''} a phrase" if self._loops else ""
        degenerate = (looping, self._identical()) if of_all is None else ()
        numbers = ", ".join(filter(None, (count, mean, *degenerate, sources)))
        yield f"{'no step' if step is None else f'step {step}'}, {split}: {numbers}\n"
        yield from self._lines

    def _identical(self) -> str:
        """Return the group with the most identical texts, and how many others have any; "" if no group has."""
        from tuimon.rollouts.flags import most_identical

        counts = {label: most_identical(texts) for label, texts in self._groups.items()}
        groups = [label for label, count in counts.items() if count]
        if not groups:
            return ""
        label = max(groups, key=lambda label: counts[label])
        more = f", and in {len(groups) - 1} more" if len(groups) > 1 else ""
        return f"{counts[label]} of {len(self._groups[label])} identical in group {label}{more}"


def _line(sample: Sample, label: str) -> str:
    from tuimon.redact import redacted_text
    from tuimon.rollouts.parts import parts_of
    from tuimon.text import clean, fit

    step = "-" if sample.step is None else str(sample.step)
    reward = "-" if sample.reward is None else f"{sample.reward:.4g}"
    length = f"{sample.length} {sample.length_unit}"
    text = fit(clean(" ".join(redacted_text(parts_of(sample)[1][:400]).split())), _WIDTH).rstrip()
    return f"{step:>8} {reward:>8} {length:>12} {label:>8}  {text}\n"


_EXAMPLES = """\
  tuimon samples RUN                       step, reward, length, group and first words of each text
  tuimon samples RUN --worst 5             the five texts of the last step with the lowest reward
  tuimon samples RUN --steps 1-40 --best 5    the five texts of these steps with the highest reward
  tuimon samples RUN --search 're:\\d'      the texts of all steps that match an expression
  tuimon samples RUN --prompts             which prompts got worse over the run
  tuimon samples RUN --json                one JSON object per text
  tuimon samples RUN --best 3 --markdown   the three best texts of the last step as Markdown
"""
COMMAND = Command("samples", "print the texts that the model has generated", _arguments, _run, _EXAMPLES)
