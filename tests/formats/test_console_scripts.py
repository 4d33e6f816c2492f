"""Console text of own scripts and of tutorials: lines below an epoch header, tables, progress bars as a fallback."""

from __future__ import annotations

import pytest
from support.json_points import facts, feed, series

from tuimon.formats.console.text import ConsoleDecoder, matches

BAR = "{}%|###   | {}/{} [00:01<00:01, 5.0it/s{}]"


def read(text: str) -> dict[str, list[tuple[int, float]]]:
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    return {name: [(step, float(value)) for step, value in points] for name, points in metrics.items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "Epoch: 3/30\nTrain Loss: 5.94 - Train Perplexity: 380\nEpoch: 4/30\nTrain Loss: 5.5\n",
            {"Train Loss": [(3, 5.94), (4, 5.5)], "Train Perplexity": [(3, 380)]},
        ),
        (
            "Epoch: 01 | Time: 0m 30s\n\tTrain Loss: 5.053 | Train PPL: 156.507\n"
            "\t Val. Loss: 4.967 |  Val. PPL: 143.6\n",
            {"Train Loss": [(1, 5.053)], "Train PPL": [(1, 156.507)], "Val. Loss": [(1, 4.967)],
             "Val. PPL": [(1, 143.6)]},
        ),
        (
            "Epoch 0/24\n----------\ntrain Loss: 0.49 Acc: 0.76\nval Loss: 0.23 Acc: 0.9\nBest val Acc: 0.941176\n",
            {"train Loss": [(0, 0.49)], "train Acc": [(0, 0.76)], "val Loss": [(0, 0.23)], "val Acc": [(0, 0.9)]},
        ),
        (
            "Epoch 1\n-----\nloss: 2.30  [   64/60000]\nTest Error: \n Accuracy: 44.1%, Avg loss: 2.15 \n"
            "Epoch 2\n-----\nloss: 2.10  [   64/60000]\n",
            {"loss": [(64, 2.3), (60064, 2.1)], "Accuracy": [(64, 44.1)], "Avg loss": [(64, 2.15)]},
        ),
        (
            "[1,  2000] loss: 2.17\n[1,  4000] loss: 1.9\n[2,  2000] loss: 1.5\n",
            {"loss": [(2000, 2.17), (4000, 1.9), (6000, 1.5)], "epoch": [(2000, 1), (4000, 1), (6000, 2)]},
        ),
        (
            "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.7\nTest set: Average loss: 0.5, Accuracy: 9750/10000 (98%)\n",
            {"Loss": [(640, 1.7)], "epoch": [(640, 1)], "test/Average loss": [(640, 0.5)],
             "test/Accuracy": [(640, 0.975)]},
        ),
        (
            "epoch: 1 step: 1, loss is 2.5\nepoch: 1 step: 2, loss is 2.4\nepoch: 2 step: 1, loss is 2.3\n",
            {"loss": [(1, 2.5), (2, 2.4), (3, 2.3)], "epoch": [(1, 1), (2, 1), (3, 2)]},
        ),
        (
            "2026-11-22 10:00:00,871 INFO [train.py:895] Epoch 1, batch 50, "
            "loss[loss=0.37, simple_loss=0.41, over 81.00 "
            "frames. ], tot_loss[loss=0.38, over 16.00 frames. ], lr: 2.9e-02\n",
            {
                "loss": [(50, 0.37)], "loss/simple_loss": [(50, 0.41)], "tot_loss": [(50, 0.38)],
                "lr": [(50, 0.029)], "epoch": [(50, 1)],
            },
        ),
        (
            "iter 50: val loss 5.3211, val time: 120.11 ms\nstep 5 | loss: 3.2 | tok/sec: 1,055,123\n",
            {"val loss": [(50, 5.3211)], "val time": [(50, 120.11)], "loss": [(5, 3.2)], "tok/sec": [(5, 1055123)]},
        ),
        ("global_step=60, episodic_return=[15.0]\n", {"episodic_return": [(60, 15)]}),
        ("-" * 20 + "\n| epoch | 4 |\n| test/x | 0.5 |\n" + "-" * 20 + "\n", {"test/x": [(4, 0.5)]}),
        (
            "E    #       LOSS NER  SCORE\n---  ------  --------  ------\n  0     200    49.92    0.10\n",
            {"epoch": [(200, 0)], "LOSS NER": [(200, 49.92)], "SCORE": [(200, 0.1)]},
        ),
        ("Losses {'ner': 5.5}\nLosses {'ner': 4.5}\n", {"losses/ner": [(0, 5.5), (1, 4.5)]}),
        (
            "  Epoch  GPU_mem  box_loss  Instances  Size\n"
            "   1/100  2.5G  1.5  23  640:  50%|##  | 5/10 [00:03<00:03,  3.3it/s]\r"
            "   1/100  2.5G  1.2  23  640: 100%|####| 10/10 [00:30<00:00,  3.3it/s]\n"
            "  Class  Images  Instances  Box(P  R  mAP50  mAP50-95): 100%|###| 10/10 [00:03<00:00,  3.0it/s]\n"
            "     all  128  929  0.6  0.5  0.4  0.3\n",
            {
                "train/box_loss": [(1, 1.2)], "metrics/precision": [(1, 0.6)], "metrics/recall": [(1, 0.5)],
                "metrics/mAP50": [(1, 0.4)], "metrics/mAP50-95": [(1, 0.3)],
            },
        ),
        (
            '{"timestamp": "2026-01-01T00:00:01", "level": "INFO", "message": "step 3: loss=0.5 lr=0.1"}\n',
            {"loss": [(3, 0.5)], "lr": [(3, 0.1)]},
        ),
        ("step     0 | loss: 2.5\nstep    12 | loss: 2.4\n", {"loss": [(0, 2.5), (12, 2.4)]}),
        ("E001 | train loss 2.5 | lr 1.0e-03\nE002 | train loss 2.4\n",
         {"train loss": [(1, 2.5), (2, 2.4)], "lr": [(1, 0.001)]}),
        ("Epoch 1/2m\nstep: 2m, loss: 2.5\nstep: 3K, loss: 1\n", {"loss": [(2_000_000, 2.5), (3_000, 1.0)]}),
        ("step 10k | loss 2.5\nStep: 1.5M, loss: 2.4\n", {"loss": [(10_000, 2.5), (1_500_000, 2.4)]}),
        ("num_steps: 4096, eval/episode_reward: 100.5\n", {"eval/episode_reward": [(4096, 100.5)]}),
        ("Frames: 2000 | FPS: 120 | Mean reward: 5.5\n", {"FPS": [(2000, 120)], "Mean reward": [(2000, 5.5)]}),
        ("Época 3/20 - Pérdida: 0.5\nエポック 4/20 - loss: 0.25\n", {"Pérdida": [(3, 0.5)], "loss": [(4, 0.25)]}),
        (
            "Epoch 1/3\n  Batch 6/12 - loss: 0.5\n  Batch 12/12 - loss: 0.4\nEpoch 2/3\n  Batch 6/12 - loss: 0.3\n",
            {"loss": [(6, 0.5), (12, 0.4), (18, 0.3)], "epoch": [(6, 1), (12, 1), (18, 2)]},
        ),
        (
            "I0503 10:00:01.123456 140123 train.py:88] step = 100, loss = 2.5 (1.234 sec)\n"
            "I0503 10:00:02.123456 140123 solver.cpp:239] Iteration 200 (1.5 iter/s, 2s/100 iters), loss = 2.25\n"
            "I0503 10:00:03.123456 140123 logging_writer.py:48] [300] accuracy=0.5, loss=2.125\n",
            {"loss": [(100, 2.5), (200, 2.25), (300, 2.125)], "accuracy": [(300, 0.5)], "iter/s": [(200, 1.5)]},
        ),
        (
            "INFO:tensorflow:loss = 0.5, step = 100 (1.2 sec)\nINFO:tensorflow:global_step/sec: 80.1\n"
            "INFO:tensorflow:Saving dict for global step 200: accuracy = 0.8, global_step = 200, loss = 0.25\n",
            {"loss": [(100, 0.5)], "eval/accuracy": [(200, 0.8)], "eval/loss": [(200, 0.25)]},
        ),
        (
            "2024-05-03 10:00:01 | INFO | train_inner | epoch 001:    20 / 5000 loss=2.5, ppl=3.2, num_updates=20\n",
            {"loss": [(20, 2.5)], "ppl": [(20, 3.2)], "num_updates": [(20, 20)], "epoch": [(20, 1)]},
        ),
        (
            "[INFO] Walker. Step: 1000. Time Elapsed: 10.5 s. Mean Reward: 1.500. Std of Reward: 0.5. Training.\n",
            {"Time Elapsed": [(1000, 10.5)], "Mean Reward": [(1000, 1.5)], "Std of Reward": [(1000, 0.5)]},
        ),
        ("epoch loss acc\n1 0.5 0.25\n2 0.25 0.5\n", {"loss": [(1, 0.5), (2, 0.25)], "acc": [(1, 0.25), (2, 0.5)]}),
        (
            "-" * 20 + "\n| ep_reward | 1.5 |\n| timesteps | 1000 |\n" + "-" * 20 + "\n",
            {"ep_reward": [(1000, 1.5)], "timesteps": [(1000, 1000)]},
        ),
    ],
)  # fmt: skip
def test_lines_of_tutorials_and_own_scripts(text: str, wanted: dict[str, list[tuple[int, float]]]) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "{'step': 0, 'reward': -0.67} of type {'step': Number, 'reward': Number} is not assignable\n",
        "[2/5] RUN pip install torch==2.1\n[12/100] Building CXX object loss.cpp.o\n",
        "Epoch 3/10\nloss function: 3\nlearning_rate: 0.001, loss_weight: 0.5\nBest val loss: 0.5\n",
        "Epoch 3/10\nSaved checkpoint, loss 0.5 was the best\nParameters: 123,456\n",
        "Train Loss: 5.94 - Train Perplexity: 380\n",
        "num_steps: 1000\ntotal_steps: 5000\nE5 model loaded: 3\nsaving every step 10k: 3\nbatch 12: 3 samples\n",
        "fps step: 12345 fps step and policy inference: 10000 fps total: 9000\n",
        "Epoch started now\n12 0.5 files\nepoch time done\nsome text\n1 0.5 0.4\n",
        'level=info msg="saved" step=100 path=/x/model_100.pt\n',
        "num_train_epochs: 3, learning_rate: 0.1\nframes: 16\nframe 16: size 224\n",
        "Downloading: " + BAR.format(100, 10, 10, "") + "\n",
        "Processed prompts: " + BAR.format(100, 10, 10, ", est. speed input: 1.5 toks/s, output: 2.5 toks/s") + "\n",
        "Shards: " + BAR.format(100, 10, 10, ", files=3") + "\n",
    ],
)
def test_other_lines_give_no_points(text: str) -> None:
    assert read(text) == {}


def bars(name: str, *states: tuple[int, int, str]) -> str:
    return (
        "".join(f"\r{name}{BAR.format(done * 100 // total, done, total, text)}" for done, total, text in states) + "\n"
    )


def test_last_state_of_each_count_of_a_bar_is_read() -> None:
    text = bars("steps: ", (1, 2, ""), (1, 2, ", loss=0.5"), (2, 2, ", loss=0.5"), (2, 2, ", loss=0.4"))
    assert read(text) == {"loss": [(1, 0.5), (2, 0.4)]}
    text = bars("Epoch 1/2: ", (5, 10, ", loss=0.5")) + bars(
        "Epoch 2/2: ", (5, 10, ", loss=0.4"), (6, 10, ", loss=0.3")
    )
    assert read(text) == {"loss": [(5, 0.5), (15, 0.4), (16, 0.3)]}
    text = (
        bars("", (10, 10, ", loss=0.5"))
        + bars("Val ", (4, 4, ", loss=0.6"))
        + bars("", (1, 10, ", loss=0.5"), (10, 10, ", loss=0.4"))
    )
    assert read(text) == {"loss": [(10, 0.5), (11, 0.5), (20, 0.4)], "val/loss": [(4, 0.6)]}


def test_a_bar_of_epochs_has_the_step_of_the_bars_within_them() -> None:
    text = bars("epochs: ", (0, 3, ""))
    for epoch in (0, 1, 2):
        text += bars(f"epoch {epoch}: ", *((done, 50, f", loss={3 - epoch}.{done}") for done in (25, 50)))
        text += bars("epochs: ", (epoch + 1, 3, f", val_acc=0.{epoch + 1}"))
    assert read(text)["val_acc"] == [(50, 0.1), (100, 0.2), (150, 0.3)]
    assert read(bars("epochs: ", (1, 3, ", loss=0.5"), (2, 3, ", loss=0.4"), (3, 3, ", loss=0.3")))["loss"][0] == (
        1,
        0.5,
    )


def last_steps(text: str) -> tuple[list[int], bool]:
    """Return the steps of `loss` after a flush, and whether two more states of the bar make the log be read again."""
    decoder = ConsoleDecoder()
    items = [*decoder.feed(text.encode()), *decoder.flush()]
    steps = [step for step, _ in series(items).get("loss", [])]
    decoder.feed(bars("steps: ", (3, 9, ", loss=0.25"), (4, 9, ", loss=0.125")).encode())
    return steps, decoder.must_reread


def test_newest_state_of_a_bar_is_read_on_a_flush() -> None:
    once = bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4"), (3, 9, ", loss=0.25")).rstrip()
    assert last_steps(once) == ([1, 2, 3], False)
    assert last_steps(once[:-1]) == ([1, 2], False), "the end of the bar is missing"
    assert last_steps(once.replace("0.25", "0.3")) == ([1, 2, 3], True), "drawn again with another value"
    twice = bars("steps: ", *((done, 9, f", loss={loss}") for done in (1, 2, 3) for loss in (0.5, 0.25)))
    assert last_steps(twice) == ([1, 2, 3], False)
    assert last_steps(twice[: twice.rindex("\r")]) == ([1, 2], False), "the counts before were drawn twice"
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5"))) == ([], False)
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5")) + bars("val: ", (1, 9, ", x_loss=1"))) == ([1], False)


def test_bars_of_a_growing_log_are_read_without_a_flush() -> None:
    decoder = ConsoleDecoder()
    decoder.feed(bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4")).encode())
    assert decoder.held_back
    assert series(list(decoder.feed(b"")))["loss"] == [(1, "0.5")]
    assert not decoder.held_back


def test_lines_of_a_log_are_preferred_to_its_bars() -> None:
    bar, line = (
        bars("Epoch 1: ", (9, 10, ", loss=0.5, acc=0.1"), (10, 10, ", loss=0.4, acc=0.2")),
        "Epoch 1: loss=0.45\n",
    )
    assert read(bar + line) == {"loss": [(10, 0.45)], "acc": [(9, 0.1), (10, 0.2)], "epoch": [(10, 1)]}
    decoder = ConsoleDecoder()
    items = [*decoder.feed(bar.encode()), *decoder.flush()]
    assert series(items)["loss"] == [(9, "0.5"), (10, "0.4")]
    assert not decoder.must_reread
    decoder.feed(line.encode())
    assert decoder.must_reread


def test_json_lines_count_as_console_text_only_as_records_of_a_logging_module() -> None:
    assert matches("train.jsonl", b'{"level": "INFO", "message": "step 3: loss=0.5"}\n')
    assert not matches("train.jsonl", b'{"step": 3, "loss": 0.5}\n')


@pytest.mark.parametrize(
    "line",
    [
        "Ep {} | Reward: {} | Avg: {}",
        "ep={}, reward={}, Avg={}",
        "it {} reward {} Avg {}",
        "Round {}: reward={}, Avg={}",
        "Generation {}: reward {}, Avg {}",
        "epoch_{}: reward={}, Avg={}",
        "Epoch   {}   reward   {}   Avg   {}",
        "epoch {} reward {} Avg {}",
        "\U0001f680 Epoch {}/30 \U0001f4c9 reward: {} \U0001f3af Avg: {}",
        "### Epoch {} ### reward: {} | Avg: {}",
        "\u7b2c{}\u8f6e reward: {} Avg: {}",
        "Epoch {}\uff1areward: {}\uff0cAvg: {}",
    ],
)
def test_steps_and_names_of_unusual_scripts(line: str) -> None:
    rows = [(2, 0.25, 1.5), (3, 0.75, 2.5)]
    metrics = {name.lower(): values for name, values in read("".join(line.format(*row) + "\n" for row in rows)).items()}
    assert metrics == {
        "reward": [(step, reward) for step, reward, _ in rows],
        "avg": [(step, average) for step, _, average in rows],
    }


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("loss: {1}, acc: 0.25, step: {0}", "loss"),
        ("Loss: {1} | Epoch: {0}", "Loss"),
        ("INFO:root:metrics: loss={1} acc=0.25 step={0}", "loss"),
        ("2026-05-03T10:00:01.123Z [info     ] train_step            epoch={0} loss={1} lr=0.001", "loss"),
        ('time="2026-05-03T10:00:01Z" level=info msg="train step" epoch={0} loss={1} lr=0.001', "loss"),
        ("[Learner] Critic Loss = {1} | Learner Steps = {0} | Learner Walltime = 3.5", "Critic Loss"),
        ("2026-05-03 10:00:01.1: I runner.py:310] Step = {0} ; tokens/s = 123 (6 source) ; Loss = {1}", "Loss"),
        ('2026-05-03 10:00:01 | INFO | train_inner | {{"epoch": 1, "loss": "{1}", "num_updates": "{0}"}}', "loss"),
        ("{0}/90: loss={1}, acc=0.25", "loss"),
        ("{0} | loss: {1} | acc: 0.25", "loss"),
        ("{0} [D loss: {1}, acc.: 50.00%] [G loss: 0.7]", "D loss"),
        ("I0503 10:00:01.1 140 utils.py:1] [{0}] loss={1}, accuracy=0.25", "loss"),
        ("[Episode    {0}] reward= {1} | steps=10 | eps=0.5", "reward"),
        ("[05/03/24 10:00:01] INFO     Step {0}: loss={1} lr=0.5            train.py:42", "loss"),
        ("[2026-05-03 10:00:01] Ep. 1 : Up. {0} : Sen. 64,000 : Cost {1} * 1,000 after 1,000 : gNorm 1.25", "Cost"),
        ("[2026-05-03 10:00:01] [valid] Ep. 1 : Up. {0} : ppl : {1} : new best", "valid/ppl"),
        ("[h] 2026-05-03 10:00:01,1 (trainer:338) INFO: {0}epoch results: [train] loss={1}, time=1 minute, "
         "[valid] loss=0.5", "train/loss"),
        ("| epoch   1 | {0:5d}/ 2928 batches | lr 5.00 | ms/batch 12.34 | loss  {1} | ppl     2.25", "loss"),
        ("Epoch: [1][{0}/300] Elapsed 0m 1s (remain 1m 0s) Loss: {1}({1}) Grad: 1.25  LR: 0.00002", "Loss"),
    ],
)  # fmt: skip
def test_steps_at_other_places_of_a_line(line: str, name: str) -> None:
    metrics = read("".join(line.format(step, loss) + "\n" for step, loss in ((10, 2.5), (20, 1.25), (30, 1.0))))
    assert metrics[name] == [(10, 2.5), (20, 1.25), (30, 1.0)]
    assert "train.py" not in metrics, "the call site at the right margin"


@pytest.mark.parametrize(
    "line",
    [
        "Best loss: 0.25, epoch: 3",
        "loss: 0.25, max_steps: 100",
        "[12/40] Building loss.cpp 0.5",
        " [==>...]  Step: 25ms | Tot: 10s | Loss: 2.5 | Acc: 10.000%",
        "17: undefined reference to loss",
        "saved model with loss=0.5 at step=100",
    ],
)
def test_other_lines_with_numbers_give_no_point(line: str) -> None:
    assert read(f"{line}\n") == {}


def test_step_after_the_name_of_the_metric() -> None:
    assert read("Cost after iteration 100: 0.648\nCost after iteration 200: 0.5\n") == {
        "Cost": [(100, 0.648), (200, 0.5)]
    }
    assert read("Validation loss at step 5: 0.25, lr: 0.1\n") == {"Validation loss": [(5, 0.25)], "lr": [(5, 0.1)]}
    assert read("Best loss after epoch 5: 0.25\nTime after epoch 5: 30.5\n") == {}, "a repetition, and no result"


def test_counters_in_brackets_of_the_dcgan_example() -> None:
    text = "[0/5][50/100]\tLoss_D: 1.5\tLoss_G: 5.25\tD(x): 0.5\n[1/5][0/100]\tLoss_D: 1.25\tLoss_G: 5.5\tD(x): 0.25\n"
    metrics = read(text)
    assert metrics["Loss_D"] == [(50, 1.5), (100, 1.25)]
    assert metrics["Loss_G"] == [(50, 5.25), (100, 5.5)]


@pytest.mark.parametrize(
    "text",
    [
        "epoch     train_loss  accuracy  time    \n0         1.5         0.25      00:12   \n"
        "1         1.25        0.75      00:12\n",
        "| Epoch | train_loss | accuracy |\n|---|---|---|\n| 0 | 1.5 | 25% |\n| 1 | 1.25 | 75% |\n",
        "# epoch train_loss accuracy\n0 1.5 0.25\n1 1.25 0.75\n",
        "Epoch\ttrain_loss\taccuracy\n0/2\t1.5\t0.25\nSaved a checkpoint\n1/2\t1.25\t0.75\n",
    ],
)
def test_tables_of_text(text: str) -> None:
    metrics = read(text)
    assert metrics["train_loss"] == [(0, 1.5), (1, 1.25)]
    assert [step for step, _ in metrics["accuracy"]] == [0, 1]


def test_numbers_below_prose_are_no_table() -> None:
    assert read("epoch one  was fine\n5  6\nEpoch  3\n1  2\n") == {}


def lightning_fit(first: int, epochs: int, steady: bool = False) -> str:
    """Bars of Lightning's TQDMProgressBar: the postfix keeps the results of the last validation and epoch."""
    text, postfix = "", dict[str, float]()

    def bar(epoch: int, done: int) -> str:
        inside = "".join(f", {name}={value:#.3g}" for name, value in postfix.items())
        return f"\rEpoch {epoch}: " + BAR.format(10 * done, done, 10, inside)

    for epoch in range(first, epochs):
        text += bar(epoch, 0)
        for done in range(5, 11, 5):
            text += bar(epoch, done)
            postfix["loss_step"] = 1 / (1 + epoch * 10 + done)
            text += bar(epoch, done)
        for share in ("  0%|   | 0/5", "100%|###| 5/5", "100%|###| 5/5"):
            text += f"\n\rValidation DataLoader 0: {share} [00:00<00:00, 9.0it/s]\x1b[A"
        postfix["val_loss"] = 0.5 if steady else 1 / (2 + epoch)
        text += bar(epoch, 10)
        postfix["loss_epoch"] = 0.5 if steady else 1 / (3 + epoch)
        text += bar(epoch, 10) + ("" if epoch == epochs - 1 else bar(epoch, 0))
    return f"{text}{bar(epochs - 1, 10)}`Trainer.fit` stopped: `max_epochs={epochs}` reached.\n"


@pytest.mark.parametrize("read_each", [0, 50])
def test_results_that_a_bar_repeats_are_read_when_they_change(read_each: int) -> None:
    text = (lightning_fit(0, 3) + lightning_fit(3, 6)).encode()
    items = feed(ConsoleDecoder(), text, range(0, len(text), read_each or len(text)))
    metrics = {name: [step for step, _ in points] for name, points in series(items).items()}
    ends = [10, 20, 30, 40, 50, 60]
    assert metrics == {"loss_step": list(range(5, 61, 5)), "val_loss": ends, "loss_epoch": ends}
    assert facts(items, "state")[-1]["evidence"] == "`Trainer.fit` stopped: `max_epochs=6` reached."


@pytest.mark.parametrize("read_each", [0, 50])
def test_results_that_are_logged_again_unchanged_are_read_again(read_each: int) -> None:
    """A validation has ended since, or the epoch has; the mean of the last epoch may be that of the one before."""
    text = lightning_fit(0, 4, steady=True).encode()
    items = feed(ConsoleDecoder(), text, range(0, len(text), read_each or len(text)))
    metrics = {name: [step for step, _ in points] for name, points in series(items).items()}
    assert metrics == {"loss_step": list(range(5, 41, 5)), "val_loss": [10, 20, 30, 40], "loss_epoch": [10, 20, 30]}
    text = text.replace(b"Validation DataLoader", b"Sanity Checking DataLoader")
    assert [step for step, _ in series(feed(ConsoleDecoder(), text))["val_loss"]] == [10]


def bars_of_epoch(epoch: int, *metrics: str) -> str:
    postfix = "".join(f", {name}={epoch}.5" for name in metrics)
    return "".join(f"\rEpoch {epoch}/3: " + BAR.format(done // 2, done, 200, postfix) for done in (0, 100, 200)) + "\n"


def test_lines_of_epochs_are_at_the_last_step_of_bars_that_are_read() -> None:
    text = "".join(
        f"{bars_of_epoch(e, 'loss', 'lr')}Epoch [{e}/3] Train Loss: {e}.25 | Val Loss: {e}.75\n" for e in (1, 2, 3)
    )
    points = read(text)
    assert points["loss"][-1] == (600, 3.5)
    assert points["Train Loss"] == [(200, 1.25), (400, 2.25), (600, 3.25)]
    assert points["Val Loss"] == [(200, 1.75), (400, 2.75), (600, 3.75)]
    assert points["epoch"] == [(200, 1), (400, 2), (600, 3)]


def test_lines_of_epochs_are_at_the_epoch_if_they_have_all_metrics_of_the_bars() -> None:
    text = "".join(f"{bars_of_epoch(e, 'loss')}Epoch [{e}/3] loss: {e}.25 | val_loss: {e}.75\n" for e in (1, 2, 3))
    assert read(text) == {
        "loss": [(1, 1.25), (2, 2.25), (3, 3.25)],
        "val_loss": [(1, 1.75), (2, 2.75), (3, 3.75)],
    }
