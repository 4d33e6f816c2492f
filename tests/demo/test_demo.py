"""The demo's training run: it learns, its mathematics is right, its logs are what others read in them."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuimon.demo import checkpoint, launch, task, train
from tuimon.demo.devices import CARD_GIB, DEVICES, MODELLED
from tuimon.demo.event_file import EventFile, masked_crc32c
from tuimon.demo.learner import Batch, Learner, Settings, advantages, learning_rate, policy_loss
from tuimon.demo.pipeline import EXPLOSION, Pipeline
from tuimon.demo.policy import Params, backward, entropy, forward, generate, initial, kl_divergence, unroll

STEPS = 20
SMALL = Settings(
    max_steps=4, batch_size=4, num_generations=4, train_prompts=64, val_prompts=8, hidden_size=16, pretrain_steps=2
)


def rows(run: Path) -> list[dict[str, Any]]:
    whole, _, _ = (run / "metrics.jsonl").read_text("utf-8").rpartition("\n")  # the last row may be half written
    return [json.loads(line) for line in whole.splitlines()]


def training_log(run: Path) -> dict[str, Any]:
    log: dict[str, Any] = json.loads((run / "training_log.json").read_text("utf-8"))
    return log


def column(run: Path, name: str) -> list[float]:
    return [row[name] for row in rows(run) if name in row]


def accumulated(run: Path) -> Any:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that went through in one go."""
    training = launch.start(tmp_path_factory.mktemp("straight"), STEPS, 0)
    assert training.wait(60) == 0, training.errors()
    training.stop()
    return training.run


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the same run, ended by SIGTERM after its first checkpoint.

    It is started where another `demo` lies, which is none of its business.
    """
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "demo").mkdir()
    (elsewhere / "demo" / "__init__.py").write_text("raise RuntimeError")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(elsewhere)
        training = launch.start(tmp_path_factory.mktemp("stopped"), STEPS, 0.2)
    until(lambda: (training.run / "metrics.jsonl").exists() and len(rows(training.run)) >= 12)
    assert training.poll() is None
    assert training.stop() == 0, training.errors()
    return training.run


def test_the_reward_rises_and_the_policy_leaves_the_reference(straight: Path) -> None:
    score = np.array(column(straight, "critic/score/mean"))
    fifth = STEPS // 5
    first, last = score[:fifth], score[-fifth:]
    error = math.sqrt((first.var(ddof=1) + last.var(ddof=1)) / fifth)
    assert last.mean() - first.mean() > 5 * error
    kl, entropies = column(straight, "critic/kl"), column(straight, "critic/entropy/mean")
    assert kl[0] == pytest.approx(0, abs=1e-6)  # it begins as the reference
    assert min(kl[1:]) > 0
    assert kl[-1] > kl[0]
    assert entropies[-1] < entropies[0]


def test_kl_and_entropy_equal_a_recomputation_from_the_weights(straight: Path) -> None:
    """In double precision, from the checkpoint's weights to the metric of the step after it."""
    done, pipeline, _ = checkpoint.load(straight)
    metrics = pipeline.step(done + 1)
    _, again, _ = checkpoint.load(straight)  # the same random numbers once more
    contexts = np.concatenate([shard.written.contexts for shard in again.rollout(done + 1, {})])
    rows_seen = np.arange(contexts.shape[1]) * 12 + contexts

    def log_probs(weights: dict[str, Any]) -> Any:
        flat = {name: array.astype(np.float64) for name, array in weights.items()}
        hidden = np.maximum(flat["b0"] + flat["w0"][rows_seen].sum(1), 0)
        logits = flat["b2"] + np.maximum(flat["b1"] + hidden @ flat["w1"], 0) @ flat["w2"]
        return logits - np.log(np.exp(logits).sum(1, keepdims=True))

    policy, reference = log_probs(again.learner.weights), log_probs(again.reference)
    kl = (np.exp(policy) * (policy - reference)).sum(1)
    assert metrics["critic/kl"] == pytest.approx(kl.mean(), rel=1e-4)
    assert metrics["critic/entropy/mean"] == pytest.approx(-(np.exp(policy) * policy).sum(1).mean(), rel=1e-4)
    assert kl.min() >= 0


def test_kl_of_any_two_distributions_is_not_negative() -> None:
    rng = np.random.default_rng(1)
    p, q = (np.log(rng.dirichlet(np.ones(11), 200)) for _ in range(2))
    assert kl_divergence(p, q).min() > 0
    assert kl_divergence(p, p).tolist() == [0.0] * 200
    assert entropy(np.full((1, 11), -math.log(11)))[0] == pytest.approx(math.log(11))


def test_the_gradient_is_that_of_the_loss() -> None:
    """Against central differences in double precision, with tokens clipped on either side and some not."""
    rng = np.random.default_rng(2)
    params: Params = {name: array.astype(np.float64) for name, array in initial(rng, 8).items()}
    prompts = task.draw_prompts(rng, 12)
    written = unroll(prompts, generate(params, prompts, rng))
    size = len(written.tokens)
    log_probs = forward(params, written.contexts).log_probs
    old = log_probs[np.arange(size), written.tokens] + rng.normal(0, 0.4, size)
    reference = np.log(rng.dirichlet(np.ones(11), size))
    batch = Batch(written.tokens, old, reference, rng.standard_normal(size))
    settings = Settings(kl_coef=0.3, entropy_coef=0.2)

    seen = forward(params, written.contexts)
    loss = policy_loss(seen.log_probs, batch, settings)
    assert 0 < loss.sums["actor/ppo_ratio_low_clipfrac"] < size
    assert 0 < loss.sums["actor/ppo_ratio_high_clipfrac"] < size
    gradient = backward(params, seen, loss.d_logits)

    def total() -> float:
        return policy_loss(forward(params, written.contexts).log_probs, batch, settings).sums["actor/total_loss"]

    for name, array in params.items():
        for position in rng.integers(array.size, size=6):
            index = np.unravel_index(position, array.shape)
            kept, step = array[index], 1e-6
            array[index] = kept + step
            above = total()
            array[index] = kept - step
            below = total()
            array[index] = kept
            assert gradient[name][index] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)


def test_advantages_are_relative_to_the_group() -> None:
    result = advantages(np.array([0.0, 1.0, 0.5, 0.5]), 2)
    assert result.tolist() == pytest.approx([-0.5 / 0.5001, 0.5 / 0.5001, 0, 0])


def test_the_learning_rate_warms_up_and_decays() -> None:
    settings = Settings(max_steps=100)
    rates = [learning_rate(step, settings) for step in range(1, 101)]
    assert max(rates) == rates[4] == settings.learning_rate
    assert all(a < b for a, b in pairwise(rates[:5]))
    assert all(a > b for a, b in pairwise(rates[4:]))
    assert rates[-1] == pytest.approx(settings.learning_rate / 10)


def test_the_gradient_is_clipped_by_its_norm() -> None:
    learner = Learner.of({"w": np.zeros(2)})
    assert learner.update({"w": np.array([3.0, 4.0])}, 0.5, 1.0) == 5.0
    assert learner.first["w"] == pytest.approx([0.06, 0.08])
    assert learner.weights["w"] == pytest.approx([-0.5, -0.5])  # Adam's first step is the rate, whatever the gradient


def test_the_rule_that_gives_the_reward() -> None:
    prompt = [3, 1, 2, task.BLANK]
    assert task.answer(prompt) == [1, 2, 3, task.END]
    assert task.score(prompt, [1, 2, 3, task.END, task.BLANK]) == 1
    assert task.score(prompt, [1, 2, 3, 3, task.END]) == 3 / 5
    assert task.score(prompt, [3, 2, 1, task.END]) == 2 / 4
    assert task.score(prompt, [task.END]) == 0
    sets = task.prompt_sets(0, 100, 50)
    assert len(np.unique(np.concatenate(sets), axis=0)) == 150  # nothing held out is trained on


def test_responses_end_and_unroll_to_what_was_seen() -> None:
    rng = np.random.default_rng(3)
    prompts = task.draw_prompts(rng, 50)
    responses = generate(initial(rng, 8), prompts, rng)
    written = unroll(prompts, responses)
    assert len(written.tokens) == (responses != task.BLANK).sum()
    for context, token, sequence in zip(*written, strict=True):
        before = [int(symbol) for symbol in context[task.PROMPT_SLOTS :] if symbol != task.BLANK]
        assert context[: task.PROMPT_SLOTS].tolist() == prompts[sequence].tolist()
        assert responses[sequence][: len(before) + 1].tolist() == [*before, token]
        assert task.END not in before


def test_event_accumulator_reads_what_was_logged(straight: Path) -> None:
    events = accumulated(straight)
    logged = rows(straight)
    assert [row["step"] for row in logged] == list(range(1, STEPS + 1))
    scalars = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}
    points = {(tag, point.step): point for tag, series in scalars.items() for point in series}
    assert len(points) == sum(len(series) for series in scalars.values())
    compared = 0
    for row in logged:
        for name in row.keys() - {"step", "timestamp"}:
            point = points[name, row["step"]]
            assert point.value == np.float32(row[name])
            assert point.wall_time == row["timestamp"]
            compared += 1
    assert compared == sum(not tag.startswith("memory/") for tag, _ in points)
    assert events.Tensors("notes/text_summary")[0].tensor_proto.string_val == [MODELLED.encode()]


def test_the_names_are_those_of_the_trainer(straight: Path) -> None:
    names = set(accumulated(straight).Tags()["scalars"])
    spreads = ("critic/score", "critic/rewards", "critic/advantages", "tokens/response_length", "val/score")
    wanted = {f"{name}/{kind}" for name in spreads for kind in ("mean", "max", "min")}
    wanted |= {f"actor/{name}" for name in ("lr", "pg_loss", "total_loss", "kl_loss", "approxkl", "ppo_ratio_clipfrac")}
    wanted |= {"actor_train/grad_norm", "critic/entropy/mean", "system/tps", "system/samples", "time/step_total"}
    wanted |= {"time/rollout", "time/ref_log_probs_values_reward", "time/old_log_probs_values", "time/adv"}
    calls = ("actor_infer/generate", "reference/compute_log_probs", "actor_train/compute_log_probs")
    for infix in (*calls, "actor_train/train_step", "actor_train/model_update", "actor_train/do_checkpoint"):
        wanted |= {f"time/{infix}/{part}" for part in ("total", "onload", "execute", "offload")}
        wanted |= {f"memory/cpu/{infix}/{at}/{kind}" for at in ("start", "end") for kind in ("rss", "vms")}
        for device in range(DEVICES):
            for at in ("start/offload", "start/onload", "end/onload", "end/offload"):
                kinds = ("allocated", "reserved", "max_allocated", "max_reserved")
                wanted |= {f"memory/{infix}/{at}/{kind}/{device}" for kind in kinds}
            wanted |= {f"memory/{infix}/end/onload/max_{kind}_frac/{device}" for kind in ("allocated", "reserved")}
    assert wanted <= names
    assert {name for name in names - wanted if name.startswith("memory/")} == set()


def test_texts_are_those_of_the_step(straight: Path) -> None:
    rewards = {row["step"]: row["critic/score/mean"] for row in rows(straight)}
    steps = sorted(int(path.stem) for path in (straight / "rollouts").iterdir())
    assert steps == [entry["step"] for entry in training_log(straight)["val_history"]]
    for step in steps:
        texts = [json.loads(line) for line in (straight / "rollouts" / f"{step}.jsonl").read_text("utf-8").splitlines()]
        assert {text["step"] for text in texts} == {step}
        assert np.mean([text["score"] for text in texts]) == pytest.approx(rewards[step])
        assert all(text["output"] == text["gts"] for text in texts if text["score"] == 1)


def test_phases_fit_into_the_step(straight: Path) -> None:
    for row in rows(straight):
        calls = [name.removesuffix("/total") for name in row if name.startswith("time/") and name.endswith("/total")]
        assert sum(row[f"{name}/total"] for name in calls) + row["time/adv"] <= row["time/step_total"]
        driver = ("rollout", "ref_log_probs_values_reward", "old_log_probs_values", "adv")
        assert sum(row[f"time/{name}"] for name in driver) <= row["time/step_total"]
        for name in calls:
            parts = [row.get(f"{name}/{part}", 0.0) for part in ("onload", "execute", "offload")]
            assert sum(parts) <= row[f"{name}/total"]
        tokens = 512 * (row["tokens/prompt_length/mean"] + row["tokens/response_length/mean"])
        assert row["system/tps"] == pytest.approx(tokens / row["time/step_total"])


def test_modelled_devices_follow_the_tensors(straight: Path) -> None:
    events = accumulated(straight)

    def last(tag: str) -> float:
        value: float = events.Scalars(tag)[-1].value
        return value

    for infix in ("actor_infer/generate", "actor_train/compute_log_probs", "actor_train/train_step"):
        for device in range(DEVICES):
            prefix = f"memory/{infix}"
            assert last(f"{prefix}/start/offload/allocated/{device}") == 0
            assert last(f"{prefix}/end/offload/allocated/{device}") == 0
            loaded = last(f"{prefix}/start/onload/allocated/{device}")
            peak = last(f"{prefix}/end/onload/max_allocated/{device}")
            assert 0 < loaded < peak < last(f"{prefix}/end/onload/max_reserved/{device}") + 1e-6
            fraction = last(f"{prefix}/end/onload/max_allocated_frac/{device}")
            assert fraction == pytest.approx(peak / CARD_GIB)
            assert last(f"{prefix}/end/onload/max_reserved_frac/{device}") <= 1
    peaks = {last(f"memory/actor_train/train_step/end/onload/max_allocated/{device}") for device in range(DEVICES)}
    assert len(peaks) > 1  # each holds its own share of the batch
    assert last("memory/cpu/actor_train/train_step/end/rss") > 0


def test_training_log_has_the_layout_of_the_seed(straight: Path) -> None:
    log = training_log(straight)
    assert list(log) == ["config", "train_history", "val_history", "best_checkpoint"]
    assert log["config"]["max_steps"] == STEPS
    assert "device memory is modelled: no gpu is used" in log["config"]["notes"].lower()
    assert [entry["step"] for entry in log["train_history"]] == list(range(1, STEPS + 1))
    assert [entry["reward"] for entry in log["train_history"]] == column(straight, "critic/score/mean")
    assert set(log["train_history"][0]) == {"step", "epoch", "samples", "loss", "reward", "kl", "lr"}
    assert [entry["step"] for entry in log["val_history"]] == [10, 20]
    assert [entry["val_reward"] for entry in log["val_history"]] == column(straight, "val/score/mean")
    best = max(log["val_history"], key=lambda entry: entry["val_reward"])
    assert (
        log["best_checkpoint"].items() >= {key: best[key] for key in ("step", "epoch", "samples", "val_reward")}.items()
    )
    assert Path(log["best_checkpoint"]["path"], "state.npz").is_file()


def test_the_console_says_how_it_went(straight: Path) -> None:
    lines = (straight / "log" / "train.log").read_text("utf-8").splitlines()
    assert all(line.startswith("[20") and "] [INFO] [DRIVER 0 / 1][PID " in line for line in lines)
    messages = [line.split("][PID ", 1)[1].split("] ", 1)[1] for line in lines]
    assert messages[0] == MODELLED
    assert messages[-2:] == [f"pipeline step {STEPS} finished", "pipeline complete!"]
    step = messages.index("pipeline step 7 start...")
    assert json.loads(messages[step + 1])["critic/score/mean"] == column(straight, "critic/score/mean")[6]
    assert messages[step + 2] == "pipeline step 7 finished"


def test_sigterm_leaves_everything_readable(stopped: Path) -> None:
    steps = [row["step"] for row in rows(stopped)]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) < STEPS
    assert [entry["step"] for entry in training_log(stopped)["train_history"]] == steps
    assert [point.step for point in accumulated(stopped).Scalars("actor/lr")] == steps
    last = (stopped / "log" / "train.log").read_text("utf-8").splitlines()[-1]
    assert last.endswith(f"pipeline stopped by SIGTERM after step {steps[-1]} of {STEPS}")
    assert not list(stopped.rglob("*.part"))


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(stopped: Path, straight: Path, tmp_path: Path) -> None:
    run = tmp_path / stopped.name
    shutil.copytree(stopped, run)
    before = len(rows(run))
    done = checkpoint.steps(run)[-1]
    assert done < before  # some steps are done twice
    training = launch.start(tmp_path, None, 0, resume=True)
    assert training.wait(60) == 0, training.errors()
    training.stop()

    assert len(list((run / "tensorboard").iterdir())) == 2
    again = rows(run)[before:]
    assert [row["step"] for row in again] == list(range(done + 1, STEPS + 1))
    for name in ("critic/score/mean", "critic/kl", "actor/total_loss", "actor/lr", "actor_train/grad_norm"):
        assert [row[name] for row in again] == pytest.approx(column(straight, name)[done:], rel=1e-6)
    points = accumulated(run).Scalars("critic/score/mean")  # the restart is marked: it purges what is done again
    assert [point.step for point in points] == list(range(1, STEPS + 1))
    assert [entry["step"] for entry in training_log(run)["train_history"]] == list(range(1, STEPS + 1))
    assert training_log(run)["config"]["resumed_from"] == done
    assert training_log(run)["best_checkpoint"]["val_reward"] == max(column(straight, "val/score/mean"))


def test_an_exploding_learning_rate_ends_in_real_nan() -> None:
    with np.errstate(all="ignore"):
        pipeline = Pipeline(SMALL, inject_at=2)
        before, at, after = (pipeline.step(step) for step in (1, 2, 3))
    assert math.isfinite(before["actor_train/grad_norm"])
    assert at["actor/lr"] == learning_rate(2, SMALL) * EXPLOSION
    assert math.isfinite(at["critic/score/mean"])  # sampled before the update that breaks it
    assert math.isnan(at["actor_train/grad_norm"])
    assert math.isnan(after["actor/total_loss"])
    assert math.isnan(after["critic/kl"])
    assert after["tokens/response_length/mean"] == task.RESPONSE_SLOTS  # it can no longer stop
    assert not checkpoint.is_sound(pipeline)


def test_a_checkpoint_brings_everything_back_and_old_ones_go(tmp_path: Path) -> None:
    pipeline = Pipeline(SMALL)
    for step in range(1, 5):
        pipeline.step(step)
        best = checkpoint.Best(**pipeline.progress(1), val_reward=0.5, path=str(checkpoint.directory(tmp_path, 1)))
        checkpoint.save(tmp_path, step, pipeline, best)
    assert checkpoint.steps(tmp_path) == [1, 3, 4]  # the best and the newest two
    step, copy, found = checkpoint.load(tmp_path, max_steps=9)
    assert (step, found, copy.settings.max_steps) == (4, best, 9)
    for a, b in zip(pipeline.learner.states, copy.learner.states, strict=True):
        assert all((a[name] == b[name]).all() for name in a)
    assert pipeline.rng.random() == copy.rng.random()


def test_the_check_sum_is_crc_32c() -> None:
    crc = 0xE3069283  # of "123456789", the check value of the catalogue of CRC algorithms
    assert masked_crc32c(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def test_event_file_keeps_values_that_are_not_ordinary(tmp_path: Path) -> None:
    values = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "too big": 1e300, "ü/日": -0.0, "": 1e-45}
    file = EventFile(tmp_path / "tensorboard")
    file.scalars(values, 2**40, 1.5)
    file.close()
    events = accumulated(tmp_path)
    read = {tag: events.Scalars(tag)[0] for tag in events.Tags()["scalars"]}
    assert {point.step for point in read.values()} == {2**40}
    assert math.isnan(read.pop("nan").value)
    with np.errstate(over="ignore"):
        assert {tag: point.value for tag, point in read.items()} == {t: np.float32(values[t]) for t in read}
    assert set(read) == set(values) - {"nan"}


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    other = str(os.getppid())  # not the parent of the process below
    command = [sys.executable, "-m", "tuimon.demo.train", "--output", str(tmp_path), "--pace", "30", "--parent", other]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.splitlines()[-1].endswith("pipeline stopped by the end of its parent after step 1 of 400")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "holds a run already: --resume goes on with it"),
        (["--resume"], "no checkpoint to resume from"),
        (["--inject", "inf@3"], "'inf@3' is not nan@STEP"),
    ],
)
def test_it_says_why_it_cannot_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / train.RUN_NAME).mkdir()
    with pytest.raises(SystemExit) as stop:
        train.main(["--output", str(tmp_path), *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
