"""What is said about a panel or a filter for which a run has nothing."""

from __future__ import annotations

from support.made_run import run_of

from tuimon.panels import why_empty, why_no_match


def test_the_sentence_names_what_would_log_it() -> None:
    run = run_of({"loss": ([1, 2], [0.5, 0.4]), "lr": ([1, 2], [1e-4, 1e-4])})
    words = "This run logs no GPU memory: ROLL logs it with ROLL_DEBUG=1"
    assert why_empty("gpu_memory", "GPU memory").startswith(words)
    assert why_no_match("vram", run)[0].startswith(words)
    assert why_empty("kl", "KL").startswith("This run logs no KL divergence")
    assert why_empty("own", "own panel") == "This run logs no own panel."
