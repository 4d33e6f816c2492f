"""Compiles the tables of tuimon into the wheel, so that no start of an installed tuimon has to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileTables(BuildHookInterface):  # type: ignore[type-arg]
    """Writes a file NAME.toml.json beside each NAME.toml, which git does not hold."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected. No dependency of tuimon is installed here."""
        sys.path.insert(0, self.root)
        from tuimon.compiled_toml import compile_toml

        for source in Path(self.root, "tuimon").rglob("*.toml"):
            compile_toml(source)
        build_data["artifacts"].append("tuimon/**/*.toml.json")
