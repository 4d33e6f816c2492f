"""Writers of console lines: the format strings of the trainers themselves, filled with random numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

Point = tuple[str, int, str]
Writer = Callable[[random.Random, int], tuple[str, list[Point]]]
"""(chance, step) -> text that ends with a newline, and the points in it."""

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
        "step 10k: loss=0.5",
        "Step: -1 loss: 0.5",
    ),
]


def a_float(chance: random.Random) -> float:
    kind = chance.randrange(8)
    if kind == 0:
        return chance.choice([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-320, 1e22, -1e300])
    return chance.choice([-1, 1]) * 10 ** chance.uniform(-8, 6)


def fixed(value: float, form: str) -> tuple[str, str]:
    """(as it is printed, repr of what that says)"""
    text = format(max(-1e9, min(1e9, value)), form)
    return text, repr(float(text.replace(",", "")))


def python(chance: random.Random, value: float) -> str:
    """As Python, numpy 2 and torch print it."""
    wrapped = [
        "np.float64({})",
        "np.float32({})",
        "tensor({}, device='cuda:0')",
        "tensor({}, grad_fn=<NllLossBackward0>)",
    ]
    return chance.choice(["{}", "{}", "{}", *wrapped]).format(value)


def a_row(chance: random.Random) -> dict[str, float]:
    return {name: a_float(chance) for name in chance.sample(NAMES, chance.randint(1, len(NAMES)))}


def at(step: int, row: dict[str, float]) -> list[Point]:
    return [(name, step, repr(value)) for name, value in row.items()]


def verl(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    row = a_row(chance)
    form = chance.choice(["{}:{}", "{}:np.float64({})"])
    pairs = " - ".join(form.format(name, value) for name, value in row.items())
    return f"{chance.choice(PREFIXES)}step:{step} - {pairs}\n", at(step, row)


def numbered_dict(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    row = a_row(chance)
    pairs = [f"'{name}': {python(chance, value)}" for name, value in row.items()]
    pairs += chance.sample(
        ["'note': 'a, {b'", "'none': None", "'yes': True", "'list': [1, {'loss': 2}]", "'t': (1,)"], 2
    )
    chance.shuffle(pairs)
    kind = chance.choice(["step", "rollout", "✨ Global step", "Step", "critic-step"])
    return f"{chance.choice(PREFIXES)}{kind} {step}: {{{', '.join(pairs)}}}\n", at(step, row)


def dict_with_step(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    row = {"loss": a_float(chance)} | a_row(chance)
    key = chance.choice(["step", "global_step", "iteration"])
    if chance.random() < 0.3:
        text = json.dumps({key: step} | row)
    else:
        quote = chance.choice(["", "'"])
        pairs = [f"'{key}': {quote}{step}{quote}", *(f"'{name}': {quote}{value}{quote}" for name, value in row.items())]
        chance.shuffle(pairs)
        text = "{" + chance.choice([", ", ",\n "]).join(pairs) + "}"
    return f"{text}\n", at(step, row)


def torchtitan(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    forms = {"loss": "8.5f", "grad_norm": "7.4f", "tps": ",.0f", "tflops": ",.2f"}
    printed = {name: fixed(a_float(chance), form) for name, form in forms.items()}
    text = "  ".join(f"\x1b[3{chance.randrange(8)}m{name}: {text}" for name, (text, _) in printed.items())
    head = "[titan] 2026-08-21 21:30:01,123 - root - INFO - "
    memory = "  \x1b[38;2;180;60;0mmemory: 30.12GiB(38.02%)"
    told = [(name, step, value) for name, (_, value) in printed.items()]
    told += [("memory(GiB)", step, "30.12"), ("memory(%)", step, "38.02")]
    return f"{head}\x1b[31mstep: {step:2}  {text}{memory}\x1b[39m\n", told


def megatron(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    forms = {"consumed samples": "12.0f", "learning rate": ".6E", "lm loss": ".6E", "grad norm": ".3f"}
    printed = {name: fixed(a_float(chance), form) for name, form in forms.items()}
    kind = chance.randrange(3)
    fields = "".join(f" {name}: {text} |" for name, (text, _) in printed.items())
    if kind == 0:
        head, prefix = f" [2026-08-22 15:22:01.123456] iteration {step:8}/{step + 9:8} |", ""
    elif kind == 1:
        head, prefix = f" validation loss at iteration {step} on validation set |", "validation/"
    else:
        head, prefix = f" validation loss at iteration {step} on test set |", "test/"
    return f"{head}{fields}\n", [(prefix + name, step, value) for name, (_, value) in printed.items()]


def torchtune(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    row = a_row(chance)
    return f"Step {step} | {' '.join(f'{name}:{value}' for name, value in row.items())} \n", at(step, row)


def prime_rl(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    labels = {"Loss": "loss/mean", "Mismatch KL": "mismatch_kl/all/mean", "Grad. Norm": "optim/grad_norm", "Odd": "Odd"}
    printed = {label: fixed(a_float(chance), ".4f") for label in labels}
    fields = " | ".join(f"{label} {text}" for label, (text, _) in printed.items())
    told = [("time/step", step, "10.21"), *((labels[label], step, value) for label, (_, value) in printed.items())]
    return f"16:03:09 SUCCESS Step {step} | 10.21s | {fields}\n", told


def sb3(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    printed = {name: fixed(a_float(chance), "<8.3g") for name in ("approx_kl", "value_loss")}
    lines = ["| time/              |           |", f"|    total_timesteps | {step:<9} |"]
    lines += ["| train/             |           |"]
    lines += [f"|    {name:15} | {text:9} |" for name, (text, _) in printed.items()]
    told = [("time/total_timesteps", step, repr(float(step)))]
    told += [(f"train/{name}", step, value) for name, (_, value) in printed.items()]
    return "\n".join(["-" * 34, *lines, "-" * 34]) + "\n", told


def keras(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    def state(done: int, **row: str) -> str:
        values = "".join(f" - {name}: {text}" for name, text in row.items())
        return f"{done}/8 {'━' * done}{' ' * (8 - done)} 0s 4ms/step{values}"

    loss, so_far = fixed(a_float(chance), ".4e"), fixed(a_float(chance), ".4f")
    text = f"Epoch {step + 1}/{step + 9}\n{state(3, loss=so_far[0])}" + "\b" * 9 + f"\r{state(8, loss=loss[0])}"
    return text + f"\r{state(8, loss=loss[0], val_loss=so_far[0])}\n", [
        ("loss", step, loss[1]),
        ("val_loss", step, so_far[1]),
    ]


def rlinf_table(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    cells = {name: fixed(a_float(chance), form) for name, form in (("actor/lr", ".2e"), ("actor/loss", ".3f"))}
    cells |= {
        f"actor/very_long_nam{'…' if chance.random() < 0.5 else 'e'}": ("0.5", "0.5"),
        "actor/cut": ("0.123…", ""),
    }
    body = "│".join(f"{f'{name}={text}':39}" for name, (text, _) in cells.items())
    told = [("train/" + name, step, value) for name, (_, value) in cells.items() if value and "…" not in name]
    head = f"├── Metric Table ──┤\n│ Global Step: {step + 1:4}/{step + 9} │ Progress: ░ │   0.1% │\n"
    return f"{head}│ Elapsed: 00:12 │ Step Time: 12.500s │\n├── Training/Actor ──┤\n│{body}│\n╰──╯\n", told


def rlinf_bar(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    row = {f"{name}_time" if "/" not in name else name: format(value, ".3g") for name, value in a_row(chance).items()}
    inside = ", ".join(["00:10<01:30", "10.00s/it", *(f"{name}={text}" for name, text in row.items())])
    bar = f"Global Step:  10%|#         | {step + 1}/{step + 9} [{inside}]"
    told = [(name, step, repr(float(text))) for name, text in row.items()]
    if chance.random() < 0.3:  # cut at the width of the terminal
        bar, told = bar[: -chance.randint(1, 1 + len(told[-1][2]))], told[:-1]
    return f"\r{bar}\r{bar}\n", told


def nemo_rl(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    loss, reward, time = fixed(a_float(chance), ".4f"), fixed(a_float(chance), ".4f"), fixed(a_float(chance), ".2f")
    text = f"{'=' * 20} Step {step}/{step + 9} {'=' * 20}\n📊 Training Results:\n  • Loss: {loss[0]}\n"
    text += f"  • Avg Reward: {reward[0]}\n⏱️  Timing:\n  • Total step time: {time[0]}s\n"
    text += f"  • generation: {time[0]}s (40.5%)\n"
    told = [("train/loss", step, loss[1]), ("train/reward", step, reward[1])]
    return text, [*told, *((f"timing/train/{name}", step, time[1]) for name in ("total_step_time", "generation"))]


def plain(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    names = chance.sample(["loss", "train/reward", "lr", "Acc@1", "grad_norm"], chance.randint(1, 5))
    row = {name: a_float(chance) for name in names}
    count = chance.choice(
        [f"{step}", f"{step:,}", f"{step:06}", f"{step}/{step + 9}", f"{step:,}/{step + 9999:,}", f"[{step}]"]
    )
    word = chance.choice(["step", "Step", "Iteration", "global_step", "Episode", "iter", "train step"])
    join, between = chance.choice([("=", " "), ("=", ", "), (": ", " | "), (" ", " "), (" = ", "; ")])
    pairs = between.join(f"{name}{join}{value}" for name, value in row.items())
    return f"{chance.choice(PREFIXES)}{word} {count}{chance.choice([': ', ' | ', ' '])}{pairs}\n", at(step, row)


def within_epochs(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs count from 0; of 5 steps each."""
    epoch, done = divmod(step, 5)
    loss, lr = fixed(a_float(chance), ".4f"), fixed(a_float(chance), ".3e")
    head, between = chance.choice(
        [
            (f"Epoch: [{epoch}][{done:4}/5]", "\t"),
            (f"Epoch: [{epoch}]  [{done:3}/5]  eta: 0:01:02", ": "),
            (f"[Epoch {epoch}/9] [Batch {done}/5]", ": "),
            (f"epoch {epoch:03}:      {done} / 5", "="),
        ]
    )
    text = f"\tloss {loss[0]} (9.5)\tlr {lr[0]}" if between == "\t" else f" loss{between}{loss[0]} lr{between}{lr[0]}"
    return f"{head}{text}\n", [("loss", step, loss[1]), ("lr", step, lr[1]), ("epoch", step, repr(float(epoch)))]


def some_fields(chance: random.Random, names: dict[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """names: name -> its format. (name -> as it is printed, [(name, repr of what that says)])"""
    printed = {name: fixed(a_float(chance), form) for name, form in names.items()}
    return {name: text for name, (text, _) in printed.items()}, [(name, value) for name, (_, value) in printed.items()]


def an_eta(chance: random.Random) -> str:
    return chance.choice(["0:05:01", "12:34:56", "1 day, 2:03:04", "13 days, 0:00:00"])


def mmengine(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 iterations, or iterations."""
    head = chance.choice(["2026/08/21 21:30:01 - mmengine - INFO - ", "2026-08-21 21:30:01,123 - mmengine - INFO - "])
    printed, told = some_fields(chance, {"loss": ".4f", "decode.loss_ce": ".4f", "grad_norm": ".4f", "acc": ".4f"})
    times, timed = some_fields(chance, {"time": ".4f", "data_time": ".4f"})
    lr, rate = fixed(a_float(chance), ".4e")
    evaluated, results = some_fields(
        chance, {"coco/bbox_mAP": ".4f", "coco/bbox_mAP_50": ".4f", "accuracy/top1": ".4f"}
    )
    rest = f"base_lr: {lr} lr: {lr}  eta: {an_eta(chance)}  time: {times['time']}  data_time: {times['data_time']}  "
    rest += "memory: 4711  " + "  ".join(f"{name}: {text}" for name, text in printed.items())
    told += [*timed, ("base_lr", rate), ("lr", rate), ("memory", "4711.0")]
    behind = "  ".join(f"{name}: {text}" for name, text in [*evaluated.items(), *times.items()])
    behind = behind.replace("  accuracy", "  coco/bbox_mAP_copypaste: 0.363 0.562 0.393 0.201 nan 0.480  accuracy")
    validated = [*results, *((f"val/{name}", value) for name, value in timed)]
    if chance.random() < 0.5:
        epoch, done = step // 5 + 1, step % 5 + 1
        train = f"Epoch(train){f'[{epoch}]'.rjust(6)}[{done:3}/5]  {rest}"
        val = f"Epoch(val) [{epoch}][25/25]  {chance.choice(['', '  '])}{behind}"
        told.append(("epoch", repr(float(epoch))))
        at_step, reached = epoch, step + 1
    else:
        train = f"Iter(train) [{step + 1:5}/{step + 99}]  {rest}"
        val = f"Iter(val) [25/25]  {behind}"
        at_step = reached = step + 1
    far = (
        f"{val.partition(']  ')[0].replace('25/25', '10/25')}]    eta: 0:00:03  time: 0.1  data_time: 0.1  memory: 1  "
    )
    points = [(name, reached, value) for name, value in told] + [(name, at_step, value) for name, value in validated]
    return f"{head}{train}\n{head}Exp name: x_20260821_213000\n{head}{far}\n{head}{val}\n", points


def mmcv(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    head = "2026-08-21 21:30:01,123 - mmdet - INFO - "
    printed, told = some_fields(chance, {"loss": ".4f", "loss_cls": ".4f", "acc": ".4f"})
    times, timed = some_fields(chance, {"time": ".3f", "data_time": ".3f"})
    evaluated, results = some_fields(chance, {"bbox_mAP": ".4f", "loss": ".4f"})
    lr, rate = fixed(a_float(chance), ".3e")
    rest = f"lr: {lr}, eta: {an_eta(chance)}, time: {times['time']}, data_time: {times['data_time']}, memory: 4711, "
    rest += ", ".join(f"{name}: {text}" for name, text in printed.items())
    told += [*timed, ("lr", rate), ("memory", "4711.0")]
    behind = ", ".join(f"{name}: {text}" for name, text in evaluated.items())
    behind = behind.replace(", loss", ", bbox_mAP_copypaste: 0.363 0.562 0.393 0.201 -1.000 0.480, loss")
    if chance.random() < 0.5:
        epoch, done = step // 5 + 1, step % 5 + 1
        train, val = f"Epoch [{epoch}][{done}/5]\t{rest}", f"Epoch(val) [{epoch}][25]\t{behind}"
        told.append(("epoch", repr(float(epoch))))
        at_step = 5 * epoch
    else:
        train, val = f"Iter [{step + 1}/{step + 99}]\t{rest}", f"Iter(val) [25]\t{behind}"
        at_step = step + 1
    points = [(name, step + 1, value) for name, value in told]
    return f"{head}{train}\n{head}{val}\n", points + [(f"val/{name}", at_step, value) for name, value in results]


def detectron2(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    """An evaluation is printed before the row of its iteration, and behind a checkpoint of another name."""
    printed, told = some_fields(chance, {"total_loss": ".4g", "loss_cls": ".4g", "[metric]iou": ".4g", "time": ".4f"})
    evaluated, results = some_fields(chance, {"AP": ".4f", "AP50": ".4f", "APs": ".4f"})
    lr, rate = fixed(a_float(chance), ".5g")
    when = "11/20 10:00:00"
    head = chance.choice([f"\x1b[32m[{when} d2.utils.events]: \x1b[0m", f"[{when}] d2.utils.events INFO: "])
    other = head.replace("utils.events", "evaluation.testing")
    names, values = ",".join(evaluated), ",".join(evaluated.values())
    text = f"{other}copypaste: Task: bbox\n{other}copypaste: {names}\n{other}copypaste: {values}\n"
    fields = "  ".join(f"{name}: {value}" for name, value in printed.items())
    eta = chance.choice(["", f"eta: {an_eta(chance)}  "])
    text += f"{head} {eta}iter: {step}  {fields}  last_data_time: 0.0090   lr: {lr}  max_mem: 2000M\n"
    told += [("last_data_time", "0.009"), ("lr", rate), ("max_mem", "2000.0")]
    return text, [(name, step, value) for name, value in [*told, *((f"bbox/{name}", value) for name, value in results)]]


def timm(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 updates."""
    epoch, done = divmod(step, 5)
    loss, mean = (fixed(a_float(chance), chance.choice(["#.4g", ">9.6f"])) for _ in range(2))
    time, rate, data = fixed(a_float(chance), ".3f"), fixed(a_float(chance), ">7.2f"), fixed(a_float(chance), ".3f")
    lr, top1 = fixed(a_float(chance), ".3e"), fixed(a_float(chance), ">7.4f")
    text = f"Train: {epoch} [{done:>4d}/5 ({20.0 * done:>3.0f}%)]  Loss: {loss[0]} ({mean[0]})  "
    text += f"Time: {time[0]}s, {rate[0]}/s  ({time[0]}s, {rate[0]}/s)  LR: {lr[0]}  Data: {data[0]} ({time[0]})\n"
    stage = chance.choice(["Test", "Test (EMA)"])
    for batch in (0, 8):
        text += (
            f"{stage}: [{batch:>4d}/8]  Time: 0.150 ({time[0]})  Loss: {loss[0]} ({mean[0]})  Acc@1: 7.1 ({top1[0]})\n"
        )
    told = [("Loss", loss[1]), ("Time", time[1]), ("rate", rate[1]), ("LR", lr[1]), ("Data", data[1])]
    told += [("epoch", repr(float(epoch)))]
    result = [("Time", time[1]), ("Loss", mean[1]), ("Acc@1", top1[1])]
    told += [(f"{stage.lower().replace('ema', 'EMA')}/{name}", value) for name, value in result]
    return text, [(name, step, value) for name, value in told]


def swin(chance: random.Random, step: int) -> tuple[str, list[Point]]:
    """Epochs of 5 iterations."""
    epoch, done = divmod(step, 5)
    printed, told = some_fields(chance, {"time": ".4f", "loss": ".4f", "grad_norm": ".4f", "loss_scale": ".4f"})
    top, results = some_fields(chance, {"Acc@1": ".3f", "Acc@5": ".3f"})
    head = chance.choice(
        [
            "[2026-08-21 21:30:01 swin_tiny] (main.py 205): INFO ",
            "\x1b[32m[2026-08-21 21:30:01 swin_tiny]\x1b[0m\x1b[33m(main.py 205)\x1b[0m: INFO ",
        ]
    )
    means = "\t".join(f"{name} {value} (0.1234)" for name, value in printed.items())
    text = f"{head}Train: [{epoch}/{epoch + 9}][{done}/5]\teta {an_eta(chance)} lr 0.000125\t wd 0.0500"
    text += f"\t{means}\tmem 6000MB\n"
    text += f"{head}Test: [8/9]\tTime 0.150 (0.210)\tLoss 0.9870 (1.1230)\tAcc@1 75.000 (74.512)\tMem 600MB\n"
    text += f"{head} * Acc@1 {top['Acc@1']} Acc@5 {top['Acc@5']}\n{head}Max accuracy: 74.51%\n"
    told += [("lr", "0.000125"), ("wd", "0.05"), ("mem", "6000.0"), ("epoch", repr(float(epoch)))]
    return text, [(name, step, value) for name, value in [*told, *((f"test/{name}", value) for name, value in results)]]


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
]
