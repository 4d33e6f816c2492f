"""Each case of the corpus is what its golden says, but for the known faults."""

from __future__ import annotations

import json
import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.corpus.cases import DATA, GOLDENS, KNOWN_FAULTS, cases_below, private_copy
from tests.corpus.faults import FAULTS
from tests.corpus.record import changes, record

CASES = cases_below(DATA)
OTHER_LOGS, _, OTHER_GOLDENS = os.environ.get("TUIMON_CORPUS", "").partition(":")


@pytest.mark.parametrize("name", [*CASES, *FAULTS])
def test_a_case_is_as_its_golden_says(name: str, tmp_path: Path) -> None:
    case = CASES[name] if name in CASES else FAULTS[name](tmp_path / "made")
    golden = json.loads((GOLDENS / f"{name}.json").read_text())
    differences = list(changes(golden, record(private_copy(case, tmp_path))))
    known = KNOWN_FAULTS.get(name, {"fields": []})
    unknown = [text for field, text in differences if not any(fnmatchcase(field, entry) for entry in known["fields"])]
    assert not unknown
    corrected = [entry for entry in known["fields"] if not any(fnmatchcase(field, entry) for field, _ in differences)]
    assert not corrected, f"{known['fault']} is corrected: remove it from known_faults.toml"


def test_every_golden_has_a_case() -> None:
    goldens = {path.relative_to(GOLDENS).as_posix().removesuffix(".json") for path in GOLDENS.rglob("*.json")}
    assert goldens == {*CASES, *FAULTS}


@pytest.mark.skipif(not OTHER_LOGS, reason="TUIMON_CORPUS names no other logs")
def test_other_logs_are_as_their_goldens_say(tmp_path: Path) -> None:
    found = []
    for name, case in cases_below(Path(OTHER_LOGS)).items():
        golden = json.loads((Path(OTHER_GOLDENS) / f"{name}.json").read_text())
        found += [f"{name}: {text}" for _, text in changes(golden, record(private_copy(case, tmp_path / name)))]
    assert not found
