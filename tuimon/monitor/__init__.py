"""The whole pipeline from paths to snapshots: `local` reads in this process, `process` reads in a child process.

    from tuimon.monitor.local import follow, open_run

    snapshot = open_run("logs/grpo-1.5b")               read everything once
    for snapshot in follow("logs/grpo-1.5b"): ...       read, then yield a snapshot after each change

Commands and tests use `LocalMonitor`, the dashboard uses `ReaderProcess`. This package imports neither of them: the
reader process is spawned before numpy and Textual are loaded.
"""
