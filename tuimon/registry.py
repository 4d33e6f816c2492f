"""Plug-in discovery: a plug-in is a module of a package that defines an agreed attribute.

    formats/foo.py or formats/<family>/foo.py with FORMAT, panels/foo.py with PANEL, detectors/foo.py with DETECTOR,
    commands/foo.py with COMMAND, exports/files/foo.py with EXPORT

Modules and packages whose name begins with "_" hold helpers. A module may define several plug-ins: FORMATS = (…, …).

Packages that are installed beside tuimon add formats, panels, detectors and exports by entry points, see ENTRY_POINTS.
One that cannot be loaded, or raises when it is used, is left out, and `problems` names it: callers of
plug-ins catch exceptions and pass them to `note_failure`. A decoder that raises, also one of tuimon, ends the
reading of one log: see `Caught`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from tuimon.errors import TuimonError
from tuimon.text import clean

FORMATS, PANELS, DETECTORS, EXPORTS = "tuimon.formats", "tuimon.panels", "tuimon.detectors", "tuimon.exports.files"
ENTRY_POINTS = {
    FORMATS: ("tuimon.formats", "Format"),
    PANELS: ("tuimon.panels", "Panel"),
    DETECTORS: ("tuimon.detectors", "Detector"),
    EXPORTS: ("tuimon.exports", "Export"),
}
"""Package -> (group of entry points, class of its plug-ins). An entry point is one plug-in or a tuple of them."""
_AUTHORS = "the issues of tuimon, with this log if you can"
"""Whom a failure of tuimon itself is reported to."""
_MARK = b"[tuimon."
"""The groups of entry points in entry_points.txt begin with this."""


class Installed(NamedTuple):
    """An entry point of an installed package."""

    group: str
    name: str
    package: str
    """Name and version of the package."""
    problem: str
    """Why it is left out; "" if it is used."""

    @property
    def sentence(self) -> str:
        """Name of the plug-in, and the reason why it is left out."""
        named = clean(f"plug-in {self.name} ({self.group}) of {self.package}")
        return f"{named} is left out: {clean(self.problem)}" if self.problem else named


_installed: dict[tuple[str, str, str], Installed] = {}
_left_out: dict[tuple[str, str, str], None] = {}
"""Keys in `_installed` of those that are left out, in the order of failure."""
_entry_points: dict[tuple[str, object], tuple[str, str, str]] = {}
"""(package of tuimon, id of its plug-in) -> key in `_installed`."""


@cache
def names(package: str) -> tuple[str, ...]:
    """Return the sorted names of the plug-in modules of `package` and its direct sub-packages ("family.module"). The
    modules are not imported."""
    return tuple(sorted(_modules_of(importlib.import_module(package).__path__)))


def _modules_of(paths: Iterable[str], family: str = "") -> Iterator[str]:
    for module in pkgutil.iter_modules(paths):
        if module.name.startswith("_"):
            continue
        if not module.ispkg:
            yield family + module.name
        elif not family:
            yield from _modules_of([f"{path}/{module.name}" for path in paths], f"{module.name}.")


@cache
def discover(package: str, attribute: str) -> tuple[Any, ...]:
    """Import the plug-in modules of `package` and return their plug-ins. Modules come in the order of their names, then
    plug-ins of installed packages.

    A plug-in is the object named `attribute`, or an element of the tuple named `attribute` + "S"."""
    plugins: list[Any] = []
    for name in names(package):
        module = importlib.import_module(f"{package}.{name}")
        if hasattr(module, attribute):
            plugins.append(getattr(module, attribute))
        plugins.extend(getattr(module, attribute + "S", ()))
    if package in ENTRY_POINTS and _any_announced():
        plugins.extend(_from_packages(package, plugins))
    return tuple(plugins)


def problems() -> tuple[Installed, ...]:
    """Return the plug-ins of installed packages that failed so far, the first failure first."""
    return tuple(_installed[key] for key in _left_out)


def is_installed(package: str, plugin: Any) -> bool:
    """Return whether a plug-in of `package` comes from an installed package."""
    return (package, _plugin_id(plugin)) in _entry_points


def has_failed(package: str, plugin: Any) -> bool:
    """Return whether a plug-in of an installed package has raised."""
    key = _entry_points.get((package, _plugin_id(plugin)))
    return key is not None and bool(_installed[key].problem)


def note_failure(package: str, plugin: Any, error: Exception) -> str:
    """Record that a plug-in of an installed package has raised, and return a sentence. The plug-in is not used again.
    Raise `error` for a plug-in of tuimon: it is a fault of the program."""
    key = _entry_points.get((package, _plugin_id(plugin)))
    if key is None:
        raise error
    if key not in _left_out:
        _installed[key] = _installed[key]._replace(problem=_reason_of(error))
        _left_out[key] = None
    return clean(f"the plug-in {_plugin_id(plugin)} failed: {_reason_of(error)}")


class Caught:
    """Context manager in which a plug-in may raise. MemoryError is raised again."""

    def __init__(self, package: str, plugin: Any, failed: Callable[[str, str], object]) -> None:
        """failed: is called with what failed, as "jsonl failed: KeyError: 'x' (rows.py, line 8)", and what to do next.
        An error with a hint says both itself."""
        self._package, self._plugin, self._failed = package, plugin, failed

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            return False
        if isinstance(error, TuimonError) and error.hint:
            self._failed(error.message, error.hint)
        else:
            self._failed(*_failure_of(self._package, self._plugin, error))
        return True


def _failure_of(package: str, plugin: Any, error: Exception) -> tuple[str, str]:
    """Return what failed, with its place in the code, and whom to report it to."""
    from traceback import extract_tb

    place = extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}, line {place.lineno}"
    key = _entry_points.get((package, _plugin_id(plugin)))
    authors = _installed[key].package if key is not None else _AUTHORS
    return clean(f"{_plugin_id(plugin)} failed: {_reason_of(error)} ({where})"), clean(f"report it to {authors}")


def installed() -> tuple[Installed, ...]:
    """Load the plug-ins of all installed packages and return them, those with problems, too."""
    for package, (_, kind) in ENTRY_POINTS.items():
        discover(package, kind.upper())
    return tuple(_installed.values())


@cache
def _any_announced() -> bool:
    """Return whether an installed package has an entry point of tuimon.

    The files are searched here because the import of importlib.metadata alone takes 10 times as long.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as entries:
                described = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:  # not a directory, or missing
            continue
        for path in described:
            try:
                descriptor = os.open(f"{path}/entry_points.txt", os.O_RDONLY)
            except OSError:
                continue
            try:
                if _MARK in os.read(descriptor, 1 << 20):
                    return True
            finally:
                os.close(descriptor)
    return False


def _from_packages(package: str, known: Iterable[Any]) -> list[Any]:
    """Return the plug-ins that entry points add to a package; remember those that cannot be used."""
    from importlib.metadata import entry_points

    group, kind_name = ENTRY_POINTS[package]
    kind = getattr(importlib.import_module(package), kind_name)
    ids = {_plugin_id(plugin) for plugin in known}
    plugins: list[Any] = []
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
        problem = ""
        try:
            loaded = point.load()
            for plugin in loaded if isinstance(loaded, tuple | list) else (loaded,):
                if not isinstance(plugin, kind):
                    problem = f"{type(plugin).__name__} is not a {kind_name}"
                elif _plugin_id(plugin) in ids:
                    problem = f"there is another {_plugin_id(plugin)!r}"
                else:
                    ids.add(_plugin_id(plugin))
                    plugins.append(plugin)
                    _entry_points[package, _plugin_id(plugin)] = group, point.name, point.value
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a module of others raises when imported
            problem = _reason_of(error)
        key = group, point.name, point.value
        _installed[key] = Installed(group, point.name, owner, problem)
        if problem:
            _left_out[key] = None
    return plugins


def _reason_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _plugin_id(plugin: Any) -> object:
    """Return the id of a format, panel or detector, or the name of an export."""
    return getattr(plugin, "id", None) or getattr(plugin, "name", None)
