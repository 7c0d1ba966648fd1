"""The command ``lapwing serve`` as processes of a test: started, asked over real connections, stopped or killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import lapwing as lw

_NUMBERS = count()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def write_certificate(folder):
    """Write a certificate for this machine that signs itself, and its key; return their files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")]), datetime.now(UTC)
    names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem, secret = folder / "certificate.pem", folder / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    forms = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, *forms))
    return pem, secret


class Process:
    """``lapwing serve`` on a free port; what it writes goes to a file."""

    def __init__(self, folder, *options, scheme="http", access=None, config=None):
        self.port = free_port()
        words = ["serve", str(folder / "visits.toml"), "--port", str(self.port)]
        words += ["--access", access or str(folder / "access.sqlite")]
        if config is not None:
            file = folder / "serve.settings"
            file.write_text(config)
            words += ["--config", str(file)]
        self._said = folder / f"{next(_NUMBERS)}.log"
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lapwing", *words, *options],
                stderr=said, env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.tokens = json.loads((folder / "tokens.json").read_text())

    def wait(self):
        """Wait until it listens."""
        for _ in range(1200):
            if self.process.poll() is not None:
                raise AssertionError(self.said)
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            threading.Event().wait(0.05)
        raise AssertionError("the server did not start")

    @property
    def said(self):
        return self._said.read_text()

    def connect(self, who, **more):
        return lw.connect(self.url, self.tokens[who], **more)

    def end(self, number=signal.SIGTERM):
        """Stop or kill it; return its status, and what it wrote."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60), self.said

    def kill(self):
        """Make sure that it has ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
