"""`tuimon samples PATH`: print the texts that a model has generated."""

from __future__ import annotations

import argparse
import heapq
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tuimon.commands import Command
from tuimon.commands._options import OFFLINE, SCHEMA, whole
from tuimon.commands._remote import hide_mirrors
from tuimon.commands._shared import checked_paths
from tuimon.commands._stderr import ProgressBar, interruptible, print_status
from tuimon.errors import ExitCode, NothingFound, TuimonError, UsageError

if TYPE_CHECKING:
    from tuimon.samples import Sample
    from tuimon.samples.group_labels import GroupLabels

Key = tuple[int | None, str]
"""Step and split of samples."""


_OPTIONS = f"""\
PATH  a directory, or a file with samples
--step N  only the samples of step N
--steps FIRST-LAST  only the samples of these steps, both included; either may be left out
--worst K  only the K samples with the lowest reward: of the last step, unless --step or --steps is given
--best K  only the K samples with the highest reward: of the last step, unless --step or --steps is given
--split SPLIT  only train or validation (default: all; with --worst and --best: train, if there are any)
--group G  only the samples of group G: its name, or its number in a step
--search TEXT  only samples with TEXT in response or prompt; or re:EXPRESSION, or a comparison: 'length>512'
--json  print one JSON object per sample (see --schema)
{SCHEMA}--markdown  print a section of Markdown per sample
{OFFLINE}"""


@interruptible("interrupted before all texts were read")
def _run(options: argparse.Namespace) -> int:
    from tuimon.exports import sample_lines
    from tuimon.samples.discovery import read_samples
    from tuimon.samples.export import as_markdown
    from tuimon.text import clean

    options.texts_copied = sys.maxsize
    path = checked_paths([options.path], options=options)[0]
    problems: list[str] = []
    progress = ProgressBar("reading")
    choice = _Choice(options)
    samples = choice.chosen(progress.counted(read_samples(path, problems), " texts"))
    is_extreme = options.worst is not None or options.best is not None
    if is_extreme:
        samples = iter(_extreme(samples, options))
    printed = 0
    if options.json or options.markdown:
        for sample in samples:
            printed += 1
            progress.close()
            sys.stdout.write(sample_lines.sample_json(sample, path) if options.json else as_markdown(sample))
    else:
        tables: dict[Key, sample_lines.SampleTable] = {}
        for sample in samples:
            printed += 1
            key = sample.step, sample.split
            tables.setdefault(key, sample_lines.SampleTable()).add(sample, choice.label(sample))
        progress.close()
        for step, split in sorted(tables, key=lambda key: (key[0] is None, key[0] or 0, key[1])):
            of_all = choice.counts[step, split] if is_extreme else None
            sys.stdout.writelines(tables[step, split].lines(step, split, of_all))
    progress.close()
    for problem in problems:
        print_status(f"cannot read {clean(problem)}")
    if not printed:
        raise choice.nothing(path)
    return ExitCode.OK


class _Choice:
    """The samples that the options choose, and what was read to choose them."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises UsageError if --search is not a regular expression."""
        from tuimon.samples.selection import query_test

        self._options = options
        self._labels: dict[Key, GroupLabels] = {}
        self._read: Counter[Key] = Counter()
        self.counts: Counter[Key] = Counter()
        """Number of chosen samples by step and split."""
        self._steps = options.steps or (-math.inf, math.inf)
        if options.step is not None:
            self._steps = options.step, options.step
        try:
            self._test = query_test(options.search) if options.search else None
        except re.error as error:
            message = f"--search: not a regular expression: {error}"
            raise UsageError(message, "Without re: a text is searched.") from None

    def chosen(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield those of the samples that are chosen. Raises TuimonError if the search takes too long."""
        from tuimon.samples.searching import TooSlow

        for sample in samples:
            key = sample.step, sample.split
            self._read[key] += 1
            try:
                if self._is_chosen(sample):
                    self.counts[key] += 1
                    yield sample
            except TooSlow as slow:
                raise TuimonError(str(slow), "Use a simpler expression.") from None

    def _is_chosen(self, sample: Sample) -> bool:
        from tuimon.samples.export import group_of

        options, (first, last) = self._options, self._steps
        # Samples without a step are chosen if no step is named.
        if not (first <= sample.step <= last if sample.step is not None else self._steps == (-math.inf, math.inf)):
            return False
        if options.split not in (None, "all", sample.split):
            return False
        if options.group is not None:
            group = group_of(sample)
            if options.group not in (group, str(self._labels_of(sample).add(group))):
                return False
        elif not (options.json or options.markdown):
            self._labels_of(sample).add(group_of(sample))
        return self._test is None or self._test(sample)

    def label(self, sample: Sample) -> str:
        """Return the label of the group of a yielded sample, as in the texts view."""
        from tuimon.samples.export import group_of

        return self._labels_of(sample).label(group_of(sample))

    def _labels_of(self, sample: Sample) -> GroupLabels:
        from tuimon.samples.group_labels import GroupLabels

        return self._labels.setdefault((sample.step, sample.split), GroupLabels())

    def nothing(self, path: str) -> NothingFound:
        """Return the error that says what there is instead of the chosen samples."""
        from tuimon.samples.discovery import unreadable_files
        from tuimon.text import clean

        if not self._read:
            hint = (
                "Switch on trainer.rollout_data_dir (verl), log_completions (TRL, ms-swift) or rollout_dump_dir (ROLL)."
            )
            if pickles := unreadable_files(path):
                hint = f"{clean(hide_mirrors(pickles[0]))} is a pickle, which tuimon does not load. {hint}"
            return NothingFound(f"No generated texts at or below {clean(path)}.", hint)
        steps = [step for step, _ in self._read if step is not None]
        of = f"of the steps {min(steps)} to {max(steps)}" if steps else "without steps"
        splits = " and ".join(sorted({split for _, split in self._read}))
        return NothingFound(
            f"None of the {self._read.total()} generated texts at or below {clean(path)} is chosen.",
            f"They are {of}, of the split {splits}.",
        )


def _extreme(samples: Iterable[Sample], options: argparse.Namespace) -> list[Sample]:
    """Return the samples with the lowest or highest rewards, the most extreme first.

    Without --split those of training, if it has any; without --step and --steps those of the last step with rewards.
    """
    of_last = options.step is None and options.steps is None
    one_split = options.split is None

    def place(sample: Sample) -> tuple[bool, float]:
        step = math.inf if sample.step is None else -sample.step
        return one_split and sample.split != "train", step if of_last else 0.0

    def order(sample: Sample) -> Any:
        reward = sample.reward or 0.0
        return place(sample), reward if options.best is None else -reward

    known = (sample for sample in samples if sample.reward is not None and not math.isnan(sample.reward))
    found = heapq.nsmallest(options.worst or options.best, known, key=order)
    return [sample for sample in found if place(sample) == place(found[0])]


_EXAMPLES = """\
  tuimon samples RUN                       step, reward, length, group and first words of each text
  tuimon samples RUN --steps 1-40 --best 5    the five texts of these steps with the highest reward
  tuimon samples RUN --search 're:\\d'      the texts of all steps that match an expression
"""
_COUNT = {"type": whole(1, 10**9)}
_VALUES = {"--worst": _COUNT, "--best": _COUNT, "--split": {"choices": ("train", "validation", "all")}}
_EXCLUSIVE = (("--step", "--steps"), ("--worst", "--best"), ("--json", "--markdown"))
_HELP = "print the texts that the model has generated"
COMMAND = Command("samples", _HELP, _OPTIONS, _run, _EXAMPLES, _VALUES, _EXCLUSIVE)
