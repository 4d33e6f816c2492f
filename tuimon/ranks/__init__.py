"""The ranks of one distributed job: who they are, which one ended it, and which one is slow.

Pure functions of lines and records. `tuimon.reader.rank_files` reads the files of a job and calls them.
"""
