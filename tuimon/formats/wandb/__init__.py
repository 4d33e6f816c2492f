"""Weights & Biases: the `.wandb` file of a run.

Format module: `run_file`. Helper: `_history` (history rows to points).
"""
