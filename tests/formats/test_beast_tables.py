"""Tables that Beast-Logger draws with rich, at any width: in its records and on the console."""

from __future__ import annotations

import json
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.json.marked_lines import RecordedText

HEAD = "2026-01-29 12:01:00.123 | INFO     | ajet.backbone.trainer_verl:eval_dataset:1051 - "
WORDS = [
    *("TGC@4", "mean_reward", "num_all_success_tasks", "num_pass_n_tasks(pass@4)", "num_pass_n_tasks(pass@8)", "of"),
    "all",
]
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
VALUES = st.one_of(st.floats(), st.integers(-(10**6), 10**6), st.sampled_from(["appworld dev", "0.5 of 0.7", None, ""]))


def drawn(row: dict[str, float | str | None], width: int) -> str:
    """Draw a table as print_dict and rich2text of beast_logger 0.1.4 do."""
    table = Table(show_header=False, show_lines=True, header_style="bold white", expand=True)
    for key, value in row.items():
        table.add_row(Text(str(key), justify="full"), Text(str(value), justify="full"))
    console = Console(record=True, file=StringIO(), width=width)
    console.print(Panel(table, expand=True, title="appworld"))
    return "\n" + console.export_text()


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=8), st.sampled_from([30, 50, 50, 80, 140]))
def test_rows_have_the_names_and_values_that_were_logged(row: dict[str, float | str | None], width: int) -> None:
    text = drawn(row, width)
    record = json.dumps({"header": "appworld", "color": "#4422cc", "content": text, "attach": None}, ensure_ascii=False)
    wanted = {f"appworld/{name}": [(0, repr(float(v)))] for name, v in row.items() if isinstance(v, float | int)}
    for result in (
        series(feed(RecordedText("content"), f"{HEAD}\n{record}\n".encode())),
        series(feed(ConsoleDecoder(), f"{HEAD}{text}\n".encode())),
    ):
        assert result.items() <= wanted.items()
        if "…" not in text:
            assert result == wanted


def test_a_row_with_a_text_is_no_header_of_the_next() -> None:
    row: dict[str, float | str | None] = {"TGC@4": 0.0, "TGC@4 mean_reward": "appworld dev", "mean_reward": 0.0}
    metrics = series(feed(ConsoleDecoder(), f"{HEAD}{drawn(row, 50)}".encode()))
    assert metrics.keys() == {"appworld/TGC@4", "appworld/mean_reward"}
