"""The logs of a Slurm job: its output files and its work directory, as `scontrol show job` prints them.

    JobId=4711 JobName=grpo UserId=me(1000) … WorkDir=/home/me/grpo … StdErr=/home/me/grpo/slurm-4711.out …

A job array has a line for each task. Slurm knows a job until some minutes after its end (MinJobAge).
Source: slurm/src/api/job_info.c (284c3b95), and `filename pattern` of sbatch(1).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from tuimon import lazy_re as re
from tuimon.errors import TuimonError
from tuimon.text import clean

_JOB = re.compile(r"slurm:(\d+(?:[_+]\d+)?)")
_FIELD = re.compile(r"(?:^|\s)(StdOut|StdErr|WorkDir)=(.*?)(?=\s+[A-Za-z][\w:/]*=|\s*$)")
_PATTERN = re.compile(r"%\d*[A-Za-z]")
_PATIENCE = 30.0
"""Seconds within which scontrol must answer."""
_HINT = "Slurm knows a job until some minutes after its end; `sacct -j JOBID -o WorkDir%200` has its directory."


def job_of(path: str) -> str:
    """Return the number of the job that "slurm:4711" names, or ""."""
    match = _JOB.fullmatch(path)
    return match[1] if match else ""


def command(job: str) -> Sequence[str]:
    """Return the command that prints a job."""
    return ["scontrol", "show", "job", "--oneliner", job]


def run(words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input. Raise TuimonError if it is not there, or does not answer."""
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except FileNotFoundError:
        raise TuimonError(f"{words[0]}: command not found", "host:slurm:JOBID asks Slurm on another machine.") from None
    except subprocess.TimeoutExpired:
        raise TuimonError(f"{words[0]} has not answered within {_PATIENCE:.0f} s") from None
    except OSError as error:
        raise TuimonError(f"{words[0]}: {error.strerror}") from None


def paths_of(shown: str, done: subprocess.CompletedProcess[bytes], home: str = "") -> list[str]:
    """Return the output files and the work directory of a job by the output of `command`.

    shown: name of the target for messages. home: a work directory that is left out, as it has the logs of all jobs.
    Raise TuimonError if Slurm does not know the job.
    """
    text = done.stdout.decode("utf-8", "surrogateescape")
    paths: dict[str, None] = {}
    directories: dict[str, None] = {}
    for line in text.splitlines():
        for name, value in _FIELD.findall(line):
            path = _PATTERN.sub("*", value.strip())
            if not path.startswith("/") or path == "/dev/null":
                continue
            (directories if name == "WorkDir" else paths)[path] = None
    paths.update(dict.fromkeys(path for path in directories if path.rstrip("/") not in ("", home.rstrip("/"))))
    if not paths:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TuimonError(f"{clean(shown)}: {clean(lines[-1], 200) if lines else 'scontrol names no files'}", _HINT)
    return [path for path in paths if not any(path.startswith(f"{other}{os.sep}") for other in paths)]
