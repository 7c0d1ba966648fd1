"""What ``deploy`` holds fits the real command line and settings; the proxy and the unit are tried where they can be."""

import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import tomllib
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import yaml

import lapwing as lw
from lapwing.cli.main import main
from lapwing.ledger.store import connect
from lapwing.server.access import Access, invite
from lapwing.server.permissions import Role
from lapwing.server.settings import Settings, settings_of
from lapwing.server.store import AccessStore
from lapwing.server.uploads import UPLOAD

from ...conftest import NO_NGINX
from .conftest import ASKED
from .processes import Process, free_port, write_certificate

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(DEPLOY))

from prove import BASE, instructions  # noqa: E402  # a script beside what it proves

CONTAINERFILE = instructions((DEPLOY / "Containerfile").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNIT = (DEPLOY / "systemd" / "lapwing@.service").read_text()


def said(name):
    return [rest for each, rest in CONTAINERFILE if each == name]


def unit(name):
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def understood(words):
    """Parse words as ``lapwing`` would, down to the command that they name; return it, and what its options are."""
    command, context = main, click.Context(main)
    words = list(words)
    while True:
        context = command.make_context(command.name, words, parent=context)
        if not isinstance(command, click.Group) or not context._protected_args:
            return command, context.params
        words = [*context._protected_args, *context.args]
        name, command, words = command.resolve_command(context, words)
        assert command is not None, name


def served(words, config):
    """Return the settings of a command line with ``--config``, as the server would have them."""
    command, given = understood(words)
    assert command.name == "serve"
    given.pop("config")
    return settings_of(str(config), given)


def test_the_container_serves_by_the_real_command_line():
    entry, command = (json.loads(said(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["lapwing"]
    made = served(command, DEPLOY / "serve.toml")
    assert (made.host, made.behind_proxy, made.names) == ("0.0.0.0", True, ("stats.example",))
    assert str(made.port) == said("EXPOSE")[0]
    assert made.access.startswith(f"{said('VOLUME')[0]}/")
    assert Path(command[command.index("--config") + 1]).parent == Path(said("WORKDIR")[0])


def test_the_container_has_no_root_and_what_it_copies_is_there():
    assert set(said("FROM")) == {f"{BASE} AS build", BASE}
    assert said("USER") == ["10001:10001"]
    user = CONTAINERFILE.index(("USER", "10001:10001"))
    assert not any(name in ("RUN", "COPY") for name, _ in CONTAINERFILE[user:])
    for rest in said("COPY"):
        if not rest.startswith("--from="):
            assert all((ROOT / each).exists() for each in rest.split()[:-1]), rest
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (installed,) = re.findall(r"'/build\[(.*?)\]'", "\n".join(said("RUN")))
    assert set(installed.split(",")) == {"server", "postgres"} <= set(extras)


def test_the_health_check_asks_by_the_name_that_the_server_answers_to(folder, tmp_path):
    (words,) = [json.loads(each.partition("CMD ")[2]) for each in said("HEALTHCHECK")]
    assert words[:2] == ["python", "/opt/lapwing/healthcheck.py"]
    assert "deploy/healthcheck.py /opt/lapwing/healthcheck.py" in said("COPY")
    server = Process(folder, "--behind-proxy", "--name", "stats.example").wait()
    try:
        config = tmp_path / "serve.toml"
        config.write_text(f'names = ["stats.example"]\nport = {server.port}\n')
        check = [sys.executable, str(DEPLOY / "healthcheck.py"), str(config)]
        assert subprocess.run(check, check=False).returncode == 0
        config.write_text(f'names = ["other.example"]\nport = {server.port}\n')
        assert subprocess.run(check, check=False).returncode == 1
    finally:
        server.kill()
    assert subprocess.run(check, check=False).returncode == 1


def test_the_composition_serves_by_the_real_command_line_and_settings():
    ours, database, proxy = (COMPOSE["services"][name] for name in ("lapwing", "database", "proxy"))
    made = served(ours["command"], DEPLOY / "serve-postgresql.toml")
    assert (made.host, made.port) == ("0.0.0.0", 8765)
    assert ours["read_only"]
    assert ours["cap_drop"] == ["ALL"]
    assert (DEPLOY / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    places = [made.access, "postgresql://lapwing@database/visits"]
    kept = [connect(place, 1).engine.url for place in places]
    assert {each.host for each in kept} == {"database"} <= set(COMPOSE["services"])
    assert {each.username for each in kept} == {database["environment"]["POSTGRES_USER"]}
    names = {
        database["environment"]["POSTGRES_DB"],
        *re.findall(r"CREATE DATABASE (\w+);", (DEPLOY / "databases.sql").read_text()),
    }
    assert {each.database for each in kept} == names
    assert "PGPASSWORD" in ours["environment"]
    assert "ports" not in ours
    assert "ports" not in database
    assert COMPOSE["networks"]["back"]["internal"]
    mounted = [each.split(":")[0] for each in proxy["volumes"] if "nginx" in each.split(":")[0]]
    assert all((DEPLOY / each).is_file() for each in mounted)
    assert "server lapwing:8765;" in (DEPLOY / "nginx" / "upstream-compose.conf").read_text()


def test_the_unit_serves_by_the_real_command_line():
    program, *words = shlex.split(unit("ExecStart")[0].replace("%i", "8766"))
    assert program == "/opt/lapwing/bin/lapwing"
    made = served(words, DEPLOY / "serve.toml")
    assert (made.host, made.port) == ("127.0.0.1", 8766)
    assert made.access == f"/var/lib/{unit('StateDirectory')[0]}/access.sqlite"
    assert unit("User") == ["lapwing"]
    assert unit("NoNewPrivileges") == ["yes"]
    assert unit("ProtectSystem") == ["strict"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit_and_finds_it_confined(tmp_path):
    one = tmp_path / "lapwing@8765.service"
    one.write_text(
        UNIT.replace("/opt/lapwing/bin/lapwing", sys.executable)
        .replace("User=lapwing", "User=daemon")
        .replace("Group=lapwing", "Group=daemon")
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(one)], capture_output=True, text=True, check=False
    )
    about_us = [line for line in done.stderr.splitlines() if "lapwing" in line]
    assert about_us == []
    security = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", str(one)]
    done = subprocess.run(security, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


# --- the proxy ---


def test_the_proxy_takes_tables_as_large_as_the_server_does():
    text = (DEPLOY / "nginx" / "lapwing.conf").read_text()
    (most,) = re.findall(rf"location = {UPLOAD} {{.*?client_max_body_size (\d+)m;.*?}}", text, re.DOTALL)
    usual = Settings(sources=())
    assert int(most) * 2**20 >= usual.upload_bytes
    (others,) = re.findall(r"^    client_max_body_size (\d+)m;", text, re.MULTILINE)
    assert int(others) * 2**20 >= usual.body_bytes


class Proxy(SimpleNamespace):
    """A real nginx in front of a real server, with the settings of ``deploy/nginx``."""


@pytest.fixture
def proxied(folder, tmp_path):
    if shutil.which("nginx") is None:
        pytest.skip(NO_NGINX)
    maker = invite(Access(AccessStore(str(folder / "access.sqlite"))), "mara", Role.MAKER, [], 30, [""]).text
    tables = ("--sources-folder", str(folder / "tables"))
    server = Process(folder, "--behind-proxy", "--name", "localhost", *tables).wait()
    server.tokens["mara"] = maker
    certificate, key = write_certificate(tmp_path)
    port, place = free_port(), tmp_path / "nginx"
    place.mkdir()
    ours = (DEPLOY / "nginx" / "lapwing.conf").read_text() + (DEPLOY / "nginx" / "upstream.conf").read_text()
    for before, after in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("server_name stats.example;", "server_name localhost;"),
        ("/etc/lapwing/tls/full.pem", str(certificate)),
        ("/etc/lapwing/tls/key.pem", str(key)),
        ("/var/log/nginx/", f"{place}/"),
        ("127.0.0.1:8765", f"127.0.0.1:{server.port}"),
        ("client_header_timeout 10s", "client_header_timeout 1s"),
    ):
        assert before in ours
        ours = ours.replace(before, after)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in kinds)
    file = place / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""
    file.write_text(
        f"{user}daemon off;\npid {place}/pid;\nerror_log {place}/main.log crit;\n"
        f"events {{}}\nhttp {{\n{folders}{ours}}}\n"
    )
    words = ["nginx", "-p", str(place), "-c", str(file), "-e", f"{place}/main.log"]
    tested = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    process = subprocess.Popen(words)
    for _ in range(200):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                break
        threading.Event().wait(0.05)
    yield Proxy(server=server, port=port, certificate=str(certificate), url=f"https://localhost:{port}", place=place)
    process.terminate()
    process.wait(timeout=30)
    server.kill()


def test_an_analyst_asks_through_the_proxy(proxied):
    link = lw.connect(proxied.url, proxied.server.tokens["ana"], certificates=proxied.certificate)
    answer = link["visits"].sql(ASKED, epsilon="0.5")
    assert len(answer.rows) == 3
    assert [entry.epsilon for entry in link["visits"].history()] == [Fraction(1, 2)]
    log = (proxied.place / "lapwing.log").read_text()
    assert all(re.fullmatch(r"\S+ 127\.0\.0\.1 (GET|POST) 200", line) for line in log.splitlines())
    assert len(log.splitlines()) >= 2
    assert "lapwing_" not in log


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/new/upload?name=large.csv", 3_000_000, 201),
        ("/new/upload?name=huge.csv", 210_000_000, 413),
        ("/api/v1/sources/visits/plan", 3_000_000, 413),
    ],
)
def test_the_proxy_takes_tables_of_makers_and_nothing_else_that_is_large(proxied, path, size, status):
    trusted = ssl.create_default_context(cafile=proxied.certificate)
    opened = http.client.HTTPSConnection("localhost", proxied.port, timeout=60, context=trusted)
    with closing(opened) as link:
        link.putrequest("POST", path)
        link.putheader("Authorization", f"Bearer {proxied.server.tokens['mara']}")
        link.putheader("Content-Type", "application/octet-stream")
        link.putheader("Content-Length", str(size))
        link.endheaders(b"" if status == 413 else b"n\n" + b"1\n" * (size // 2 - 1))
        with link.getresponse() as answer:
            assert answer.status == status


def test_the_proxy_ends_what_is_slow_or_called_by_another_name(proxied):
    trusted = ssl.create_default_context(cafile=proxied.certificate)
    with (
        socket.create_connection(("127.0.0.1", proxied.port), timeout=30) as link,
        trusted.wrap_socket(link, server_hostname="localhost") as silent,
    ):
        silent.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")  # and no end of the headers
        assert silent.recv(1000) == b""
    trusted.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", proxied.port), timeout=30) as link,
        pytest.raises(ssl.SSLError),
    ):
        trusted.wrap_socket(link, server_hostname="other.example")


# --- what the pages say ---


@pytest.mark.parametrize("page", ["deploy", "ask-a-server", "serve", "upgrade"])
def test_every_command_of_these_pages_is_one(page):
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
    found = re.findall(r"^(?:\$ |# )(?:sudo -u lapwing )?(?:/opt/lapwing/bin/)?lapwing (.*)$", text, re.MULTILINE)
    assert found or page == "upgrade"
    for command in found:
        understood(shlex.split(command.replace("$(cat head.txt)", "0" * 64)))


def test_files_that_the_pages_name_are_there():
    for page in ("deploy", "upgrade"):
        text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
        named = [name for name in re.findall(r"\bdeploy/[\w./@-]+\b", text) if name.split("/")[1] not in ("srv", "tls")]
        assert [name for name in named if not (ROOT / name).exists()] == []
