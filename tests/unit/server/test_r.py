"""The R package of ``clients/r``, installed into a new library and run against a real server."""

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ...conftest import NO_R
from ...test_pages import BLOCK, ROOT
from .processes import Process

PACKAGE = ROOT / "clients" / "r"
NEEDED = 'stopifnot(requireNamespace("httr2", quietly = TRUE), requireNamespace("jsonlite", quietly = TRUE))'


def run(*words, folder, **more):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "R_LIBS": str(folder / "library"), **more}
    if "LAPWING_TOKEN" not in more:
        env.pop("LAPWING_TOKEN", None)
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with the package installed into a library of its own."""
    folder = tmp_path_factory.mktemp("r")
    if shutil.which("R") is None or run("Rscript", "-e", NEEDED, folder=folder)[0] != 0:
        pytest.skip(NO_R)
    (folder / "library").mkdir()
    status, said = run("R", "CMD", "INSTALL", "--no-multiarch", "-l", "library", str(PACKAGE), folder=folder)
    assert status == 0, said
    return folder


@pytest.fixture
def served(folder):
    """A server, and a folder with a file for each token that only its owner can read."""
    server = Process(folder).wait()
    tokens = folder / "tokens"
    tokens.mkdir(mode=0o700)
    for name, token in server.tokens.items():
        (tokens / name).touch(mode=0o600)
        (tokens / name).write_text(token)
    yield {"LAPWING_TEST_URL": server.url, "LAPWING_TEST_TOKENS": str(tokens)}
    server.kill()


@pytest.fixture
def endless():
    """The address of a server that lists entries without an end: pages of nothing, or of all that was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            asked = {name: int(value) for name, (value,) in parse_qs(parts.query).items()}
            before = asked.get("before", 10**9)
            full = range(before - asked.get("most", 0), before) if parts.path.endswith("/ledger") else []
            told = {"name": "visits", "entries": [{"entry": each} for each in full]}
            told["before"] = full[0] if full else before - 1
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_r_does_not_read_pages_without_an_end(library, endless):
    code = f"""
    library(lapwing)
    environment <- asNamespace("lapwing")
    unlockBinding(".most_listed", environment)
    assign(".most_listed", 2500, envir = environment)
    visits <- lapwing_connect("{endless}")[["visits"]]
    for (list in list(visits$history, visits$entries)) cat(conditionMessage(tryCatch(list(), error = identity)), "\\n")
    """
    status, said = run("Rscript", "--vanilla", "-e", code, folder=library, LAPWING_TOKEN="lapwing_token")
    assert status == 0, said
    nothing, full = said.strip().splitlines()[-2:]
    assert nothing.startswith("The server's answer cannot be read.")
    assert full.startswith("The server lists more than")


def test_what_needs_no_server(library):
    status, said = run("Rscript", "--vanilla", str(PACKAGE / "tests" / "offline.R"), folder=library)
    assert (status, said.splitlines()[-1]) == (0, "offline: all is as expected"), said


def test_r_asks_a_real_server(library, served):
    status, said = run("Rscript", "--vanilla", str(PACKAGE / "tests" / "server.R"), folder=library, **served)
    assert (status, said.splitlines()[-1]) == (0, "server: all is as expected"), said


@pytest.mark.parametrize("page", ["docs/how-to/ask-a-server.md", "clients/r/README.md"])
def test_the_r_of_the_pages_runs(page, library, served):
    shown = "".join(text for language, text, _ in BLOCK.findall((ROOT / page).read_text()) if language == "r")
    token = str(Path(served["LAPWING_TEST_TOKENS"]) / "ana")
    script = library / "page.R"
    script.write_text(shown.replace("https://stats.example", served["LAPWING_TEST_URL"]).replace("token.txt", token))
    status, said = run("Rscript", "--vanilla", str(script), folder=library)
    assert status == 0, said
    assert "n_low" in said


def test_r_finds_nothing_wrong_with_the_package(library, served):
    status, said = run("R", "CMD", "build", "--no-manual", str(PACKAGE), folder=library)
    assert status == 0, said
    status, said = run("R", "CMD", "check", "--no-manual", "lapwing_0.1.0.tar.gz", folder=library, **served)
    assert status == 0, said
    assert "Status: OK" in said, said
