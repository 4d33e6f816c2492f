"""Console text of people's own scripts, as it is found in public repositories: shapes that lack a step, name it twice,
or place it between other words."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.json_points import feed, series

import tuimon
from tuimon.formats.console.text import ConsoleDecoder


def read(text: str) -> dict[str, list[tuple[int, float]]]:
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    return {name: [(step, float(value)) for step, value in points] for name, points in metrics.items()}


EPOCHS = range(1, 13)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            "".join(f"Epoch {e} Batch {b}/200 Loss {e}.5\n" for e in (1, 2) for b in (0, 100))
            + "Epoch 2 done. train_loss=2.25 val_acc=61%\nEpoch 2 finished: test_loss=0.75\n",
            {
                "Loss": [(0, 1.5), (100, 1.5), (200, 2.5), (300, 2.5)],
                "epoch": [(0, 1), (100, 1), (200, 2), (300, 2), (300, 2), (300, 2)],
                "train_loss": [(300, 2.25)], "val_acc": [(300, 61)], "test_loss": [(300, 0.75)],
            },
            id="the end of an epoch before a name",
        ),
        pytest.param(
            "".join(f"epoch {e:3d}\r\nloss: {e}.5\r\ntest accuracy: {e}.25%, (512570/2466133)\r\n" for e in EPOCHS),
            {"loss": [(e, e + 0.5) for e in EPOCHS], "test accuracy": [(e, e + 0.25) for e in EPOCHS]},
            id="padded epoch, and a share with its counts",
        ),
        pytest.param(
            "".join(f"Epoch: {e}| train loss: {e}.5\nEpoch {e}: Val acc is {e}.25%\n" for e in EPOCHS),
            {"train loss": [(e, e + 0.5) for e in EPOCHS], "Val acc": [(e, e + 0.25) for e in EPOCHS]},
            id="name is number",
        ),
        pytest.param(
            "".join(
                f"2026-11-19 11:19:41,581 - Net - INFO - [batch {b}/50, epoch {e}/15]: loss_a:{e}.5 loss_b:0.25\n"
                for e in (1, 2)
                for b in (10, 40)
            ),
            {
                "loss_a": [(10, 1.5), (40, 1.5), (60, 2.5), (90, 2.5)],
                "loss_b": [(10, 0.25), (40, 0.25), (60, 0.25), (90, 0.25)],
                "epoch": [(10, 1), (40, 1), (60, 2), (90, 2)],
            },
            id="batch and epoch in brackets",
        ),
        pytest.param(
            "Epoch: [2/520] Iter:[0/495], Time: 5.5, lr: [0.018], Loss: 1.5\n",
            {"Time": [(495, 5.5)], "lr": [(495, 0.018)], "Loss": [(495, 1.5)], "epoch": [(495, 2)]},
            id="list of one number",
        ),
        pytest.param(
            "Epoch 1/2\n  1/285 [....] - ETA: 5s - loss: 9.5\n 28/285 [=>..] - ETA: 4s - loss: 8.5\n"
            "285/285 [====] - 6s 22ms/step - loss: 2.5 - val_loss: 1.5\n"
            "Epoch 2/2\n 13/285 [>...] - ETA: 5s - loss: 7.5\n"
            "285/285 [====] - 6s 22ms/step - loss: 2.25 - val_loss: 1.25\n",
            {"loss": [(0, 2.5), (1, 2.25)], "val_loss": [(0, 1.5), (1, 1.25)]},
            id="states of Keras' bar in lines of their own",
        ),
        pytest.param(
            "".join(
                f"2020-02-10 21:02:21,147 - log\\train.log - INFO - iteration:{e} step:{b}/100, NER loss:{e:>9}.5\n"
                for e in (1, 2)
                for b in (50, 100)
            ),
            {
                "NER loss": [(50, 1.5), (100, 1.5), (150, 2.5), (200, 2.5)],
                "epoch": [(50, 1), (100, 1), (150, 2), (200, 2)],
            },
            id="iterations of steps",
        ),
        pytest.param(
            "".join(f"epoch={e} i={i}/10 total loss={i}.5 spectro loss=-0.5\n" for e in (0, 1) for i in (0, 1)),
            {
                "total loss": [(0, 0.5), (1, 1.5), (10, 0.5), (11, 1.5)],
                "spectro loss": [(0, -0.5), (1, -0.5), (10, -0.5), (11, -0.5)],
                "epoch": [(0, 0), (1, 0), (10, 1), (11, 1)],
            },
            id="i=",
        ),
        pytest.param(
            "".join(f"INFO - epoch: {e}, batch_id: {b}, AUC:0.5, loss:{e}.5\n" for e in (1, 2) for b in (0, 500)),
            {
                "AUC": [(0, 0.5), (500, 0.5), (1000, 0.5), (1500, 0.5)],
                "loss": [(0, 1.5), (500, 1.5), (1000, 2.5), (1500, 2.5)],
                "epoch": [(0, 1), (500, 1), (1000, 2), (1500, 2)],
            },
            id="batch_id",
        ),
        pytest.param(
            "23-05-05 22:19:44.740 - INFO: [epoch:  0, iter:   4,700, lr:(2.000e-04,)] l_pix: 4.5e-02 \n"
            "23-05-05 23:19:59.153 - INFO: # Validation # PSNR: 1.5e+01\n"
            "2026-05-05 22:19:44,740 INFO: [01..][epoch:  1, iter:   4,800, lr:(1.000e-04,)] "
            "[eta: 1 day, 2:03:04, time (data): 0.5 (0.01)] l_pix: 3.5e-02 \n"
            "2026-05-05 23:19:59,153 INFO: Validation Set5\n\t # psnr: 30.5\tBest: 31.5 @ 5000 iter\n",
            {
                "lr": [(4700, 2e-4), (4800, 1e-4)], "l_pix": [(4700, 0.045), (4800, 0.035)],
                "epoch": [(4700, 0), (4800, 1)], "val/PSNR": [(4700, 15.0)], "val/psnr": [(4800, 30.5)],
            },
            id="BasicSR",
        ),
        pytest.param(
            "".join(f"<epoch:{e:3d}, lr:1.000e-04> loss: {e}.5 \n" for e in EPOCHS),
            {"lr": [(e, 1e-4) for e in EPOCHS], "loss": [(e, e + 0.5) for e in EPOCHS]},
            id="KAIR",
        ),
        pytest.param(
            "".join(
                f"[2026-05-08 04:06:28,390 INFO] Step {e}/100; acc:  45.5; ppl:  6.5; 15020/11663 tok/s;     12 sec\n"
                f"[2026-05-08 04:06:28,463 INFO] Validation perplexity: {e}.25\n"
                for e in EPOCHS
            ),
            {
                "acc": [(e, 45.5) for e in EPOCHS], "ppl": [(e, 6.5) for e in EPOCHS],
                "Validation perplexity": [(e, e + 0.25) for e in EPOCHS],
            },
            id="validation after its step",
        ),
        pytest.param(
            "".join(f"Validation loss: {e}.25\nEpoch {e}: train loss {e}.5\n" for e in EPOCHS),
            {"train loss": [(e, e + 0.5) for e in EPOCHS]},
            id="validation before its step: unknown",
        ),
        pytest.param(
            "".join(f"{e:7d}/99     3.15G      0.5     0.25         0     0.75         9       640    0.9    0.8    0.7"
                    "    0.6     0.375    0.125         0\n" for e in range(3)),
            {
                "gpu_mem": [(e, 3.15) for e in range(3)], "train/box_loss": [(e, 0.5) for e in range(3)],
                "train/obj_loss": [(e, 0.25) for e in range(3)], "train/cls_loss": [(e, 0) for e in range(3)],
                "train/total_loss": [(e, 0.75) for e in range(3)], "metrics/precision": [(e, 0.9) for e in range(3)],
                "metrics/recall": [(e, 0.8) for e in range(3)], "metrics/mAP_0.5": [(e, 0.7) for e in range(3)],
                "metrics/mAP_0.5:0.95": [(e, 0.6) for e in range(3)], "val/box_loss": [(e, 0.375) for e in range(3)],
                "val/obj_loss": [(e, 0.125) for e in range(3)], "val/cls_loss": [(e, 0) for e in range(3)],
            },
            id="results.txt of YOLOv5 and YOLOv7",
        ),
        pytest.param(
            "Iter  W    B   GenTime   NNEvals   Loss   Notes\n----  ---  --  -------   -------   ----   -----\n"
            "  24  109  91  5907.5s         —   3.5    (cloud)\n  25   98  10  2738.5s     13642   3.25\n",
            {
                "W": [(24, 109), (25, 98)], "B": [(24, 91), (25, 10)], "GenTime": [(24, 5907.5), (25, 2738.5)],
                "NNEvals": [(25, 13642)], "Loss": [(24, 3.5), (25, 3.25)],
            },
            id="table with notes",
        ),
        pytest.param(
            "a.training.trainer_of_a_long_package_name.with_modules_and_more_than_sixty_letters - INFO - "
            "Step 50 | Loss: 0.5 | LR: 1e-06\n",
            {"Loss": [(50, 0.5)], "LR": [(50, 1e-6)]},
            id="long name of a logger",
        ),
        pytest.param(
            "[step 1] loss=0.5 acc=0.25\n**Step 1:** Area of the garden = 12 m x 18 m = 216 m, reward: 0.5\n",
            {"loss": [(1, 0.5)], "acc": [(1, 0.25)]},
            id="calculation in a generated text",
        ),
        pytest.param(
            "".join(f"epoch: {e}, batch_id: {b}, AUC:0.{e}{b}5\n" for e, b in [(0, 0), (0, 5), (1, 0), (1, 5), (1, 0)]),
            {
                "AUC": [(0, 0.005), (5, 0.055), (10, 0.105), (15, 0.155), (10, 0.105)],
                "epoch": [(0, 0), (5, 0), (10, 1), (15, 1), (10, 1)],
            },
            id="again the beginning of an epoch",
        ),
        pytest.param(
            "".join(f"epoch: {e}, batch_id: {b}, AUC:0.{e}{b}5\n" for e, b in [(0, 0), (0, 5), (1, 0), (2, 0), (1, 0)]),
            {
                "AUC": [(0, 0.005), (5, 0.055), (10, 0.105), (15, 0.205), (10, 0.105)],
                "epoch": [(0, 0), (5, 0), (10, 1), (15, 2), (10, 1)],
            },
            id="resumed at an earlier epoch",
        ),
        pytest.param(
            "(Iter 50) Batch 50/6250 (Epoch 1) d_real:0.125, g_l1:3.5 l1_w: 100.00, btime: 0.5 s\n",
            {
                "d_real": [(50, 0.125)], "g_l1": [(50, 3.5)], "l1_w": [(50, 100)], "btime": [(50, 0.5)],
                "epoch": [(50, 1)],
            },
            id="SEGAN: the iteration is counted over all epochs",
        ),
        pytest.param(
            "2026-06-27 01:00:59,732 - INFO - Epoch 1: Loss: 3.5, MAP: {'map@20': 0.5, 'map@40': 0.25}, "
            "Recall: {'recall@20': 0.75}\n",
            {"Loss": [(1, 3.5)], "map@20": [(1, 0.5)], "map@40": [(1, 0.25)], "recall@20": [(1, 0.75)]},
            id="dictionaries within a line",
        ),
        pytest.param(
            "".join(f"Loss at epoch {e} and iteration {i} is {e}.5\n" for e in (0, 1) for i in (0, 500)),
            {
                "Loss": [(0, 0.5), (500, 0.5), (1000, 1.5), (1500, 1.5)],
                "epoch": [(0, 0), (500, 0), (1000, 1), (1500, 1)],
            },
            id="at epoch and iteration",
        ),
        pytest.param(
            "".join(f"2026-03-01 10:00:0{e}.123456: Epoch {e}\n2026-03-01 10:00:0{e}.2: Current learning rate: 0.01\n"
                    f"2026-03-01 10:01:0{e}.1: train_loss -0.{e}\n2026-03-01 10:01:0{e}.2: val_loss -0.5\n"
                    for e in (1, 2)),
            {"train_loss": [(1, -0.1), (2, -0.2)], "val_loss": [(1, -0.5), (2, -0.5)],
             "Current learning rate": [(1, 0.01), (2, 0.01)]},
            id="nnU-Net",
        ),
        pytest.param(
            "".join(f"--- Step {s} ---\nepisode/score {s}.5 / episode/length 7 / fps 120.5\n" for s in (100, 200)),
            {"episode/score": [(100, 100.5), (200, 200.5)], "episode/length": [(100, 7), (200, 7)],
             "fps": [(100, 120.5), (200, 120.5)]},
            id="DreamerV3",
        ),
        pytest.param(
            "".join(f"2026-03-01 10:00:00,123 INFO [train.py:1060] (0/8) Epoch 1, batch {b}, loss[loss=0.{b}, "
                    "over 9.00 frames. ], lr: 1.2e-03\n" for b in (50, 100)),
            {"loss": [(50, 0.5), (100, 0.1)], "lr": [(50, 0.0012), (100, 0.0012)], "epoch": [(50, 1), (100, 1)]},
            id="a rank before the step",
        ),
        pytest.param(
            "2026-03-01T10:00:01 - 0 - levanter.callbacks - callbacks.py:123 - INFO :: step 100 loss=3.5 rate=1.5it/s\n"
            "2026-03-01 10:00:01 | INFO     | yolox.core.trainer:258 - epoch: 1/300, iter: 10/50, l1_loss: 0.5\n",
            {"loss": [(100, 3.5)], "rate": [(100, 1.5)], "l1_loss": [(10, 0.5)], "epoch": [(10, 1)]},
            id="prefixes with numbers",
        ),
        pytest.param(
            "completed step: 3, TFLOP/s/device: 120.5, Tokens/s/device: 5000.5, loss: 9.5\n",
            {"TFLOP/s/device": [(3, 120.5)], "Tokens/s/device": [(3, 5000.5)], "loss": [(3, 9.5)]},
            id="rates per device",
        ),
        pytest.param(
            "".join(f"   --> STEP: {s}/240 -- GLOBAL_STEP: {1000 + s}\n     | > decoder_loss: 0.{s}  (0.5)\n"
                    for s in (24, 49)),
            {"decoder_loss": [(1024, 0.24), (1049, 0.49)]},
            id="a heading with two counters",
        ),
        pytest.param(
            "Epoche 1 von 20 – Verlust: 0,89 – Genauigkeit: 81,5 %\nAdım 10/100 - kayıp: 0.5 - doğruluk: 0.25\n"
            "Bước 11: mất mát = 0.5, độ chính xác = 0.25\nالحقبة 12/15 الخسارة: 0.5 الدقة: 0.25\n",
            {"Verlust": [(1, 0.89)], "Genauigkeit": [(1, 81.5)], "kayıp": [(10, 0.5)], "doğruluk": [(10, 0.25)],
             "mất mát": [(11, 0.5)], "độ chính xác": [(11, 0.25)], "الخسارة": [(12, 0.5)], "الدقة": [(12, 0.25)]},
            id="other languages",
        ),
    ],
)  # fmt: skip
def test_shapes(text: str, wanted: dict[str, list[tuple[int, float]]]) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "2026-04-09 00:57:11,227 - precision: 0.5, recall: 0.25, fscore: {} ||",
        "2026-04-09 00:57:11,227:INFO: Average Training loss: {}",
        "loss = {}",
    ],
)
def test_results_without_a_step_are_counted(line: str) -> None:
    values = [0.5 + number for number in range(4)]
    text = "".join(line.format(value) + "\n" for value in values)
    metrics = read(text)
    assert [*zip(range(1, 5), values, strict=True)] in metrics.values()
    assert all([step for step, _ in points] == [1, 2, 3, 4] for points in metrics.values())


def test_two_results_without_a_step_are_a_summary() -> None:
    assert read("test loss: 0.5\ntest loss: 0.25\n") == {}


def test_results_without_a_step_are_dropped_when_rows_name_one(tmp_path: Path) -> None:
    """The lines are read as counted while nothing else is known, and not once a row names its step."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"inner loss: {number}.5\n" for number in range(5)))
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["inner loss"]
    with log.open("a") as file:
        file.write("Step 10: loss=0.5\nStep 20: loss=0.25\n")
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["loss"]


def test_metrics_that_begin_far_below_the_head_are_found(tmp_path: Path) -> None:
    warnings = "WARNING:tensorflow:From base.py:198: retry is deprecated and will be removed\n" * 200
    rows = "".join(
        f"{'-' * 30}\n| epoch             | {e}   |\n| test/success_rate | 0.{e} |\n{'-' * 30}\n" for e in range(5)
    )
    (tmp_path / "openai_run1.txt").write_text(warnings + rows)
    (run,) = tuimon.read(tmp_path)
    assert run["test/success_rate"].values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]


def test_prose_with_a_long_head_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("All work and no play makes Jack a dull boy, 12 times a day.\n" * 500)
    with pytest.raises(tuimon.NothingFound):
        tuimon.read(tmp_path)


def test_table_of_several_values_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "train_log.txt").write_text("".join(f"{e} {e}.5 0.25\n" for e in range(8)))
    (run,) = tuimon.read(tmp_path)
    assert run["column 2"].steps.tolist() == [*range(8)]
    assert run["column 2"].values.tolist() == [e + 0.5 for e in range(8)]
    assert run["column 3"].values.tolist() == [0.25] * 8


def test_step_in_the_last_column(tmp_path: Path) -> None:
    (tmp_path / "loss.log").write_text("".join(f"{e}.5 {100 * e}\n" for e in range(8)))
    (run,) = tuimon.read(tmp_path)
    assert run["loss"].steps.tolist() == [100 * e for e in range(8)]
    assert run["loss"].values.tolist() == [e + 0.5 for e in range(8)]


def test_table_of_tabs_with_names_of_words_and_no_step(tmp_path: Path) -> None:
    rows = "".join(f"{e}.5\t0.25\t\n" for e in range(8))
    (tmp_path / "train_log.txt").write_text("total loss\tscore loss\t\n" + rows)
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["total loss", "score loss"]
    assert run["total loss"].values.tolist() == [e + 0.5 for e in range(8)]


def test_global_counters_precede_those_of_a_phase(tmp_path: Path) -> None:
    rows = "".join(f"{p},{e},{5 * p + e},{e}.5\n" for p in range(2) for e in range(5))
    (tmp_path / "log.csv").write_text("phase,episode,global_episode,total_reward\n" + rows)
    (run,) = tuimon.read(tmp_path)
    assert run["total_reward"].steps.tolist() == [*range(10)]


def test_console_lines_in_a_file_named_as_a_table(tmp_path: Path) -> None:
    lines = "".join(f"Epoch: [{e}/9], training loss: {e}.5, training accuracy: 50.0%\n" for e in range(1, 10))
    (tmp_path / "train_log.csv").write_text(lines)
    (run,) = tuimon.read(tmp_path)
    assert run["training loss"].values.tolist() == [e + 0.5 for e in range(1, 10)]


def test_the_best_round_of_lightgbm_is_named_and_not_read_again(tmp_path: Path) -> None:
    lines = "".join(f"[{number}]\tvalid_1's auc: 0.{number}\tvalid_1's l2: {number}.5\n" for number in (10, 20, 30))
    best = "Early stopping, best iteration is:\n[13]\ttraining's l2: 9.5\tvalid_1's auc: 0.13\tvalid_1's l2: 13.50\n"
    (tmp_path / "train.log").write_text(lines + best)
    (run,) = tuimon.read(tmp_path)
    assert run["valid_1's auc"].steps.tolist() == [10, 20, 30]
    assert run.state == "finished"
    assert run.progress.evidence.startswith("Early stopping, best iteration 13: valid_1's auc 0.13, valid_1's l2 13.50")


BORDER = "+-------+------------+---------+\n"


@pytest.mark.parametrize(
    ("begin", "rule", "end"),
    [
        ("", "|-------|------------|---------|\n", ""),
        (BORDER, BORDER, BORDER),
        (
            "┏━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━┓\n",
            "┡━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━┩\n",
            "└───────┴────────────┴─────────┘\n",
        ),
    ],
    ids=["Markdown", "PrettyTable", "rich"],
)
def test_tables_between_bars(begin: str, rule: str, end: str) -> None:
    rows = "".join(f"| {e:5d} | {1 / e:10.4f} | {50 + e:6.1f}% |\n" for e in EPOCHS)
    text = f"{begin}| epoch | train_loss | val_acc |\n{rule}{rows}{end}"
    wanted = {"train_loss": [(e, round(1 / e, 4)) for e in EPOCHS], "val_acc": [(e, 50.0 + e) for e in EPOCHS]}
    assert read(text) == wanted
    assert read(text.replace("|", "│") if begin.startswith("┏") else text) == wanted


@pytest.mark.parametrize(
    "epoch",
    [
        "Epoch {e}\n┏━━━━━━━━━━━━┳━━━━━━━┓\n┃ Metric     ┃ Value ┃\n┡━━━━━━━━━━━━╇━━━━━━━┩\n│ train_loss │ {e}.5000 │\n"
        "│ val_loss   │ {e}.2500 │\n└────────────┴────────┘\n",
        "Epoch {e}\n| train_loss | {e}.5000 |\n| val_loss | {e}.2500 |\n",
        "----- Epoch {e} -----\ntrain_loss .......... {e}.5000\nval_loss ............ {e}.2500\n"
        "Elapsed ............. 0:01:01\n",
    ],
)
def test_a_name_and_a_value_in_each_line_below_an_epoch(epoch: str) -> None:
    text = "".join(epoch.format(e=e) for e in EPOCHS)
    assert read(text) == {"train_loss": [(e, e + 0.5) for e in EPOCHS], "val_loss": [(e, e + 0.25) for e in EPOCHS]}
