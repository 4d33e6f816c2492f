"""Lists and tables of runs, metrics and settings. Only visible rows are made.

runs          columns of the list of runs
run_selection which runs it has, and in which order
run_rows      its rows in a given width
metric_rows   every metric of a run as a row
settings      the settings of a run as a tree
comparison    a table of the differences between runs
"""
