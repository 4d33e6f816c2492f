"""Weights & Biases: the `.wandb` file of a run.

Format modules: `run_file`, `metadata`.
Helpers: `_record_kinds` (finds history and summary records), `_history` (history rows to points, row by row), `_batch`
(many history rows at once).
"""
