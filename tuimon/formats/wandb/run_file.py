"""W&B's `.wandb` file, which `wandb` writes for each run, online or offline (run-<id>.wandb). The framing is described
in log_blocks; each record is a protobuf message of wandb/proto/wandb_internal.proto, of which these fields are read:

    Record       num=1; one of history=2 summary=3 output=4 config=5 stats=7 metric=12 output_raw=13 run=17 exit=18
                 header=21 environment=26; _info=200 if it came from the user's process
    history      see _history; a metric's name is its nested keys joined by "."
    stats        timestamp=2 item=3*                    measurements of the machine: metrics "system/<key>"
    summary      update=1* remove=2*                    two per step repeat the history: only the user's are decoded
    config       update=1* remove=2*                    item: key=1 | nested_key=2*, value_json=16
    run          run_id=1 entity=2 project=3 config=4 group=6 job_type=7 display_name=8 notes=9 tags=10* host=13
                 starting_step=14 start_time=17 resumed=18 telemetry=19 {cli_version=5}
    metric       name=1 glob_name=2 step_metric=4       define_metric
    output       output_type=1 (0 stderr, 1 stdout) timestamp=2 line=3
    exit         exit_code=1 runtime=2                  only if the run ended; not written by a killed run
    header       version_info=1 {producer=1}            environment: os=1 python=2 program=6 host=12 gpu=18 gpu_count=19

The step of a row is its number, unless the run has defined a training step (define_metric with a step metric whose name
ends in "global_step"): then row numbers are meaningless, as evaluations and summaries are rows as well. The step of
system metrics is the time since the first of them in milliseconds, which Fact("metrics", …) states for each. wandb
before 0.31 writes the file in blocks of 32 KiB, 0.31 every 15 s: the file lags behind the run.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.log_blocks import HEADER, BlockDecoder
from tuimon.formats._shared.protobuf import BYTES, Message, fields
from tuimon.formats.wandb._history import HistoryRows, item_path, item_value, number_leaves, store_item
from tuimon.model.points import Fact, Item, Points, SegmentStart, Topic

MAGIC = b":W&B\xe1\xbe"
SYSTEM = "system/"
"""Prefix of the names of machine measurements. Their steps are milliseconds."""
_CLOCK = {"system": True, "steps_per_second": 1000}

_RUN_TEXTS = {2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "run_name", 9: "notes", 13: "host"}
_ENVIRONMENT_TEXTS = {1: "os", 2: "python", 6: "program", 12: "host", 18: "gpu"}
_INTERNAL = "_wandb"
HISTORY, SUMMARY = 2, 3


class WandbDecoder(BlockDecoder):
    """StreamDecoder of one `.wandb` file."""

    def __init__(self) -> None:
        super().__init__(MAGIC, "wandb")
        self._rows = HistoryRows()
        self._config: dict[str, Any] = {}
        self._summary: dict[str, Any] = {}
        self._first_stats = math.nan
        self._machine: set[str] = set()  # names of system metrics that have been reported
        self._new_machine: list[str] = []
        self._changed: set[Topic] = set()
        self._before_segment: list[Item] = []  # rows of this feed before a segment start, and the segment start

    def _take_items(self) -> list[Item]:
        clocks: list[Item] = (
            [Fact(Topic.METRICS, dict.fromkeys(self._new_machine, _CLOCK))] if self._new_machine else []
        )
        self._new_machine = []
        earlier, self._before_segment = self._before_segment, []
        return clocks + earlier + self._rows.take() + self._console.take() + self._other_items + self._documents()

    def _documents(self) -> list[Item]:
        """Return facts with the current documents that have changed."""
        documents = {Topic.WRITER: self._writer, Topic.CONFIG: self._config, Topic.FINAL_METRICS: self._summary}
        changed, self._changed = self._changed, set()
        return [Fact(topic, deepcopy(value)) for topic, value in documents.items() if topic in changed]

    def _decode_record(self, record: bytes) -> None:
        content, from_user = None, False
        for number, wire, start, end in fields(record, 0, len(record)):
            if number == 200:
                from_user = True
            elif wire == BYTES and (number == HISTORY or number in _READERS):
                content = number, start, end
        if content is None:
            return
        number, start, end = content
        if number == HISTORY:
            self._rows.add(record[start:end], self._offset, len(record))
        elif number != SUMMARY or from_user:
            _READERS[number](self, Message(record[start:end]))

    def _read_summary(self, summary: Message) -> None:
        self._update(self._summary, summary, Topic.FINAL_METRICS)

    def _read_config(self, config: Message) -> None:
        self._update(self._config, config, Topic.CONFIG)

    def _update(self, document: dict[str, Any], update: Message, topic: Topic) -> None:
        """Apply the items of a config or a summary to the document."""
        for data in update.all_bytes(1):
            item = Message(data)
            *parents, key = item_path(item)
            if _INTERNAL in (key, *parents[:1]):
                continue
            store_item(document, item)
            self._changed.add(topic)
        for data in update.all_bytes(2):
            *parents, key = item_path(Message(data))
            inner = document
            for parent in parents:
                deeper = inner.get(parent)
                inner = deeper if isinstance(deeper, dict) else {}
            if inner.pop(key, None) is not None:
                self._changed.add(topic)

    def _read_run(self, run: Message) -> None:
        self._writer["run_id"] = run.text(1)
        if version := run.message(19).text(5):
            self._version(version)
        self._read_writer(run, _RUN_TEXTS, 10, 17)
        self._changed.add(Topic.WRITER)
        self._read_config(run.message(4))
        self._read_git(run.message(21))
        if run.integer(18):
            self._before_segment += [*self._rows.take(), SegmentStart(run.integer(14), purge=False)]

    def _read_header(self, header: Message) -> None:
        producer = header.message(1).text(1).partition("+")[0]
        if producer:
            self._version(producer)

    def _version(self, version: str) -> None:
        major, minor = (int(part) if part.isdecimal() else 0 for part in [*version.split("."), ""][:2])
        lag = "written every 15 s" if (major, minor) >= (0, 31) else "written in blocks of 32 KiB"
        self._writer |= {"version": version, "lag": f"{lag}: what is shown may lag behind the run"}
        self._changed.add(Topic.WRITER)

    def _read_environment(self, environment: Message) -> None:
        self._add_writer(environment, _ENVIRONMENT_TEXTS)
        if arguments := environment.texts(5):
            self._writer["arguments"] = " ".join(arguments)
        self._read_git(environment.message(9))
        if 19 in environment:
            self._writer["gpu_count"] = environment.integer(19)

    def _read_git(self, git: Message) -> None:
        """Read the repository and the commit of the program."""
        self._add_writer(git, {1: "git_remote", 2: "git_commit"})

    def _add_writer(self, message: Message, texts: dict[int, str]) -> None:
        self._writer.update(message.named_texts(texts))
        self._changed.add(Topic.WRITER)

    def _read_metric(self, metric: Message) -> None:
        name, step = metric.text(1) or metric.text(2), metric.text(4)
        if name and step:
            self._other_items.append(Fact(Topic.METRICS, {name: {"step_metric": step}}))
            if _counts_steps(step):
                self._rows.use_step_metric(step)

    def _read_stats(self, stats: Message) -> None:
        time = stats.timestamp(2) or math.nan
        if math.isnan(self._first_stats):
            self._first_stats = time
        values: dict[str, float] = {}
        for data in stats.all_bytes(3):
            item = Message(data)
            try:
                values.update(number_leaves(SYSTEM + ".".join(item_path(item)), item_value(item)))
            except FormatError:
                continue
        self._new_machine += [name for name in values if name not in self._machine]
        self._machine.update(values)
        elapsed = (time - self._first_stats) * 1000
        self._rows.add_stats(values, 0 if math.isnan(elapsed) else round(elapsed), time)

    def _read_output(self, output: Message) -> None:
        self._console.add(str(output.integer(1)), output.text(3), output.timestamp(2))

    def _read_exit(self, exit_record: Message) -> None:
        code = exit_record.integer(1)
        self._add_state("crashed" if code else "finished", f"wandb wrote exit code {code}")


def _counts_steps(name: str) -> bool:
    """Return whether a step metric counts training steps, by the name that transformers, Lightning and OpenRLHF use."""
    return name.rpartition("/")[2] == "global_step"


def tail(head: bytes, data: bytes) -> list[Item]:
    """Return a preview of the points, see Format.tail. System metrics are omitted, as their steps count from the run's
    first one. So is everything if the rows may use a training step, which is only known from the beginning of the
    file."""
    items: list[Item] = []
    for points in WandbDecoder().feed(head[:HEADER] + data):
        if isinstance(points, Points):
            counts = np.array(list(map(_counts_steps, points.names)))[points.metric]
            if (points.values[counts] != points.steps[counts]).any():
                return []
            known = ~np.array([name.startswith(SYSTEM) for name in points.names])[points.metric]
            columns = points.metric[known], points.steps[known], points.values[known], points.wall_times[known]
            items += [Points(points.names, *columns)] if known.any() else []
    return items


_READERS = {
    3: WandbDecoder._read_summary,
    4: WandbDecoder._read_output,
    5: WandbDecoder._read_config,
    7: WandbDecoder._read_stats,
    12: WandbDecoder._read_metric,
    13: WandbDecoder._read_output,
    17: WandbDecoder._read_run,
    18: WandbDecoder._read_exit,
    21: WandbDecoder._read_header,
    26: WandbDecoder._read_environment,
}

FORMAT = Format(
    id="wandb",
    title="W&B run file",
    writers="W&B 0.12 to 0.31, online and offline directories",
    rank=50,
    matches=lambda name, head: head.startswith(MAGIC),
    wants_name=lambda name: name.endswith(".wandb"),
    decoder=WandbDecoder,
    tail=tail,
)
