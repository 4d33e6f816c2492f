"""What is shown of many things as rows, one below the other: functions from runs to rows, of which only those are made
that are seen.

runs          which runs are listed, in what order, and what is said of each
run_rows      their rows in so many cells
metric_rows   every metric of a run as a row
settings      the settings of a run as a tree
side_by_side  what differs between runs
"""
