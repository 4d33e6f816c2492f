"""W&B's metadata of a run: host, program, arguments and commit, beside its run file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tuimon.formats._shared.settings import FactsDocument
from tuimon.formats.json import metadata
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.panels._run_facts import facts_about

METADATA: dict[str, Any] = {
    "host": "gpu07",
    "program": "/srv/train/grpo.py",
    "args": ["--lr", "3e-3", "--api_key=sk-abcdefghijklmnopqrstuvwx"],
    "git": {"remote": "https://github.com/x/y.git", "commit": "0123abcd"},
    "gpu_count": 8,
    "email": "a@b.c",
}
RUN_FILE = Path(__file__).parent.parent / "data" / "wandb" / "run-vd7v5k5i.wandb"


def _metadata_decoder() -> FactsDocument:
    decoder = metadata.FORMATS[1].decoder()
    assert isinstance(decoder, FactsDocument)
    return decoder


def test_metadata_has_the_names_of_the_run_file() -> None:
    decoder = _metadata_decoder()
    data = json.dumps(METADATA).encode()
    assert decoder.load(data) == [
        Fact(
            "writer",
            {
                "name": "wandb",
                "host": "gpu07",
                "program": "/srv/train/grpo.py",
                "arguments": " ".join(METADATA["args"]),
                "gpu_count": 8,
                "git_remote": "https://github.com/x/y.git",
                "git_commit": "0123abcd",
            },
        )
    ]
    assert decoder.load(data) == []


@pytest.mark.parametrize("document", [{}, {"git": [], "args": 3, "host": None, "gpu_count": "x"}])
def test_metadata_of_other_shapes_have_no_facts(document: dict[str, Any]) -> None:
    assert _metadata_decoder().load(json.dumps(document).encode()) == [Fact("writer", {"name": "wandb"})]


def test_the_commit_is_known_if_only_the_metadata_has_it(tmp_path: Path) -> None:
    run = tmp_path / "wandb" / "offline-run-20261121_013347-vd7v5k5i"
    (run / "files").mkdir(parents=True)
    (run / "files" / "wandb-metadata.json").write_text(json.dumps(METADATA))
    shutil.copy(RUN_FILE, run)
    [found] = open_run(tmp_path).runs
    about = facts_about(found)
    assert (about["git_commit"], about["run_id"]) == ("0123abcd", "vd7v5k5i")
