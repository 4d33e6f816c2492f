"""Lines of trainers that are recognised by their beginning: a table with the names that their other logs have.

    step:7 - actor/pg_loss:0.0094 - training/global_step:7                verl
    Step 3 | 10.21s | Loss 0.5 | Grad. Norm 0.1                           prime-rl: loss/mean, optim/grad_norm
    step:  7  loss: 0.5  memory: 30.12GiB(38.02%)                         torchtitan: memory(GiB), memory(%)
    validation loss at iteration 100 | lm loss: 0.5 |                     Megatron: validation/lm loss
    Saving dict for global step 200: accuracy = 0.8, loss = 0.25          TensorFlow's Estimator: eval/accuracy

To add a trainer, add a rule with an example; the test reads the example of each rule. What stands behind the beginning
is read like any line of names and numbers.
"""

from __future__ import annotations

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader
from tuimon.formats.console.shapes.rows import pairs_of


class Rule(Struct, frozen=True):
    """The lines of one trainer."""

    mark: str
    """Occurs in each of its lines."""
    head: str
    """Regular expression of the beginning of the message, with the groups step, total and rank.

    Without a step the lines belong to the row before."""
    example: str
    names: dict[str, str] = {}
    """Metrics by the names that are printed. The unit of a name like "memory(GiB)" is not repeated."""
    prefix: str = ""
    """Of all names."""
    suffix: str = ""
    """Of all names; "{rank}" is the group of the head."""
    first: str = ""
    """Name of the first number, which has none."""
    skipped: tuple[str, ...] = ()
    unitless: bool = False
    """Whether the prefix says the unit."""
    keep_step: bool = False
    """Whether the step of lines that name none stays that of the row before."""


RULES = (
    Rule("step:", r"step:(?P<step>\d{1,18}) - ", "step:7 - loss:0.5 - actor/lr:1e-06"),
    Rule(
        "Step ",
        r"Step (?P<step>\d{1,18}) \| (?=.{0,400}?(?:Throughput|Mismatch KL)| {0,3}\d{1,9}\.\d{1,3}s (?:\||$))",
        "SUCCESS Step 3 | 10.21s | Loss 0.5 | Mismatch KL 0.1",
        names={
            "Time": "time/step",
            "Step Time": "time/step",
            "Loss": "loss/mean",
            "Entropy": "entropy/all/mean",
            "Mismatch KL": "mismatch_kl/all/mean",
            "Grad. Norm": "optim/grad_norm",
            "LR": "optim/lr",
            "Throughput": "perf/throughput",
            "MFU": "perf/mfu",
            "Peak Mem": "perf/peak_memory",
            "Reward": "reward/all/mean",
        },
        first="Time",
        skipped=("Trainable",),
    ),
    Rule(
        "step:",
        r"step:\s{1,20}(?P<step>\d{1,18})\s{1,4}(?=[A-Za-z_])",
        "step:  7  loss: 0.5  memory: 30.12GiB(38.02%)",
        names={"memory": "memory(GiB)"},
    ),
    Rule(
        "validate step:",
        r"validate step:\s{1,20}(?P<step>\d{1,18})\s{1,4}(?=[A-Za-z_])",
        "validate step:  7  loss: 0.5  memory: 30.12GiB(38.02%)",
        names={"memory": "memory(GiB)"},
        prefix="validation_metrics/",
    ),
    Rule("tick ", r"tick (?P<step>\d{1,12}) {1,8}(?=kimg )", "tick 7  kimg 1.0  sec/tick 2.0"),
    Rule("s:", r"s:(?P<step>\d{1,18}) (?=(?:trl|tel|eval):)", "s:7 trl:0.5 lr:0.001"),
    Rule(
        "iteration",
        r"\W{0,8}iteration\s{1,20}(?P<step>\d{1,18})/\s{0,20}(?P<total>\d{1,18}) \|",
        "iteration 7/ 9 | lm loss: 0.5 | grad norm: 0.25 |",
    ),
    Rule(
        "loss at ",
        r"\W{0,8}(?:test loss at (?:iteration )?(?P<step>\d{1,18})|"
        r"validation loss at (?:iteration )?(?P<also>\d{1,18})(?=[^|]{0,60}test set))[^|]{0,80}\|",
        "validation loss at iteration 7 on test set | lm loss: 0.5 |",
        prefix="test/",
    ),
    Rule(
        "loss at ",
        r"\W{0,8}validation loss at (?:iteration )?(?P<step>\d{1,18})[^|]{0,80}\|",
        "validation loss at iteration 7 | lm loss: 0.5 |",
        prefix="validation/",
    ),
    Rule(
        "memory (MB)",
        r"\s{0,9}\[Rank (?P<rank>\d{1,9})\] \(after (?P<step>\d{1,18}) iterations\) memory \(MB\) \|",
        "[Rank 0] (after 7 iterations) memory (MB) | allocated: 5.5 | reserved: 6.5",
        prefix="memory (MB)/",
        suffix="/{rank}",
        keep_step=True,
    ),
    Rule(
        "Saving dict for global step",
        r"(?:INFO:)?(?:tensorflow:)?Saving dict for global step (?P<step>\d{1,18}): ",
        "Saving dict for global step 7: accuracy = 0.5, global_step = 7",
        prefix="eval/",
        skipped=("global_step",),
    ),
    Rule("Step timing: ", "Step timing: ", "Step timing: gen=6.0s, logprob=1.0s", prefix="timing_s/", unitless=True),
    Rule("Validation results: ", "Validation results: ", "Validation results: reward=0.4, format=0.9", prefix="val_"),
)


class TrainerReader(LineReader):
    def read(self, line: Line) -> bool:
        for rule, head in _HEADS:
            if rule.mark not in line.text:
                continue
            match = head.match(line.message) or (head.match(line.text) if rule.keep_step else None)
            if match is None:
                continue
            groups = match.groupdict()
            named = groups.get("step") or groups.get("also")
            if named is None and self.sink.step is None:
                return False
            step = int(named) if named else None
            if step is not None and groups.get("total"):
                self.sink.report_progress(step, int(groups["total"]))
            rest = match.string[match.end() :]
            pairs = pairs_of(f"{rule.first} {rest}" if rule.first and rest.lstrip()[:1].isdigit() else rest)
            suffix = rule.suffix.format(**groups)
            row = [
                (f"{rule.prefix}{name}{suffix}", float(value) if rule.unitless or name.endswith(")") else value)
                for name, value in ((rule.names.get(name, name), value) for name, value in pairs)
                if name not in rule.skipped
            ]
            return self.sink.add_row(row, step, line, keep_step=rule.keep_step)
        return False

    def reads_alone(self, line: Line) -> bool:
        return True


_HEADS = [(rule, re.compile(rule.head, re.ASCII)) for rule in RULES]
FAMILY = Family("trainers", tuple(dict.fromkeys(rule.mark for rule in RULES)), TrainerReader, order=10)
