"""`tuimon demo`'s training run: made-up numbers in the logs that a real one leaves.

Nothing is trained. Formulas with a little noise give the curves, the times of phases and the memory of devices; only
the texts and their rewards are computed: digits that are sorted better from step to step.

curves    the metrics of a step
samples   the texts of a step, and the reward of each
logs      every log file of the run
train     the process: `python -m tuimon.demo.train --output DIR`
launch    starts that process and stops it
"""
