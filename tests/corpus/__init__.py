"""What tuimon says of each log of a corpus, as readable JSON: the net under every change of the middle.

    python -m tests.corpus update [CASE …]     write the goldens anew and print the lines that changed
    python -m tests.corpus diff [CASE …]       only print them
    python -m tests.corpus show CASE           print the record of a case

A case is one directory or file of `tests/data` as a user would name it, or a case of `tests/corpus/faults.py`. Its
golden, `tests/corpus/goldens/CASE.json`, has the logs of each run, its attempts, every curve as [points, first step,
last step, superseded, digest of steps and values], state, step, total, alerts as fields, and a digest of its settings.

Other logs: `--logs DIR --goldens DIR2`.
"""
