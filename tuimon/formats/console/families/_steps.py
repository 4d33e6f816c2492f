"""Steps of lines that count the steps of each epoch anew and do not say how many an epoch has."""

from __future__ import annotations

_MAX_EPOCHS = 100_000


class EpochSteps:
    """Counts steps over all epochs. The size of an epoch is the last step that was logged in it."""

    _epoch: int | None = None
    _begin = 0
    """Number of steps in the epochs before the current one."""
    _first = 0
    _last = 0
    _interval = 1

    def __init__(self) -> None:
        self._begins: dict[int, int] = {}
        """`_begin` of each epoch, for a log that is resumed or evaluated from one of them on."""

    def overall(self, epoch: int, step: int) -> int:
        """Return the step counted from the first epoch. If steps do not begin anew with an epoch, they are returned as
        they are."""
        if self._epoch is None or epoch < self._epoch:
            self._begin, self._first, self._interval = self._begins.get(epoch, 0), step, 1
        elif epoch == self._epoch:
            self._interval = step - self._last if step > self._last else self._interval
            step = max(step, 0)
        elif step <= self._last:
            self._begin += self._last + (self._interval if self._first == 0 else 0)
        self._last = max(step, self._last) if epoch == self._epoch else step
        if epoch != self._epoch and len(self._begins) < _MAX_EPOCHS:
            self._begins[epoch] = self._begin
        self._epoch = epoch
        return self._begin + step
