"""Sign-in with a real provider: by a code for browsers, and by an ID token for terminals; rotation, replays, faults."""

from urllib.parse import parse_qs, urlsplit

import pytest

from lapwing.server.id_token import BadToken
from lapwing.server.openid import Begun, SignIn
from lapwing.server.openid_settings import OpenId

from ...oidc.provider import SECRET, Visitor

pytestmark = pytest.mark.usefixtures("frozen_noise")

ANA = "ana@example.org"


def sign_in_at(provider, **more):
    given = {"client_id": "lapwing", "client_secret": SECRET, "terminal_client_id": "lapwing-terminal"} | more
    return SignIn(OpenId(provider.issuer, url="http://127.0.0.1:8765", **given))


def returning(server, provider, name=ANA):
    """Sign in at the provider; return what was begun, and what came back."""
    begun = Begun.anew()
    return begun, Visitor(provider.issuer).sign_in(server.address(begun), name)


@pytest.mark.parametrize("client", ["lapwing", "lapwing-post", "lapwing-es"])
def test_a_browser_signs_in(real_provider, client):
    provider = real_provider()
    server = sign_in_at(provider, client_id=client)
    begun, said = returning(server, provider)
    assert said["state"] == begun.state
    assert said["iss"] == provider.issuer
    assert server.person_returning(begun, said["code"], [said["iss"]]) == ANA
    with pytest.raises(BadToken, match="did not accept the code"):  # a code is of use once
        server.person_returning(begun, said["code"], [said["iss"]])


def test_a_provider_that_keeps_to_the_letter_is_asked_for_the_claim(real_provider):
    provider = real_provider("http://127.0.0.1:8765/sign-in/openid/return", "conform")
    server = sign_in_at(provider)
    begun, said = returning(server, provider)
    assert server.person_returning(begun, said["code"], [said["iss"]]) == ANA


def test_a_code_is_of_no_use_without_the_secret_of_the_browser_that_began(real_provider):
    provider = real_provider()
    server = sign_in_at(provider)
    begun, said = returning(server, provider)
    with pytest.raises(BadToken, match="did not accept the code"):  # another verifier: PKCE
        server.person_returning(Begun.anew(), said["code"], [said["iss"]])
    begun, said = returning(server, provider)
    good = provider.issuer
    for issuers in ([], ["https://evil.example"], [f"{good}/"], [good, "https://evil.example"], [good, good]):
        with pytest.raises(BadToken, match="another issuer"):
            server.person_returning(begun, said["code"], issuers)
    for code in ("", "x" * 5000):
        with pytest.raises(BadToken, match="no code"):
            server.person_returning(begun, code, [provider.issuer])
    assert server.person_returning(begun, said["code"], [said["iss"]]) == ANA


def test_an_address_that_is_not_verified_names_nobody(real_provider):
    provider = real_provider()
    server = sign_in_at(provider)
    begun, said = returning(server, provider, "unverified@example.org")
    with pytest.raises(BadToken, match="no address that the provider has verified"):
        server.person_returning(begun, said["code"], [said["iss"]])
    by_subject = sign_in_at(provider, person="sub")
    begun, said = returning(by_subject, provider, "u-17")
    assert by_subject.person_returning(begun, said["code"], [said["iss"]]) == "u-17"


def test_a_token_by_a_shared_secret_is_refused(real_provider):
    provider = real_provider()
    server = sign_in_at(provider, client_id="lapwing-hmac")
    begun, said = returning(server, provider)
    with pytest.raises(BadToken, match="algorithm is not allowed"):
        server.person_returning(begun, said["code"], [said["iss"]])


def test_keys_are_rotated(real_provider):
    provider = real_provider()
    server = sign_in_at(provider)
    for _ in range(2):
        begun, said = returning(server, provider)
        assert server.person_returning(begun, said["code"], [said["iss"]]) == ANA
        provider.stop()
        provider.start()  # with new keys; the server keeps the old ones until it meets a new name


def test_what_is_asked_of_the_provider(real_provider):
    provider = real_provider()
    server, begun = sign_in_at(provider), Begun.anew()
    address = urlsplit(server.address(begun))
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert asked == {
        "response_type": "code", "client_id": "lapwing", "redirect_uri": provider.returns_to, "scope": "openid email",
        "state": begun.state, "nonce": begun.nonce, "code_challenge": begun.challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    assert begun.secret not in address.query
    assert begun.verifier not in address.query
    assert len({begun.state, begun.nonce, begun.verifier, begun.challenge}) == 4
    assert urlsplit(server.leaving_address()).path == "/session/end"


def test_someone_who_gives_up_is_sent_back_with_an_error(real_provider):
    provider = real_provider()
    server, begun = sign_in_at(provider), Begun.anew()
    said = Visitor(provider.issuer).refuse(server.address(begun))
    assert (said["error"], said["state"]) == ("access_denied", begun.state)
