"""An issuer on this machine that answers as a test wants, and tokens signed with its keys: for hostile cases."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS = {"keys": [{**jwt.get_algorithm_by_name("RS256").to_jwk(KEY.public_key(), as_dict=True), "kid": "k1"}]}


class Issuer:
    """A provider in a thread: ``said`` has what it answers by path, as (status, body) or a function of the form."""

    def __init__(self):
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                length = int(self.headers.get("content-length") or 0)
                asked = self.rfile.read(length).decode()
                issuer.asked.append((self.path, asked, dict(self.headers)))
                found = issuer.said.get(self.path, (404, {}))
                status, body = found(asked) if callable(found) else found
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", sent.decode())
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_POST = do_GET  # noqa: N815  # the name that the library wants

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.asked = []
        self.said = {"/.well-known/openid-configuration": (200, self.document()), "/keys": (200, KEYS)}
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def document(self, **more):
        parts = {
            "issuer": self.url, "authorization_endpoint": f"{self.url}/auth", "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys", "device_authorization_endpoint": f"{self.url}/device",
        }  # fmt: skip
        return {name: value for name, value in {**parts, **more}.items() if value is not None}

    def describe(self, **more):
        self.said["/.well-known/openid-configuration"] = (200, self.document(**more))

    def token(self, client="terminal", key=KEY, **more):
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": client, "sub": "u-1", "iat": now, "exp": now + 300, "email": "ana",
            "email_verified": True, "jti": str(len(self.asked)),
        }  # fmt: skip
        given = {name: value for name, value in {**claims, **more}.items() if value is not None}
        return jwt.encode(given, key, "RS256", {"kid": "k1"})

    def stop(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def issuer():
    made = Issuer()
    yield made
    made.stop()
