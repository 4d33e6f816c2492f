"""Many hosts of one job are one run: real shells, each in the home directory of its host."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mirrored import until
from support.sshd import kill
from support.terminal import TUIMON, Terminal

from tuimon.commands import main
from tuimon.exports.ranks import rank_lines
from tuimon.model.links import Link
from tuimon.model.ranks import JobRanks
from tuimon.monitor.local import LocalMonitor
from tuimon.panels import link_row
from tuimon.remote import link, posix
from tuimon.remote.host import Received
from tuimon.remote.jobs import Job
from tuimon.remote.mirror import Mirror
from tuimon.remote.ssh import Transport
from tuimon.remote.sync import Connect, over
from tuimon.remote.targets import Target, parse
from tuimon.remote.texts import WantedTexts
from tuimon.store import Snapshot


class Hosts:
    """Context manager: a job on hosts that are directories of this machine; one without a directory is down."""

    def __init__(self, where: Path, word: str) -> None:
        self.where = where
        self.targets = parse(word, lambda path: False)
        self.job = Job(self.targets, self._connector, where=str(where / "mirror"), max_bytes=1 << 30)

    def home(self, host: str) -> Path:
        return self.where / host

    def _connector(self, target: Target) -> Connect:
        home = self.home(target.host)
        down = f"test -d {home} || {{ echo '{target.host}: No route to host' >&2; exit 255; }}"
        words = f"{down}; echo $$ > {home}.pid; cd {home}; exec /bin/sh"
        return over(Transport(("/bin/sh", "-c", words)), target.path)

    def take_down(self, host: str) -> None:
        """Let the host disappear, with its shell."""
        self.home(host).rename(self.where / "gone")
        kill(int(self.where.joinpath(f"{host}.pid").read_text()))

    def __enter__(self) -> Hosts:
        for keeper in self.job.keepers:
            keeper.start()
        until(lambda: all(k.link.complete or k.link.state == "lost" for k in self.job.keepers))
        return self

    def __exit__(self, *_: object) -> None:
        for keeper in self.job.keepers:
            keeper.close()

    def read(self) -> Snapshot:
        monitor = LocalMonitor([self.job.path])
        monitor.update()
        return monitor.snapshot()

    def ranks(self) -> JobRanks:
        (run,) = self.read().runs
        assert run.ranks is not None
        return run.ranks


def _write_ranks(logs: Path, first: int, last_step: int = 29) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for rank in range(first, first + 8):
        lines = (f"[rank{rank}]: step {step}: loss=0.{step} compute: 0.3{rank % 8}s\n" for step in range(1, last_step))
        (logs / f"rank_{rank}.log").write_text("".join(lines))


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    """Two hosts with eight ranks each; the first one has the metrics, too."""
    for host, first in (("gpu01", 0), ("gpu02", 8)):
        _write_ranks(tmp_path / host / "logs/grpo", first)
    rows = "".join(f'{{"step": {step}, "loss": {1 / (1 + step)}}}\n' for step in range(100))
    (tmp_path / "gpu01/logs/grpo/log.jsonl").write_text(rows)
    return tmp_path


def test_hosts_are_one_run_and_one_that_is_down_is_no_fault(homes: Path) -> None:
    with Hosts(homes, "gpu[01-03]:logs/grpo") as hosts:
        snapshot = hosts.read()
        (run,) = snapshot.runs
        assert (run.name, run.path) == ("grpo", "gpu[01-03]:logs/grpo")
        assert run.ranks is not None
        assert {(row.node, row.rank // 8) for row in run.ranks.rows} == {("gpu01", 0), ("gpu02", 1)}
        assert len(run.ranks.rows) == 16
        assert run.ranks.unreachable == (("gpu03", "gpu03: No route to host"),)
        assert run.ranks.problems == ()
        assert snapshot.alerts == ()
        assert "  gpu03 is unreachable: gpu03: No route to host" in list(rank_lines(snapshot))
        until(lambda: run.link is not None and run.link.state == "live", f"{run.link}")
        assert run.link is not None
        assert "".join(text for text, _ in link_row(run.link, 0.0)) == "gpu[01-03] live without gpu03"
        inside = f"{run.directory}/gpu02/rank_9.log"
        assert hosts.job.path.name_of(inside) == "gpu02:logs/grpo/rank_9.log"
        assert (
            hosts.job.path.hide(f"{inside} and {run.directory}")
            == "gpu02:logs/grpo/rank_9.log and gpu[01-03]:logs/grpo"
        )


def test_host_that_is_lost_does_not_make_its_ranks_suspect(homes: Path) -> None:
    _write_ranks(homes / "gpu02/logs/grpo", 8, last_step=28)  # a rank behind the others would be called hanging
    with Hosts(homes, "gpu[01-02]:logs/grpo") as hosts:
        hosts.take_down("gpu02")
        until(lambda: hosts.job.keepers[1].link.state == "lost")
        ranks = hosts.ranks()
        assert [row.state for row in ranks.rows if row.node == "gpu02"] == ["unreachable"] * 8
        assert ranks.problems == ()
        assert ranks.verdict.endswith("cannot be reached: gpu02")
        (hosts.where / "gone").rename(hosts.home("gpu02"))
        hosts.job.keepers[1].login()
        until(lambda: hosts.job.keepers[1].link.state == "live")
        assert hosts.ranks().unreachable == ()


def test_runs_below_the_path_are_joined_by_name(homes: Path) -> None:
    for host, first in (("gpu01", 0), ("gpu02", 8)):
        _write_ranks(homes / host / "logs/sft", first)
    (homes / "gpu01/logs/sft/log.jsonl").write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n')
    with Hosts(homes, "gpu[01-02]:logs") as hosts:
        runs = hosts.read().runs
    nodes = {run.path: sorted(row.node for row in run.ranks.rows) for run in runs if run.ranks is not None}
    both = ["gpu01"] * 8 + ["gpu02"] * 8
    assert nodes == {"gpu[01-02]:logs/grpo": both, "gpu[01-02]:logs/sft": both}


def test_local_ranks_of_hosts_are_told_apart(tmp_path: Path) -> None:
    """Files of the same names on each host: the numbers in the names are not those of ranks, the lines name these."""
    expected = [(host, first + local) for host, first in (("a", 0), ("b", 4)) for local in range(4)]
    for host, rank in expected:
        text = "".join(f"[rank{rank}]: step {step}: loss=0.5\n" for step in range(1, 9))
        (tmp_path / host / "logs").mkdir(parents=True, exist_ok=True)
        (tmp_path / host / f"logs/rank_{rank % 4}.log").write_text("starting\n" + text)
    with Hosts(tmp_path, "a,b:logs") as hosts:
        assert sorted((row.node, row.rank) for row in hosts.ranks().rows) == expected


def test_state_of_a_job_is_that_of_the_hosts_that_answer() -> None:
    members = tuple(Link(f"gpu0{n}:a", f"gpu0{n}", state) for n, state in enumerate(("lost", "live", "login", "live")))
    link = Link("gpu[00-03]:a", "gpu[00-03]", members=members)
    link.combine()
    assert (link.state, link.detail, link.up) == ("live", "gpu00, gpu02", True)
    members[1].state, members[1].here, members[1].total = "copying", 3, 5
    link.combine()
    assert (link.state, link.here, link.total) == ("copying", 3, 5)
    for member in members:
        member.state, member.detail = "lost", "No route to host"
    link.combine()
    assert (link.state, link.detail, link.up) == ("lost", "No route to host", False)


# ---------------------------------------------------------------------- logins


class Counted:
    """A connection that counts how many of its kind log in at a time, and answers once eight do."""

    delay = 0.0
    now = most = 0
    guard = threading.Lock()
    eight = threading.Event()

    def __init__(self) -> None:
        self.received = Received()
        self.answered = False
        self.closed = threading.Event()

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        with Counted.guard:
            Counted.now += 1
            Counted.most = max(Counted.most, Counted.now)
            if Counted.now == 8:
                Counted.eight.set()
        assert Counted.eight.wait(60)
        with Counted.guard:
            Counted.now -= 1
        self.answered = self.received.complete = True
        on_progress()
        self.closed.wait(60)

    def close(self) -> None:
        self.closed.set()

    def wake(self) -> None:
        pass


def _counted(mirror: Mirror, max_bytes: int, wanted: WantedTexts) -> Any:
    return Counted()


def test_at_most_eight_hosts_log_in_at_once(tmp_path: Path) -> None:
    job = Job(parse("n[1-20]:logs", lambda path: False), lambda target: _counted, where=str(tmp_path), max_bytes=1)
    for keeper in job.keepers:
        keeper.start()
    until(lambda: all(keeper.link.state == "live" for keeper in job.keepers))
    for keeper in job.keepers:
        keeper.close()
    assert Counted.most == 8


SSH = """#!/bin/sh
for word; do
  case $word in -oBatchMode=yes) batch=yes;; gpu0*) host=$word;; esac
  last=$word
done
echo "$host $batch" >> {where}/calls
if [ $host != gpu01 ] && [ ! -e {where}/$host.in ]; then
  [ "$batch" ] && {{ echo "$host: Permission denied (publickey,password)." >&2; exit 255; }}
  printf '%s password: ' $host > /dev/tty
  read answer < /dev/tty
  [ "$answer" = "for $host" ] || exit 255
fi
cd {where}/$host || exit 255
exec /bin/sh -c "$last"
"""


@pytest.fixture
def ssh(homes: Path) -> dict[str, str]:
    """A command of the interface of ssh that asks for a password on the terminal, for two of three hosts."""
    _write_ranks(homes / "gpu03/logs/grpo", 16)
    program = homes / "ssh"
    program.write_text(SSH.format(where=homes))
    program.chmod(0o755)
    return {**os.environ, "TUIMON_SSH": str(program), "TUIMON_MIRROR": str(homes / "mirror")}


def test_only_hosts_that_need_a_password_ask_one_after_another(homes: Path, ssh: dict[str, str]) -> None:
    with Terminal([*TUIMON, "summary", "--ranks", "gpu[01-03]:logs/grpo"], environment=ssh) as terminal:
        for host in ("gpu02", "gpu03"):
            terminal.until(lambda output, asked=host: f"{asked} password: ".encode() in output)
            terminal.type(f"for {host}\n")
        assert terminal.wait(60) == 0
        assert b"grpo: 24 ranks, no failure and no straggler" in terminal.output
    calls = (homes / "calls").read_text().splitlines()
    assert sorted(calls) == ["gpu01 yes", "gpu02 ", "gpu02 yes", "gpu03 ", "gpu03 yes"]


def test_targets_are_joined_on_request(homes: Path, ssh: dict[str, str]) -> None:
    (homes / "gpu02/logs").rename(homes / "gpu02/other")
    for host in ("gpu02", "gpu03"):
        (homes / f"{host}.in").touch()
    words = ["summary", "--ranks", "--join", "gpu01:logs/grpo", "gpu02:other/grpo", "gpu03:logs/grpo/rank_17.log"]
    with Terminal([*TUIMON, *words], environment=ssh) as terminal:
        assert terminal.wait(60) == 0
        assert b"17 ranks, no failure" in terminal.output
    with Terminal([*TUIMON, "summary", "--join", "gpu01:logs/grpo"], environment=ssh) as terminal:
        assert terminal.wait(60) == 2
        assert b"--join needs at least two paths" in terminal.output


def test_next_attempt_to_connect_can_be_made_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "RETRY", (3600.0,))
    attempts = threading.Semaphore(0)

    def refuse(*_: object) -> Any:
        attempts.release()
        raise OSError("refused")

    keeper = link.Keeper(parse("gpu01:/runs")[0], refuse, where=str(tmp_path))
    assert not keeper.retry()  # it does not wait yet
    keeper.start()
    try:
        assert attempts.acquire(timeout=30)
        assert keeper.wait(30)
        assert keeper.link.state == "lost"
        assert keeper.retry()
        assert attempts.acquire(timeout=30)
    finally:
        keeper.close()


def test_host_that_never_answers_or_is_down_is_named_and_others_go_on(
    homes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = homes / "ssh"
    program.write_text(
        f"#!/bin/sh\nfor word; do case $word in gpu0*) host=$word;; esac; last=$word; done\n"
        f"[ $host = gpu02 ] && exec sleep 600\n[ $host = gpu03 ] && echo no route >&2 && exit 255\n"
        f'cd {homes}/$host && exec /bin/sh -c "$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("TUIMON_SSH", str(program))
    monkeypatch.setenv("TUIMON_MIRROR", str(homes / "mirror"))
    monkeypatch.setattr(posix, "PATIENCE", 0.5)
    assert main(["summary", "--json", "gpu0[1-3]:logs/grpo"]) == 0
    out, err = capfd.readouterr()
    assert [run["path"] for run in json.loads(out)["runs"]] == ["gpu0[1-3]:logs/grpo"]
    assert sorted(err.splitlines()) == [
        "tuimon: gpu02:logs/grpo: no answer within 0 s",
        "tuimon: gpu03:logs/grpo: no route",
    ]
