"""Panels that draw the metrics of vocabulary concepts as curves.

A new one is a line of PANELS: id, title, order, concepts (the first gives the headline); see CurvePanel.
"""

from tuimon.panels._charts.curve_panel import CurvePanel

REWARD = CurvePanel("reward", "reward", 10, ("reward.train", "reward.val", "reward.val_bare"))
"""Reward of training and of validation."""
LOSS = CurvePanel("loss", "loss", 20, ("loss.total", "loss.val", "loss.sft", "loss.policy", "loss.part"))
"""Losses of training and of validation."""
SUCCESS = CurvePanel(
    "success",
    "success",
    65,
    ("success.train", "success.val", "success.accuracy", "success.pref", "success.token_accuracy"),
    named=True,
)
"""Success, pass rate, accuracy: fractions of correct results."""

PANELS = (
    REWARD,
    LOSS,
    # Losses of two models that are trained against each other.
    CurvePanel("adversarial_loss", "adversarial loss", 21, ("loss.adversarial",)),
    # KL divergence from the reference model, and of one update.
    CurvePanel("kl", "KL", 30, ("kl.ref", "kl.old")),
    # Entropy of the policy.
    CurvePanel("entropy", "entropy", 60, ("entropy",)),
    SUCCESS,
    # Norm of the gradient.
    CurvePanel("grad_norm", "grad norm", 70, ("grad_norm",)),
    # Length of responses or of episodes.
    CurvePanel("length", "length", 75, ("length.response",)),
    # Fraction of the updates that were clipped.
    CurvePanel("clip", "clip fraction", 80, ("clip_frac",)),
    # Learning rate; on a log scale if most of it spans two decades.
    CurvePanel("lr", "learning rate", 85, ("lr",), scale="auto"),
    # Tokens per second, and other measures of throughput.
    CurvePanel("throughput", "throughput", 90, ("throughput.tokens",)),
    CurvePanel("throughput_per_gpu", "throughput per GPU", 91, ("throughput.tokens_per_gpu",)),
    CurvePanel("samples_per_second", "samples per second", 92, ("throughput.samples",)),
    CurvePanel("steps_per_second", "steps per second", 92, ("throughput.steps",)),
    CurvePanel("mfu", "MFU", 93, ("throughput.mfu",), named=True),
    CurvePanel("wait_share", "wait share", 132, ("time.wait_ratio",)),
    CurvePanel("time_per_token", "time per token", 134, ("time.per_token",)),
    CurvePanel("gpu_utilisation", "GPU utilisation", 136, ("gpu.util",)),
    # Seconds per step.
    CurvePanel("step_time", "step time", 95, ("time.step",)),
    # Returns: the critic's estimates and the actual values.
    CurvePanel("value", "value", 100, ("value.estimate", "return"), named=True),
    # Spread of the rewards within a batch.
    CurvePanel("reward_margin", "preference margin", 62, ("reward.margin",)),
    CurvePanel("reward_std", "reward std", 110, ("reward.std",)),
    CurvePanel("zero_variance", "groups without variance", 112, ("reward.zero_std_frac",)),
    # Details of the generated responses.
    CurvePanel("truncation", "truncated responses", 76, ("truncation",)),
    CurvePanel("prompt_length", "prompt length", 124, ("length.prompt",)),
    CurvePanel("prompt_truncation", "truncated prompts", 125, ("truncation.prompt",)),
    CurvePanel("turns", "turns", 126, ("turns",)),
    CurvePanel("degenerate", "degenerate text", 128, ("degenerate",)),
    CurvePanel("tool_success", "tool success", 130, ("success.tool", "success.tool_rate_pct")),
    # Details of the updates of policy and critic.
    CurvePanel("value_loss", "value loss", 102, ("loss.value",)),
    CurvePanel("explained_variance", "explained variance", 104, ("value.explained_var",)),
    CurvePanel("advantage", "advantage", 106, ("advantage",)),
    CurvePanel("ratio", "importance ratio", 108, ("ratio",)),
    CurvePanel("kl_mismatch", "rollout against trainer", 114, ("kl.mismatch",)),
    # Asynchronous training: age of the rollouts, and those that are not used.
    CurvePanel("staleness", "staleness", 115, ("staleness",)),
    CurvePanel(
        "dropped_rollouts", "dropped rollouts", 115, ("rollouts.dropped_frac", "rollouts.dropped", "rollouts.queue")
    ),
    CurvePanel("logprob", "log-probability", 116, ("logprob",)),
    CurvePanel("logits", "logits", 117, ("logits",)),
    CurvePanel("value_clip", "value clip fraction", 118, ("clip_frac.value",)),
    CurvePanel("kl_coefficient", "KL coefficient", 120, ("kl.coef",)),
    CurvePanel("aux_loss", "other losses", 122, ("loss.aux", "loss.entropy_term")),
)
