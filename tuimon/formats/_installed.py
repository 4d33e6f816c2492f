"""Formats of installed packages: one whose functions raise is left out instead of ending the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from tuimon.registry import FORMATS, has_failed, note_failure

if TYPE_CHECKING:
    from tuimon.formats import Format

_T = TypeVar("_T")


def guarded(log_format: Format, contracts: tuple[type, ...], silent: Callable[[], Any]) -> Format:
    """Return the format with functions that return an empty result where those of the package raise, and after that.

    contracts: the kinds of decoders. silent: create a decoder that yields nothing.
    """

    def guard(function: Callable[..., _T], instead: Callable[..., _T]) -> Callable[..., _T]:
        def call(*arguments: Any) -> _T:
            if not has_failed(FORMATS, log_format):
                try:
                    return function(*arguments)
                except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
                    note_failure(FORMATS, log_format, error)
            return instead(*arguments)

        return call

    def new_decoder() -> Any:
        decoder = log_format.decoder()
        if not isinstance(decoder, contracts):
            raise TypeError(f"{type(decoder).__name__} is not a decoder")
        return decoder

    def unchanged(path: str) -> str:
        return path

    optional: dict[str, Callable[..., Any]] = {
        "wants_path": lambda path: False,
        "source_path": unchanged,
        "joined_source": unchanged,
        "metric_name": lambda path: None,
        "tail": lambda first, last: (),
        "supersedes": unchanged,
    }
    given = {name: getattr(log_format, name) for name in optional}
    return replace(
        log_format,
        matches=guard(log_format.matches, lambda name, head: False),
        decoder=guard(new_decoder, silent),
        wants_name=guard(log_format.wants_name, lambda name: False),
        metric_names=guard(log_format.metric_names, lambda head: frozenset()),
        shown_names=guard(log_format.shown_names, lambda path: {}),
        **{name: guard(function, optional[name]) for name, function in given.items() if function is not None},
    )
