"""Proves the Containerfile where no base image can be pulled: its steps, in clean roots made of Debian's packages.

``debian:bookworm-slim`` is what debootstrap makes as its smallest variant, with documentation left out.  Each RUN is
run by chroot, each COPY copied, each ENV set.  Then the server runs as the image's user, in a root filesystem that is
bound read-only, with an empty /tmp and a folder for its state, without any capability; it answers one question.

    sudo python deploy/prove.py /var/tmp/lapwing-container

Packages of Python are downloaded beforehand by the pip that runs this, with the settings of this machine; inside there
is no index.  Needs root, debootstrap, and 2 GB in the folder.  Exit status 75: Debian's packages cannot be fetched.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
CONTEXT = HERE.parent
SUITE = "bookworm"
BASE = f"docker.io/library/debian:{SUITE}-slim"
VISITS = "patient,ward\n" + "".join(f"p{i},{('north', 'south')[i % 2]}\n" for i in range(400))
SOURCE = """\
name = "visits"
table = "visits.csv"
person = "patient"
rows_per_person = 1
epsilon = 2
ledger = "/var/lib/lapwing/visits.ledger"
[columns.ward]
keys = ["north", "south"]
"""


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, each with its arguments as one line."""
    whole = re.sub(r"\\\n\s*", "", text)
    lines = [line.strip() for line in whole.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def call(*words: object, **more: object) -> None:
    """Run a command; say what it was if it fails."""
    done = subprocess.run([str(word) for word in words], check=False, timeout=900, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{shlex.join(map(str, words))}: status {done.returncode}")


class Stage:
    """One stage: its root, and what ENV, USER, WORKDIR and the others say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.says: dict[str, str] = {}

    def run(self, script: str, wheels: Path) -> None:
        """Run a script in the root; pip finds packages in one folder, and nowhere else."""
        (self.root / "wheels").mkdir(exist_ok=True)
        env = {**self.env, "DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
        env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8"}
        mounts = f"mount --bind {shlex.quote(str(wheels))} {self.root}/wheels && mount -t proc proc {self.root}/proc"
        inside = shlex.join(["chroot", str(self.root), "/bin/sh", "-ec", script])
        call("unshare", "--mount", "--propagation", "private", "sh", "-ec", f"{mounts} && exec {inside}", env=env)
        (self.root / "wheels").rmdir()


def build(work: Path, base: Path, wheels: Path) -> Stage:
    """Take all steps of the Containerfile; return its last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for name, rest in instructions((HERE / "Containerfile").read_text(encoding="utf-8")):
        print(f"  {name} {rest}"[:110], flush=True)
        if name == "FROM":
            image, *named = rest.split()
            if image != BASE:
                raise SystemExit(f"The base is {image}, and not {BASE}")
            label = named[1] if named else "last"
            stage = stages[label] = Stage(work / label)
            call("cp", "--archive", base, stage.root)
        elif name == "RUN":
            stage.run(rest, wheels)
        elif name == "COPY":
            *sources, target = rest.split()
            origin = CONTEXT
            if sources[0].startswith("--from="):
                origin = stages[sources.pop(0).removeprefix("--from=")].root
            for each in sources:
                copy(origin / each.lstrip("/"), stage.root / target.lstrip("/"), folder=target.endswith("/"))
        elif name == "ENV":
            key, _, value = rest.partition("=")
            stage.env[key] = value
        elif name in ("USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
            stage.says[name] = rest
        else:
            raise SystemExit(f"{name} is not an instruction that this script knows")
    return stage


def copy(origin: Path, target: Path, *, folder: bool) -> None:
    """Copy a file, or what is in a folder, as COPY does."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        return
    if folder:
        target.mkdir(parents=True, exist_ok=True)
    shutil.copy2(origin, target)


class Container:
    """The image as it would run: read-only, without root, without capabilities."""

    def __init__(self, stage: Stage, work: Path) -> None:
        self.stage, self.state, self.served = stage, work / "state", work / "served"
        user, _, group = stage.says["USER"].partition(":")
        self.user, self.group = int(user), int(group)
        for folder in (self.state, self.served):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        os.chown(self.state, self.user, self.group)
        self.state.chmod(0o700)
        (self.served / "visits.csv").write_text(VISITS)
        (self.served / "visits.toml").write_text(SOURCE)
        shutil.copy(HERE / "serve.toml", self.served)

    def words(self, *inside: str) -> list[str]:
        """Return the command that runs words in the container."""
        root = self.stage.root
        mounts = [
            f"mount --bind {root} {root}",
            f"mount -t tmpfs tmpfs {root}/tmp",
            f"mount -t proc proc {root}/proc",
            f"mount --bind {self.state} {root}{self.stage.says['VOLUME']}",
            f"mount --bind {self.served} {root}/srv/lapwing",
            f"mount -o remount,ro,bind {root}/srv/lapwing",
            f"mount -o remount,ro,bind {root}",
        ]
        env = [f"{key}={value}" for key, value in self.stage.env.items()]
        own = ["chroot", f"--userspec={self.user}:{self.group}", "--groups=", str(root)]
        inner = ["env", "-i", f"--chdir={self.stage.says['WORKDIR']}", *env, *inside]
        enter = shlex.join(["setpriv", "--no-new-privs", *own, *inner])
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f"{' && '.join(mounts)} && exec {enter}"]

    def said(self, *inside: str) -> str:
        """Run words in the container, and return what they print."""
        done = subprocess.run(self.words(*inside), capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise SystemExit(f"{shlex.join(inside)}: {done.stderr}")
        return done.stdout.strip()


def prove(container: Container) -> None:
    """Invite an analyst, serve, ask; then look at what the image cannot do."""
    says, name = container.stage.says, "stats.example"
    start = json.loads(says["ENTRYPOINT"])
    record = ["--config", "/srv/lapwing/serve.toml"]
    invited = ["access", "invite", "ana", "visits.toml", "--role", "analyst", "--cap", "1", *record]
    token = container.said(*start, *invited)
    cannot = "touch /new 2>/dev/null || touch /srv/lapwing/new 2>/dev/null || test $(id -u) = 0"
    container.said("sh", "-c", f"! {{ {cannot}; }}")
    privileges = container.said("sh", "-c", "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status")
    print(f"  as user {container.said('id', '-u')}: " + " ".join(privileges.split()))
    port = int(says["EXPOSE"])
    with socket.socket() as free:
        if free.connect_ex(("127.0.0.1", port)) == 0:
            raise SystemExit(f"Port {port} of this machine is in use")
    server = subprocess.Popen(container.words(*start, *json.loads(says["CMD"])))
    try:
        health = json.loads(says["HEALTHCHECK"].partition("CMD ")[2])
        until = time.monotonic() + 60
        while subprocess.run(container.words(*health), check=False, timeout=60).returncode:
            if server.poll() is not None or time.monotonic() > until:
                raise SystemExit("The server does not answer to its health check")
            time.sleep(0.5)
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        asked = {"sql": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "epsilon": "0.5"}
        headers = {"Host": name, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        link.request("POST", "/api/v1/sources/visits/release", json.dumps(asked), headers)
        answer = link.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"The release was refused: {told}")
        for row in told["rows"]:
            print(f"  released: {row['ward']} {row['n']['value']} ({row['n']['low']} to {row['n']['high']})")
        link.close()
    finally:
        server.send_signal(signal.SIGTERM)
        ended = server.wait(timeout=60)
    if ended != 0:
        raise SystemExit(f"The server ended with status {ended}")
    print("  " + container.said(*start, "ledger", "/var/lib/lapwing/visits.ledger", "verify").splitlines()[0])


def main(folder: str) -> None:
    """Build and prove in a folder, which may be used again."""
    work = Path(folder).absolute()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SystemExit("This needs root and debootstrap (apt-get install debootstrap).")
    work.mkdir(parents=True, exist_ok=True)
    base, wheels = work / "base", work / "wheels"
    if not (base / "etc/os-release").exists():
        print(f"debootstrap --variant=minbase {SUITE}", flush=True)
        made = ["debootstrap", "--variant=minbase", SUITE, str(base)]
        if subprocess.run(made, stdout=subprocess.DEVNULL, timeout=900, check=False).returncode:
            print("DEBIAN'S PACKAGES CANNOT BE FETCHED: the steps of the container are not tried")
            raise SystemExit(75)
    for each in ("build", "last"):
        shutil.rmtree(work / each, ignore_errors=True)
    print("packages of Python", flush=True)
    wheels.mkdir(exist_ok=True)
    wanted = [f"{CONTEXT}[server,postgres]", "setuptools>=77", "wheel"]
    download = ["download", "--quiet", "--constraint", CONTEXT / "constraints.txt", "--dest", wheels]
    call(sys.executable, "-m", "pip", *download, "--python-version", "3.11", "--only-binary", ":all:", *wanted)
    for each in wheels.glob("lapwing-*"):
        each.unlink()
    if Path("/etc/resolv.conf").exists():
        shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    print("Containerfile", flush=True)
    stage = build(work, base, wheels)
    size = subprocess.run(["du", "-sm", stage.root], capture_output=True, text=True, check=True).stdout.split()[0]
    print(f"  {size} MB", flush=True)
    prove(Container(stage, work))
    print("The steps of the Containerfile make a server that answers, read-only and without root.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/var/tmp/lapwing-container")
