"""Commands over a real sshd: names, errors, login shells, noise, faults, prompts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from support.mirrored import log_rows, until
from support.slow_link import SlowLink
from support.sshd import Sshd, descendants, kill
from support.terminal import TUIMON, Terminal
from support.written_texts import write_run

from tuimon.commands import main
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
    (directory / "log.jsonl").write_bytes(log_rows(300))
    return directory.parent


@dataclass(frozen=True)
class Done:
    """What a command has returned and written."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command of tuimon in this process. The first argument is the host that ssh reaches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUIMON_MIRROR", str(tmp_path / "mirror"))

    def run(host: Sshd, *words: str, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            for name, value in {**host.environment, **environment}.items():
                patch.setenv(name, value)
            return Done(main(list(words)), *capfd.readouterr())

    return run


def _exported(done: Done) -> int:
    """Return the number of lines of a successful export."""
    assert done.code == 0, done.err
    return len(done.out.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        *(["summary"], ["summary", "--json"], ["doctor"], ["line"], ["check"], ["export"], ["compare"]),
        *(["--once", "--width", "100"], ["export", "--by-source"], ["report"]),
    ],
)
def test_every_command_takes_targets_and_shows_their_names(host: Sshd, logs: Path, run: Run, words: list[str]) -> None:
    paths = [f"gpu01:{logs}/grpo"]
    if words == ["compare"]:
        (logs / "sft").mkdir()
        (logs / "sft" / "log.jsonl").write_bytes(log_rows(200))
        paths.append(f"{logs}/sft")
    done = run(host, *words, *paths)
    assert done.code == 0, done.err
    assert "mirror" not in done.out + done.err
    if words[0] in ("summary", "doctor", "compare", "report"):
        assert f"gpu01:{logs}/grpo" in done.out


@pytest.mark.parametrize("words", [["samples"], ["samples", "--step", "4"], ["summary", "--step", "4"], ["report"]])
def test_texts_are_those_on_the_host(host: Sshd, tmp_path: Path, run: Run, words: list[str]) -> None:
    texts = write_run(tmp_path / "texts", range(1, 6))
    there, here = run(host, *words, f"gpu01:{texts}"), run(host, *words, str(texts))
    assert there.code == 0, there.err
    wanted = "attempt" if words == ["report"] else ""
    shown, expected = (
        [line for line in out.splitlines() if wanted in line]
        for out in (there.out.replace(f"gpu01:{texts}", str(texts)), here.out)
    )
    assert shown == expected
    assert "attempt" in there.out
    copied = [path.stem for path in (tmp_path / "mirror").rglob("rollouts/*.jsonl") if path.stat().st_size]
    assert sorted(copied) == {"samples": [*"12345"], "report": ["5"]}.get(words[-1], ["4"])


@pytest.mark.parametrize(
    ("target", "ssh", "code", "message"),
    [
        ("gpu01:{logs}/none", "ssh -F {config}", 3, "tuimon: No such file or directory: gpu01:{logs}/none\n"),
        ("gpu01:{logs}/empty", "ssh -F {config}", 3, "no metric log in gpu01:{logs}/empty"),
        ("gpu01:", "ssh -F {config}", 2, ""),
        ("gpu01:logs", "ssh -F {config} -p 1", 1, "refused"),
        ("gpu01:logs", "/nonexistent/ssh", 1, "gpu01:logs: "),
    ],
)
def test_errors_name_the_target(
    host: Sshd, logs: Path, run: Run, target: str, ssh: str, code: int, message: str
) -> None:
    (logs / "empty").mkdir()
    done = run(host, "summary", target.format(logs=logs), TUIMON_SSH=ssh.format(config=host.config))
    assert done.code == code
    assert message.format(logs=logs) in done.err
    assert target.format(logs=logs) in done.err
    assert "mirror" not in done.err


SCONTROL = """#!/bin/sh
[ "$*" = "show job --oneliner 4711" ] || {{ echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }}
echo "JobId=4711 JobName=grpo Command=/x/run.sh WorkDir={logs}/grpo StdErr={out}/slurm-4711.out StdIn=/dev/null \
StdOut={out}/slurm-4711.out TresPerTask=cpu=4"
"""


def _stand_in(where: Path, name: str, script: str) -> str:
    """Write a command of the interface of another one; return the PATH that finds it."""
    program = where / "bin" / name
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize("there", [False, True])
def test_logs_of_a_slurm_job(host: Sshd, logs: Path, tmp_path: Path, run: Run, there: bool) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "slurm-4711.out").write_text("".join(f"step {step}: loss=0.{step}\n" for step in range(1, 30)))
    path = _stand_in(tmp_path, "scontrol", SCONTROL.format(logs=logs, out=out))
    prefix, environment = ("gpu01:", {}) if there else ("", {"PATH": path})
    with Sshd(tmp_path / "ssh", [f"SetEnv PATH={path}"]) if there else nullcontext(host) as server:
        done = run(server, "summary", "--json", f"{prefix}slurm:4711", **environment)
        unknown = run(server, "summary", f"{prefix}slurm:99", **environment)
    assert done.code == 0, done.err
    paths = {run["path"] for run in json.loads(done.out)["runs"]}
    assert {f"{prefix}{out}/slurm-4711.out", f"{prefix}{logs}/grpo"} <= paths
    assert unknown.code == 1
    assert unknown.err.startswith(f"tuimon: {prefix}slurm:99: slurm_load_jobs error: Invalid job id specified")


def test_offline_shows_what_was_copied(host: Sshd, logs: Path, run: Run) -> None:
    target = f"gpu01:{logs}"
    nothing = run(host, "export", "--offline", target)
    assert nothing.code == 3
    assert f"nothing of {target} has been copied" in nothing.err
    copied = run(host, "export", target)
    shutil.rmtree(logs)
    offline = run(host, "export", "--offline", target, TUIMON_SSH="/bin/false")
    assert (offline.code, offline.out) == (0, copied.out)


def test_relative_paths_begin_at_home_and_a_path_on_this_machine_wins(host: Sshd, tmp_path: Path, run: Run) -> None:
    (tmp_path / "log.jsonl").write_bytes(log_rows(10))
    assert _exported(run(host, "export", f"gpu01:{os.path.relpath(tmp_path, Path.home())}/log.jsonl")) == 11
    (tmp_path / "gpu01:run").mkdir()
    (tmp_path / "gpu01:run" / "log.jsonl").write_bytes(log_rows(3))
    here = run(host, "export", "gpu01:run", TUIMON_SSH="/bin/false")
    assert _exported(here) == 4
    assert "gpu01:run is a path on this machine" in here.err


# ---------------------------------------------------------------------- other ways to a shell


@pytest.mark.parametrize("via", ["/bin/sh", "bash", "busybox sh"])
def test_a_shell_of_the_user_is_enough(host: Sshd, logs: Path, tmp_path: Path, run: Run, via: str) -> None:
    if shutil.which(via.split()[0]) is None:
        pytest.skip(f"{via} is not installed")
    (tmp_path / "config.toml").write_text(f'[hosts."pod-*"]\nvia = "{via}"\n')
    settings = {"TUIMON_CONFIG": str(tmp_path / "config.toml"), "TUIMON_SSH": "/bin/false"}
    assert _exported(run(host, "export", f"pod-7:{logs}", **settings)) == 301


@pytest.mark.parametrize(
    ("program", "words", "target"),
    [
        ("docker", "exec -i trainer", "docker://trainer:"),
        ("kubectl", "exec -i -n ml job-0 -c main --", "k8s://ml/job-0/main:"),
    ],
)
def test_containers(host: Sshd, logs: Path, tmp_path: Path, run: Run, program: str, words: str, target: str) -> None:
    """The stand-ins for docker and kubectl run what follows the container's name."""
    count = len(words.split())
    check = f'[ "$(echo "$@" | cut -d" " -f1-{count})" = "{words}" ] || exit 9'
    path = _stand_in(tmp_path, program, f'#!/bin/sh\n{check}\nshift {count}\nexec "$@"\n')
    done = run(host, "summary", f"{target}{logs}/grpo", PATH=path)
    assert done.code == 0, done.err
    assert f"{target}{logs}/grpo" in done.out


@pytest.fixture(scope="module")
def forced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A host whose only command is the script `login` in its directory."""
    directory = tmp_path_factory.mktemp("forced")
    (directory / "login").touch(0o755)
    with Sshd(directory, [f"ForceCommand {directory}/login"]) as server:
        yield server


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "tcsh", "csh", "zsh", "fish", "busybox"])
def test_login_shells_with_noise(forced: Sshd, logs: Path, run: Run, shell: str) -> None:
    """The login shell of the user runs the command, after 40 kB of noise with a forged marker in it."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (forced.directory / "login").write_text(
        "#!/bin/sh\nprintf 'Welcome to \\033]0;owned\\007cluster\\n'; head -c 30000 /dev/urandom | base64\n"
        "printf '\\n00000000000000000000000000000000\\n'; echo noise >&2\n"
        f'exec {program} {"sh" if shell == "busybox" else ""} -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    assert _exported(run(forced, "export", f"gpu01:{logs}")) == 301


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("PATH=/nonexistent exec /bin/sh", "no find, stat -c and dd there"),
        ("exec /bin/false", ""),
        ("echo This account is not available.", ""),
        ("exec /usr/lib/openssh/sftp-server", ""),
    ],
)
def test_restricted_account_is_named(forced: Sshd, logs: Path, run: Run, command: str, message: str) -> None:
    (forced.directory / "login").write_text(f"#!/bin/sh\n{command}\n")
    done = run(forced, "export", f"gpu01:{logs}")
    assert done.code == 1
    assert done.err.startswith(f"tuimon: gpu01:{logs}: ")
    assert message in done.err


def test_jump_host(logs: Path, tmp_path: Path, host: Sshd, run: Run) -> None:
    config = tmp_path / "config"
    with Sshd(tmp_path / "inner", name="inner") as inner:
        jump = f"ProxyCommand ssh -F {host.config} -W %h:%p gpu01\n"
        config.write_text(host.config.read_text() + inner.config.read_text() + jump)
        assert _exported(run(inner, "export", f"inner:{logs}", TUIMON_SSH=f"ssh -F {config}")) == 301


# ---------------------------------------------------------------------- faults


def _shells(host: Sshd) -> list[int]:
    """Return the shells that sshd has started; a pipeline of theirs is for a moment a shell of the same name."""
    shells = [pid for pid in descendants(host.server) if _command_line(pid) == b"/bin/sh\0"]
    return [pid for pid in shells if _parent(pid) not in (None, *shells)]


def _parent(pid: int) -> int | None:
    try:
        return psutil.Process(pid).ppid()
    except psutil.NoSuchProcess:
        return None


def _clients() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if b"-oEscapeChar=none" in _command_line(pid)]


def test_link_that_is_killed_reset_or_stalled_comes_back(
    host: Sshd, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posix, "SILENCE", 2.0)
    log, states = logs / "grpo" / "log.jsonl", list[str]()
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    with SlowLink(host.port, delay=0.01) as link:
        host.write_config(link.port)
        (target,) = parse(f"gpu01:{logs}")
        keeper = Keeper(target, connector(target), where=str(tmp_path / "mirror"))
        keeper.on_change = lambda: states.append(keeper.link.state)
        keeper.start()
        faults: list[Callable[[], None]] = [
            lambda: kill(_shells(host)[0]), lambda: kill(_clients()[0]), link.reset, link.stall,
        ]  # fmt: skip
        try:
            for number, fault in enumerate(faults):
                until(lambda: keeper.link.state == "live", str(keeper.link))
                shells = _shells(host)
                assert len(shells) == 1
                states.clear()
                fault()
                with log.open("ab") as file:
                    file.write(log_rows(50, 300 + 50 * number))
                until(lambda: "lost" in states, str(keeper.link))
                link.resume()
                until(lambda: (Path(keeper.path) / "grpo/log.jsonl").read_bytes() == log.read_bytes(), str(keeper.link))
                until(lambda shells=shells: not Path(f"/proc/{shells[0]}").exists(), "no shell is left behind")
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
    environment = {**os.environ, **host.environment, "TUIMON_MIRROR": str(tmp_path / "mirror")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "live\n"
            shells = _shells(host)
        finally:
            process.send_signal(signal.SIGKILL)
    assert shells
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in shells))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


# ---------------------------------------------------------------------- login


def test_host_key_and_passphrase_are_asked_on_the_terminal(logs: Path, tmp_path: Path, run: Run) -> None:
    with Sshd(tmp_path / "ssh", passphrase="open sesame") as server:
        server.known_hosts.write_text("")
        environment = {**os.environ, **server.environment, "TUIMON_MIRROR": str(tmp_path / "mirror")}
        with Terminal([*TUIMON, "export", f"gpu01:{logs}"], environment=environment) as terminal:
            terminal.until(lambda output: b"continue connecting" in output)
            terminal.type("yes\n")
            terminal.until(lambda output: b"Enter passphrase" in output)
            terminal.type("open sesame\n")
            assert terminal.wait(60) == 0
            assert terminal.output.count(b"299") > 0
        done = run(server, "export", f"gpu01:{logs}")  # without a terminal nothing is asked
        assert done.code == 1
        assert "Permission denied" in done.err
