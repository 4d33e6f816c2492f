"""Values that are not scalars, in files that TensorBoard's protos, W&B and SwanLab wrote."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.event_points import event, file_of
from support.log_writer import SWANLAB, WANDB, field, framed, history
from support.written_media import write_run
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from tuimon.media import Distribution, Item, Kind, Moments, Part, PrecisionRecall
from tuimon.media.library import MAX_KEPT, Tag, content_of, read_media
from tuimon.media.limits import MAX_BUCKETS, distribution, merged
from tuimon.media.readers.tensorboard import tensor as read_tensor
from tuimon.media.rows import HEAT, detail_rows
from tuimon.media.saving import can_save, save
from tuimon.media.shape import area_under, is_exact, limited, mean, rebucket, total

DATA = Path(__file__).parent.parent / "data"


def by_tag(path: Path, *kinds: Kind) -> dict[str, Tag]:
    found = read_media(str(path), kinds)
    assert not found.problems
    return {tag.name: tag for tag in found.tags}


def test_every_kind_of_an_event_file(tmp_path: Path) -> None:
    tags = by_tag(write_run(tmp_path / "run"))
    assert {name: tag.kind for name, tag in tags.items()} == {
        "weights": Kind.HISTOGRAM,
        "grads": Kind.HISTOGRAM,
        "pr": Kind.PR_CURVE,
        "note": Kind.TEXT,
        "_hparams_/session_start_info": Kind.HPARAMS,
        "img": Kind.IMAGE,
        "sound": Kind.AUDIO,
        "clip": Kind.VIDEO,
    }
    for name, values in (("weights", 500), ("grads", 300)):
        shapes = [item.content for item in tags[name].items]
        assert [total(shape) for shape in shapes if isinstance(shape, Distribution)] == [values] * 5
    means = [mean(item.content) for item in tags["weights"].items if isinstance(item.content, Distribution)]
    assert means == pytest.approx(range(5), abs=0.3)
    assert tags["pr"].items[0].content == PrecisionRecall((0.75, 1.0), (1.0, 0.5))
    assert [content_of(item) for item in tags["note"].items] == [f"it is step {step}" for step in range(5)]
    assert [(item.size, item.detail) for item in tags["img"].items] == [(100 + step, "1×1") for step in range(5)]
    assert [(item.size, item.detail) for item in tags["clip"].items] == [(6, "1×1")] * 5
    assert tags["sound"].items[0].detail == "2.5 s"
    assert list(by_tag(tmp_path, Kind.TEXT)) == ["note"]


def test_progress_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.media.readers._records.CHUNK", 2048)
    (tmp_path / "run-1.swanlab").write_bytes((DATA / "swanlab" / "gpu_0_10.swanlab").read_bytes())
    write_run(tmp_path)
    states: list[tuple[int, int]] = []
    found = read_media(str(tmp_path), on_read=lambda found: states.append((found.read, len(found.tags))))
    assert found.read == found.size == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert states == sorted(states), "bytes and tags grow"
    assert any(0 < read < found.size and tags for read, tags in states)
    assert states[-1] == (found.size, len(found.tags))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"min": -0.5, "max": 0.25, "num": 3, "sum": -0.75, "sum_squares": 1}, Moments(-0.5, 0.25, -0.75, 3)),
        ({"min": -0.5, "max": 0.5, "num": 2, "sum_squares": 0.5}, Moments(-0.5, 0.5, 0.0, 2)),  # the sum is 0
        ({"num": 3}, Moments(0.0, 0.0, 0.0, 3)),  # all values are 0
        ({"min": -0.5, "max": 0.5, "num": 2}, Moments(-0.5, 0.5, None, 2)),
        ({"min": 0.5, "max": -0.5, "num": 2, "sum": 1}, None),
        ({"min": 5, "max": 6, "num": 2, "sum": 11}, None),  # outside of the buckets
        ({}, None),
    ],
)
def test_numbers_beside_the_buckets_of_an_event_file(
    numbers: dict[str, float], expected: Moments | None, tmp_path: Path
) -> None:
    proto = HistogramProto(bucket_limit=[-1.0, 0.0, 1.0], bucket=[0.0, 2.0, 1.0], **numbers)
    (tmp_path / "events.out.tfevents.1").write_bytes(
        file_of(*(event(step, Summary.Value(tag="w", histo=proto)) for step in (1, 2, 2)))
    )
    (tag,) = by_tag(tmp_path).values()
    content = tag.items[0].content
    assert content.moments == expected


def test_content_is_saved_as_it_was_logged_and_never_over_a_file(tmp_path: Path) -> None:
    tags = by_tag(write_run(tmp_path / "run"))

    def name_file(end: str) -> Path:
        return tmp_path / f"saved{end}"

    (picture,) = save(tags["img"].items[3], name_file)
    assert (picture.name, picture.read_bytes()) == ("saved-img-step-3.bin", b"\x15" * 103)
    with pytest.raises(FileExistsError):
        save(tags["img"].items[3], name_file)
    (table,) = save(tags["weights"].items[0], name_file)
    shape = tags["weights"].items[0].content
    head, *rows = table.read_text().splitlines()
    assert head == "low,high,count"
    assert [tuple(map(float, row.split(","))) for row in rows] == [
        *zip(shape.edges, shape.edges[1:], shape.counts, strict=False)
    ]
    assert save(tags["pr"].items[0], name_file)[0].read_text() == "precision,recall\n0.75,1.0\n1.0,0.5\n"
    assert can_save(tags["sound"].items[0])
    (text,) = save(tags["note"].items[2], name_file)
    assert (text.name, text.read_text()) == ("saved-note-step-2.txt", "it is step 2")
    (tmp_path / "a").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "b.wav").write_bytes(b"not known")
    both = Item(Kind.IMAGE, "../x y/\x1b", 7, 4, parts=tuple(Part(str(tmp_path / name)) for name in ("a", "b.wav")))
    assert [path.name for path in save(both, name_file)] == ["saved-x-y-step-7-1.png", "saved-x-y-step-7-2.wav"]
    (log,) = (tmp_path / "run").iterdir()
    log.write_bytes(log.read_bytes()[:200])
    with pytest.raises(OSError, match="the log file has changed"):
        save(tags["img"].items[4], name_file)
    assert not (tmp_path / "saved-img-step-4.bin").exists()


def test_a_damaged_file_loses_only_the_damaged_record(tmp_path: Path) -> None:
    file = next(write_run(tmp_path / "run").iterdir())
    whole = file.read_bytes()
    place = whole.index(b"it is step 2")
    file.write_bytes(whole[:place] + b"XX" + whole[place + 2 : -7])
    tags = by_tag(tmp_path)
    assert [item.step for item in tags["note"].items] == [0, 1, 3, 4]
    assert [item.step for item in tags["weights"].items] == list(range(5))
    assert [item.step for item in tags["sound"].items] == list(range(4))  # the last record is incomplete


def test_records_after_a_damaged_length_are_found(tmp_path: Path) -> None:
    file = next(write_run(tmp_path / "run").iterdir())
    data = file.read_bytes()
    place = data.index(b"brain.Event:2")
    file.write_bytes(data[: place + 17] + b"?" * 9 + data[place + 17 + 9 :])
    assert [item.step for item in by_tag(tmp_path)["note"].items] == list(range(5))


def test_wandb_files_of_real_versions_and_json_values(tmp_path: Path) -> None:
    tags = by_tag(DATA / "wandb" / "run-vd7v5k5i.wandb")
    kinds = {tag.kind for tag in tags.values()}
    assert {Kind.HISTOGRAM, Kind.TABLE} <= kinds
    [weights] = [tag for tag in tags.values() if tag.kind is Kind.HISTOGRAM]
    assert weights.name == "weights"
    assert all(isinstance(item.content, Distribution) and total(item.content) > 0 for item in weights.items)
    value = {"_type": "histogram", "packedBins": {"min": -1, "size": 0.5, "count": 4}, "values": [1, 2, 3, 4]}
    clip = {"_type": "video-file", "path": "media/videos/clip_1_ab.mp4", "size": 77, "width": 8, "height": 6}
    rows = [history(1, {"w": json.dumps(value), "loss": "0.5", "a.clip": json.dumps(clip)}, 7)]
    (tmp_path / "run-x.wandb").write_bytes(framed(WANDB, rows))
    tags = by_tag(tmp_path)
    assert tags["w"].items[0].content == Distribution((-1.0, -0.5, 0.0, 0.5, 1.0), (1.0, 2.0, 3.0, 4.0))
    assert (tags["a.clip"].kind, tags["a.clip"].bytes, tags["a.clip"].last_step) == (Kind.VIDEO, 77, 7)
    assert tags["a.clip"].items[0].detail == "8×6, clip_1_ab.mp4"


def test_the_content_of_a_wandb_table_is_shown_and_no_other_file(tmp_path: Path) -> None:
    tables = tmp_path / "files" / "media" / "table"
    tables.mkdir(parents=True)
    name = "media/table/samples_3_ab.table.json"
    data = [["2+2", "\x1b[31m4", 1.0], ["key", "\\\\ sk-" + "a1B2" * 8, float("nan")], *[["more", "x", 0.5]] * 600]
    document = {"columns": ["prompt", "answer", "score"], "data": data}
    (tmp_path / "files" / name).write_text(json.dumps(document))
    (tmp_path / "secret.table.json").write_text(json.dumps({"columns": ["secret"], "data": [["hunter2"]]}))
    (tables / "link.table.json").symlink_to(tmp_path / "secret.table.json")
    paths = {
        "samples": name,
        "above": "media/table/../../../secret.table.json",
        "link": "media/table/link.table.json",
        "gone": "media/table/gone.table.json",
    }
    values = {
        tag: json.dumps({"_type": "table-file", "path": path, "size": 9, "nrows": 602, "ncols": 3})
        for tag, path in paths.items()
    }
    (tmp_path / "run-x.wandb").write_bytes(framed(WANDB, [history(1, values, 3)]))
    shown = {
        tag.name: "\n".join("".join(text for text, _ in row) for row in detail_rows(tag, 70, 8, HEAT, 3, None, False))
        for tag in by_tag(tmp_path).values()
    }
    assert shown["samples"].splitlines()[0].startswith(" step 3  602 rows × 3 columns")
    assert "596 more rows" in shown["samples"]
    assert shown["samples"].splitlines()[1].split() == ["prompt", "answer", "score"]
    assert shown["samples"].splitlines()[2].split() == ["2+2", "␛[31m4", "1"]
    assert shown["samples"].splitlines()[3].split()[-1] == "NaN"
    assert "a1B2" not in shown["samples"]
    assert all("hunter2" not in text for text in shown.values())
    assert "No such file or directory" in shown["gone"]
    (tmp_path / "files" / name).write_text("[1, 2")
    tag = by_tag(tmp_path)["samples"]
    assert "not a table" in "".join(text for text, _ in detail_rows(tag, 70, 8, HEAT, 3, None, False)[0])


def test_swanlab_of_both_forms(tmp_path: Path) -> None:
    files = field(1, field(1, "001-ab.png") + field(3, 12)) + field(1, field(1, "002-cd.png") + field(3, 30))
    media = field(1, 9) + field(14, field(1, "plots") + field(2, 3) + field(5, files))
    (tmp_path / "run-a.swanlab").write_bytes(framed(SWANLAB + b"\x02", [media]))
    [plots] = by_tag(tmp_path).values()
    assert (plots.kind, plots.name, plots.bytes, plots.last_step) == (Kind.IMAGE, "plots", 42, 3)
    value = {"model_type": "Media", "data": {"key": "said", "step": 4, "metric": {"data": ["1+1=2"]}}}
    (tmp_path / "run-a.swanlab").write_bytes(framed(SWANLAB + b"\x00", [json.dumps(value).encode()]))
    [said] = by_tag(tmp_path).values()
    assert (said.kind, said.items[0].content, said.last_step) == (Kind.TEXT, "1+1=2", 4)


def test_files_of_wandb_are_saved(tmp_path: Path) -> None:
    folder = tmp_path / "files" / "media"
    contents = {
        "images/a_0.png": b"\x89PNG one",
        "images/a_1.png": b"\xff\xd8\xff two",
        "audio/b.wav": b"RIFF1234WAVE three",
        "videos/c.mp4": b"1234ftyp four",
    }
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    (folder / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    images = [f"media/{name}" for name in contents if name.startswith("images")]
    videos = [{"_type": "video-file", "path": "media/videos/c.mp4", "size": 12}] * 2
    values = {
        "list": {"_type": "videos", "count": 2, "videos": [*videos, 3], "captions": False},
        "i": {"_type": "images/separated", "filenames": images, "count": 2, "width": 1, "height": 1},
        "one": {"_type": "image-file", "path": images[0], "size": 7},
        "s": {"_type": "audio-file", "path": "media/audio/b.wav", "size": 18},
        "v": {"_type": "video-file", "path": "media/videos/c.mp4", "size": 12},
        "gone": {"_type": "image-file", "path": "media/images/gone.png", "size": 7},
        "link": {"_type": "image-file", "path": "media/images/link.png", "size": 7},
        "up": {"_type": "image-file", "path": "media/../../secret.png", "size": 7},
    }
    encoded = {tag: json.dumps(value) for tag, value in values.items()}
    (tmp_path / "run-x.wandb").write_bytes(framed(WANDB, [history(1, encoded, 3)]))
    tags = by_tag(tmp_path)
    target = tmp_path / "saved"
    target.mkdir()
    saved = {
        tag: {path.name: path.read_bytes() for path in save(tags[tag].items[0], lambda end: target / f"x{end}")}
        for tag in ("i", "one", "s", "v")
    }
    one, two, sound, clip = contents.values()
    assert saved == {
        "i": {"x-i-step-3-1.png": one, "x-i-step-3-2.jpg": two},
        "one": {"x-one-step-3.png": one},
        "s": {"x-s-step-3.wav": sound},
        "v": {"x-v-step-3.mp4": clip},
    }
    assert [(tags[tag].items[0].size, tags[tag].items[0].detail) for tag in ("list", "i", "v")] == [
        (24, "2 files, c.mp4"),
        (len(one) + len(two), "1×1, 2 files, a_0.png"),
        (12, "c.mp4"),
    ]
    assert (tags["list"].kind, len(tags["list"].items[0].parts)) == (Kind.VIDEO, 2)
    assert not can_save(tags["link"].items[0])
    assert not can_save(tags["up"].items[0])
    with pytest.raises(OSError, match=r"gone\.png"):
        save(tags["gone"].items[0], lambda end: target / f"x{end}")


def test_files_of_swanlab_are_saved_if_their_directory_is_known(tmp_path: Path) -> None:
    content = {"2/001-0a1b2c3d.png": b"\x89PNG one", "plots/001-0a1b2c3d.png": b"\x89PNG one"}
    content |= {"a/same.png": b"\x89PNG a", "b/same.png": b"\x89PNG b", "b/only.wav": b"RIFF1234WAVE"}
    for name, data in content.items():
        (tmp_path / "media" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "media" / name).write_bytes(data)
    (tmp_path / "media" / "2" / "link.png").symlink_to(tmp_path / "media" / "a" / "same.png")

    def record(key: str, *names: str) -> bytes:
        files = b"".join(field(1, field(1, name) + field(3, 5)) for name in names)
        return field(1, 9) + field(14, field(1, key) + field(2, 1) + field(5, files))

    records = [record("hashed", "001-0a1b2c3d.png"), record("sound", "only.wav"), record("unknown", "same.png")]
    records += [
        record("link", "link.png"),
        record("gone", "001-ffffffff.png"),
        record("up", "../a/same.png"),
        record("two", "only.wav", "x.wav"),
    ]
    (tmp_path / "run-a.swanlab").write_bytes(framed(SWANLAB + b"\x02", records))
    tags = by_tag(tmp_path)
    assert {name for name, tag in tags.items() if can_save(tag.items[0])} == {"hashed", "sound"}
    (picture,) = save(tags["hashed"].items[0], lambda end: tmp_path / f"x{end}")
    assert (picture.name, picture.read_bytes()) == ("x-hashed-step-1.png", b"\x89PNG one")


def test_texts_tables_and_charts_of_swanlab_are_shown(tmp_path: Path) -> None:
    """Files as swanlab 0.10.3 writes them."""
    table = {"_swanLab": "table", "colDefs": [{"field": "name"}, {"field": "n"}], "rowData": [{"name": "a", "n": 7}]}
    axes = {"xAxis": [{"name": "Recall", "data": [1.0, 0.0]}], "yAxis": [{"name": "Precision"}]}
    content = {
        "text/001-00000001.txt": "first\x1b[2J",
        "text/001-00000002.txt": "second",
        "echarts/001-00000003.json": json.dumps(table),
        "echarts/001-00000004.json": json.dumps({"series": [{"type": "line", "data": [[1, 0.5], [0, 1]]}], **axes}),
        "echarts/001-00000005.json": '{"series": 3}',
        "object3d/001-00000006.swanlab.pts.json": '{"points": []}',
        "molecule/001-00000007.pdb": "END",
        "image/001-00000008.gif": "GIF89a",
    }
    records = []
    for place, (name, text) in enumerate(content.items()):
        (tmp_path / "media" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "media" / name).write_text(text)
        names = [name] if place else list(content)[:2]
        files = b"".join(field(1, field(1, file.partition("/")[2]) + field(3, 5)) for file in names)
        records.append(field(1, 9) + field(14, field(1, name.rpartition("/")[2]) + field(2, 1) + field(5, files)))
    (tmp_path / "run-a.swanlab").write_bytes(framed(SWANLAB + b"\x02", records))
    tags = by_tag(tmp_path)
    shown = {
        name.removeprefix("001-0000000"): ["".join(text for text, _ in row).strip() for row in rows]
        for name, tag in tags.items()
        if (rows := detail_rows(tag, 60, 40, HEAT, 1, None, False))
    }
    assert shown["1.txt"] == ["step 1", "first␛[2J", "", "second"]
    assert [line.split() for line in shown["3.json"][-2:]] == [["name", "n"], ["a", "7"]]
    assert shown["4.json"][0] == "Precision"
    assert "not a table" in shown["5.json"][0]
    assert [tags[name].kind for name in ("001-00000006.swanlab.pts.json", "001-00000007.pdb")] == [Kind.OTHER] * 2
    assert (tags["001-00000008.gif"].kind, shown["8.gif"][0]) == (Kind.VIDEO, "1  5 bytes  001-00000008.gif")
    (tmp_path / "media" / "text" / "001-00000001.txt").unlink()
    [head, *_] = detail_rows(tags["001-00000001.txt"], 60, 40, HEAT, 1, None, False)[1]
    assert head[0].rstrip() == " No such file or directory: 001-00000001.txt"


def test_a_long_history_is_thinned_evenly_and_keeps_the_newest() -> None:
    from tuimon.media import Item

    tag = Tag(Kind.TEXT, "a")
    for step in range(10_000):
        tag.add(Item(Kind.TEXT, "a", step, 1))
    kept = [item.step for item in tag.items]
    assert tag.count == 10_000
    assert len(kept) <= MAX_KEPT + 1
    assert kept[0] == 0
    assert kept[-1] == 9_999
    assert max(np.diff(kept)) <= 2 * 10_000 / MAX_KEPT


def test_numbers_about_distributions() -> None:
    shown = Distribution((0.0, 1.0, 3.0), (10.0, 30.0))
    assert mean(shown) == pytest.approx(1.625)
    exact = shown._replace(moments=Moments(0.5, 2.5, 80.0, 40.0))
    assert (mean(exact), is_exact(exact), is_exact(shown)) == (2.0, True, False)
    assert limited(exact).edges == (0.5, 1.0, 2.5)
    assert limited(shown) == shown
    assert rebucket(shown, 0, 4, 4) == pytest.approx([10, 15, 15, 0])
    assert area_under((1.0, 0.5), (0.0, 1.0)) == 0.75
    assert math.isnan(area_under((1.0,), (0.0,)))
    assert len(distribution(range(10_001), [1] * 10_000).counts) == 10_000
    wide = merged(distribution(range(10_001), [1] * 10_000))
    assert len(wide.counts) <= MAX_BUCKETS
    assert total(wide) == 10_000
    assert distribution([0, math.nan], [1]) is None
    assert distribution([1, 0], [1]) is None


def test_a_signalling_nan_of_a_damaged_writer_prints_nothing() -> None:
    data = field(1, 1) + field(4, b"\x01\x00\xa0\x7f")
    values = read_tensor(data)
    assert np.isnan(values).all()
