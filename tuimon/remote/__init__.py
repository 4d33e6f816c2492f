"""Runs on other machines: an agent on the host fills a private local mirror, which the reader follows as any directory.

targets.py     the grammar of `host:path` and its relatives
mirror.py      the private copy of the logs of one target
expiry.py      deletes mirrors that are old or too large
"""
