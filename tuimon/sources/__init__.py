"""Finding, following and watching log files. Nothing here knows a format, and nothing here writes.

scan        which files there are below the paths given
runs        which of them belong to one training job
tail        the new bytes of a file that grows
document    the bytes of a file that is rewritten whole
watch       hints that something has changed; polling decides
filesystem  whether hints can be had at all
"""
