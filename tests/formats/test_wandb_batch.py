"""W&B rows whose values are parsed together: what is wrong in one costs no other. See also test_wandb_mixture."""

from __future__ import annotations

from support.log_writer import WANDB, damage, decode, framed, history, series, varint

from tuimon.formats.wandb.run_file import WandbDecoder


def test_a_damaged_row_is_reported_and_the_others_are_read() -> None:
    records = [history(index, {"loss": repr(index * 0.5), "kl": repr(index * 0.25)}, index) for index in range(100)]
    broken = bytearray(records[60])
    broken[3] = 0x0A
    broken[4:6] = b"\xff\x7f"  # an item that would reach past the row
    records[60] = bytes(broken)
    items = decode(WandbDecoder(), framed(WANDB, records))
    assert series(items)["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert [entry.reason for entry in damage(items)] == ["record not readable"]


def test_texts_that_are_json_only_when_joined_cost_no_other_row() -> None:
    records = [history(index, {"loss": repr(index * 0.5), "kl": "2.5"}, index) for index in range(100)]
    records[60] = history(60, {"note": "1,[2", "other": "3]"}, 60)
    assert not series(decode(WandbDecoder(), framed(WANDB, records[60:61])))
    records[2:2] = [history(2, {"note": "0.5", "other": "0.25"}, 2)]  # the keys are known
    actual = series(decode(WandbDecoder(), framed(WANDB, records)))
    assert actual["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert set(actual) == {"loss", "kl", "note", "other"}
    assert actual["note"] == [(2, "0.5")]


def test_a_step_that_looks_like_a_tag_costs_no_row() -> None:
    steps = [129, 130, 131, 16_640, 16_767, 16_768, 2**14 * 130, 2**21 + 16_640, 2**63 - 1]
    assert sum(b"\x82\x01" in varint(step) for step in steps) == 4
    records = [history(index, {"loss": repr(index * 0.5)}, step) for index, step in enumerate(steps)]
    items = decode(WandbDecoder(), framed(WANDB, records))
    assert series(items) == {"loss": [(step, repr(index * 0.5)) for index, step in enumerate(steps)]}
    assert not damage(items)
