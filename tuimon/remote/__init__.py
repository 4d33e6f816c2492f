"""Runs on other machines: a source fills a private local mirror, which the reader follows as any directory.

targets.py      the grammar of `host:path` and its relatives
ssh.py          the commands that start a shell on a host: ssh, docker, kubectl, one of the user
slurm.py        the logs of a Slurm job
host.py         the questions that a host answers: list(directories), stat(paths), read(path, start, end)
posix.py        a host that is asked through a POSIX shell
stores.py       an object store that is asked through fsspec
sync.py         a connection: what is asked when
tree.py         which directories and files there are, and how each file is followed
copying.py      what is new in one file
writers.py      who holds the logs open on the host
texts.py        which generated texts are copied
link.py         the thread that keeps a mirror up to date
jobs.py         the hosts of one job
mirror.py       the private copy of the logs of one target
places.py       where mirrors lie
expiry.py       deletes mirrors that are old or too large
"""
