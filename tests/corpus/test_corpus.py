"""Each case of the corpus is what its golden says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus.cases import DATA, GOLDENS, cases_below, private_copy
from tests.corpus.faults import FAULTS
from tests.corpus.record import changes, record

CASES = cases_below(DATA)


@pytest.mark.parametrize("name", [*CASES, *FAULTS])
def test_a_case_is_as_its_golden_says(name: str, tmp_path: Path) -> None:
    case = CASES[name] if name in CASES else FAULTS[name](tmp_path / "made")
    golden = json.loads((GOLDENS / f"{name}.json").read_text())
    assert list(changes(golden, record(private_copy(case, tmp_path)))) == []


def test_every_golden_has_a_case() -> None:
    goldens = {path.relative_to(GOLDENS).as_posix().removesuffix(".json") for path in GOLDENS.rglob("*.json")}
    assert goldens == {*CASES, *FAULTS}
