"""Whole training jobs with known truth, and what tuimon states about them. Importing it makes `support` importable.

learners.py   the mean of each metric, its noise, the planted faults
trainers.py   the logs that trainers write of it
ranks.py      the logs of each rank of a job on two nodes
making.py     layouts of directories, stories of the scheduler; one job for each seed
detecting.py  what the detectors report of a learner
judging.py    statements of tuimon that are right, wrong or missing
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
