"""Training runs with known faults: small models that are really trained, with injected faults.

policy.py       GRPO on a small task, with a critic, two engines, simulated time and memory
supervised.py   a classifier with a validation set
faults.py       the faults, the detectors that must report each, and those that may because of its side effects
judging.py      evaluation of the detectors on these runs
"""
