"""What the console decoder gives for 2,800 texts of tests: the net under every change of console text.

    python -m tests.console_texts diff         print what is different now, in words
    python -m tests.console_texts show ID      print a text and what the decoder gives for it now
    python -m tests.console_texts update       write what the decoder gives now for the same texts

`texts.jsonl.xz` has a line for each text: the test that fed it first, which may have been deleted, the text, its points
(metric -> rows of step, value and wall time) and the other items but the displayed text: damage, restarts, state,
checkpoints, progress, units. They are what is given now, not what should be: a text whose points are known is a case of
`tests/formats/cases/console.toml`. Nothing depends on the clock or the zone of the machine.
"""
