"""The option with which a trainer writes its generated texts to files, for runs that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tuimon import lazy_re as re


class Trainer(NamedTuple):
    """How a trainer is recognised, and its option."""

    name: str
    settings: tuple[str, ...]
    """Names of settings that only this trainer has."""
    metrics: re.Pattern[str]
    """Expression for the names of metrics that only this trainer has."""
    option: str


_TRAINERS = (
    Trainer(
        "ROLL",
        ("rollout_dump_dir", "rpc_timeout", "actor_infer"),
        re.compile(r"time/step_(?:generate|model_update|train)|scheduler/"),
        "rollout_dump_dir: an absolute path (relative paths write nothing)",
    ),
    Trainer(
        "verl",
        ("actor_rollout_ref",),
        re.compile(r"timing_s/|actor/pg_(?:loss|clipfrac)|critic/score/mean"),
        "trainer.rollout_data_dir=DIR trainer.validation_data_dir=DIR",
    ),
    Trainer("ms-swift", ("swift_version", "rlhf_type"), re.compile(r"(?!)"), "--log_completions true"),
    Trainer(
        "TRL",
        ("log_completions",),
        re.compile(r"(?:train/|eval/)?(?:completions/(?:mean_length|clipped_ratio)|frac_reward_zero_std)"),
        "log_completions=True (GRPO of TRL 0.28 or newer writes files)",
    ),
    Trainer(
        "NeMo-RL",
        ("loss_fn", "policy_generation"),
        re.compile(r"train/(?:global_valid_toks|sampling_importance_ratio)"),
        "logger.log_dir (texts are on by default; with NeMo-Gym: env.should_log_nemo_gym_responses)",
    ),
    Trainer("SkyRL", ("generator",), re.compile(r"(?!)"), "trainer.dump_eval_results=true"),
    Trainer(
        "slime",
        ("rollout_batch_size", "dump_details"),
        re.compile(r"rollout/(?:raw_reward|log_probs)|perf/rollout_time"),
        "none for files that tuimon reads: --dump-details writes pickles; the console has two samples a step",
    ),
    Trainer(
        "OpenRLHF", ("rollout_batch_size",), re.compile(r"train/act_loss|act_loss"), "none: only its console has texts"
    ),
    Trainer("AReaL", (), re.compile(r"ppo_actor/|grpo_actor/"), "rollout.dump_to_file=true and tokenizer_path"),
    Trainer("open-instruct", (), re.compile(r"objective/(?:verifiable|non_score)"), "--save_traces (token ids only)"),
)


def trainer_of(settings: Mapping[str, Any], metrics: Iterable[str]) -> Trainer | None:
    """Return the trainer that a run's settings and metrics are typical of, or None."""
    names = {*settings, *(key for value in settings.values() if isinstance(value, Mapping) for key in value)}
    metrics = tuple(metrics)
    scored = (
        (2 * sum(name in names for name in trainer.settings) + any(map(trainer.metrics.match, metrics)), trainer)
        for trainer in _TRAINERS
    )
    score, trainer = max(scored, key=lambda pair: pair[0])
    return trainer if score else None


def advice(settings: Mapping[str, Any], metrics: Iterable[str]) -> list[str]:
    """Return sentences about how to make a trainer write texts."""
    trainer = trainer_of(settings, metrics)
    if trainer is not None:
        lines = [f"The run looks like {trainer.name}. Its option: {trainer.option}"]
    else:
        lines = [
            "Trainers write texts if an option is set:",
            "  verl      trainer.rollout_data_dir=DIR trainer.validation_data_dir=DIR",
            "  TRL       log_completions=True",
            "  ms-swift  --log_completions true",
            "  ROLL      rollout_dump_dir: an absolute path",
        ]
    lines += [
        f"The settings name {name} = {place}: open it with --samples {place}" for name, place in _places(settings)
    ]
    return lines


_PLACES = ("rollout_data_dir", "validation_data_dir", "rollout_dump_dir", "export_path", "rollouts_save_path")


def _places(settings: Mapping[str, Any], depth: int = 0) -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _places(value, depth + 1)
        elif isinstance(value, str) and value and key.rpartition(".")[2] in _PLACES:
            yield key, value
