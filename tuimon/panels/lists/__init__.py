"""Lists and tables of runs, metrics and settings. Only visible rows are made.

runs          columns, filters and sort order of the list of runs
run_rows      its rows in a given width
metric_rows   every metric of a run as a row
settings      the settings of a run as a tree
comparison    a table of the differences between runs
"""
