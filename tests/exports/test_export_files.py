"""`tuimon export -o DIR`: tables, pictures, media; and where they may be written."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import tbparse
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from msgspec.structs import replace
from support.event_points import event, file_of, image, scalar, text
from support.made_run import runs_of
from support.programs import write_rows

from tuimon.commands import main
from tuimon.exports.files import all_exports
from tuimon.exports.pictures import (
    COLUMNS,
    base_name,
    charts_across,
    charts_of,
    draw_chart,
    draw_charts,
    figure_class,
    options_of,
)
from tuimon.exports.points import history_lines
from tuimon.exports.safe_names import SafeNames
from tuimon.model.views import ChartView
from tuimon.monitor.local import open_run
from tuimon.panels import DEFAULTS

EXPORTS = DATA / "exports"


def export(path: Path, target: Path, *options: str, expect: int = 0) -> None:
    assert main(["export", str(path), "-o", str(target), *options]) == expect


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), strict=True))


# ---------------------------------------------------------------------- histories


@pytest.mark.parametrize("kind", ["grpo", "dpo", "lora"])
def test_histories_equal_those_of_the_reference_script(kind: str, tmp_path: Path) -> None:
    export(EXPORTS / f"qwen3vl_{kind}", tmp_path / "out", "--format", "history")
    for split in ("train", "val"):
        theirs = table((EXPORTS / "reference" / f"{kind}.{split}_history.expected").read_text())
        assert table((tmp_path / "out" / f"{split}_history.csv").read_text()) == theirs


def history(rows: list[dict[str, float]], tmp_path: Path) -> list[list[str]]:
    write_rows(tmp_path, rows)
    (run,) = open_run(tmp_path).runs
    lines = history_lines(run, "train", lambda name: True)
    return table("".join(lines))


def test_a_column_that_comes_late_and_a_value_that_is_missing(tmp_path: Path) -> None:
    rows = [{"step": s, "loss": s / 7} | ({"kl": 0.5} if s > 5 else {}) for s in range(1, 9)]
    head, *body = history([*rows, {"step": 9, "kl": 0.25}], tmp_path)
    assert head == ["step", "loss", "kl"]
    assert [row[0] for row in body] == [str(step) for step in range(1, 10)]
    assert [row[1] for row in body] == [*(repr(s / 7) for s in range(1, 9)), ""]
    assert [row[2] for row in body] == [""] * 5 + ["0.5"] * 3 + ["0.25"]


def test_a_step_that_was_logged_twice_has_two_rows(tmp_path: Path) -> None:
    rows = [{"step": 1, "loss": 4.5}, {"step": 1, "loss": 3.5}, {"step": 2, "loss": float("nan"), "lr": 1e-5}]
    head, *body = history(rows, tmp_path)
    assert head == ["step", "loss", "lr"]
    assert body == [["1", "4.5", ""], ["1", "3.5", ""], ["2", "nan", "1e-05"]]


def test_a_long_history_is_written_in_blocks(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": step / 3} for step in range(5000)]
    _, *body = history(rows, tmp_path)
    assert [(int(step), float(loss)) for step, loss in body] == [(row["step"], row["loss"]) for row in rows]


def test_a_wide_table_has_the_logged_values_of_all_runs(tmp_path: Path) -> None:
    paths = _runs_with_validation(tmp_path)
    target = tmp_path / "table.csv"
    assert main(["export", *paths, "-o", str(target), "--format", "wide", "--metric", "*loss"]) == 0
    head, *body = table(target.read_text())
    runs = ["sft-lr2", "sft-lr0", "sft-lr1"]
    assert head == ["step", *(f"{run}:{name}" for run in runs for name in ("loss", "eval_loss"))]
    assert [row[0] for row in body] == [str(step) for step in range(1, 9)]
    for step, row in enumerate(body, 1):
        losses = [[run / step, None if step % 2 else (run + 1) / step] for run in (3, 1, 2)]
        assert [float(cell) if cell else None for cell in row[1:]] == [value for pair in losses for value in pair]
    part = ["--metric", "*loss", "--steps", "3-5", "-o"]
    assert main(["export", *paths, *part, str(tmp_path / "part.csv"), "--format", "wide"]) == 0
    [same, *part_rows] = table((tmp_path / "part.csv").read_text())
    assert same == head
    assert [[float(cell or -1) for cell in row] for row in part_rows] == [
        [float(cell or -1) for cell in row] for row in body[2:5]
    ]
    export(Path(paths[0]), tmp_path / "dir", "--format", "history", *part[:4])
    assert [row[0] for row in table((tmp_path / "dir" / "train_history.csv").read_text())] == ["step", "3", "4", "5"]
    export(Path(paths[0]), tmp_path / "part.svg", *part[:4])
    export(Path(paths[0]), tmp_path / "none.svg", "--steps", "100-", expect=2)


# ---------------------------------------------------------------------- pictures


def everything(name: str) -> bool:
    return True


def drawn(view: ChartView, name: str = "") -> Any:
    axes = figure_class()().add_subplot()
    draw_chart(axes, view, name)
    return axes


def labels(view: ChartView) -> list[str]:
    return [line.label for line in view.lines if not line.behind]


def test_a_picture_has_the_metric_and_its_validation(tmp_path: Path) -> None:
    (run,) = open_run(EXPORTS / "qwen3vl_grpo").runs
    charts = {view.title: view for view in charts_of(run, everything, DEFAULTS, COLUMNS)}
    assert {name: [line.metric for line in view.lines if not line.behind] for name, view in charts.items()} == {
        "reward": ["train_history/reward", "val_history/val_reward"],
        "loss": ["train_history/loss"],
        "kl": ["train_history/kl"],
        "lr": ["train_history/lr"],
        **{f"val_{name}": [f"val_history/val_{name}"] for name in ("bbox", "category", "completeness", "format")},
    }
    assert {base_name(name) for name in ("eval_loss", "train/loss", "val/loss", "val_history/eval_loss")} == {"loss"}
    axes = drawn(charts["kl"], run.name)
    assert (axes.get_ylabel(), axes.get_xlabel(), axes.get_title()) == ("kl (nats)", "step", "qwen3vl_grpo")


def _runs_with_validation(path: Path) -> list[str]:
    """Write three runs whose validation is logged at every second step, and return their paths."""
    for run in range(3):
        rows = [
            {"step": s, "loss": (run + 1) / s} | ({} if s % 2 else {"eval_loss": (run + 2) / s}) for s in range(1, 9)
        ]
        write_rows(path / f"sft-lr{run}", rows)
    return [str(path / f"sft-lr{run}") for run in (2, 0, 1)]


def test_a_picture_of_several_runs_has_a_chart_per_metric_and_a_curve_per_run(tmp_path: Path) -> None:
    _runs_with_validation(tmp_path)
    runs = open_run(tmp_path).runs
    both = list(charts_across(runs, everything, DEFAULTS, COLUMNS, False))
    assert [(view.title, labels(view)) for view in both] == [
        (name, ["sft-lr0", "sft-lr1", "sft-lr2"]) for name in ("loss", "eval_loss")
    ]
    for run, line in zip(runs, drawn(both[1]).get_lines(), strict=True):
        x, y = line.get_data()
        assert np.asarray(y)[~np.isnan(y)].tolist() == run.curve("eval_loss").values.tolist()
        assert np.asarray(x)[~np.isnan(y)] == pytest.approx(run.curve("eval_loss").steps, abs=0.01)
    (alone,) = charts_across(runs, lambda name: name == "eval_loss", DEFAULTS, COLUMNS, False)
    assert alone.title == "eval_loss", "the training loss was not asked for"


def test_seeds_are_their_mean_in_a_band_and_notes_are_lines_at_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for seed, last in ((0, 1.0), (1, 4.0), (2, 7.0)):
        (tmp_path / "runs" / f"ppo_seed{seed}").mkdir(parents=True)
        rows = [{"step": step, "reward": last * step / 10} for step in range(11)]
        (tmp_path / "runs" / f"ppo_seed{seed}" / "metrics.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in rows)
        )
    assert main(["note", str(tmp_path / "runs" / "ppo_seed1"), "lr lowered", "--step", "5"]) == 0
    runs = open_run(tmp_path / "runs").runs
    (view,) = charts_across(runs, everything, DEFAULTS, COLUMNS, True)
    axes = drawn(view)
    (mean,) = axes.get_lines()
    x, y = (np.asarray(values, float) for values in mean.get_data())
    known = ~np.isnan(y)
    assert y[known] == pytest.approx(np.interp(x[known], [0, 10], [0, 4]), abs=0.01), "the mean, at each step"
    assert np.ptp(axes.collections[0].get_paths()[0].vertices[:, 1]) == pytest.approx(7.0), "from lowest to highest"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ppo ×3"]
    assert "seeds: mean, area min to max" in axes.get_title(loc="right")
    (noted,) = charts_of(runs[1], everything, DEFAULTS, COLUMNS)
    axes = drawn(noted)
    assert [text.get_text() for text in axes.texts] == ["lr lowered"]
    assert axes.get_lines()[1].get_xdata() == [5, 5]
    export(tmp_path / "runs", tmp_path / "seeds.svg", "--seeds", "--metric", "reward")
    export(tmp_path / "runs", tmp_path / "points.csv", "--seeds", expect=2)
    export(tmp_path / "runs" / "ppo_seed0", tmp_path / "one.png", "--seeds")
    assert "no two runs differ only in their seed" in capsys.readouterr().err


def test_curves_are_smoothed_only_if_asked_for_and_steps_are_a_window() -> None:
    values = np.random.default_rng(3).normal(size=100)
    (run,) = runs_of({"loss": (range(100), values.tolist())})
    for smoothing, count in ((0.0, 1), (0.9, 2)):
        (view,) = charts_of(run, everything, options_of(smoothing), COLUMNS)
        assert len(drawn(view).get_lines()) == count
    (view,) = charts_of(run, everything, options_of(0.0, (10, 20), 99), COLUMNS)
    assert (view.x.low, view.x.high) == (10, 20)
    assert not list(charts_of(run, everything, options_of(0.0, (200, 300), 99), COLUMNS))


def test_a_long_legend_does_not_narrow_the_chart(tmp_path: Path) -> None:
    widths = []
    runs = runs_of(*({"loss": (range(100), [1.0 + n] * 100)} for n in range(2)))
    for name in ("run", "grpo-lr1e-5-beta0.001-seed", "x" * 60):  # the last one is below the chart
        (view,) = charts_across(runs, everything, DEFAULTS, COLUMNS, False)
        lines = tuple(replace(line, label=f"{name}{n}") for n, line in enumerate(view.lines))
        with (tmp_path / "p.png").open("wb") as stream:
            draw_charts([replace(view, lines=lines)], stream, "png")
        widths.append(imread(tmp_path / "p.png").shape[1])
    assert widths[0] == widths[2] < widths[1]


@pytest.mark.parametrize("seeds", [False, True])
def test_the_name_of_a_run_that_is_not_healthy_has_a_sign(seeds: bool) -> None:
    healthy, broken = ({"loss": (range(20), [level] * 20)} for level in (1.0, 2.0))
    runs = runs_of(healthy, broken, configs=[{"seed": number} for number in range(2)])
    (view,) = charts_across(runs, everything, DEFAULTS, COLUMNS, seeds, {runs[1].id})
    assert [label.endswith(" ✗") for label in labels(view)] == ([True] if seeds else [False, True])
    (plain,) = charts_across(runs, everything, DEFAULTS, COLUMNS, seeds)
    assert not any("✗" in label for label in labels(plain))


def test_names_are_not_parsed_as_formulas_by_matplotlib() -> None:
    name = "$\\frac{$ _loss \x1b[31m \u202e"
    runs = runs_of(*({name: (range(50), np.random.default_rng(n).normal(size=50).tolist())} for n in range(2)))
    for form in ("png", "svg"):
        stream = io.BytesIO()
        draw_charts(list(charts_across(runs, everything, options_of(0.9), COLUMNS, False)), stream, form)
        assert len(stream.getvalue()) > 5000


def test_no_spike_is_lost_and_gaps_stay_open() -> None:
    values = np.random.default_rng(2).normal(size=100_000)
    values[[777, 50_001]] = (99.0, -88.0)
    values[60_000:70_000] = np.nan
    (run,) = runs_of({"grad": (range(100_000), values.tolist())})
    (view,) = charts_of(run, everything, DEFAULTS, COLUMNS)
    x, y = (np.asarray(part, float) for part in drawn(view).get_lines()[0].get_data())
    assert len(x) < 10_000
    assert (np.nanmin(y), np.nanmax(y)) == (-88.0, 99.0)
    assert abs(x[np.nanargmax(y)] - 777) <= 70
    inside = (x > 60_100) & (x < 69_900)
    assert not np.isfinite(y[inside]).any()


# ---------------------------------------------------------------------- media


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_histograms_and_texts_equal_those_of_tbparse(tmp_path: Path) -> None:
    log = max((DATA / "tensorboard" / "torch").glob("*tfevents*"), key=lambda path: path.stat().st_size)
    export(log, tmp_path / "out", "--format", "media")
    rows = [json.loads(line) for line in (tmp_path / "out" / "media.jsonl").read_text().splitlines()]
    truth = tbparse.SummaryReader(str(log))
    for row in rows:
        row["tag"] = row["tag"].removesuffix("/text_summary")  # the name of the plug-in, which torch appends
    for kind, table in (("histogram", truth.histograms), ("text", truth.text)):
        ours, theirs = [row for row in rows if row["kind"] == kind], table.to_dict("records")
        assert {(row["tag"], row["step"]) for row in ours} == {(row["tag"], row["step"]) for row in theirs} != set()
        places = {(row["tag"], row["step"]): row for row in ours}
        for row in theirs:
            own = places[row["tag"], row["step"]]
            if kind == "text":
                assert own["text"] == row["value"]
            else:  # without the empty buckets at the ends
                assert own["counts"] == np.trim_zeros(np.asarray(row["counts"])).tolist()


def test_media_of_hostile_logs_stay_below_the_directory_and_lose_their_secrets(tmp_path: Path) -> None:
    secret = "hf_abcdEFGHijklMNOPqrstUVWXyzABCDEFGH"
    values = [
        text("../../up", f"a text with {secret} " + "and more " * 4000),
        image("/etc/../x\n", 9),
        scalar("loss", 1.0),
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.out.tfevents.1.host.1.0").write_bytes(file_of(event(1, *values), event(2, *values)))
    export(tmp_path / "run", tmp_path / "out", "--format", "media")
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "run"]
    assert len(written) >= 3
    assert all(path.is_relative_to(tmp_path / "out") for path in written)
    assert not [path for path in written if secret.encode() in path.read_bytes()]


def test_images_are_written_as_they_were_logged(tmp_path: Path) -> None:
    export(DATA / "tensorboard" / "torch", tmp_path / "out", "--format", "media")
    rows = [json.loads(line) for line in (tmp_path / "out" / "media.jsonl").read_text().splitlines()]
    named = [name for row in rows for name in row.get("files", ())]
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != "media.jsonl"]
    assert sorted(named) == sorted(str(path.relative_to(tmp_path / "out")) for path in written) != []
    assert all(path.stat().st_size for path in written)


@pytest.mark.parametrize(
    ("module", "where", "extra"),
    [
        ("matplotlib.figure", "out/x --format png", "plots"),
        ("matplotlib.figure", "x.png", "plots"),
        ("pyarrow", "x.parquet", "parquet"),
    ],
)
def test_a_missing_library_is_named(
    module: str,
    where: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what Python itself does with a module that must not be imported
    name, *options = where.split()
    export(EXPORTS / "qwen3vl_grpo", tmp_path / name, *options, expect=2)
    assert f"pip install 'tuimon[{extra}]'" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


# ---------------------------------------------------------------------- where to


def test_a_directory_gets_all_default_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "exports"
    export(EXPORTS / "qwen3vl_lora", target)
    names = sorted(path.name for path in target.rglob("*"))
    assert names == ["learning_rate_curve.png", "loss_curve.png", "points.csv", "train_history.csv", "val_history.csv"]
    assert "5 files" in capsys.readouterr().err
    picture = imread(target / "loss_curve.png")
    assert picture.shape[:2] == (650, 1170)
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 20  # not blank
    export(EXPORTS / "qwen3vl_lora", target, expect=2)
    export(EXPORTS / "qwen3vl_lora", target, "--force")
    assert not list(target.rglob(".tuimon-*"))


def test_several_runs_have_a_folder_each(tmp_path: Path) -> None:
    export(EXPORTS, tmp_path / "out", "--format", "history", "--format", "jsonl")
    runs = [f"qwen3vl_{kind}" for kind in ("dpo", "grpo", "grpo_nan", "lora")]
    tables = [f"{run}/{split}_history.csv" for run in runs for split in ("train", "val")]
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in tmp_path.rglob("*.*"))
    assert files == ["points.jsonl", *tables]


@pytest.mark.parametrize("where", ["points.jsonl", "a.parquet", "x.svg", "x.pdf", "new.d/points.csv"])
def test_the_suffix_sets_the_format(where: str, tmp_path: Path) -> None:
    export(EXPORTS / "qwen3vl_lora", tmp_path / where.partition("/")[0], *["--metric", "*loss"] * where.startswith("x"))
    written = (tmp_path / where).read_bytes()
    assert written.startswith(b"%PDF-") is where.endswith("pdf")
    assert (b"Matplotlib" in written) is where.startswith("x")
    if where.endswith("svg"):
        assert ElementTree.fromstring(written).tag.endswith("svg")


def test_several_files_need_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(EXPORTS), "--format", "history"]) == 2
    assert "-o DIR" in capsys.readouterr().err


def test_hostile_names_stay_below_the_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    names = ("../../escape", "/etc/passwd", "a" * 300, "..", "loss\n\x1b[2J", "A", "a")
    rows = [{"step": step, **dict.fromkeys(names, step / 2)} for step in range(4)]
    write_rows(run, rows)
    export(run, tmp_path / "out", "--format", "svg", "--metric", "*")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "metrics.jsonl"]
    assert len(files) == len(names)
    assert {path.parent for path in files} == {tmp_path / "out"}
    assert all(re.fullmatch(r"[\w.@+=-]{1,140}_curve\.svg", path.name) for path in files)


@given(st.lists(st.text(max_size=150), min_size=1, max_size=20))
def test_safe_names(texts: list[str]) -> None:
    names = SafeNames()
    files = [names.name(text) for text in texts]
    assert len({name.casefold() for name in files}) == len(files)
    for name in files:
        assert os.path.basename(name) == name
        assert name not in ("", ".", "..")
        assert not name.startswith((".", "-"))
        assert name.isprintable()
        assert len(name.encode()) < 240


def test_every_format_is_named_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        main(["export", "-h"])
    assert exit_code.value.code == 0
    text = capsys.readouterr().out
    for name, export in all_exports().items():
        assert name in text
        assert export.help in text
