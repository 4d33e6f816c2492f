"""Training runs of which it is known what is wrong with them: small learners that really learn, with faults injected.

policy.py       GRPO on a small task, with a critic, two engines and a machine that takes time and memory
supervised.py   a classifier with a validation set
faults.py       what is injected, which detectors must tell it, and which may, as it really has that effect
judging.py      what the detectors make of them
"""
