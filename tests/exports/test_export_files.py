"""`tuimon export -o DIR`: tables, pictures, drawings, tensors; and where they may be written."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import tbparse
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from support.made_run import runs_of

from tuimon.commands import main
from tuimon.exports._shared import SafeNames
from tuimon.exports.files import all_exports
from tuimon.exports.files._history import history_lines
from tuimon.exports.files.pictures import base_name, label_with_unit, picture_across, pictures_across, pictures_of
from tuimon.exports.pictures import Picture, Series, draw_chart, draw_charts, figure_class, thinned
from tuimon.model.views import Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import overlay_lines
from tuimon.panels.lists.comparison import compare
from tuimon.store import Curve

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
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run,) = open_run(tmp_path).runs
    lines = history_lines(run, "train", lambda name: True)
    assert lines is not None
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
    rows = table((tmp_path / "part.csv").read_text())
    assert rows[0] == head
    assert [[float(cell or "nan") for cell in row] for row in rows[1:]] == [
        [pytest.approx(float(cell or "nan"), rel=0, nan_ok=True) for cell in row] for row in body[2:5]
    ]
    export(Path(paths[0]), tmp_path / "dir", "--format", "history", *part[:4])
    assert [row[0] for row in table((tmp_path / "dir" / "train_history.csv").read_text())] == ["step", "3", "4", "5"]
    export(Path(paths[0]), tmp_path / "part.svg", *part[:4])
    export(Path(paths[0]), tmp_path / "none.svg", "--steps", "100-", expect=2)


# ---------------------------------------------------------------------- pictures


def test_a_picture_has_the_metric_and_its_validation(tmp_path: Path) -> None:
    (run,) = open_run(EXPORTS / "qwen3vl_grpo").runs
    pictures = {name: [line.curve.metric for line in series] for name, series in pictures_of(run)}
    assert pictures == {
        "reward": ["train_history/reward", "val_history/val_reward"],
        "loss": ["train_history/loss"],
        "kl": ["train_history/kl"],
        "lr": ["train_history/lr"],
        **{f"val_{name}": [f"val_history/val_{name}"] for name in ("bbox", "category", "completeness", "format")},
    }
    assert {base_name(name) for name in ("eval_loss", "train/loss", "val/loss", "val_history/eval_loss")} == {"loss"}
    labels = {name: label_with_unit([run] * len(series), name, series) for name, series in pictures_of(run)}
    assert (labels["kl"], labels["loss"]) == ("kl (nats)", "loss")
    (dpo,) = open_run(EXPORTS / "qwen3vl_dpo").runs
    assert {name: len(series) for name, series in pictures_of(dpo)} == {"loss": 2, "accuracy": 2, "reward_margin": 2}


def _runs_with_validation(path: Path) -> list[str]:
    """Write three runs whose validation is logged at every second step, and return their paths."""
    for run in range(3):
        rows = [
            {"step": s, "loss": (run + 1) / s} | ({} if s % 2 else {"eval_loss": (run + 2) / s}) for s in range(1, 9)
        ]
        (path / f"sft-lr{run}").mkdir()
        (path / f"sft-lr{run}" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(path / f"sft-lr{run}") for run in (2, 0, 1)]


def test_a_picture_of_several_runs_has_a_chart_per_metric_and_a_curve_per_run(tmp_path: Path) -> None:
    _runs_with_validation(tmp_path)
    runs = open_run(tmp_path).runs
    (chart,) = pictures_across(runs, lambda name: name == "eval_loss")
    assert (chart.title, chart.y_label, chart.x_label) == ("", "eval_loss", "step"), "the metric is named once"
    assert [line.label for line in chart.series] == ["sft-lr0", "sft-lr1", "sft-lr2"], "names are not cut"
    for run, line in zip(runs, chart.series, strict=True):
        assert line.curve.values.tolist() == run.curve("eval_loss").values.tolist()
    both = list(pictures_across(runs, lambda name: True))
    assert [(chart.y_label, len(chart.series)) for chart in both] == [("loss", 3), ("eval_loss", 3)]
    ((name, alone),) = pictures_of(runs[0], lambda name: name == "eval_loss")
    assert (name, len(alone)) == ("eval_loss", 1), "the training loss was not asked for"
    kl = [run for run in open_run(EXPORTS).runs if "grpo" in run.name]
    (chart,) = pictures_across(kl, lambda name: name == "train_history/kl")
    assert chart.y_label == "kl (nats)"


def test_a_run_has_its_colour_in_all_charts_and_a_lone_curve_is_named(tmp_path: Path) -> None:
    for name, metrics in (("a", ["kl"]), ("b", ["kl", "reward"])):
        (tmp_path / name).mkdir()
        rows = [{"step": s, **dict.fromkeys(metrics, s / 7)} for s in range(5)]
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    charts = {chart.y_label: chart for chart in pictures_across(open_run(tmp_path).runs, lambda name: True)}
    assert [line.position for line in charts["kl (nats)"].series] == [0, 1]
    assert [line.position for line in charts["reward"].series] == [1]
    assert (charts["kl (nats)"].title, charts["reward"].title) == ("", "b")


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
    lines = overlay_lines(runs, runs, True, Symbols.BRAILLE)
    (picture,) = pictures_across(runs, lambda name: True, lines)
    axes = figure_class()().add_subplot()
    draw_chart(axes, picture, 0.0)
    mean, note = axes.get_lines()
    x, y = (np.asarray(values, float) for values in mean.get_data())
    assert y == pytest.approx(np.interp(x, [0, 10], [0, 4]), abs=0.01), "the mean, at each step"
    assert np.ptp(axes.collections[0].get_paths()[0].vertices[:, 1]) == pytest.approx(7.0), "from lowest to highest"
    assert (list(note.get_xdata()), axes.texts[0].get_text()) == ([5, 5], "lr lowered")
    legend = axes.get_legend()
    assert (legend.get_title().get_text(), legend.get_texts()[0].get_text()) == (
        "seeds: mean, area min to max",
        "ppo ×3",
    )
    export(tmp_path / "runs", tmp_path / "seeds.svg", "--seeds", "--metric", "reward")
    export(tmp_path / "runs", tmp_path / "points.csv", "--seeds", expect=2)
    export(tmp_path / "runs" / "ppo_seed0", tmp_path / "one.png", "--seeds")
    assert "no two runs differ only in their seed" in capsys.readouterr().err


def test_curves_are_smoothed_only_if_asked_for_and_few_points_are_marked(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(size=100)
    long = Curve.from_arrays("loss", np.arange(100, dtype=np.int64), values)
    few = Curve.from_arrays("loss", np.arange(10, dtype=np.int64), values[:10])
    drawn = {}
    for weight in (0.0, 0.9):
        axes = figure_class()().add_subplot()
        draw_chart(axes, Picture([Series("long", long), Series("few", few)], "loss", "loss"), weight)
        drawn[weight] = axes.get_lines()
    lines = drawn[0.0]
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [values.tolist(), values[:10].tolist()]
    assert [line.get_marker() for line in lines] == ["None", "s"]
    assert len(drawn[0.9]) == 3


def test_a_long_legend_does_not_narrow_the_chart(tmp_path: Path) -> None:
    curve = Curve.from_arrays("loss", np.arange(100, dtype=np.int64), np.ones(100))
    widths = []
    for name in ("run", "grpo-lr1e-5-beta0.001-seed", "x" * 60):  # the last one is below the chart
        with (tmp_path / "p.png").open("wb") as stream:
            draw_charts([Picture([Series(f"{name}{n}", curve) for n in range(2)], "", "loss")], stream, "png", 0)
        widths.append(imread(tmp_path / "p.png").shape[1])
    assert widths[0] == widths[2] < widths[1]


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_pictures_can_be_decoded(form: str, tmp_path: Path) -> None:
    export(EXPORTS / "qwen3vl_dpo", tmp_path / "plots", "--format", form, "--metric", "*loss")
    (path,) = (tmp_path / "plots").iterdir()
    assert path.name == f"loss_curve.{form}"
    if form == "png":
        picture = imread(path)
        assert picture.shape[:2] == (650, 1170)
        assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 20  # not blank
    elif form == "svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    else:
        assert path.read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("seeds", [False, True])
def test_the_last_value_of_a_run_that_is_not_healthy_has_a_cross(seeds: bool) -> None:
    steps = range(20)
    healthy = {"loss": (steps, [1.0] * 20)}
    broken = {"loss": (steps, [2.0 if step < 15 else math.nan for step in steps])}
    configs = [{"seed": number} for number in range(2)]
    runs = runs_of(healthy, broken, configs=configs)
    failed = {runs[1].id}
    lines = overlay_lines(runs, runs, True, Symbols.BRAILLE, failed=failed) if seeds else ()
    (picture,) = pictures_across(runs, lambda name: True, lines, failed)
    axes = figure_class()().add_subplot()
    draw_chart(axes, picture, 0.0)
    assert [14.0, 2.0] in [mark.get_offsets().tolist()[0] for mark in axes.collections if len(mark.get_offsets()) == 1]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0 if seeds else 1].endswith(" ✗")
    for last, steps_with_cross in ((10, []), (16, [14])):  # of a range of steps, only if the last value is in it
        (part,) = pictures_across(
            runs, lambda name: True, lines, failed, lambda run, name, last=last: run.curve(name).in_steps(5, last)
        )
        drawn = [curve for line in part.series for curve in (line.curve, *line.others)]
        assert [curve.steps.tolist() for curve in drawn] == [list(range(5, last + 1))] * 2
        assert [curve.last.step for line in part.series for curve in line.failed if curve.last] == steps_with_cross
    (plain,) = pictures_across(runs, lambda name: True, lines and overlay_lines(runs, runs, True, Symbols.BRAILLE))
    assert not any("✗" in line.label or line.failed for line in plain.series)


def test_a_picture_of_a_comparison_is_drawn_along_its_axis() -> None:
    steps = list(range(1, 11))
    runs = runs_of(
        *(
            {"reward": (steps, [s / 10 for s in steps]), "tokens_seen": (steps, [s * size for s in steps])}
            for size in (100, 200)
        )
    )
    axis = compare(runs, x="tokens").axis
    curves = [run.curve("reward") for run in runs]
    for lines in ((), overlay_lines(runs, runs, True, Symbols.BRAILLE)):
        chart = picture_across("reward", runs, curves, lines, {runs[0].id}, axis)
        axes = figure_class()().add_subplot()
        draw_chart(axes, chart, 0.0)
        assert axes.get_xlabel() == "tokens"
        assert axes.collections[0].get_offsets()[0].tolist() == [1000.0, 1.0], "the last value of a run that failed"
        for line, size in zip(axes.get_lines(), (100, 200), strict=True):
            assert np.asarray(line.get_xdata()).tolist() == [s * size for s in steps]


def test_names_are_not_parsed_as_formulas_by_matplotlib(tmp_path: Path) -> None:
    name = "$\\frac{$ _loss \x1b[31m \u202e"
    curve = Curve.from_arrays(name, np.arange(50, dtype=np.int64), np.random.default_rng(1).normal(size=50))
    for form in ("png", "svg"):
        stream = io.BytesIO()
        picture = Picture([Series(name, curve), Series("_hidden", curve, True)], name, name)
        draw_charts([picture], stream, form, 0.9)
        assert len(stream.getvalue()) > 5000


def test_no_spike_is_lost_when_a_curve_is_thinned() -> None:
    values = np.random.default_rng(2).normal(size=100_000)
    values[[777, 50_001]] = (99.0, -88.0)
    values[60_000:70_000] = np.nan
    x, y = thinned(Curve.from_arrays("loss", np.arange(100_000, dtype=np.int64), values))
    assert len(x) < 10_000
    assert (np.nanmin(y), np.nanmax(y)) == (-88.0, 99.0)
    assert abs(x[np.nanargmax(y)] - 777) <= 70
    inside = (x > 60_100) & (x < 69_900)
    assert not np.isfinite(y[inside]).any()


# ---------------------------------------------------------------------- drawings and tensors


def test_the_screen_as_a_picture_is_well_formed_and_holds_the_text(tmp_path: Path) -> None:
    log = tmp_path / "run"
    log.mkdir()
    rows = [{"step": s, "reward": s / 9, "<script>x</script>&": 1.5} for s in range(20)]
    (log / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    export(log, tmp_path / "screen.svg", "--format", "screen")
    root = ElementTree.parse(tmp_path / "screen.svg").getroot()
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "text", "tspan"}
    shown = "".join(root.itertext()).replace("\u00a0", " ")
    assert "reward" in shown
    assert "<script>x</script>&" in shown


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_histograms_texts_and_tensors_equal_those_of_tbparse(tmp_path: Path) -> None:
    log = max((DATA / "tensorboard" / "torch").glob("*tfevents*"), key=lambda path: path.stat().st_size)
    export(log, tmp_path / "out", "--format", "tensors")
    truth = tbparse.SummaryReader(str(log))

    def lines(kind: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in (tmp_path / "out" / f"{kind}.jsonl").read_text().splitlines()]

    for kind in ("histograms", "text", "tensors"):
        table = getattr(truth, kind).to_dict("records")
        rows = lines(kind)
        assert len(rows) == len(table) > 0
        assert [(row["metric"], row["step"]) for row in rows] == [(row["tag"], row["step"]) for row in table]
    counts = truth.histograms.to_dict("records")
    assert [row["counts"] for row in lines("histograms")] == [list(row["counts"]) for row in counts]
    assert [row["text"] for row in lines("text")] == [row["value"] for row in truth.text.to_dict("records")]


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("matplotlib.figure", ["export", "RUN", "--format", "png"], "tuimon[plots]"),
        ("pyarrow", ["export", "RUN", "--format", "parquet"], "tuimon[parquet]"),
        ("tbparse", ["export", "RUN", "--format", "tensors"], "tuimon[tensorboard]"),
    ],
)
def test_a_missing_library_is_named(
    module: str,
    words: list[str],
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what Python itself does with a module that must not be imported
    words = [str(EXPORTS / "qwen3vl_grpo") if word == "RUN" else word for word in words]
    where = ["-o", str(tmp_path / "out" / "x")]
    if "parquet" in words:
        where = ["-o", str(tmp_path / "x.parquet")]
    assert main([*words, *where]) == 2
    assert f"pip install '{extra}'" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


# ---------------------------------------------------------------------- where to


def test_a_directory_gets_all_default_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "exports"
    export(EXPORTS / "qwen3vl_lora", target)
    names = sorted(path.name for path in target.rglob("*"))
    assert names == ["learning_rate_curve.png", "loss_curve.png", "points.csv", "train_history.csv", "val_history.csv"]
    assert "5 files" in capsys.readouterr().err
    export(EXPORTS / "qwen3vl_lora", target, expect=2)
    export(EXPORTS / "qwen3vl_lora", target, "--force")
    assert not list(target.rglob(".tuimon-*"))


def test_several_runs_have_a_folder_each(tmp_path: Path) -> None:
    export(EXPORTS, tmp_path / "out", "--format", "history", "--format", "jsonl")
    runs = [f"qwen3vl_{kind}" for kind in ("dpo", "grpo", "grpo_nan", "lora")]
    tables = [f"{run}/{split}_history.csv" for run in runs for split in ("train", "val")]
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in tmp_path.rglob("*.*"))
    assert files == ["points.jsonl", *tables]


@pytest.mark.parametrize(
    ("where", "files"),
    [("points.jsonl", "points.jsonl"), ("a.parquet", "a.parquet"), ("x.svg", "x.svg"), ("new.d/", "new.d/points.csv")],
)
def test_the_suffix_sets_the_format(where: str, files: str, tmp_path: Path) -> None:
    export(EXPORTS / "qwen3vl_lora", Path(f"{tmp_path}/{where}") if where[-1] != "/" else tmp_path / "new.d")
    assert (tmp_path / files).is_file()
    if where == "x.svg":
        assert "Matplotlib" in (tmp_path / where).read_text(), "charts, not the dashboard"


def test_several_files_need_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(EXPORTS), "--format", "history"]) == 2
    assert "-o DIR" in capsys.readouterr().err


def test_hostile_names_stay_below_the_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    names = ("../../escape", "/etc/passwd", "con", "a" * 300, "..", "x/../../y", "loss\n\x1b[2J", "$(reboot)", "A", "a")
    rows = [{"step": step, **dict.fromkeys(names, step / 2)} for step in range(4)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
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
        assert f"  {name:<9} {export.help}" in text
