"""A real OpenID provider on this machine, the certified oidc-provider of npm; and somebody who signs in to it by HTTP.

Without node 20, or without what ``make provider`` installs, these tests are skipped, and say so.
"""

import os
import re
import shutil
import socket
import subprocess
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, ProxyHandler, build_opener

import pytest

FOLDER = Path(__file__).parent
INSTALLED = FOLDER.parents[1] / ".oidc" / "node_modules" / "oidc-provider" / "lib" / "index.js"
NODE = shutil.which("node")
NO_PROVIDER = (
    "NO OPENID PROVIDER HERE: sign-in by OpenID Connect is NOT TRIED with a real one; install node 20, and run "
    "`make provider`"
)
SECRET = "a-secret-of-the-tests:with/odd+signs"
RETURNS_TO = "http://127.0.0.1:8765/sign-in/openid/return"


class RealProvider:
    """The provider, as a process on a free port."""

    def __init__(self, returns_to=RETURNS_TO, mode="usual"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.returns_to, self.mode = returns_to, mode
        self.issuer = f"http://localhost:{self.port}"
        self.start()

    def start(self):
        """Start it, with new keys."""
        words = [NODE, str(FOLDER / "provider.mjs"), str(INSTALLED), str(self.port), self.returns_to, self.mode]
        self._process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        )  # fmt: skip
        assert self._process.stdout.readline().strip() == self.issuer

    def stop(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


def _major(node):
    """The first number of the version of node."""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.removeprefix("v").partition(".")[0])


@pytest.fixture
def real_provider():
    """A function that starts a provider; all are stopped after the test."""
    if NODE is None or _major(NODE) < 20 or not INSTALLED.is_file():
        pytest.skip(NO_PROVIDER)
    begun = []

    def begin(*given):
        begun.append(RealProvider(*given))
        return begun[-1]

    yield begin
    for each in begun:
        each.stop()


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_, **__):
        return None


class Visitor:
    """Somebody with a browser: it keeps cookies, follows redirects of the provider, and stops when it is sent away."""

    def __init__(self, issuer):
        self._issuer = issuer
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()), _Stay, ProxyHandler({}))

    def _visit(self, address, **form):
        """Return where the provider sends us, or None, and the page."""
        data = urlencode(form).encode() if form else None
        try:
            with self._opener.open(address, data, timeout=20) as response:
                return None, response.read().decode()
        except HTTPError as moved:
            with moved:
                if moved.code not in (302, 303):
                    raise AssertionError(f"{moved.code}: {moved.read()!r}") from None
                return urljoin(address, moved.headers["Location"]), ""

    def _to_the_end(self, address, name):
        """Follow redirects, and fill in the forms of the provider; return where it sends us, or the last page."""
        moved, page = self._visit(address)
        for _ in range(20):
            if moved is not None:
                if not moved.startswith(self._issuer):
                    return moved
                address = moved
                moved, page = self._visit(address)
                continue
            form = re.search(r'<form(?=[^>]*method="post")[^>]*action="([^"]+)"', page)
            if form is None:
                return page
            fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
            if fields.get("prompt") == "login":
                fields |= {"login": name, "password": "any"}
            fields.pop("abort", None)
            address = urljoin(address, form[1].replace("&amp;", "&"))
            moved, page = self._visit(address, **fields)
        raise AssertionError("no end of redirects")

    def sign_in(self, address, name):
        """Sign in, and return what the provider sends back to the server: the fields of the address."""
        ended = self._to_the_end(address, name)
        return {field: values[0] for field, values in parse_qs(urlsplit(ended).query).items()}

    def refuse(self, address):
        """Begin to sign in, and give up."""
        while not (found := self._visit(address))[1]:
            address = found[0]
        link = re.search(r'href="([^"]+/abort)"', found[1])
        ended = self._to_the_end(urljoin(address, link[1]), "")
        return {field: values[0] for field, values in parse_qs(urlsplit(ended).query).items()}

    def approve(self, address, name):
        """Approve a device, at the address with its code."""
        return self._to_the_end(address, name)
