"""What the console decoder gives for each text that its tests feed to it: the net under every change of console text.

    python -m tests.console_texts diff         print what is different now, in words
    python -m tests.console_texts show ID      print a text and what the decoder gives for it now
    python -m tests.console_texts update       write what the decoder gives now for the same texts
    python -m tests.console_texts collect      run the console tests and store the texts that they feed

`texts.jsonl.xz` has a line for each text: its first test, which may have been deleted, the text, its points (metric ->
rows of step, value and wall time) and the other items but the displayed text: damage, restarts, state, checkpoints,
progress, units. Nothing depends on the clock or the zone of the machine: the same tests, decoder and Hypothesis give
the same file. Left out:

- texts of 8 KiB or more; `tests/corpus` holds what is said of the logs of `tests/data`
- texts that end within a line and that another one continues: tests cut logs at every byte
- texts that are read with a user's own patterns, which decide the points
- the empty text
"""
