"""Lists and tables of runs, metrics and settings. Only visible rows are made.

runs          columns of the list of runs
run_selection which runs it has, and in which order
hparam_rows   the settings that differ between runs
metric_rows   columns of the list of metrics
settings      the settings of a run as a tree
comparison    a table of the differences between runs
"""
