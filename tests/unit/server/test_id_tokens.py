"""ID tokens: a good one, and all that is wrong with others; signed here with keys of the usual kinds."""

import base64
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from lapwing.server.id_token import OLDEST, SKEW, BadToken, Claims, Expected, Keys, verified
from lapwing.server.openid import named, number_once
from lapwing.server.openid_settings import ALGORITHMS

NOW = 1_800_000_000
EXPECTED = Expected("https://login.example", "lapwing", ("RS256", "PS256", "ES256"), "fresh")
GOOD = {
    "iss": "https://login.example", "aud": "lapwing", "sub": "u-1", "nonce": "fresh", "exp": NOW + 300, "iat": NOW,
    "email": "ana@example.org", "email_verified": True,
}  # fmt: skip
CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


def make_key(kind, curve):
    if kind == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ed25519.Ed25519PrivateKey.generate() if kind == "OKP" else ec.generate_private_key(CURVES[curve])


SECRETS = {kind: make_key(*kind) for kind in dict.fromkeys(ALGORITHMS.values())}


def secret(algorithm):
    return SECRETS[ALGORITHMS[algorithm]]


def published(algorithm="RS256", name="k1", key=None, **more):
    """The JWK of a key, as a provider publishes it."""
    made = jwt.get_algorithm_by_name(algorithm).to_jwk((key or secret(algorithm)).public_key(), as_dict=True)
    return {**made, "kid": name, "use": "sig", "alg": algorithm, **more}


def keys_of(*found):
    return Keys(lambda: {"keys": list(found)}, lambda: 0.0)


def signed(claims=GOOD, algorithm="RS256", name="k1", key=None, **header):
    return jwt.encode(claims, key or secret(algorithm), algorithm, {"kid": name, **header})


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def check(token, keys=None, expected=EXPECTED, now=NOW):
    return verified(token, keys or keys_of(published()), expected, now)


def reason(*given, **named):
    with pytest.raises(BadToken) as found:
        check(*given, **named)
    return str(found.value)


def test_a_good_token_says_who():
    assert check(signed()) == Claims("u-1", "ana@example.org", True, "fresh")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_is_accepted_where_it_is_allowed_and_only_there(algorithm):
    keys, token = keys_of(published(algorithm)), signed(algorithm=algorithm)
    allowed = Expected(EXPECTED.issuer, "lapwing", (algorithm,), "fresh")
    assert check(token, keys, allowed).subject == "u-1"
    others = tuple(each for each in ALGORITHMS if each != algorithm)
    assert reason(token, keys, Expected(EXPECTED.issuer, "lapwing", others, "fresh")) == "its algorithm is not allowed"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"iss": "https://login.example/"}, "it is from another issuer"),
        ({"iss": None}, "it is from another issuer"),
        ({"iss": ["https://login.example"]}, "it is from another issuer"),
        ({"aud": "other"}, "it is for another client"),
        ({"aud": "lapwing2"}, "it is for another client"),
        ({"aud": None}, "it is for another client"),
        ({"aud": []}, "it is for another client"),
        ({"aud": {"lapwing": 1}}, "it is for another client"),
        ({"aud": ["lapwing", "other"]}, "it was given to another client"),
        ({"aud": ["lapwing", "other"], "azp": "other"}, "it was given to another client"),
        ({"azp": "other"}, "it was given to another client"),
        ({"azp": None}, "it was given to another client"),
        ({"exp": NOW - SKEW}, "it has expired"),
        ({"exp": None}, "it lacks a time"),
        ({"exp": str(NOW + 300)}, "it lacks a time"),
        ({"exp": True}, "it lacks a time"),
        ({"exp": 1e300}, "it lacks a time"),
        ({"exp": -1}, "it lacks a time"),
        ({"iat": None}, "it lacks a time"),
        ({"iat": NOW + SKEW + 1}, "it was made too long ago, or in the future"),
        ({"iat": NOW - OLDEST - SKEW - 1}, "it was made too long ago, or in the future"),
        ({"nbf": NOW + SKEW + 1}, "it is not valid yet"),
        ({"nbf": None}, "it lacks a time"),
        ({"nonce": "other"}, "it was made for another sign-in"),
        ({"nonce": ""}, "it was made for another sign-in"),
        ({"nonce": None}, "it was made for another sign-in"),
        ({"nonce": ["fresh"]}, "it was made for another sign-in"),
        ({"nonce": "fr\u00e9sh"}, "it was made for another sign-in"),
        ({"sub": ""}, "it names no subject"),
        ({"sub": 7}, "it names no subject"),
        ({"sub": "x" * 256}, "it names no subject"),
    ],
)
def test_a_claim_that_is_wrong_is_refused(change, why):
    assert (
        reason(jwt.api_jws.encode(json.dumps(GOOD | change).encode(), secret("RS256"), "RS256", {"kid": "k1"})) == why
    )


@pytest.mark.parametrize("name", ["iss", "aud", "exp", "iat", "nonce", "sub"])
def test_a_claim_that_is_missing_is_refused(name):
    assert reason(signed({key: value for key, value in GOOD.items() if key != name}))


def test_clocks_may_differ_by_a_minute_and_no_more():
    assert check(signed(), now=NOW + 300 + SKEW - 1)
    assert check(signed(), now=NOW - SKEW)
    assert reason(signed(), now=NOW + 300 + SKEW) == "it has expired"
    assert reason(signed(), now=NOW - SKEW - 1) == "it was made too long ago, or in the future"


def test_several_audiences_are_accepted_if_the_token_was_given_to_us():
    assert check(signed(GOOD | {"aud": ["lapwing", "other"], "azp": "lapwing"})).subject == "u-1"


def test_a_token_for_a_terminal_has_no_nonce():
    terminal = Expected(EXPECTED.issuer, "lapwing", ("RS256",), None)
    without = {name: value for name, value in GOOD.items() if name != "nonce"}
    assert check(signed(without), expected=terminal).nonce is None
    assert reason(signed(), expected=terminal) == "it was made for another sign-in"
    assert reason(signed(without | {"nonce": None}), expected=terminal) == "it was made for another sign-in"


# --- signatures ---


def test_no_token_without_a_signature_is_accepted():
    bare = [f"{part({'alg': alg, 'typ': 'JWT', 'kid': 'k1'})}.{part(GOOD)}." for alg in ("none", "None", "NONE", "")]
    assert {reason(each) for each in bare} <= {"its algorithm is not allowed", "its signature does not hold"}
    head = part({"alg": "RS256", "typ": "JWT", "kid": "k1"})
    assert reason(f"{head}.{part(GOOD)}.") == "its signature does not hold"


def test_a_public_key_is_no_secret_of_an_hmac():
    """The oldest attack: sign with HS256, and what everybody can read as the secret."""
    known, text = json.dumps(published()).encode(), f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(GOOD)}"
    made = base64.urlsafe_b64encode(hmac.digest(known, text.encode(), "sha256")).decode().rstrip("=")
    forged = f"{text}.{made}"
    assert reason(forged) == "its algorithm is not allowed"
    assert reason(forged, keys_of(published(), {"kty": "oct", "kid": "k1", "k": part("x" * 64)})) == (
        "its algorithm is not allowed"
    )


def test_a_key_that_the_token_brings_along_is_not_used():
    own = make_key("RSA", None)
    for header in (
        {"jwk": published(key=own)},
        {"jku": "https://evil.example/keys"},
        {"x5u": "https://evil.example/key"},
        {"x5c": ["MIIB"]},
    ):
        assert reason(signed(key=own, **header)) == "its signature does not hold"
        assert reason(signed(key=own, name="own", **header)) == "its key is unknown"


def test_a_changed_token_is_refused():
    head, payload, signature = signed().split(".")
    other = part(GOOD | {"email": "olga@example.org"})
    longer = f"{head}.{payload}.{signature}A"
    for each in (f"{head}.{other}.{signature}", f"{head}.{payload}.{signature[:-8]}AAAAAAAA", longer):
        assert reason(each) == "its signature does not hold"


@pytest.mark.parametrize(
    "token",
    ["", "a", "a.b", "a.b.c.d", "..", "a.b.c", None, 7, b"a.b.c", ["a"], "é.é.é", "x" * 20_000, "." * 10,
     f"{part([])}.{part(GOOD)}.", f"{part({'alg': ['RS256']})}.{part(GOOD)}.", f"{part({})}.{part(GOOD)}.x"],
)  # fmt: skip
def test_what_is_no_token_is_refused(token):
    assert reason(token)


@pytest.mark.parametrize(
    "header",
    [{"crit": ["exp"]}, {"crit": ["b64"], "b64": True}, {"typ": "at+jwt"}, {"typ": "logout+jwt"}, {"typ": 7}],
)
def test_tokens_of_other_kinds_are_refused(header):
    token = signed(algorithm="RS256", **header)
    assert reason(token) in ("it is a token of another kind", "its signature does not hold")


def test_a_payload_that_is_read_in_two_ways_is_refused():
    for text in (
        b'{"iss": "https://login.example", "iss": "https://evil.example"}',
        b'{"exp": NaN}',
        b"[]",
        b'"text"',
        b"\xff",
        b"{" * 9_000,
    ):
        token = jwt.api_jws.encode(text, secret("RS256"), "RS256", {"kid": "k1"})
        assert reason(token) == "it holds no JSON object"


# --- keys ---


def test_a_key_is_used_for_its_own_algorithm_and_purpose_alone():
    assert reason(signed(), keys_of(published(use="enc"))) == "its key is unknown"
    assert reason(signed(), keys_of(published(alg="PS256"))) == "its key is unknown"
    assert reason(signed(), keys_of(published("ES256"))) == "its key is unknown"
    assert reason(signed(algorithm="PS256"), keys_of(published())) == "its key is unknown"
    bare = {name: value for name, value in published().items() if name not in ("use", "alg")}
    assert check(signed(), keys_of(bare)).subject == "u-1"


def test_of_two_keys_of_one_name_none_is_taken():
    other = published(key=make_key("RSA", None))
    assert reason(signed(), keys_of(published(), other)) == "its key is unknown"
    nameless = jwt.encode(GOOD, secret("RS256"), "RS256")
    assert reason(nameless, keys_of(published(), other | {"kid": "k2"})) == "its key is unknown"
    assert check(nameless, keys_of(published(), published("ES256", "k2"))).subject == "u-1"


def test_a_short_key_is_refused():
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        token = signed(key=short)
    assert reason(token, keys_of(published(key=short))) == "its signature does not hold"


@pytest.mark.parametrize(
    "odd",
    [{"kty": "RSA", "kid": "k1"}, {"kty": "RSA", "kid": "k1", "n": 7, "e": []}, {"kty": "RSA", "kid": "k1", "n": "",
     "e": ""}, {"kty": "RSA", "kid": "k1", "n": "A" * 5_000, "e": "AQAB"}, {"kty": "RSA", "kid": "k1", "n": "é", "e":
     "AQAB"}, 7, None, [], "RSA"],
)  # fmt: skip
def test_odd_keys_are_passed_over(odd):
    assert reason(signed(), keys_of(odd)) == "its key is unknown"
    assert check(signed(), keys_of(odd, published()) if not isinstance(odd, dict) else keys_of(published()))


@pytest.mark.parametrize("said", [{}, {"keys": None}, {"keys": {}}, {"keys": [{}] * 101}])
def test_an_odd_document_of_keys_has_none(said):
    with pytest.raises(BadToken):
        verified(signed(), Keys(lambda: said, lambda: 0.0), EXPECTED, NOW)


class Rotating:
    """A provider whose keys change, and a clock."""

    def __init__(self):
        self.now, self.fetched, self.found = 0.0, 0, [published()]
        self.keys = Keys(self.fetch, lambda: self.now)

    def fetch(self):
        self.fetched += 1
        return {"keys": self.found}


def test_keys_are_kept_and_looked_for_again_when_a_new_one_is_named():
    provider, new = Rotating(), make_key("RSA", None)
    for _ in range(20):
        check(signed(), provider.keys)
    assert provider.fetched == 1
    provider.found = [published(), published(name="k2", key=new)]
    assert check(signed(name="k2", key=new), provider.keys).subject == "u-1"
    assert provider.fetched == 2


def test_a_withdrawn_key_is_forgotten_within_ten_minutes():
    provider = Rotating()
    check(signed(), provider.keys)
    provider.found = [published(name="k2")]
    provider.now = 599.0
    assert check(signed(), provider.keys)
    provider.now = 601.0
    assert reason(signed(), provider.keys) == "its key is unknown"


def test_unknown_keys_do_not_make_the_server_ask_again_and_again():
    provider = Rotating()
    refused = {reason(signed(name=f"x{number}"), provider.keys) for number in range(100)}
    assert provider.fetched == 5
    assert "its key is unknown, and the keys were asked for too often" in refused
    assert check(signed(), provider.keys)  # what is known goes on
    provider.now = 13.0
    provider.found = [published(name="k3")]
    assert check(signed(name="k3"), provider.keys)
    assert provider.fetched == 6


# --- names ---


def test_a_person_is_named_by_a_verified_address_or_by_the_subject():
    assert named(Claims("u-1", "Ana.B@Example.ORG", True, None), "email") == "ana.b@example.org"
    assert named(Claims("u-1", "ana@example.org", False, None), "sub") == "u-1"


@pytest.mark.parametrize(
    ("claims", "by"),
    [
        (Claims("u-1", "ana@example.org", False, None), "email"),
        (Claims("ana@example.org", None, True, None), "email"),
        (Claims("u-1", "", True, None), "email"),
        (Claims("u-1", "ana@example.org\n", True, None), "email"),
        (Claims("u-1", "\u0430na@example.org", True, None), "email"),  # a Cyrillic letter
        (Claims("u-1", "\u212aurt@example.org", True, None), "email"),  # the sign of kelvin is k in small letters
        (Claims("u-1", "x" * 101, True, None), "email"),
        (Claims("../olga", None, False, None), "sub"),
        (Claims("Olga", None, False, None), "sub"),
        (Claims("auth0|7", None, False, None), "sub"),
    ],
)
def test_a_name_that_the_record_cannot_hold_is_refused(claims, by):
    with pytest.raises(BadToken):
        named(claims, by)


@pytest.mark.parametrize("said", ["true", 1, None, "yes", [True]])
def test_an_address_is_verified_only_if_the_provider_says_true(said):
    assert check(signed(GOOD | {"email_verified": said})).verified is False
    assert check(signed(GOOD | {"email": ["ana@example.org"]})).email is None


def test_a_token_has_one_number_however_its_signature_is_written():
    """(r, s) and (r, n - s) are signatures of the same text: a token would be given twice for one ID token."""
    token = signed(algorithm="ES256")
    text, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:])
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    assert decode_dss_signature(encode_dss_signature(r, order - s)) == (r, order - s)
    twin = base64.urlsafe_b64encode(raw[:32] + (order - s).to_bytes(32)).decode().rstrip("=")
    other = f"{text}.{twin}"
    keys = keys_of(published("ES256"))
    assert check(token, keys) == check(other, keys)
    assert token != other
    assert number_once(token) == number_once(other)
    assert number_once(token) != number_once(signed(GOOD | {"sub": "u-2"}, "ES256"))
