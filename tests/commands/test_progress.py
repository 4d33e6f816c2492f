"""Progress bars of commands on a terminal, and ctrl+c while they are drawn."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from support.programs import write_rows

from tuimon.commands import _stderr, main

DRAWN = {
    "report": ["\rdrawing 1 panels"],
    "folder": ["\rwriting 100 rows", "\rdrawing [------------------------]   0%  0 of 1 pictures"],
}
COMMANDS = {
    "compare": ["compare", "{}/a", "{}/b"],
    "report": ["report", "{}", "-o", "{}/report.html"],
    "summary": ["summary", "{}"],
    "ranks": ["summary", "--ranks", "{}/job"],
    "samples": ["samples", "{}/texts", "--best", "2"],
    "export": ["export", "{}/a", "--format", "csv", "-o", "{}/out.csv"],
    "folder": ["export", "{}/a", "--format", "history", "--format", "png", "-o", "{}/out/"],
}


class TerminalError(io.StringIO):
    """A stderr that is a terminal; raises KeyboardInterrupt when the bar is drawn, as ctrl+c would."""

    def __init__(self, interrupts: bool) -> None:
        super().__init__()
        self._interrupts = interrupts

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        if self._interrupts and text.startswith("\rreading"):
            raise KeyboardInterrupt
        return count


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in "ab":
        write_rows(tmp_path / name, ({"step": step, "reward": step / 100} for step in range(100)))
    (tmp_path / "job").mkdir()
    for rank in range(3):
        lines = [f"[rank{rank}]: step {step} loss {1 / (step + 1):.4f}" for step in range(50)]
        (tmp_path / "job" / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "texts").mkdir()
    texts = [{"step": 1, "prompt": "p", "response": f"r{number}", "reward": number} for number in range(5)]
    (tmp_path / "texts" / "1.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    return tmp_path


def run(command: str, logs: Path, monkeypatch: pytest.MonkeyPatch, interrupts: bool) -> tuple[int, str]:
    error = TerminalError(interrupts)
    monkeypatch.setattr(_stderr, "_AFTER", -1.0)  # the bar is drawn at the first chance
    monkeypatch.setattr(_stderr, "_EVERY", 0.0)
    monkeypatch.setattr("tuimon.monitor.local._CALL_EVERY", -1.0)
    monkeypatch.setattr(sys, "stderr", error)
    code = main([part.format(logs) for part in COMMANDS[command]])
    return code, error.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_long_reading_is_shown_on_a_terminal_and_erased(
    command: str, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, shown = run(command, logs, monkeypatch, interrupts=False)
    assert code == 0, shown
    assert "\rreading" in shown
    assert all(text in shown for text in DRAWN.get(command, ()))
    assert shown.endswith("\r\x1b[K") or "\r\x1b[Ktuimon: wrote" in shown, "the bar is erased"
    if command != "samples":  # the number of texts is not known beforehand
        assert "100%" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_long_work_with_a_sentence(command: str, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(logs.rglob("*"))
    code, shown = run(command, logs, monkeypatch, interrupts=True)
    assert code == 130
    after = shown.rpartition("\r\x1b[K")[2]
    assert after.startswith("tuimon: interrupted before")
    assert after.count("\n") == 1
    assert sorted(logs.rglob("*")) == before
