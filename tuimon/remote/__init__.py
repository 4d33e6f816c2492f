"""Runs on other machines: a source fills a private local mirror, which the reader follows as any directory.

targets.py      the grammar of `host:path` and its relatives
sources.py      the connection to the source of a target: an agent on a host, or an object store
connection.py   what a connection offers
session.py      a connection to the agent, which is sent over ssh and its relatives; boot.py, agent*.py, protocol.py
receiver.py     applies what the agent sends to the mirror
objects.py      a connection to an object store (fsspec)
link.py         the thread that keeps a mirror up to date
mirror.py       the private copy of the logs of one target
expiry.py       deletes mirrors that are old or too large
"""
