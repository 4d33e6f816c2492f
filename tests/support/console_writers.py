"""Writers of console lines: the format strings of the trainers, filled with random numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

Point = tuple[str, int, str]
Writer = Callable[[random.Random, int], tuple[str, list[Point]]]
"""(random generator, step) -> (text that ends with a newline, points in it)."""

NAMES = [
    "loss",
    "actor/pg_loss",
    "val-core/openai/gsm8k/reward/mean@1",
    "rewards/a.b/mean",
    "lr-pg_0",
    "kl",
    "grad_norm",
]
PREFIXES = [
    *(
        "",
        "",
        "(TaskRunner pid=31337) ",
        "\x1b[36m(TaskRunner pid=7, ip=10.0.0.2)\x1b[0m ",
    ),
    *("2026-08-21 21:30:01,123 - trainer - INFO - ", "[2026-08-21 21:30:01][rank0] [INFO] ", "[12:00:01] "),
    *("INFO 08-13 19:01:45 trainer.py:547] ", "2026-01-29 12:01:00.123 | INFO     | a.b.c:train:1051 - "),
    *(" 10%|#         | 1/10 [00:10<01:30, 10.00s/it]", "Training Progress:  10%|#  | 1/10 [00:10<?, 1.2it/s, a=1]"),
]
NOISE = [
    *(
        "saving checkpoint to runs/ckpt-5",
        "",
        "tokens: 1,234,567",
        "step 5 of 10 took 3 s",
        "Epoch 3/10",
        "données ✨ 5",
    ),
    *(
        "Loading checkpoint shards:  50%|#####     | 2/4 [00:10<00:10,  5.00s/it]",
        "{'prompt': 'x', 'loss': 5}",
        "[1, 2]",
    ),
    *(
        "Max steps: 1000, lr: 1e-4",
        "Warmup steps: 100, lr: 1e-4",
        "| a | 1 |",
        "{'loss': 0.5",
        "Step: -1 loss: 0.5",
    ),
]


def random_float(rng: random.Random) -> float:
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-320, 1e22, -1e300])
    return rng.choice([-1, 1]) * 10 ** rng.uniform(-8, 6)


def fixed(value: float, form: str) -> tuple[str, str]:
    """Return (printed text, repr of the number in it)."""
    text = format(max(-1e9, min(1e9, value)), form)
    return text, repr(float(text.replace(",", "")))


def python_repr(rng: random.Random, value: float) -> str:
    """Print a value as Python, numpy 2 or torch do."""
    wrapped = [
        "np.float64({})",
        "np.float32({})",
        "tensor({}, device='cuda:0')",
        "tensor({}, grad_fn=<NllLossBackward0>)",
    ]
    return rng.choice(["{}", "{}", "{}", *wrapped]).format(value)


def random_row(rng: random.Random) -> dict[str, float]:
    return {name: random_float(rng) for name in rng.sample(NAMES, rng.randint(1, len(NAMES)))}


def points_at(step: int, row: dict[str, float]) -> list[Point]:
    return [(name, step, repr(value)) for name, value in row.items()]


def verl(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = random_row(rng)
    form = rng.choice(["{}:{}", "{}:np.float64({})"])
    pairs = " - ".join(form.format(name, value) for name, value in row.items())
    return f"{rng.choice(PREFIXES)}step:{step} - {pairs}\n", points_at(step, row)


def numbered_dict(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = random_row(rng)
    pairs = [f"'{name}': {python_repr(rng, value)}" for name, value in row.items()]
    pairs += rng.sample(["'note': 'a, {b'", "'none': None", "'yes': True", "'list': [1, {'loss': 2}]", "'t': (1,)"], 2)
    rng.shuffle(pairs)
    kind = rng.choice(["step", "rollout", "✨ Global step", "Step", "critic-step"])
    return f"{rng.choice(PREFIXES)}{kind} {step}: {{{', '.join(pairs)}}}\n", points_at(step, row)


def dict_with_step(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = {"loss": random_float(rng)} | random_row(rng)
    key = rng.choice(["step", "global_step", "iteration"])
    if rng.random() < 0.3:
        text = json.dumps({key: step} | row)
    else:
        quote = rng.choice(["", "'"])
        pairs = [f"'{key}': {quote}{step}{quote}", *(f"'{name}': {quote}{value}{quote}" for name, value in row.items())]
        rng.shuffle(pairs)
        text = "{" + rng.choice([", ", ",\n "]).join(pairs) + "}"
    return f"{text}\n", points_at(step, row)


def torchtitan(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    forms = {"loss": "8.5f", "grad_norm": "7.4f", "tps": ",.0f", "tflops": ",.2f"}
    printed = {name: fixed(random_float(rng), form) for name, form in forms.items()}
    text = "  ".join(f"\x1b[3{rng.randrange(8)}m{name}: {text}" for name, (text, _) in printed.items())
    head = "[titan] 2026-08-21 21:30:01,123 - root - INFO - "
    memory = "  \x1b[38;2;180;60;0mmemory: 30.12GiB(38.02%)"
    logged = [(name, step, value) for name, (_, value) in printed.items()]
    logged += [("memory(GiB)", step, "30.12"), ("memory(%)", step, "38.02")]
    return f"{head}\x1b[31mstep: {step:2}  {text}{memory}\x1b[39m\n", logged


def megatron(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    forms = {"consumed samples": "12.0f", "learning rate": ".6E", "lm loss": ".6E", "grad norm": ".3f"}
    printed = {name: fixed(random_float(rng), form) for name, form in forms.items()}
    kind = rng.randrange(3)
    fields = "".join(f" {name}: {text} |" for name, (text, _) in printed.items())
    if kind == 0:
        head, prefix = f" [2026-08-22 15:22:01.123456] iteration {step:8}/{step + 9:8} |", ""
    elif kind == 1:
        head, prefix = f" validation loss at iteration {step} on validation set |", "validation/"
    else:
        head, prefix = f" validation loss at iteration {step} on test set |", "test/"
    return f"{head}{fields}\n", [(prefix + name, step, value) for name, (_, value) in printed.items()]


def torchtune(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = random_row(rng)
    return f"Step {step} | {' '.join(f'{name}:{value}' for name, value in row.items())} \n", points_at(step, row)


def prime_rl(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    labels = {"Loss": "loss/mean", "Mismatch KL": "mismatch_kl/all/mean", "Grad. Norm": "optim/grad_norm", "Odd": "Odd"}
    printed = {label: fixed(random_float(rng), ".4f") for label in labels}
    fields = " | ".join(f"{label} {text}" for label, (text, _) in printed.items())
    logged = [("time/step", step, "10.21"), *((labels[label], step, value) for label, (_, value) in printed.items())]
    return f"16:03:09 SUCCESS Step {step} | 10.21s | {fields}\n", logged


def sb3(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed = {name: fixed(random_float(rng), "<8.3g") for name in ("approx_kl", "value_loss")}
    lines = ["| time/              |           |", f"|    total_timesteps | {step:<9} |"]
    lines += ["| train/             |           |"]
    lines += [f"|    {name:15} | {text:9} |" for name, (text, _) in printed.items()]
    logged = [("time/total_timesteps", step, repr(float(step)))]
    logged += [(f"train/{name}", step, value) for name, (_, value) in printed.items()]
    return "\n".join(["-" * 34, *lines, "-" * 34]) + "\n", logged


def keras(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    def state(done: int, **row: str) -> str:
        values = "".join(f" - {name}: {text}" for name, text in row.items())
        return f"{done}/8 {'━' * done}{' ' * (8 - done)} 0s 4ms/step{values}"

    loss, so_far = fixed(random_float(rng), ".4e"), fixed(random_float(rng), ".4f")
    text = f"Epoch {step + 1}/{step + 9}\n{state(3, loss=so_far[0])}" + "\b" * 9 + f"\r{state(8, loss=loss[0])}"
    return text + f"\r{state(8, loss=loss[0], val_loss=so_far[0])}\n", [
        ("loss", step, loss[1]),
        ("val_loss", step, so_far[1]),
    ]


def rlinf_table(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    cells = {name: fixed(random_float(rng), form) for name, form in (("actor/lr", ".2e"), ("actor/loss", ".3f"))}
    cells |= {
        f"actor/very_long_nam{'…' if rng.random() < 0.5 else 'e'}": ("0.5", "0.5"),
        "actor/cut": ("0.123…", ""),
    }
    body = "│".join(f"{f'{name}={text}':39}" for name, (text, _) in cells.items())
    logged = [("train/" + name, step, value) for name, (_, value) in cells.items() if value and "…" not in name]
    head = f"├── Metric Table ──┤\n│ Global Step: {step + 1:4}/{step + 9} │ Progress: ░ │   0.1% │\n"
    return f"{head}│ Elapsed: 00:12 │ Step Time: 12.500s │\n├── Training/Actor ──┤\n│{body}│\n╰──╯\n", logged


def rlinf_bar(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = {f"{name}_time" if "/" not in name else name: format(value, ".3g") for name, value in random_row(rng).items()}
    inside = ", ".join(["00:10<01:30", "10.00s/it", *(f"{name}={text}" for name, text in row.items())])
    bar = f"Global Step:  10%|#         | {step + 1}/{step + 9} [{inside}]"
    logged = [(name, step, repr(float(text))) for name, text in row.items()]
    if rng.random() < 0.3:  # cut at the width of the terminal
        bar, logged = bar[: -rng.randint(1, 1 + len(logged[-1][2]))], logged[:-1]
    return f"\r{bar}\r{bar}\n", logged


def nemo_rl(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    loss, reward, time = (
        fixed(random_float(rng), ".4f"),
        fixed(random_float(rng), ".4f"),
        fixed(random_float(rng), ".2f"),
    )
    text = f"{'=' * 20} Step {step}/{step + 9} {'=' * 20}\n📊 Training Results:\n  • Loss: {loss[0]}\n"
    text += f"  • Avg Reward: {reward[0]}\n⏱️  Timing:\n  • Total step time: {time[0]}s\n"
    text += f"  • generation: {time[0]}s (40.5%)\n"
    logged = [("train/loss", step, loss[1]), ("train/reward", step, reward[1])]
    return text, [*logged, *((f"timing/train/{name}", step, time[1]) for name in ("total_step_time", "generation"))]


def plain(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    names = rng.sample(["loss", "train/reward", "lr", "Acc@1", "grad_norm"], rng.randint(1, 5))
    row = {name: random_float(rng) for name in names}
    count = rng.choice(
        [f"{step}", f"{step:,}", f"{step:06}", f"{step}/{step + 9}", f"{step:,}/{step + 9999:,}", f"[{step}]"]
    )
    word = rng.choice(["step", "Step", "Iteration", "global_step", "Episode", "iter", "train step"])
    join, between = rng.choice([("=", " "), ("=", ", "), (": ", " | "), (" ", " "), (" = ", "; ")])
    pairs = between.join(f"{name}{join}{value}" for name, value in row.items())
    return f"{rng.choice(PREFIXES)}{word} {count}{rng.choice([': ', ' | ', ' '])}{pairs}\n", points_at(step, row)


def within_epochs(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 steps, counted from 0."""
    epoch, done = divmod(step, 5)
    loss, lr = fixed(random_float(rng), ".4f"), fixed(random_float(rng), ".3e")
    head, between = rng.choice(
        [
            (f"Epoch: [{epoch}][{done:4}/5]", "\t"),
            (f"Epoch: [{epoch}]  [{done:3}/5]  eta: 0:01:02", ": "),
            (f"[Epoch {epoch}/9] [Batch {done}/5]", ": "),
            (f"epoch {epoch:03}:      {done} / 5", "="),
        ]
    )
    text = f"\tloss {loss[0]} (9.5)\tlr {lr[0]}" if between == "\t" else f" loss{between}{loss[0]} lr{between}{lr[0]}"
    return f"{head}{text}\n", [("loss", step, loss[1]), ("lr", step, lr[1]), ("epoch", step, repr(float(epoch)))]


def random_fields(rng: random.Random, names: dict[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return (name -> printed text, [(name, repr of the number in it)]). names: name -> format."""
    printed = {name: fixed(random_float(rng), form) for name, form in names.items()}
    return {name: text for name, (text, _) in printed.items()}, [(name, value) for name, (_, value) in printed.items()]


def random_eta(rng: random.Random) -> str:
    return rng.choice(["0:05:01", "12:34:56", "1 day, 2:03:04", "13 days, 0:00:00"])


def mmengine(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 iterations, or iterations only."""
    head = rng.choice(["2026/08/21 21:30:01 - mmengine - INFO - ", "2026-08-21 21:30:01,123 - mmengine - INFO - "])
    printed, logged = random_fields(rng, {"loss": ".4f", "decode.loss_ce": ".4f", "grad_norm": ".4f", "acc": ".4f"})
    times, timed = random_fields(rng, {"time": ".4f", "data_time": ".4f"})
    lr, rate = fixed(random_float(rng), ".4e")
    evaluated, results = random_fields(rng, {"coco/bbox_mAP": ".4f", "coco/bbox_mAP_50": ".4f", "accuracy/top1": ".4f"})
    rest = f"base_lr: {lr} lr: {lr}  eta: {random_eta(rng)}  time: {times['time']}  data_time: {times['data_time']}  "
    rest += "memory: 4711  " + "  ".join(f"{name}: {text}" for name, text in printed.items())
    logged += [*timed, ("base_lr", rate), ("lr", rate), ("memory", "4711.0")]
    val_fields = "  ".join(f"{name}: {text}" for name, text in [*evaluated.items(), *times.items()])
    val_fields = val_fields.replace(
        "  accuracy", "  coco/bbox_mAP_copypaste: 0.363 0.562 0.393 0.201 nan 0.480  accuracy"
    )
    validated = [*results, *((f"val/{name}", value) for name, value in timed)]
    if rng.random() < 0.5:
        epoch, done = step // 5 + 1, step % 5 + 1
        train = f"Epoch(train){f'[{epoch}]'.rjust(6)}[{done:3}/5]  {rest}"
        val = f"Epoch(val) [{epoch}][25/25]  {rng.choice(['', '  '])}{val_fields}"
        logged.append(("epoch", repr(float(epoch))))
        at_step, reached = epoch, step + 1
    else:
        train = f"Iter(train) [{step + 1:5}/{step + 99}]  {rest}"
        val = f"Iter(val) [25/25]  {val_fields}"
        at_step = reached = step + 1
    far = (
        f"{val.partition(']  ')[0].replace('25/25', '10/25')}]    eta: 0:00:03  time: 0.1  data_time: 0.1  memory: 1  "
    )
    points = [(name, reached, value) for name, value in logged] + [(name, at_step, value) for name, value in validated]
    return f"{head}{train}\n{head}Exp name: x_20260821_213000\n{head}{far}\n{head}{val}\n", points


def mmcv(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    head = "2026-08-21 21:30:01,123 - mmdet - INFO - "
    printed, logged = random_fields(rng, {"loss": ".4f", "loss_cls": ".4f", "acc": ".4f"})
    times, timed = random_fields(rng, {"time": ".3f", "data_time": ".3f"})
    evaluated, results = random_fields(rng, {"bbox_mAP": ".4f", "loss": ".4f"})
    lr, rate = fixed(random_float(rng), ".3e")
    rest = f"lr: {lr}, eta: {random_eta(rng)}, time: {times['time']}, data_time: {times['data_time']}, memory: 4711, "
    rest += ", ".join(f"{name}: {text}" for name, text in printed.items())
    logged += [*timed, ("lr", rate), ("memory", "4711.0")]
    val_fields = ", ".join(f"{name}: {text}" for name, text in evaluated.items())
    val_fields = val_fields.replace(", loss", ", bbox_mAP_copypaste: 0.363 0.562 0.393 0.201 -1.000 0.480, loss")
    if rng.random() < 0.5:
        epoch, done = step // 5 + 1, step % 5 + 1
        train, val = f"Epoch [{epoch}][{done}/5]\t{rest}", f"Epoch(val) [{epoch}][25]\t{val_fields}"
        logged.append(("epoch", repr(float(epoch))))
        at_step = 5 * epoch
    else:
        train, val = f"Iter [{step + 1}/{step + 99}]\t{rest}", f"Iter(val) [25]\t{val_fields}"
        at_step = step + 1
    points = [(name, step + 1, value) for name, value in logged]
    return f"{head}{train}\n{head}{val}\n", points + [(f"val/{name}", at_step, value) for name, value in results]


def detectron2(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """An evaluation is printed before the row of its iteration, and after a checkpoint of another name."""
    printed, logged = random_fields(rng, {"total_loss": ".4g", "loss_cls": ".4g", "[metric]iou": ".4g", "time": ".4f"})
    evaluated, results = random_fields(rng, {"AP": ".4f", "AP50": ".4f", "APs": ".4f"})
    lr, rate = fixed(random_float(rng), ".5g")
    when = "11/20 10:00:00"
    head = rng.choice([f"\x1b[32m[{when} d2.utils.events]: \x1b[0m", f"[{when}] d2.utils.events INFO: "])
    other = head.replace("utils.events", "evaluation.testing")
    names, values = ",".join(evaluated), ",".join(evaluated.values())
    text = f"{other}copypaste: Task: bbox\n{other}copypaste: {names}\n{other}copypaste: {values}\n"
    fields = "  ".join(f"{name}: {value}" for name, value in printed.items())
    eta = rng.choice(["", f"eta: {random_eta(rng)}  "])
    text += f"{head} {eta}iter: {step}  {fields}  last_data_time: 0.0090   lr: {lr}  max_mem: 2000M\n"
    logged += [("last_data_time", "0.009"), ("lr", rate), ("max_mem", "2000.0")]
    return text, [
        (name, step, value) for name, value in [*logged, *((f"bbox/{name}", value) for name, value in results)]
    ]


def timm(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 updates."""
    epoch, done = divmod(step, 5)
    loss, mean = (fixed(random_float(rng), rng.choice(["#.4g", ">9.6f"])) for _ in range(2))
    time, rate, data = (
        fixed(random_float(rng), ".3f"),
        fixed(random_float(rng), ">7.2f"),
        fixed(random_float(rng), ".3f"),
    )
    lr, top1 = fixed(random_float(rng), ".3e"), fixed(random_float(rng), ">7.4f")
    text = f"Train: {epoch} [{done:>4d}/5 ({20.0 * done:>3.0f}%)]  Loss: {loss[0]} ({mean[0]})  "
    text += f"Time: {time[0]}s, {rate[0]}/s  ({time[0]}s, {rate[0]}/s)  LR: {lr[0]}  Data: {data[0]} ({time[0]})\n"
    stage = rng.choice(["Test", "Test (EMA)"])
    for batch in (0, 8):
        text += (
            f"{stage}: [{batch:>4d}/8]  Time: 0.150 ({time[0]})  Loss: {loss[0]} ({mean[0]})  Acc@1: 7.1 ({top1[0]})\n"
        )
    logged = [("Loss", loss[1]), ("Time", time[1]), ("rate", rate[1]), ("LR", lr[1]), ("Data", data[1])]
    logged += [("epoch", repr(float(epoch)))]
    result = [("Time", time[1]), ("Loss", mean[1]), ("Acc@1", top1[1])]
    logged += [(f"{stage.lower().replace('ema', 'EMA')}/{name}", value) for name, value in result]
    return text, [(name, step, value) for name, value in logged]


def swin(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 iterations."""
    epoch, done = divmod(step, 5)
    printed, logged = random_fields(rng, {"time": ".4f", "loss": ".4f", "grad_norm": ".4f", "loss_scale": ".4f"})
    top, results = random_fields(rng, {"Acc@1": ".3f", "Acc@5": ".3f"})
    head = rng.choice(
        [
            "[2026-08-21 21:30:01 swin_tiny] (main.py 205): INFO ",
            "\x1b[32m[2026-08-21 21:30:01 swin_tiny]\x1b[0m\x1b[33m(main.py 205)\x1b[0m: INFO ",
        ]
    )
    means = "\t".join(f"{name} {value} (0.1234)" for name, value in printed.items())
    text = f"{head}Train: [{epoch}/{epoch + 9}][{done}/5]\teta {random_eta(rng)} lr 0.000125\t wd 0.0500"
    text += f"\t{means}\tmem 6000MB\n"
    text += f"{head}Test: [8/9]\tTime 0.150 (0.210)\tLoss 0.9870 (1.1230)\tAcc@1 75.000 (74.512)\tMem 600MB\n"
    text += f"{head} * Acc@1 {top['Acc@1']} Acc@5 {top['Acc@5']}\n{head}Max accuracy: 74.51%\n"
    logged += [("lr", "0.000125"), ("wd", "0.05"), ("mem", "6000.0"), ("epoch", repr(float(epoch)))]
    return text, [
        (name, step, value) for name, value in [*logged, *((f"test/{name}", value) for name, value in results)]
    ]


def xgboost(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"train-rmse": ".5f", "valid-ndcg@10": ".5f", "validation_0-auc": ".5f"})
    spread = rng.choice(["", "+0.01225"])
    text = "".join(f"\t{name}:{value}{spread}" for name, value in printed.items())
    return f"[{step}]{text}\n", [(name, step, value) for name, value in logged]


def lightgbm(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """The best round is repeated after the training."""
    printed, logged = random_fields(rng, {"training's binary_logloss": ".6g", "valid_1's l2": ".6g"})
    text = "\t".join(f"{name}: {value}" for name, value in printed.items())
    best = f"Early stopping, best iteration is:\n[3]\t{text}\n" * (rng.random() < 0.2)
    return f"[{step}]\t{text}\n{best}", [(name, step, value) for name, value in logged]


def catboost(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"learn": ".7f", "test": ".7f", "best": ".7f"})
    text = "".join(f"\t{name}: {value}" for name, value in printed.items())
    return f"{step}:{text} (5)\ttotal: 67.9ms\tremaining: 10.1s\n", [(name, step, value) for name, value in logged]


def deepspeed(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    head = "[2026-11-22 10:00:10,935] [INFO] "
    printed, logged = random_fields(
        rng, {"RunningAvgSamplesPerSec": "", "CurrSamplesPerSec": "", "MemAllocated": ".2f"}
    )
    lr, rate = fixed(random_float(rng), "")
    text = f"{head}[logging.py:107:log_dist] [Rank 0] step={step}, skipped=0, lr=[{lr}], mom=[(0.9, 0.999)]\n"
    fields = ", ".join(f"{name}={value}" for name, value in printed.items())
    text += f"{head}[timer.py:264:stop] epoch=0/micro_step={step}/global_step={step}, {fields}GB\n"
    return text, [(name, step, value) for name, value in [*logged, ("lr", rate), ("skipped", "0.0")]]


def composer(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    """In the file of its logger, or in blocks on the console."""
    printed, logged = random_fields(rng, {"loss/train/total": ".4f", "metrics/train/Accuracy": ".4f"})
    if rng.random() < 0.5:
        text = "".join(f"[metric][batch={step}]: {name}: {value} \n" for name, value in printed.items())
    else:
        text = f"[epoch=1][batch={step + 1}/{step + 9}]:\n"
        text += "".join(f"\t Train {name}: {value}\n" for name, value in printed.items())
        text += f"[stderr]: \t Train loss/train/total: 9\nTrain other: {step}\n"
    return text, [(name, step, value) for name, value in logged]


def rsl_rl(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"Mean value loss": ".4f", "Mean reward": ".2f", "Metrics/error": ".4f"})
    text = f"{'#' * 80}\n\x1b[1m{f'Learning iteration {step}/{step + 9}':^80}\x1b[0m \n\n{'Run name:':>40} point\n"
    text += "".join(f"{f'{name}:':>40} {value}\n" for name, value in printed.items())
    text += f"{'-' * 80}\n{'Iteration time:':>40} 0.06s\n{'ETA:':>40} 0:00:14\n\n"
    return text, [(name, step, value) for name, value in [*logged, ("Iteration time", "0.06")]]


def areal(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"grpo_actor/reward/avg": ".4e", "timeperf/rollout": ".4e"})
    head = "20261122-10:00:00.123 [StatsLogger Rank 0] INFO: "
    cells = " │ ".join(f"{name:30} │ {value:>12}" for name, value in printed.items())
    text = f"{head}Epoch 1/1 Step {step}/{step + 9} Train step {step}/{step + 9} done.\n{head}Stats (1/1):\n"
    return f"{text}╒{'═' * 30}╤{'═' * 12}╕\n│ {cells} │\n╘{'═' * 30}╧{'═' * 12}╛\n", [
        (name, step, value) for name, value in logged
    ]


def open_instruct(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"loss/policy_avg": ".2f", "loss/total_avg": ".2f", "val/stop_rate": ".2f"})
    loss, total, rate = printed.values()
    rows = [f"loss       policy_avg: {loss} | total_avg: {total}", f"other      training_step: {step}"]
    rows += [f"val        stop_rate: {rate}"]
    text = f"╭{'─' * 30} Metrics {'─' * 30}╮\n" + "".join(f"│  {row:64}  │\n" for row in rows) + f"╰{'─' * 69}╯\n"
    logged.append(("other/training_step", repr(float(step))))
    return text, [(name, step, value) for name, value in logged]


def olmo(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"train/CE loss": ".3f", "optim/total grad norm": ",.2f", "optim/LR": ".1E"})
    head = rng.choice(["", "2026-11-22 10:00:10.935 trainer INFO ", "[2026-11-22 10:00:10] INFO "])
    text = f"{head}[step={step}/{step + 9},epoch=1]\n" + "".join(
        f"    {name}={text}\n" for name, text in printed.items()
    )
    return text, [(name, step, value) for name, value in logged]


def llm_c(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"trl": ".4f", "lr": ".6f", "norm": ".2f"})
    tel, validated = fixed(random_float(rng), ".4f")
    text = f"s:{step} tel:{tel}\ns:{step} " + " ".join(f"{name}:{value}" for name, value in printed.items())
    return f"{text}\n", [(name, step, value) for name, value in [*logged, ("tel", validated)]]


def stylegan(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"kimg": "<8.1f", "sec/tick": "<7.1f", "gpumem": "<6.2f"})
    fields = " ".join(f"{name} {text}" for name, text in printed.items())
    return f"tick {step:<5d} {fields} time 10m 12s\n", [(name, step, value) for name, value in logged]


def paddle(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    row = {"loss": random_float(rng), "learning_rate": random_float(rng)}
    head = "[2026-05-01 10:00:00,123] [    INFO] - "
    text = ", ".join(f"{name}: {value}" for name, value in row.items())
    return f"{head}{text}, global_step: {step}, epoch: 0.01\n", points_at(step, row | {"epoch": 0.01})


def bracketed(rng: random.Random, step: int) -> tuple[str, list[Point]]:
    printed, logged = random_fields(rng, {"loss": ".4f", "it/s": ".2f"})
    text = (
        f"[{step:06}/{step + 9}] X4K    | loss {printed['loss']} | VRAM 9.8/15.9GB (62%) | {printed['it/s']} it/s | ETA"
    )
    return f"{text} 157.9 min\n", [(name, step, value) for name, value in (*logged, ("VRAM", "9.8"))]


WRITERS: list[Writer] = [
    *(
        verl,
        numbered_dict,
        dict_with_step,
        torchtitan,
        megatron,
        torchtune,
        prime_rl,
        sb3,
        keras,
        rlinf_table,
        rlinf_bar,
    ),
    *(nemo_rl, plain, within_epochs, mmengine, mmcv, detectron2, timm, swin),
    *(xgboost, lightgbm, catboost, deepspeed, composer, rsl_rl, areal, open_instruct, olmo, llm_c, stylegan, paddle),
    bracketed,
]
