"""Compiles the vocabulary into the wheel, so that no start of an installed tuimon has to."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileVocabulary(BuildHookInterface):  # type: ignore[type-arg]
    """Writes tuimon/vocabulary/vocabulary.json, which git does not hold."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected. The module needs no other part of tuimon."""
        path = Path(self.root, "tuimon", "vocabulary", "_compile.py")
        spec = importlib.util.spec_from_file_location("compile_vocabulary", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.compile_source()
        build_data["artifacts"].append("tuimon/vocabulary/vocabulary.json")
