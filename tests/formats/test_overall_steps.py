"""Counters that begin again with each epoch, in JSON lines and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tuimon.formats.json import lines
from tuimon.formats.tables import csv
from tuimon.model.points import Points


def _jsonl(rows: Sequence[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _rows(places: Sequence[tuple[float, int]], key: str = "iter") -> list[dict[str, object]]:
    return [{"epoch": epoch, key: step, "loss": float(index)} for index, (epoch, step) in enumerate(places)]


def _csv(places: Sequence[tuple[float, int]], key: str = "iter") -> bytes:
    rows = "".join(f"{epoch},{step},{index}.0\n" for index, (epoch, step) in enumerate(places))
    return f"epoch,{key},loss\n{rows}".encode()


def _steps(items: Sequence[object], name: str = "loss") -> list[int]:
    steps: list[int] = []
    for points in items:
        if isinstance(points, Points) and name in points.names:
            steps += points.steps[points.metric == points.names.index(name)].tolist()
    return steps


def _both(places: Sequence[tuple[float, int]], key: str = "iter") -> list[int]:
    """Return the steps, after checking that both formats agree for any split of the bytes."""
    table = _steps(csv.TableDecoder().feed(_csv(places, key)))
    assert _steps(lines.decoder().feed(_jsonl(_rows(places, key)))) == table
    for size in (1, 37):
        for decoder, data in ((lines.decoder(), _jsonl(_rows(places, key))), (csv.TableDecoder(), _csv(places, key))):
            items = [item for at in range(0, len(data), size) for item in decoder.feed(data[at : at + size])]
            assert _steps(items) == table
    return table


@pytest.mark.parametrize("key", ["iter", "step", "iteration"])
def test_counter_that_begins_again_is_added_to_the_epochs_before(key: str) -> None:
    places = [(epoch, step) for epoch in (1, 2, 3) for step in (50, 100, 150)]
    assert _both(places, key) == list(range(50, 451, 50))


@pytest.mark.parametrize("sizes", [(300, 100, 100), (100, 300, 100)])
def test_each_epoch_has_a_size_of_its_own(sizes: Sequence[int]) -> None:
    places = [(epoch, step) for epoch, size in enumerate(sizes, 1) for step in range(50, size + 1, 50)]
    assert _both(places) == list(range(50, 501, 50))


def test_epochs_whose_counter_begins_at_0_do_not_overlap() -> None:
    assert _both([(epoch, step) for epoch in (0, 1, 2) for step in (0, 10, 20)]) == list(range(0, 90, 10))


def test_last_step_of_an_epoch_that_is_logged_in_any_case_ends_it() -> None:
    assert _both([(epoch, step) for epoch in (0, 1) for step in (0, 10, 20, 23)]) == [0, 10, 20, 23, 24, 34, 44, 47]


def test_counter_of_all_epochs_is_the_step_even_if_a_resume_resets_it() -> None:
    places = [(1, 50), (1, 100), (2, 150), (2, 200), (3, 50), (3, 100)]
    assert _both(places) == [50, 100, 150, 200, 50, 100]


@pytest.mark.parametrize("epochs", [(1, 1), (2, 1)])
def test_fall_without_a_new_epoch_is_a_restart(epochs: tuple[int, int]) -> None:
    before, after = epochs
    assert _both([(before, 50), (before, 100), (after, 50), (after, 100)]) == [50, 100, 50, 100]


def test_restart_in_a_former_epoch_has_the_steps_of_that_epoch() -> None:
    places = [(epoch, step) for epoch in (1, 2, 3, 2, 3) for step in (50, 100)]
    assert _both(places) == [50, 100, 150, 200, 250, 300, 150, 200, 250, 300]


def test_epoch_that_was_not_logged_has_steps_too() -> None:
    assert _both([(1, 50), (1, 100), (3, 50), (3, 100)]) == [50, 100, 250, 300]


def test_fractions_of_epochs_do_not_begin_a_counter_again() -> None:
    assert _both([(0.5, 50), (1.0, 100), (2.0, 50)]) == [50, 100, 50]


def test_row_with_the_epoch_alone_has_the_step_of_the_row_before() -> None:
    rows = _rows([(1, 50), (1, 100), (2, 50), (2, 100)])
    rows[2:2] = [{"epoch": 1, "val_loss": 0.5}]
    rows.append({"epoch": 2, "val_loss": 0.4})
    assert _steps(lines.decoder().feed(_jsonl(rows)), "val_loss") == [100, 200]
    table = b"epoch,iter,loss,val_loss\n1,50,1,\n1,100,1,\n1,,,0.5\n2,50,1,\n2,100,1,\n2,,,0.4\n"
    assert _steps(csv.TableDecoder().feed(table), "val_loss") == [100, 200]


def test_step_of_all_epochs_in_another_row_is_kept() -> None:
    rows = [{"iter": 5, "epoch": 1, "loss": 1.0}, {"global_step": 100, "epoch": 1, "loss": 0.5}]
    assert _steps(lines.decoder().feed(_jsonl(rows))) == [5, 100]
    assert _steps(csv.TableDecoder().feed(b"epoch,iter,global_step,loss\n1,5,,1\n1,,100,0.5\n")) == [5, 100]


def test_validation_of_mmdetection_has_the_last_step_of_the_training() -> None:
    rows: list[dict[str, object]] = []
    for epoch in (1, 2):
        rows += [{"mode": "train", "epoch": epoch, "iter": step, "lr": 0.1, "loss": 1.0} for step in (50, 100)]
        rows.append({"mode": "val", "epoch": epoch, "iter": 625, "lr": 0.1, "bbox_mAP": 0.5})
    items = lines.decoder().feed(_jsonl(rows))
    assert _steps(items) == [50, 100, 150, 200]
    assert _steps(items, "val/bbox_mAP") == [100, 200]
    assert {name for item in items if isinstance(item, Points) for name in item.names} == {
        *("loss", "lr", "epoch", "val/bbox_mAP")
    }


def test_preview_is_empty_if_its_steps_depend_on_the_epochs_before() -> None:
    restarting = [(epoch, step) for epoch in range(5) for step in range(100)]
    global_steps = [(epoch, 100 * epoch + step) for epoch in range(5) for step in range(100)]
    for places, expected in ((restarting, []), (global_steps, [499])):
        data = _jsonl(_rows(places))
        for size in (500, len(data) // 2):
            found = _steps(lines.tail(data[:500], data[-size:]))[-1:]
            assert found == (expected if size > 500 else []), (size, found)
    data = _jsonl(_rows(restarting))
    assert _steps(lines.tail(data[:500], data[500:1000])), "the first epoch"


@pytest.mark.parametrize("key", ["batch", "batch_idx"])
def test_batches_counted_from_0_are_steps(key: str) -> None:
    places = [(epoch, step) for epoch in (1, 2, 3) for step in (0, 50, 100)]
    assert _both(places, key) == list(range(0, 450, 50))
    data = _jsonl(_rows(places, key))
    assert not _steps(lines.tail(data[:90], data[-120:]))


def test_size_of_a_batch_is_no_step() -> None:
    assert _both([(1, 32), (2, 32), (3, 32)], "batch") == [1, 2, 3]


def test_batch_beside_a_step_is_a_metric() -> None:
    rows = [{"step": step, "epoch": 1, "batch": step % 2, "loss": 1.0} for step in range(4)]
    assert _steps(lines.decoder().feed(_jsonl(rows)), "batch") == [0, 1, 2, 3]


def test_rows_with_an_epoch_only_have_the_step_of_the_row_before() -> None:
    rows: list[dict[str, object]] = []
    for epoch in (1, 2, 3):
        rows += [{"step": 50 * epoch - step, "loss": 1.0 / epoch} for step in (40, 20, 0)]
        rows += [{"epoch": epoch, "eval/loss": 2.0 / epoch}, {"epoch": epoch, "eval/acc": 0.5}]
    items = lines.decoder().feed(_jsonl(rows))
    table = "".join(
        f"{r.get('step', '')},{r.get('epoch', '')},{r.get('loss', '')},{r.get('eval/loss', '')}\n" for r in rows
    )
    read = csv.TableDecoder().feed(b"step,epoch,loss,eval/loss\n" + table.encode())
    for points in (items, read):
        assert _steps(points, "eval/loss") == [50, 100, 150]
        assert sorted(set(_steps(points, "epoch"))) == [50, 100, 150]
    assert _steps(items, "eval/acc") == [50, 100, 150]


def test_epochs_are_steps_where_no_row_before_them_counts_steps() -> None:
    rows: list[dict[str, object]] = [{"step": 0, "lr": 0.1}, *({"epoch": e, "loss": 1.0} for e in (1, 2, 3))]
    assert _steps(lines.decoder().feed(_jsonl(rows)), "loss") == [1, 2, 3]
