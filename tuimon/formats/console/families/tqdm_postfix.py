"""Metrics in the progress bars of tqdm, if no other line of the log gives them.

    steps:  10%|█         | 20/200 [00:10<01:30,  2.00it/s, avr_loss=0.363]            kohya, diffusers
    Epoch 2/10:  50%|████      | 100/200 [00:10<00:10, 10.00it/s, loss=0.375, acc=0.8]      step (2 - 1) * 200 + 100
    Epoch 1, loss: 0.5432: 100%|██████████| 200/200 [00:20<00:00, 10.00it/s]
    epochs:  10%|█         | 1/10 [00:20<03:00, 20.00s/it, val_acc=0.5]                   step of the bars within it

Of the states drawn with the same count the last is read, as the postfix is set after the count has risen. If a bar
starts anew, its counts go on from those of the bar before, unless it names its epoch. After a bar that was not complete
one of the same total that does not start at 0 is that of a training that was resumed. Bars of a validation or test
give val/<name> and test/<name>. In the bar of a training, Lightning repeats the results of the last validation and the
means of the last epoch (val_loss, train_loss_epoch): they are read when they change, and unchanged where a bar of a
validation has ended since, or the next epoch has begun. A bar that is set to 0 again with all its values is not read. A
bar needs the name of a result of training, as downloads have bars as well.

All bars are held back until the log has been read to its end, so that the other lines are known by then. If one of
them gives a metric later, the log is read again. The last count is held back until the next count is drawn. On a flush
it is read if it is the total, or has been drawn with as many values as the counts before it; the first count of a bar,
if another bar has been drawn since. If it is then drawn with other values, the log is read again.
"""

from __future__ import annotations

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, pairs
from tuimon.formats.console.shapes.labels import METRIC
from tuimon.formats.console.shapes.rows import pairs_of

_EPOCH = re.compile(r"\bepochs?\W{0,4}(\d{1,9})(?:\s?/\s?(\d{1,9}))?", re.IGNORECASE | re.ASCII)
_EPOCHS = re.compile(r"\W*(?:training )?epochs?\W*", re.IGNORECASE)
_STAGE = re.compile(r"(?<![a-z])(val(?:id\w{0,6})?|eval\w{0,6}|test(?:ing)?)(?![a-z])", re.IGNORECASE)
_REPEATED = re.compile(rf"{_STAGE.pattern}|_epoch$", re.IGNORECASE)
"""Names of metrics that are not logged at each step."""
_NUMBERS = re.compile(r"[\d.,/:=\s]++|\b(?:nan|inf)\b")
_MAX_HELD = 200_000
_MAX_BARS = 200


class _Bar(Struct):
    """The bars of one name."""

    begin: int = 0
    """Steps of the bars before."""
    is_new: bool = False
    """Whether the bar was drawn with the count 0 since the last count."""
    done: int = 0
    total: int = 0
    epoch: int | None = None
    first_epoch: int = 1
    step: int = 0
    last: list[Pair] = []
    """The last state."""
    row: list[Pair] = []
    """The last state of the current count; empty if it has been given."""
    omitted: list[Pair] = []
    """The pairs of `given` that seemed to be repeated."""
    given: list[Pair] = []
    """The state of the current count that was given before it was complete."""
    time: float = 0.0
    states: int = 0
    """Number of times that the current count was drawn with new values."""
    most_states: int = 0
    """Highest number of these among the counts before, except totals; 0 without any."""


class TqdmPostfixReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._bars: dict[str, _Bar] = {}
        self._newest: _Bar | None = None
        """The bar that was drawn last."""
        self._repeated: dict[str, tuple[float, int]] = {}
        """Last value of each metric that bars repeat, and `_validations` at that time."""
        self._validations = 0
        """Number of bars of validations that have ended."""
        self._validating = False
        """Whether such a bar was drawn that has not ended."""

    def interrupt(self) -> None:
        super().interrupt()
        for bar in self._bars.values():
            bar.row = []  # a later state of this count may be missing

    def read(self, line: Line) -> bool:
        match = line.bar
        if match is not None and match["done"] == "0" and (bar := self._bars.get(_NUMBERS.sub("", match["name"]))):
            bar.is_new = True
        if match is not None and _STAGE.search(match["name"]):
            ended = match["done"] == match["total"]
            self._validations += ended and self._validating
            self._validating = not ended
        if match is None or ("=" not in match["inside"] and "oss" not in match["name"]):
            return False
        if not match[0].endswith("]") or line.nested:
            return False
        name, done, total = match["name"], int(match["done"]), int(match["total"])
        _, _, postfix = match["inside"].partition(",")
        row = list(pairs(postfix, ",", "="))
        if "=" in name or name.count(":") > 1 or "loss" in name:
            row = pairs_of(name.rstrip(" :")) + row
        if done > total or not any(METRIC.search(name) for name, _ in row):
            return False
        key = _NUMBERS.sub("", name)
        bar = self._bars.get(key)
        if bar is None:
            if len(self._bars) >= _MAX_BARS:
                return False
            bar = self._bars[key] = _Bar()
        epoch = _EPOCH.search(name)
        last = bar.last
        bar.last = row
        self._newest = bar
        self._move(bar, done, total, int(epoch[1]) if epoch else None, _EPOCHS.fullmatch(name) is not None)
        if not done and _equal(row, last):
            return False
        stage = _STAGE.search(name)
        if stage:
            prefix = "test/" if stage[1].lower().startswith("test") else "val/"
            row = [(prefix + metric, value) for metric, value in row]
        elif epoch and done:
            self.sink.bar_in_epoch = int(epoch[1]), bar.step
            self.sink.bar_names = frozenset(name for name, _ in row)
        bar.states += not _equal(row, bar.row)
        bar.row, bar.time = row, line.time
        return False

    def _move(self, bar: _Bar, done: int, total: int, epoch: int | None, counts_epochs: bool) -> None:
        """Complete the current count of the bar, if another one is drawn. A bar of epochs has the step of the bars
        within them."""
        if (done, total, epoch) == (bar.done, bar.total, bar.epoch):
            return
        self._complete(bar)
        if epoch is not None:
            bar.first_epoch = min(bar.first_epoch, epoch)
            bar.begin = (epoch - bar.first_epoch) * total
        elif done < bar.done and (bar.is_new or total != bar.total or bar.done == bar.total):
            bar.begin += bar.done
        bar.is_new = False
        bar.done, bar.total, bar.epoch, bar.step, bar.given = done, total, epoch, bar.begin + done, []
        if counts_epochs:
            bar.step = max([bar.step, *(other.step for other in self._bars.values() if other is not bar)])

    def _complete(self, bar: _Bar) -> None:
        if bar.row:
            if bar.given and bar.row != bar.given:
                self.sink.disproved = True
            else:
                self._hold(bar, ended=True)
            if bar.done < bar.total:
                bar.most_states = max(bar.most_states, bar.states)
        bar.row, bar.states = [], 0
        if len(self.sink.held_fallback) >= _MAX_HELD:
            self.sink.release_fallback()

    def _hold(self, bar: _Bar, ended: bool) -> None:
        """Hold back the state of the current count, or what was omitted from it. ended: another count was drawn."""
        pairs_left, row = bar.omitted if bar.given else bar.row, list[Pair]()
        bar.omitted = []
        for name, value in pairs_left:
            if _REPEATED.search(name) and "/" not in name:
                known, validations = self._repeated.get(name, (None, 0))
                logged = self._validations > validations if _STAGE.search(name) else ended and bar.done == bar.total
                if known is not None and not logged and _equal([(name, known)], [(name, value)]):
                    bar.omitted.append((name, value))
                    continue
                self._repeated[name] = value, self._validations
            row.append((name, value))
        self.sink.held_fallback.append((row, bar.step, bar.time))

    def _is_final(self, bar: _Bar) -> bool:
        """Return whether the current count is probably not drawn with other values any more."""
        if bar.done == bar.total:
            return True
        return bar.states >= bar.most_states if bar.most_states else bar is not self._newest

    def flush(self) -> None:
        for bar in self._bars.values():
            if bar.row and self._is_final(bar):
                if bar.given and bar.row != bar.given:
                    self.sink.disproved = True
                else:
                    self._hold(bar, ended=False)
                    bar.given = bar.row
        self.sink.release_fallback()


def _equal(row: list[Pair], other: list[Pair]) -> bool:
    """Return whether two rows are equal, with NaN equal to NaN."""
    return len(row) == len(other) and repr(row) == repr(other)


FAMILY = Family("tqdm-postfix", ("%|",), TqdmPostfixReader, order=8, self_closing=True)
