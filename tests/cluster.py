"""make cluster: the tests on Spark, on a cluster of this machine and then on a Spark Connect server.

One master, two workers and the server are processes of their own on 127.0.0.1.  All they write is in a temporary
folder, which goes when they do.  Whatever ends the run, they are ended by their process ids.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from .conftest import JAVA, NO_JAVA

REPOSITORY = Path(__file__).parent.parent
PATIENCE = 90
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class Failure(Exception):
    """A step did not succeed; the text says which and where to look."""


def main():
    """Run all steps; return the exit status."""
    if not JAVA:
        say(NO_JAVA.replace("tests on Spark", "tests on a cluster of Spark"))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="lapwing-cluster-") as name:
            steps(Path(name))
    except Failure as failure:
        say(f"FAILED: {failure}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; all processes were ended")
        return 130
    say(f"all passed in {time.monotonic() - start:.0f} s")
    return 0


def steps(folder):
    with cluster(folder) as (url, workers):
        run("the cluster", folder, url, workers)
        with server(folder, url) as (connect, pid):
            run("Spark Connect", folder, connect, workers)
            run("a server that is killed", folder, connect, workers, pid)


def say(text):
    print(f"cluster: {text}", flush=True)  # noqa: T201


@contextmanager
def cluster(folder):
    """Yield the URL of a master with two workers, and their process ids."""
    with ExitStack() as stack:
        listen = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = stack.enter_context(process("master", folder, MASTER, *listen))
        url = master.wait_for(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        say(f"master at {url}")
        own = ["--cores", "1", "--memory", "700m", "--work-dir", str(folder / "work")]
        names = ("worker-1", "worker-2")
        workers = [stack.enter_context(process(name, folder, WORKER, *listen, *own, url)) for name in names]
        for name, worker in zip(names, workers, strict=True):
            worker.wait_for("Successfully registered with master")
            say(f"{name} is registered")
        yield url, [worker.pid for worker in workers]


@contextmanager
def server(folder, master):
    """Yield the URL of a Spark Connect server on a master, and its process id."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.progress.reportInterval": "100ms",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # half the time, and another way to compute the same
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.task.maxFailures": "2",
        "spark.ui.enabled": "false",
    }
    listed = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = ["--master", master, "--class", SERVER, *listed, "spark-internal"]
    with process("connect", folder, "org.apache.spark.deploy.SparkSubmit", *submit) as made:
        port = made.wait_for(r"Spark Connect server started at: \S*:(\d+)")
        say(f"Spark Connect at sc://127.0.0.1:{port}")
        yield f"sc://127.0.0.1:{port}", made.pid


class Process:
    """A process of Spark, and what it wrote."""

    def __init__(self, name, started, written):
        self.name = name
        self.pid = started.pid
        self._started = started
        self._written = written

    def wait_for(self, pattern):
        """Return the first group of what it writes, or all of it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = self._written.read_text(errors="replace")
            found = re.search(pattern, text)
            if found:
                return found.group(found.re.groups)
            if self._started.poll() is not None:
                break
            time.sleep(0.1)
        lines = [line[:300] for line in self._written.read_text(errors="replace").splitlines() if line[:1] != "\t"]
        raise Failure("\n".join([f"the {self.name} did not start; it wrote last:", *lines[-10:]]))


@contextmanager
def process(name, folder, *words):
    """Yield a process of Spark, which is ended in the end, with all that it started."""
    home = Path(find_spec("pyspark").origin).parent
    own = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "PYSPARK_PYTHON": sys.executable,
    }
    written = folder / f"{name}.log"
    with written.open("wb") as log:
        started = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *words],
            cwd=folder, env={**os.environ, **own}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield Process(name, started, written)
    finally:
        started.terminate()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        for left in group(started.pid):
            os.kill(left, signal.SIGKILL)


def group(leader):
    """Return the ids of the processes that a process started, by the group that it leads."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if fields[0] != "Z" and int(fields[2]) == leader:
            found.append(int(place.parent.name))
    return found


def run(what, folder, url, workers, server=""):
    """Run the tests on Spark, on this cluster or server."""
    say(f"the tests on {what}")
    start = time.monotonic()
    env = {
        **os.environ,
        "LAPWING_SPARK": url,
        "LAPWING_SPARK_WORKERS": " ".join(map(str, workers)),
        "LAPWING_SPARK_SERVER": str(server),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    words = ["-m", "pytest", "tests/engines", "-k", "killed_server" if server else "spark", "-p", "no:cacheprovider"]
    status = subprocess.run([sys.executable, *words, *sys.argv[1:]], cwd=REPOSITORY, env=env, check=False).returncode
    if status:
        raise Failure(f"the tests on {what} (pytest ended with {status})")
    say(f"the tests on {what} passed in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
