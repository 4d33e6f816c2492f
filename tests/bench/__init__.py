"""Benchmarks: `python -m tests.bench` lists them. Importing this package makes `support` importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
