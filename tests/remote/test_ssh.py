"""Commands over a real sshd: names, errors, login shells, noise, faults, prompts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.mirrored import until
from support.slow_link import SlowLink
from support.sshd import Sshd, descendants, kill
from support.terminal import TUIMON, Terminal
from support.written_texts import write_run

from tuimon.model.links import RemotePath
from tuimon.remote import posix
from tuimon.remote.link import Keeper
from tuimon.remote.sync import connector
from tuimon.remote.targets import parse


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("ssh")) as server:
        yield server


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    directory = tmp_path / "host" / "logs" / "grpo"
    directory.mkdir(parents=True)
    (directory / "log.jsonl").write_bytes(_log(300))
    return directory.parent


def _log(count: int, start: int = 0) -> bytes:
    return b"".join(b'{"step": %d, "loss": 1.5}\n' % step for step in range(start, start + count))


def _environment(host: Sshd, cache: Path) -> dict[str, str]:
    return {**os.environ, **host.environment, "TUIMON_MIRROR": str(cache / "mirror")}


def _run(host: Sshd, cache: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**_environment(host, cache), **more}
    command = [sys.executable, "-m", "tuimon", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=cache)


@pytest.mark.parametrize(
    "words",
    [
        *(["summary"], ["summary", "--json"], ["doctor"], ["line"], ["check"], ["export"], ["compare"]),
        *(["--once", "--width", "100"], ["export", "--by-source"], ["report"]),
    ],
)
def test_every_command_takes_targets_and_shows_their_names(
    host: Sshd, logs: Path, tmp_path: Path, words: list[str]
) -> None:
    paths = [f"gpu01:{logs}/grpo"]
    if words == ["compare"]:
        (logs / "sft").mkdir()
        (logs / "sft" / "log.jsonl").write_bytes(_log(200))
        paths.append(f"{logs}/sft")
    done = _run(host, tmp_path, *words, *paths)
    assert done.returncode == 0, done.stderr
    assert "mirror" not in done.stdout + done.stderr
    if words[0] in ("summary", "doctor", "compare", "report"):
        assert f"gpu01:{logs}/grpo" in done.stdout


@pytest.mark.parametrize("words", [["samples"], ["samples", "--step", "4"], ["summary", "--step", "4"], ["report"]])
def test_texts_are_those_on_the_host(host: Sshd, tmp_path: Path, words: list[str]) -> None:
    run = write_run(tmp_path / "texts", range(1, 6))
    done = _run(host, tmp_path, *words, f"gpu01:{run}")
    assert done.returncode == 0, done.stderr
    local = _run(host, tmp_path, *words, str(run))
    shown = done.stdout.replace(f"gpu01:{run}", str(run))
    if words != ["report"]:
        assert shown == local.stdout
    texts = [line for line in local.stdout.splitlines() if "attempt" in line]
    assert texts
    assert [line for line in shown.splitlines() if "attempt" in line] == texts
    copied = [path.stem for path in (tmp_path / "mirror").rglob("rollouts/*.jsonl") if path.stat().st_size]
    assert sorted(copied) == {"samples": [*"12345"], "report": ["5"]}.get(words[-1], ["4"])


def test_relative_paths_begin_at_home(host: Sshd, tmp_path: Path) -> None:
    where = os.path.relpath(tmp_path, Path.home())
    (tmp_path / "log.jsonl").write_bytes(_log(10))
    done = _run(host, tmp_path, "summary", f"gpu01:{where}/log.jsonl")
    assert done.returncode == 0, done.stderr


def test_errors_name_the_target(host: Sshd, logs: Path, tmp_path: Path) -> None:
    missing = _run(host, tmp_path, "summary", f"gpu01:{logs}/none")
    assert (missing.returncode, missing.stderr) == (3, f"tuimon: No such file or directory: gpu01:{logs}/none\n")
    (logs / "empty").mkdir()
    empty = _run(host, tmp_path, "summary", f"gpu01:{logs}/empty")
    assert empty.returncode == 3
    assert f"no metric log in gpu01:{logs}/empty" in empty.stderr
    assert "mirror" not in empty.stderr
    refused = _run(host, tmp_path, "summary", "gpu01:")
    assert refused.returncode == 2
    closed = _run(host, tmp_path, "summary", "gpu01:logs", TUIMON_SSH=f"ssh -F {host.config} -p 1")
    assert closed.returncode == 1
    assert "gpu01:logs: " in closed.stderr
    assert "refused" in closed.stderr
    program = _run(host, tmp_path, "summary", "gpu01:logs", TUIMON_SSH="/nonexistent/ssh")
    assert program.returncode == 1
    assert "Traceback" not in program.stderr


def test_host_that_cannot_be_reached_is_named_and_others_go_on(host: Sshd, logs: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Include {host.config}\nHost gpu02\n  HostName 127.0.0.1\n  Port 1\n")
    words = ("summary", "--json", f"gpu0[1-2]:{logs}")
    done = _run(host, tmp_path, *words, TUIMON_SSH=f"ssh -F {config}")
    assert done.returncode == 0, done.stderr
    assert [run["path"] for run in json.loads(done.stdout)["runs"]] == [f"gpu0[1-2]:{logs}/grpo"]
    assert done.stderr.startswith(f"tuimon: gpu02:{logs}: ")
    alone = _run(host, tmp_path, "summary", f"gpu02:{logs}", TUIMON_SSH=f"ssh -F {config}")
    assert alone.returncode == 1


SCONTROL = """#!/bin/sh
[ "$*" = "show job --oneliner 4711" ] || {{ echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }}
echo "JobId=4711 JobName=grpo Command=/x/run.sh WorkDir={logs}/grpo StdErr={out}/slurm-4711.out StdIn=/dev/null \
StdOut={out}/slurm-4711.out TresPerTask=cpu=4"
"""


@pytest.mark.parametrize("there", [False, True])
def test_logs_of_a_slurm_job(host: Sshd, logs: Path, tmp_path: Path, there: bool) -> None:
    """A command of the same interface stands in for scontrol, on this machine or on the host."""
    stand_in, out = tmp_path / "bin" / "scontrol", tmp_path / "out"
    stand_in.parent.mkdir()
    out.mkdir()
    stand_in.write_text(SCONTROL.format(logs=logs, out=out))
    stand_in.chmod(0o755)
    (out / "slurm-4711.out").write_text("".join(f"step {step}: loss=0.{step}\n" for step in range(1, 30)))
    path = f"{stand_in.parent}:{os.environ['PATH']}"
    prefix, environment = ("gpu01:", {}) if there else ("", {"PATH": path})
    with Sshd(tmp_path / "ssh", [f"SetEnv PATH={path}"]) if there else nullcontext(host) as server:
        done = _run(server, tmp_path, "summary", "--json", f"{prefix}slurm:4711", **environment)
        unknown = _run(server, tmp_path, "summary", f"{prefix}slurm:99", **environment)
    assert done.returncode == 0, done.stderr
    paths = {run["path"] for run in json.loads(done.stdout)["runs"]}
    assert {f"{prefix}{out}/slurm-4711.out", f"{prefix}{logs}/grpo"} <= paths
    assert unknown.returncode == 1
    assert unknown.stderr.startswith(f"tuimon: {prefix}slurm:99: slurm_load_jobs error: Invalid job id specified")


def test_offline_shows_what_was_copied(host: Sshd, logs: Path, tmp_path: Path) -> None:
    target = f"gpu01:{logs}"
    nothing = _run(host, tmp_path, "export", "--offline", target)
    assert nothing.returncode == 3
    assert f"nothing of {target} has been copied" in nothing.stderr
    copied = _run(host, tmp_path, "export", target)
    shutil.rmtree(logs)
    offline = _run(host, tmp_path, "export", "--offline", target, TUIMON_SSH="/bin/false")
    assert (offline.returncode, offline.stdout) == (0, copied.stdout)


def test_path_on_this_machine_wins(host: Sshd, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "gpu01:run").mkdir()
    (tmp_path / "gpu01:run" / "log.jsonl").write_bytes(_log(3))
    done = _run(host, tmp_path, "export", "gpu01:run", TUIMON_SSH="/bin/false")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 4
    assert "gpu01:run is a path on this machine" in done.stderr


@pytest.mark.parametrize("via", ["/bin/sh", "bash", "busybox sh"])
def test_a_shell_of_the_user_is_enough(host: Sshd, logs: Path, tmp_path: Path, via: str) -> None:
    if shutil.which(via.split()[0]) is None:
        pytest.skip(f"{via} is not installed")
    (tmp_path / "config.toml").write_text(f'[hosts."pod-*"]\nvia = "{via}"\n')
    settings = {"TUIMON_CONFIG": str(tmp_path / "config.toml"), "TUIMON_SSH": "/bin/false"}
    done = _run(host, tmp_path, "export", f"pod-7:{logs}", **settings)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 301


@pytest.mark.parametrize(("scheme", "target"), [("docker", "docker://trainer:"), ("kubectl", "k8s://ml/job-0/main:")])
def test_containers(host: Sshd, logs: Path, tmp_path: Path, scheme: str, target: str) -> None:
    """Commands of the same interface stand in for docker and kubectl: they run what follows the container's name."""
    stand_in = tmp_path / "bin" / scheme
    stand_in.parent.mkdir()
    expected = "exec -i trainer" if scheme == "docker" else "exec -i -n ml job-0 -c main --"
    count = len(expected.split())
    stand_in.write_text(
        f'#!/bin/sh\n[ "$(echo "$@" | cut -d" " -f1-{count})" = "{expected}" ] || exit 9\nshift {count}\nexec "$@"\n'
    )
    stand_in.chmod(0o755)
    path = f"{stand_in.parent}:{os.environ['PATH']}"
    done = _run(host, tmp_path, "summary", f"{target}{logs}/grpo", PATH=path)
    assert done.returncode == 0, done.stderr
    assert f"{target}{logs}/grpo" in done.stdout


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "tcsh", "csh", "zsh", "fish", "busybox"])
def test_login_shells_with_noise(logs: Path, tmp_path: Path, shell: str) -> None:
    """The login shell of the user runs the command, after 40 kB of noise with a forged marker in it."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    wrapper = tmp_path / "login"
    words = "sh" if shell == "busybox" else ""
    wrapper.write_text(
        "#!/bin/sh\nprintf 'Welcome to \\033]0;owned\\007cluster\\n'; head -c 30000 /dev/urandom | base64\n"
        "printf '\\n00000000000000000000000000000000\\n'; echo noise >&2\n"
        f'exec {program} {words} -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    wrapper.chmod(0o755)
    with Sshd(tmp_path / "ssh", [f"ForceCommand {wrapper}"]) as server:
        done = _run(server, tmp_path, "export", f"gpu01:{logs}")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 301


def test_host_without_the_commands_is_named(logs: Path, tmp_path: Path) -> None:
    with Sshd(tmp_path / "ssh", ["ForceCommand PATH=/nonexistent exec /bin/sh"]) as server:
        done = _run(server, tmp_path, "export", f"gpu01:{logs}")
    assert done.returncode == 1
    assert "no find, stat -c and dd there" in done.stderr


@pytest.mark.parametrize(
    "command", ["/bin/false", "echo This account is not available.", "/usr/lib/openssh/sftp-server"]
)
def test_restricted_account_is_named(logs: Path, tmp_path: Path, command: str) -> None:
    with Sshd(tmp_path / "ssh", [f"ForceCommand {command}"]) as server:
        done = _run(server, tmp_path, "export", f"gpu01:{logs}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"tuimon: gpu01:{logs}: ")
    assert "Traceback" not in done.stderr


def test_jump_host(logs: Path, tmp_path: Path, host: Sshd) -> None:
    with Sshd(tmp_path / "inner", name="inner") as inner:
        lines = (
            host.config.read_text() + inner.config.read_text() + f"ProxyCommand ssh -F {host.config} -W %h:%p gpu01\n"
        )
        config = tmp_path / "config"
        config.write_text(lines)
        done = _run(inner, tmp_path, "export", f"inner:{logs}", TUIMON_SSH=f"ssh -F {config}")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 301


# ---------------------------------------------------------------------- faults


@pytest.fixture
def keeper(host: Sshd, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    (target,) = parse(f"gpu01:{logs}")
    keeper = Keeper(target, connector(target), where=str(tmp_path / "mirror"))
    keeper.start()
    until(lambda: keeper.link.complete)
    yield keeper
    keeper.close()


def _same(path: RemotePath, logs: Path) -> bool:
    return (Path(path) / "grpo/log.jsonl").read_bytes() == (logs / "grpo/log.jsonl").read_bytes()


def _shells(host: Sshd) -> list[int]:
    """Return the shells that sshd has started; a pipeline of theirs is for a moment a shell of the same name."""
    shells = [pid for pid in descendants(host.server) if _command_line(pid) == b"/bin/sh\0"]
    return [pid for pid in shells if not any(pid in descendants(other) for other in shells)]


@pytest.mark.parametrize("victim", ["ssh", "shell"])
def test_killed_link_comes_back(host: Sshd, logs: Path, keeper: Keeper, victim: str) -> None:
    shells = _shells(host)
    assert len(shells) == 1
    clients = [pid for pid in descendants(os.getpid()) if b"-oEscapeChar=none" in _command_line(pid)]
    states: list[str] = []
    keeper.on_change = lambda: states.append(keeper.link.state)
    kill(shells[0] if victim == "shell" else clients[0])
    with (logs / "grpo" / "log.jsonl").open("ab") as file:
        file.write(_log(50, 300))
    until(lambda: _same(keeper.path, logs), str(keeper.link))
    until(lambda: keeper.link.state == "live")
    assert "lost" in states
    until(lambda: not Path(f"/proc/{shells[0]}").exists())  # no shell is left behind


def test_link_that_resets_and_stalls_comes_back(
    host: Sshd, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posix, "SILENCE", 3.0)
    with SlowLink(host.port, delay=0.01) as link:
        host.write_config(link.port)
        for name, value in host.environment.items():
            monkeypatch.setenv(name, value)
        (target,) = parse(f"gpu01:{logs}")
        keeper = Keeper(target, connector(target), where=str(tmp_path / "mirror"))
        states: list[str] = []
        keeper.on_change = lambda: states.append(keeper.link.state)
        keeper.start()
        try:
            until(lambda: keeper.link.state == "live", str(keeper.link))
            for count, break_link in enumerate((link.reset, link.stall)):
                states.clear()
                break_link()
                with (logs / "grpo" / "log.jsonl").open("ab") as file:
                    file.write(_log(50, 300 + 50 * count))
                until(lambda: "lost" in states, str(keeper.link))
                link.resume()
                until(lambda: _same(keeper.path, logs), str(keeper.link))
                until(lambda: keeper.link.state == "live", str(keeper.link))
        finally:
            link.resume()
            keeper.close()
            host.write_config()


def test_shell_ends_with_the_program(host: Sshd, logs: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from tuimon.remote.link import Keeper; from tuimon.remote.sync import connector\n"
        "from tuimon.remote.targets import parse\n"
        "target = parse(sys.argv[1])[0]; keeper = Keeper(target, connector(target)); keeper.start()\n"
        "keeper.wait(60); print(keeper.link.state, flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, f"gpu01:{logs}"]
    environment = _environment(host, tmp_path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "live\n"
        shells = _shells(host)
        process.send_signal(signal.SIGKILL)
    assert shells
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in shells))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


# ---------------------------------------------------------------------- login


def test_host_key_and_passphrase_are_asked_on_the_terminal(logs: Path, tmp_path: Path) -> None:
    with Sshd(tmp_path / "ssh", passphrase="open sesame") as server:
        server.known_hosts.write_text("")
        environment = _environment(server, tmp_path)
        with Terminal([*TUIMON, "export", f"gpu01:{logs}"], environment=environment) as terminal:
            terminal.until(lambda output: b"continue connecting" in output)
            terminal.type("yes\n")
            terminal.until(lambda output: b"Enter passphrase" in output)
            terminal.type("open sesame\n")
            assert terminal.wait(60) == 0
            assert terminal.output.count(b"299") > 0
        done = _run(server, tmp_path, "export", f"gpu01:{logs}")  # without a terminal nothing is asked
        assert done.returncode == 1
        assert "Permission denied" in done.stderr
