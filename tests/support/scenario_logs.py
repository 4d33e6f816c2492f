"""Logs of the scenarios in tests/tui/scenarios: each function writes some below a directory, from words of `log`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from support import rank_jobs, written_media, written_texts
from support.dashboard import rows
from support.programs import write, write_rows

START = 1_795_000_000.0


def reward(step: int) -> float:
    return math.sin(step / 30) + step / 400


def nothing(root: Path) -> None:
    """Only the files of the scenario itself."""


def one_run(root: Path) -> None:
    """run_a with 20 steps of reward, loss and kl."""
    (root / "run_a").mkdir()
    (root / "run_a" / "metrics.jsonl").write_text(rows(*range(20)))


def waves(root: Path) -> None:
    """A run of 400 steps; its KL is logged at every tenth."""
    kl = ({"kl": 0.001 * step} if step % 10 == 0 else {} for step in range(400))
    write_rows(
        root / "run",
        ({"step": s, "reward": reward(s), "loss": 1 / (s + 1) - 0.3, **more} for s, more in enumerate(kl)),
    )


def three_runs(root: Path) -> None:
    """Runs whose reward at step s is s times their learning rate."""
    for number, (name, steps) in enumerate({"a_lr1": 30, "b_lr2": 20, "c_lr3": 40}.items(), 1):
        write(root, name, steps, number / 1000)


def sweep(root: Path, runs: str, own: str = "seed") -> None:
    """Runs that differ in the setting `own`; the first has 400 steps. Each has 33 metrics and two texts."""
    for number in range(int(runs)):
        run = root / f"seed{number:02}"
        steps = range(400 if number == 0 else 20 + number)
        others = {f"{'ab'[number % 2]}/m{number:02}": number + 0.5 for number in range(30)}
        values = ({"reward": reward(s), "loss": 1 / (s + 1), "kl": 0.001 * s, **others} for s in steps)
        settings = {"lr": 1e-5, own: number, "algorithm": {"clip": 0.2, "k": 3}}
        write_rows(run, ({"step": s, "timestamp": START + 10 * s, **row} for s, row in enumerate(values)), settings)
        (run / "train.log").write_text("".join(map(line, steps)))
        (run / "worker.log").write_text("another text\n")


def alerting(root: Path) -> None:
    """The first two runs of `sweep`; the loss of the second is NaN at step 30."""
    sweep(root, "2")
    with (root / "seed01" / "metrics.jsonl").open("a") as file:
        for step in range(21, 32):
            values = (
                f'"reward": {reward(step)}, "kl": {0.001 * step}, "loss": {"NaN" if step == 30 else 1 / (step + 1)}'
            )
            file.write(f'{{"step": {step}, "timestamp": {START + 10 * step}, {values}}}\n')


def line(step: int) -> str:
    """Return the line of a step in the text of `sweep`."""
    if step in (100, 200):
        return f"ERROR worker {step}\n"
    if step in (120, 160):
        return f"WARNING: {'disk' if step == 120 else 'network'} is slow\n"
    return f"step: {step} - reward: {reward(step):.6f}{' ' * 200}end{step}\n"


def groups(root: Path) -> None:
    """Three runs in two directories, with two learning rates."""
    for number, folder in enumerate(("math", "math", "code"), 1):
        write(root / folder, f"run{number}", 20 + number, 0.001 * (number % 2 + 1))


def seeds(root: Path) -> None:
    for seed in range(3):
        write(root, f"ppo_seed{seed}", 10, 0.1 * (seed + 1), seed=seed, optim={})


def validated(root: Path) -> None:
    """Three runs with a validation loss, which one of them spells in another way."""
    for name, value in (("a_lr1", 0.3), ("b_lr2", 0.1), ("c_lr3", 0.2)):
        write(root, name, 20, 0.001)
        with (root / name / "metrics.jsonl").open("a") as file:
            file.write(f'{{"step": 20, "{"val_loss" if value > 0.15 else "eval/loss"}": {value}}}\n')


def many_runs(root: Path) -> None:
    for number in range(300):
        write_rows(root / f"run{number:03}", ({"step": s, "reward": number + s / 2 - 0.5} for s in (1, 2)))


def metrics(root: Path, *named: str, steps: int = 20) -> None:
    """A run with metrics that are the step (`name`), that many steps (`name=8s`), or constant (`name=0.5`)."""

    def value(name: str, step: int) -> float:
        factor = name.partition("=")[2] or "1s"
        return float(factor.rstrip("s")) * (step if factor.endswith("s") else 1)

    write_rows(root, ({"step": s, **{name.partition("=")[0]: value(name, s) for name in named}} for s in range(steps)))


def late_steps(root: Path, last: str, count: str = "49") -> None:
    """A run of this many steps up to `last`."""
    write_rows(root, ({"step": int(last) - i, "loss": 1 / (i + 1), "reward": i} for i in reversed(range(int(count)))))


def timed(root: Path) -> None:
    write_rows(root, ({"step": s, "loss": 1 / (s + 1), "epoch": s / 4, "timestamp": 1.8e9 + 60 * s} for s in range(20)))


def sections(root: Path, *sizes: str) -> None:
    """A run with sections a, b, … of these sizes."""
    names = [f"{'abcd'[place]}/m{i}" for place, size in enumerate(sizes) for i in range(int(size))]
    metrics(root, *(f"{name}=1" for name in names), steps=3)


def texts(root: Path, *steps: str) -> None:
    written_texts.write_run(root / "run", [int(step) for step in steps])  # type: ignore[arg-type]


def only_texts(root: Path) -> None:
    written_texts.write_step(root, 1)


def prompts(root: Path) -> None:
    """A run whose steps have other prompts, in another order."""
    written_texts.write_run(root, range(1, 2))
    for step, chosen in ((2, [3, 2, 1, 0]), (3, [9]), (4, [1, 0])):
        samples = [written_texts.row(prompt, attempt, step) for prompt in chosen for attempt in range(4)]
        lines = (json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
        (root / "rollouts" / f"{step}.jsonl").write_text("".join(lines), "utf-8")


def validation(root: Path) -> None:
    """Texts of training, with a mean reward of 3/4, and of validation, with 0."""
    for folder, scores in (("rollout", (1, 0, 1, 1)), ("validation", (0, 0))):
        (root / folder).mkdir(parents=True)
        for step in (1, 2):
            samples = ({"input": "2+2?", "output": f"{i}", "score": s, "step": step} for i, s in enumerate(scores))
            (root / folder / f"{step}.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    write_rows(root, [{"step": 2, "critic/score/mean": 0.75, "val-core/score/mean@1": 0.0}])


def console(root: Path) -> None:
    """A run whose log is like verl's: metrics, two errors, warnings, long lines and control sequences."""
    lines = ["starting \x1b[2J\x1b[31mred\x1b[0m"]
    for step in range(1, 301):
        lines.append(f"step:{step} - actor/loss:{1 / step:.6f} - critic/rewards/mean:{step / 300:.6f}")
        lines += [f"ERROR worker {step} lost its heart beat"] * (step in (100, 200))
        lines += ["WARNING: the disk is nearly full"] * (step == 150)
        lines += [f"train.py:{step}: UserWarning: scheduler called {step} times"] * (step % 100 == 50)
        lines += [f"validated Wörk {step} {'=' * 200}>end{step}"] * (step % 10 == 0)
    (root / "logs").mkdir(parents=True)
    (root / "train.log").write_text("\n".join(lines) + "\n")
    (root / "logs" / "worker.err").write_text("Traceback (most recent call last):\nValueError: gone\n")
    config = {"algorithm": {"kl_coef": 0.001, "adv": "grpo"}, "trainer": {"lr": 1e-6}, "api_key": "sk-" + "a" * 40}
    (root / "config.json").write_text(json.dumps(config))


def everything(root: Path) -> None:
    """Runs with settings, console text, generated texts and media."""
    for name, rate in (("fast", 1e-3), ("slow", 1e-5)):
        write(root, name, 30, rate, algorithm={"clip": rate})
        (root / name / "train.log").write_text("".join(f"line {line}\n" for line in range(99)))
        written_texts.write_step(root / name, 29)
    written_media.write_run(root / "fast")


def slurm_job(root: Path) -> None:
    rank_jobs.slurm_job(root)


def diverged(root: Path) -> None:
    """The run of `console` without its crash; its loss is NaN from step 200 on."""
    console(root)
    (root / "logs" / "worker.err").unlink()
    before, mark, after = (root / "train.log").read_text().partition("step:200 ")
    (root / "train.log").write_text(before + mark + re.sub(r"loss:\S+", "loss:nan", after))


def failed_job(root: Path) -> None:
    rank_jobs.torchrun_job(root)
    rank_jobs.torchrun_error(root, 10, 60, "ValueError: sequence 71 has no tokens")
    log = min(root.rglob("stderr.log"))
    log.write_text("[2026-03-05 10:00:00,000][node01][rank0] INFO saved checkpoint step_20 in 3 s\n" + log.read_text())


def restarted_job(root: Path) -> None:
    """A job that went on after a failure."""
    rank_jobs.torchrun_job(root, 25)
    rank_jobs.torchrun_error(root, 13, 50, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
    rank_jobs.torchrun_job(root, 36, begin=21, at=100, attempt=1)
    rank_jobs.write(root / "node01.log", "training finished\n")
    rank_jobs.write_long_ago(root)


def media(root: Path) -> None:
    written_media.write_run(root)


def many_nodes(root: Path) -> None:
    """A job of 160 ranks on 20 nodes, of which rank 77 is slow."""
    for rank in range(160):
        steps = ({"step": s, "rank": rank, "loss": 2, "compute_time": 0.3 + s % 3 / 1e3} for s in range(60))
        rows = (row | {"compute_time": 0.6} if rank == 77 else row for row in steps)
        head = (
            f"> initializing torch distributed on rank {rank} of 160 (node{rank // 8:02}, local rank {rank % 8}) ...\n"
        )
        rank_jobs.write(root / f"logs/out_{rank}.log", head)
        rank_jobs.write(root / f"rank_{rank:03}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
