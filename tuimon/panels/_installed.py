"""Panels of installed packages: one that raises is left out instead of ending the program."""

from __future__ import annotations

from tuimon.model.views import Role, Size, Symbols, TextView, View
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.registry import PANELS, has_failed, note_failure
from tuimon.store import Run
from tuimon.text import clean


class InstalledPanel(Panel, frozen=True, kw_only=True):
    """A panel of an installed package. After it has raised it is not relevant for any run."""

    own: Panel

    def __hash__(self) -> int:
        return hash(self.id)

    def fitted(self, run: Run) -> Panel:
        """Return the panel with the rows that it can use for this run."""
        try:
            return guarded_panel(self.own.fitted(run))
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            note_failure(PANELS, self, error)
            return self

    def relevant(self, run: Run) -> bool:
        """Return whether the panel has something to display for this run."""
        try:
            return not has_failed(PANELS, self) and self.own.relevant(run)
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            note_failure(PANELS, self, error)
            return False

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> View:
        """Return the view, or a sentence if the panel raises."""
        try:
            return self.own.view(run, size, now, symbols, options)
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            return TextView(clean(self.title), (((note_failure(PANELS, self, error), Role.MUTED),),))


def guarded_panel(own: Panel) -> InstalledPanel:
    """Return a panel with the fields of another one, which draws in its place."""
    return InstalledPanel(**{name: getattr(own, name) for name in Panel.__struct_fields__}, own=own)
