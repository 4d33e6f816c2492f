"""SwanLab: the run file of all versions, and the local logs with one file per metric.

Format modules: `run_file`, `local_log`. Helper: `_values` (JSON values and times).
"""
