"""`tuimon demo`'s training run: a real, small reinforcement learner that leaves the logs a big one leaves.

task         sort digits; a rule gives the reward
policy       a small network in numpy that writes one token after another; its gradient
learner      the loss, the optimizer, the schedule: GRPO with clipping and a KL penalty to a frozen reference
devices      one worker call: its timers, the process's memory, four modelled devices
pipeline     a training step, phase by phase
event_file   TensorBoard's file format, written by hand
recorder     every log file of the run
checkpoint   what a resumed run needs
train        the process: `python -m tuimon.demo.train --output DIR`
launch       starts that process and stops it
"""
