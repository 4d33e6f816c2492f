"""Weights & Biases: the `.wandb` file of a run.

Format modules: `run_file`, `metadata`. Helper: `_history` (history rows to points).
"""
