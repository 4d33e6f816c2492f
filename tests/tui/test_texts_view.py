"""Test the texts view by keys against the rows that were written."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.dashboard import PatientPilot, copied, opened, text, until
from support.tables import table_rows
from support.written_texts import ATTEMPTS, PROMPTS, mean_reward, row, write_run, write_step

from tuimon.config import Settings
from tuimon.model.views import Row
from tuimon.monitor.local import open_run
from tuimon.monitor.process import ReaderProcess
from tuimon.samples import Sample
from tuimon.samples.library import Entry, Library
from tuimon.tui.app import TuimonApp
from tuimon.tui.opening import expects_metrics
from tuimon.tui.screens.text_choice import Choice
from tuimon.tui.screens.text_list import component_head, list_columns
from tuimon.tui.screens.text_pane import sample_rows
from tuimon.tui.screens.texts_view import TextsScreen


async def test_list_and_text_of_the_step_at_the_cursor_and_back(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 5))
    async with opened(run, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 4" in s)
        await pilot.press("T")
        shown = await until(app, pilot, lambda s: "is it 0 times 3?" in s)
        assert "step 4 (4 of 4)" in shown
        assert f"{PROMPTS * ATTEMPTS} texts  reward {mean_reward(4):.4g}" in shown
        assert "reference 0" in shown
        screen = app.screen
        assert isinstance(screen, TextsScreen)
        await pilot.press("N", "N")
        await until(app, pilot, lambda s: "step 2 (2 of 4)" in s and "step 2: is it 0" in s)
        await pilot.press("N", "N")
        assert "No texts before this step" in text(app)
        await pilot.press("n", "c")
        assert app.state.options.cursor == 2
        await pilot.press("T")
        await until(app, pilot, lambda s: "step 2 (2 of 4)" in s)
        await pilot.press("T")
        assert len(app.screen_stack) == 1


async def test_layout_for_an_old_width_that_comes_late_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow, widths = write_run(tmp_path / "run", [1]), threading.Event(), []

    def lay_out(sample: Sample, width: int, *others: Any) -> list[Row]:
        widths.append(width)
        if width < 100:
            slow.wait(60)
        return sample_rows(sample, width, *others)

    async with opened(run, (200, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T")
        wide = await until(app, pilot, lambda s: "is it 0 times 3?" in s)
        monkeypatch.setattr("tuimon.tui.screens.texts_view.sample_rows", lay_out)
        await pilot.resize_terminal(80, 30)
        while not widths:
            await pilot.pause(0.02)
        await pilot.resize_terminal(200, 30)
        assert await until(app, pilot, lambda s: s == wide)
        slow.set()
        await app.workers.wait_for_complete([worker for worker in app.workers if worker.node is app.screen])
        await pilot.pause()
        assert text(app) == wide


async def test_texts_without_metrics_open_at_once_and_metrics_follow(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_step(run, 1)
    monitor = ReaderProcess([str(run)], interval=0.2)
    monitor.start()
    try:
        app = TuimonApp(monitor, Settings(theme="dark", symbols="braille"), wait=False)
        async with app.run_test(size=(120, 40)):
            pilot = PatientPilot(app)
            while not (isinstance(app.screen, TextsScreen) and app.screen._compositor.size == app.size):
                await pilot.pause(0.02)  # opened, and laid out
            await until(app, pilot, lambda s: "16 texts" in s and "no metrics were found" in s)
            await pilot.press("v")
            await until(app, pilot, lambda s: "passed: reward 1" in s)
            await pilot.press("c")
            await until(app, pilot, lambda s: "waiting for a log to appear" in s)
            await pilot.press("T")
            await until(app, pilot, lambda s: "16 texts" in s)
            (run / "metrics.jsonl").write_text(json.dumps({"step": 1, "critic/score/mean": mean_reward(1)}) + "\n")
            await until(app, pilot, lambda s: "mean reward of the texts 0.3750" in s)
            await pilot.press("T")
            await until(app, pilot, lambda s: "0.375 @ 1" in s)
    finally:
        monitor.close()


def test_a_log_that_is_not_understood_is_no_reason_to_show_metrics_first(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("[prompt] What is 2 + 2?\n[output] 4\n")
    os.utime(log, (1.8e9, 1.8e9))
    assert not expects_metrics(open_run(tmp_path), 1.8e9 + 86400)
    assert expects_metrics(open_run(tmp_path), 1.8e9 + 60), "the log may still be written"
    log.write_text("step 1 loss 0.5\nstep 2 loss 0.4\n")
    assert expects_metrics(open_run(tmp_path), 1.8e9 + 86400)


async def test_nothing_at_all_ends_with_exit_code_3(tmp_path: Path) -> None:
    monitor = ReaderProcess([str(tmp_path)], interval=0.2)
    monitor.start()
    try:
        app = TuimonApp(monitor, Settings(theme="dark", symbols="braille"), wait=False)
        async with app.run_test(size=(120, 40)):
            await PatientPilot(app).pause()
            while app.return_code is None:
                await asyncio.sleep(0.02)
        assert app.return_code == 3
    finally:
        monitor.close()


async def test_training_and_validation_are_separate(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for folder, scores in (("rollout", (1, 0, 1, 1)), ("validation", (0, 0))):
        (run / folder).mkdir(parents=True)
        for step in (1, 2):
            rows = [
                {"input": "2+2?", "output": f"{folder} {i}", "score": s, "step": step} for i, s in enumerate(scores)
            ]
            (run / folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / "metrics.jsonl").write_text('{"step": 2, "critic/score/mean": 0.75, "val-core/score/mean@1": 0.0}\n')
    async with opened(run, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        shown = await until(app, pilot, lambda s: "mean reward of the texts" in s)
        assert "4 texts, training; V: validation, 2 texts  reward 0.75 ±" in shown
        assert "mean reward of the texts 0.7500 = critic/score/mean" in shown
        await pilot.press("v")
        shown = await until(app, pilot, lambda s: "passed: reward 1" in s)
        assert "3/4" in shown
        await pilot.press("V")
        shown = await until(app, pilot, lambda s: "2 texts, validation; V: training, 4 texts  reward 0 ±" in s)
        assert "0/2" in shown
        assert "critic/score/mean" not in shown


async def test_no_number_passed_where_rewards_are_continuous(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 2))
    rows = [{"input": "q", "output": f"a{i}", "score": score, "step": 1} for i, score in enumerate((0.95, 1.0, 1.015))]
    (run / "rollouts" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with opened(run, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "3 texts" in s)
        await pilot.press("v")
        shown = await until(app, pilot, lambda s: "± std" in s)
        assert "passed" not in shown.splitlines()[1]
        assert "/3" not in shown


async def test_orders_filters_groups_and_search(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(2, 3))
    async with opened(run, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "is it 0 times 3?" in s)
        screen = app.screen
        assert isinstance(screen, TextsScreen)
        choice = screen.choice
        rewards = sorted(entry.reward or 0.0 for entry in choice.entries)
        assert [entry.reward for entry in choice.listed] == rewards
        await pilot.press(">")
        assert [entry.reward for entry in choice.listed] == rewards[::-1]
        assert screen.entry is choice.listed[0], "no sample was chosen before"
        await pilot.press("j", "<")
        assert screen.entry is choice.entry(screen.table.cursor)
        assert screen.table.cursor > 0, "the chosen sample stays selected"
        await pilot.press(">", "v")
        assert [(group.passed, len(group.entries)) for group in choice.groups] == [(4, 4), (2, 4), (2, 4), (0, 4)]
        await pilot.press("G", "enter")
        shown = await until(app, pilot, lambda s: "4 of 16 texts" in s and "one group" in s)
        assert "reward 0 ± 0 SD" in shown
        await pilot.press("escape", "v")
        while choice.filter != "loop":
            await pilot.press("z")
        assert [entry.head for entry in choice.listed] == [("wait, no. " * 16)[:160]]
        await pilot.press("z")
        while choice.filter != "all":
            await pilot.press("z")
        await pilot.press("slash", *"format<1", "enter")
        await until(app, pilot, lambda s: "1 of 16 texts" in s)
        await pilot.press("escape", "slash", *"re:attempt [12] says", "enter")
        await until(app, pilot, lambda s: f"{2 * PROMPTS - 0} of 16 texts" in s)
        await pilot.press("escape")
        await until(app, pilot, lambda s: "16 texts" in s and " of 16 texts" not in s)


def write_rows(run: Path, step: int, prompts: Sequence[int]) -> None:
    """Write the texts of a step with these prompts, in this order."""
    rows = [row(prompt, attempt, step) for prompt in prompts for attempt in range(ATTEMPTS)]
    lines = (json.dumps(sample, ensure_ascii=False) + "\n" for sample in rows)
    (run / "rollouts" / f"{step}.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("texts", [("same", "b", "same"), ("a", "b", "c")])
def test_the_list_of_groups_counts_identical_texts(texts: tuple[str, ...], tmp_path: Path) -> None:
    rows = [{"input": "p", "output": text, "score": 1.0, "step": 1} for text in texts]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library = Library([str(tmp_path)])
    library.refresh()
    choice = Choice()
    choice.next_view()
    choice.set_entries(library.entries(1))
    head, row, *_ = table_rows(list_columns(choice), choice.items, 80)
    shown = "identical" in "".join(text for text, _ in head), "2 of 3" in "".join(text for text, _ in row)
    assert shown == ((True, True) if "same" in texts else (False, False))


async def test_a_chosen_prompt_stays_selected_in_other_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = write_run(tmp_path / "run", range(1, 2))
    for step, prompts in ((2, [3, 2, 1, 0]), (3, [9]), (4, [1, 0])):
        write_rows(run, step, prompts)
    async with opened(run, (120, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "step 4 (4 of 4)" in s)
        screen = app.screen
        assert isinstance(screen, TextsScreen)

        def selected() -> str:
            return "" if screen.entry is None else screen.entry.prompt_head

        await pilot.press("v", *"<", "j")  # as written: 1, 0
        assert selected() == "What is 0 times 3?"
        await pilot.press("N")
        await until(app, pilot, lambda s: "step 3 (3 of 4)" in s and "This step does not have the prompt" in s)
        await pilot.press("N")
        await until(app, pilot, lambda s: "step 2 (2 of 4)" in s and selected() == "What is 0 times 3?")
        await pilot.press("k", "N")
        await until(app, pilot, lambda s: "step 1 (1 of 4)" in s and selected() == "What is 1 times 3?")
        await pilot.press("enter", "j", "n")  # the second sample of the open group
        await until(app, pilot, lambda s: "step 2 (2 of 4)" in s and "4 of 16 texts" in s)
        assert (selected(), screen.table.cursor) == ("What is 1 times 3?", 1)
        await pilot.press("W")
        await until(app, pilot, lambda s: "Saved 4 texts: " in s)
        rows = [json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()]
        assert [row["step"] for row in rows] == [2] * 4
        assert {row["prompt"] for row in rows} == {"user\nWhat is 1 times 3?\nassistant\n"}


async def test_hostile_text_is_made_safe_on_the_screen_and_in_copies(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(2, 3))
    async with opened(run, (100, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        written: list[str] = []
        app.write = written.append  # type: ignore[method-assign]
        await pilot.press("T", "slash", *"[bold]", "enter")
        await until(app, pilot, lambda s: "1 of 16 texts" in s and "[bold]x[/bold]" in s)
        await pilot.press("enter", "G")
        screen = app.screen
        assert isinstance(screen, TextsScreen)
        shown = await until(app, pilot, lambda s: screen.zoomed and screen.pane.top == screen.pane.last)
        for character in "\x1b\u202e\u2028\u200b\x07\r":
            assert character not in shown
        await pilot.press("y")
        response = copied(written[-1])
        assert "[bold]x[/bold]" in response
        assert "\x1b" not in response
        await pilot.press("quotation_mark")
        await until(app, pilot, lambda s: "as it is in the file" in s)
        await pilot.press("g", "f", "escape")
        assert not screen.zoomed


async def test_a_new_step_appears_until_a_sample_was_chosen(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 3))
    async with opened(run, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "step 2: is it 0" in s)
        write_step(run, 3)
        await until(app, pilot, lambda s: "step 3 (3 of 3)" in s and "step 3: is it 0" in s)
        await pilot.press("j")
        write_step(run, 4)
        await until(app, pilot, lambda s: "step 3 (3 of 4)" in s)
        with (run / "rollouts" / "3.jsonl").open("a") as file:
            file.write('{"input": "torn')
        await pilot.press("n")
        await until(app, pilot, lambda s: "step 4 (4 of 4)" in s and "step 4: is it 0" in s)


async def test_the_marked_text_is_compared_with_another_step(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 3))
    async with opened(run, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "step 2: is it 0" in s)
        await pilot.press("space")  # the text may still be read
        await until(app, pilot, lambda s: "Marked: d compares" in s)
        await pilot.press("T", "T")
        await until(app, pilot, lambda s: "step 2: is it 0" in s)
        await pilot.press("N")
        await until(app, pilot, lambda s: "step 1: is it 0" in s)
        await pilot.press("d")
        shown = await until(app, pilot, lambda s: "[-2:-]{+1:+}" in s)
        assert "difference" in shown
        await pilot.press("escape")
        await until(app, pilot, lambda s: "step 1: is it 0" in s)


async def test_a_text_that_is_still_being_read_is_marked_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(write_run(tmp_path / "run", range(1, 3)), (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "attempt 0 says" in s)
        screen, read, may_read = app.screen, Library.sample, threading.Event()
        assert isinstance(screen, TextsScreen)
        before = screen.sample

        def sample_later(library: Library, entry: Entry) -> Sample:
            may_read.wait()
            return read(library, entry)

        monkeypatch.setattr(Library, "sample", sample_later)
        await pilot.press("j", "space")
        marked_early = app.state.marked_text
        may_read.set()
        assert marked_early is None
        await until(app, pilot, lambda s: "Marked: d compares" in s)
        assert app.state.marked_text == screen.sample
        assert app.state.marked_text != before


async def test_rewards_are_compared_with_the_curve(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 3))
    with (run / "rollouts" / "1.jsonl").open("a") as file:
        file.write('{"input": "another", "output": "text", "score": NaN, "step": 1}\n')
        file.write('{"input": "another", "output": "text", "score": 9.0, "step": 1}\n')
    async with opened(run, (260, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        shown = await until(app, pilot, lambda s: "= critic/score/mean" in s)
        assert f"mean reward of the texts {mean_reward(2):.4f}" in shown
        assert "1 of 4 groups without variance" not in shown
        assert "2 of 4 groups without variance, truncation is not logged; mean reward" in shown
        await pilot.press("N")
        shown = await until(app, pilot, lambda s: "but critic/score/mean is 0.3750" in s)
        assert "mean reward of 17 texts" in shown
        assert "no finite reward 6 %" in shown


async def test_an_expression_of_exponential_time_is_ended_and_leaves_the_screen_usable(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 3))
    with (run / "rollouts" / "2.jsonl").open("a") as file:
        row = {"input": "long", "output": "a" * 1_000_000 + "b", "score": -1.0, "step": 2}
        file.write(json.dumps(row) + "\n")
    async with opened(run, (120, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "17 texts" in s)
        await pilot.press("slash", *"re:(a+)+$", "enter")
        await until(app, pilot, lambda s: "/re:(a+)+$" in s)
        await pilot.press("G")
        assert isinstance(app.screen, TextsScreen)
        assert app.screen.table.cursor == max(len(app.screen.choice.items) - 1, 0)
        await until(app, pilot, lambda s: "The search was ended: the expression took more than 2 s" in s)
        await pilot.press("N", "slash", *["backspace"] * 9, *"re:attempt [13]", "enter")
        await until(app, pilot, lambda s: "step 1 (1 of 2)" in s and "7 of 16 texts" in s)


async def test_a_run_without_texts_names_the_option(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(0))
    (run / "metrics.jsonl").write_text('{"step": 1, "critic/score/mean": 0.5, "timing_s/gen": 2.0}\n')
    (run / "rollout_data").mkdir()
    (run / "rollout_data" / "1.pt").write_bytes(b"\x80\x02")
    async with opened(run, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T")
        shown = await until(app, pilot, lambda s: "Trainers write texts" in s)
        assert "trainer.rollout_data_dir" in shown
        assert "is a pickle" in shown
        write_step(run, 5)
        await until(app, pilot, lambda s: "step 5: is it 0" in s)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("accuracy_reward", "accuracy"),
        ("format_reward_func", "format"),
        ("reward_length", "length"),
        ("rewards/cosine_scaled_reward", "cosine_scaled"),
        ("reward", "reward"),
        ("奖励_score", "奖励"),
    ],
)
def test_heads_of_parts_of_the_reward_begin_with_their_own_words(name: str, head: str) -> None:
    assert component_head(name) == head


@pytest.mark.parametrize(
    ("group", "label", "shown"),
    [("q", "3", "group 3"), ("problem-of-2024", "3", "group 3 (problem-of-2024)"), ("p7", "p7", "group p7")],
)
def test_a_group_has_the_label_of_the_list_beside_its_text(group: str, label: str, shown: str) -> None:
    sample = Sample("rollouts/1.jsonl", 1, "train", group, 1.0, "a", "q")
    rows = sample_rows(sample, 100, True, False, None, label)
    assert "".join(part for part, _ in rows[1]).endswith(f"  {shown}")


async def test_the_help_explains_the_flags(tmp_path: Path) -> None:
    async with opened(write_run(tmp_path / "run", [1]), (160, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T", "question_mark")
        await until(app, pilot, lambda s: "most important keys" in s)
        await pilot.press("G")
        await until(app, pilot, lambda s: "L loop: one piece again" in s)


async def test_why_a_file_cannot_be_read_comes_before_options_of_trainers(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "metrics.jsonl").write_text("".join(json.dumps({"step": s, "loss": 1.0}) + "\n" for s in range(9)))
    (run / "completions.parquet").write_text("no parquet")
    async with opened(run, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "loss" in s)
        await pilot.press("T")
        shown = await until(app, pilot, lambda s: "No generated texts" in s and "log_completions" in s)
        assert shown.index("cannot read completions.parquet") < shown.index("log_completions")
