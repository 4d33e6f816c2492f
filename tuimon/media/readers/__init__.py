"""Readers of log files that contain more than scalars: one module per kind of file, with a READER."""
