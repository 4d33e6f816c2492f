"""The agent, as a real process: what it sends, what it leaves alone, and what Python it needs."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.mirrored import Mirrored

from tuimon.remote import agent, agent_walk, agent_writers, boot, texts
from tuimon.remote.following import rules
from tuimon.remote.receiver import HEAD
from tuimon.remote.ssh import Transport
from tuimon.sources import copies, mounts, open_files
from tuimon.sources.listing import Place, place

_PARTS = (copies, mounts, open_files, agent_walk, agent_writers, agent)


def _log(count: int, start: int = 0) -> bytes:
    return b"".join(b'{"step": %d, "loss": %d.5}\n' % (step, step) for step in range(start, start + count))


@pytest.mark.parametrize("part", _PARTS)
def test_source_is_python_3_6(part: object) -> None:
    source = Path(part.__file__).read_text("utf-8")  # type: ignore[attr-defined]
    tree = ast.parse(source, feature_version=(3, 6))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {part.__name__ for part in _PARTS}  # sent together
    assert {name.partition(".")[0] for name in modules - own} <= sys.stdlib_module_names
    assert not modules & {"dataclasses", "importlib.resources", "graphlib", "tomllib", "zoneinfo"}  # newer than 3.6


def test_no_name_is_defined_by_two_parts() -> None:
    """They are sent as one module, in which the later definition would replace the other."""
    names: list[str] = []
    for part in _PARTS:
        for node in ast.parse(Path(str(part.__file__)).read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.append(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9", "3.10", "3.12", "3.13"])
def test_other_pythons_run_it(version: str, tmp_path: Path) -> None:
    managed = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python3"))
    python = str(managed[0]) if managed else shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python {version} here")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "log.jsonl").write_bytes(_log(9))
    with Mirrored(logs, tmp_path / "cache", Transport(("/bin/sh", "-c", boot.script(python)))) as mirrored:
        mirrored.until_complete()
        assert mirrored.is_same("log.jsonl")


def test_rules_are_those_of_the_reader() -> None:
    walk = agent_walk.Walk(agent_walk.Out(), [], rules())
    names = (
        *("logs", "checkpoint-5", "checkpoints", "ckpts", "my_ckpt", "step_5", "best", "40", ".git", "media"),
        *("global_step_7", "pipeline", "epoch=3", "x"),
    )
    for parent in (Place.OPEN, Place.STORE, Place.IN_STORE):
        for name in [*names, *(name.upper() for name in names)]:
            expected = agent_walk.TEXTS if name in texts.DIRECTORIES else place(f"/data/{name}", parent).value
            assert walk.place(name, f"/data/{name}", parent.value) == expected, (name, parent)
    assert walk.place("proc", "/proc", Place.OPEN.value) == Place.CLOSED.value
    assert agent.SAMPLE == agent.HEAD == HEAD
