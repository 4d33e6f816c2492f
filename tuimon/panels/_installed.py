"""Panels of installed packages: one that raises is left out instead of ending the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuimon.model.views import Role, Size, Symbols, TextView, View
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.registry import PANELS, has_failed, note_failure
from tuimon.store import Run
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.panels import Panel


class InstalledPanel:
    """A panel of an installed package. After it has raised it is not relevant for any run."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self.id, self.title, self.order, self.kind, self.rows = (
            panel.id, panel.title, panel.order, panel.kind, panel.rows
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the panel, such as `live` and `concepts`."""
        return getattr(self._panel, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InstalledPanel) and self._panel == other._panel

    def __hash__(self) -> int:
        return hash(self.id)

    def fitted(self, run: Run) -> InstalledPanel:
        """Return the panel with the rows that it can use for this run."""
        fit = getattr(self._panel, "fitted", None)
        try:
            return self if fit is None else InstalledPanel(fit(run))
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            note_failure(PANELS, self, error)
            return self

    def relevant(self, run: Run) -> bool:
        """Return whether the panel has something to display for this run."""
        try:
            return not has_failed(PANELS, self) and self._panel.relevant(run)
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            note_failure(PANELS, self, error)
            return False

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> View:
        """Return the view, or a sentence if the panel raises."""
        try:
            return self._panel.view(run, size, now, symbols, options)
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            return TextView(clean(self.title), (((note_failure(PANELS, self, error), Role.MUTED),),))
