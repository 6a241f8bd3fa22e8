#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/chat_jwt.py [CASE]...

JSON Web Tokens in place of keys, against the real server: signed by openssl, and in every way that
has let somebody in somewhere.
"""
import json
import tempfile
import time

from support import JSON_FIELDS, Server, bearer, case, equal, expect, main, make_key, refused, weir
from tokens import SECRET, Issuer, encode


class World:
    """One server that trusts one issuer, for many cases; made when it is first asked for."""

    made = None

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-jwt-")
        self.issuer = Issuer(self.folder.name)

    @classmethod
    def get(cls):
        cls.made = cls.made or cls()
        return cls.made


def issuer():
    return World.get().issuer


def serve(config=None, *options):
    return Server("--jwt", config or issuer().config(), *options, is_open=False)


def read(server, token, target="/v1/turns"):
    return server.ask("GET", target, bearer(token))


@case
def tokens_of_all_four_algorithms_say_who_asks():
    with serve() as server:
        for alg in ("HS256", "RS256", "EdDSA", "ES256"):
            token = issuer().token(alg, sub=f"user of {alg}")
            equal(read(server, token).status, 200, alg)
            who = read(server, token, "/v1/whoami").json()
            equal((who["access"], who["owner"], who["key"]), ("token", f"user of {alg}", None), alg)
            refused(read(server, token, "/v1/keys"), 403, "forbidden")
            refused(read(server, token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")), 401, "invalid_token",
                    "the token is not good")


@case
def user_of_a_token_and_owner_of_a_key_are_one():
    with serve() as server:
        key = make_key(server, "--owner", "alice")
        body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode()
        made = server.ask("POST", "/v1/turns", [*JSON_FIELDS, *bearer(issuer().token(sub="alice"))], body)
        equal(made.status, 201, made.body)
        target = f"/v1/turns/{made.json()['id']}"
        equal(read(server, key, target).status, 200)
        equal(read(server, issuer().token("RS256", sub="alice"), target).status, 200)
        refused(read(server, issuer().token(sub="mallory"), target), 404, "turn_not_found")


@case
def what_is_not_signed_as_it_should_be_is_refused():
    with serve() as server:
        good = issuer().token()
        head, body, signature = good.split(".")
        none = encode(b'{"alg":"none"}')
        pem = (issuer().folder / "RS256.pem").read_bytes()
        for what, token in (
                ("alg none", f"{none}.{body}."), ("alg none, signed", f"{none}.{body}.{signature}"),
                ("no signature", f"{head}.{body}."), ("two parts", f"{head}.{body}"), ("four parts", f"{good}.x"),
                ("padding", f"{good}="), ("another secret", issuer().token(secret=b"x" * 32)),
                ("the public key as secret", issuer().token(secret=pem)),
                ("the public key as secret, without its end", issuer().token(secret=pem.strip())),
                ("RS256 that is HS256", issuer().token(head={"alg": "RS256"}, secret=pem)),
                ("HS512", issuer().token(head={"alg": "HS512"})), ("crit", issuer().token(head={"crit": ["exp"]})),
                ("other claims", f"{head}.{encode(b'{}')}.{signature}"), ("large", f"{head}.{'A' * 8200}.{signature}"),
                ("a JWK of its own", issuer().token(head={"jwk": {"kty": "oct", "k": encode(b"x" * 32)}},
                                                    secret=b"x" * 32))):
            answer = read(server, token)
            refused(answer, 401, "invalid_token")
            equal(answer.field("www-authenticate"), 'Bearer realm="weir", error="invalid_token"', what)
        answer = server.ask("GET", "/v1/turns")
        refused(answer, 401, "missing_authorization")
        equal(answer.field("www-authenticate"), 'Bearer realm="weir"')
        equal(read(server, good).status, 200)


@case
def claims_are_checked_and_the_reason_is_told():
    now = int(time.time())
    config = issuer().config(iss="https://id.example", aud=["weir", "https://weir.example"])
    good = {"iss": "https://id.example", "aud": "weir"}
    with serve(config) as server:
        for changes, text in (({}, None), ({"aud": ["x", "https://weir.example"]}, None), ({"exp": now - 30}, None),
                              ({"nbf": now + 30}, None), ({"exp": now - 90}, "expired"), ({"exp": None}, "exp"),
                              ({"nbf": now + 120}, "nbf"), ({"iss": "x"}, "iss"), ({"iss": None}, "iss"),
                              ({"aud": "x"}, "aud"), ({"aud": None}, "aud"), ({"sub": None}, "sub"),
                              ({"sub": "a/b"}, "sub"), ({"sub": "x" * 64}, "sub"), ({"exp": "soon"}, "numbers")):
            answer = read(server, issuer().token(**{**good, **changes}))
            if text is None:
                equal(answer.status, 200, changes)
            else:
                refused(answer, 401, "invalid_token", text)


@case
def set_of_keys_is_read_and_kid_selects():
    folder = issuer()
    jwks = folder.write("jwks.json", json.dumps({"keys": [{"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"},
                                                          folder.rsa_jwk(kid="2026", use="sig", alg="RS256")]}))
    with serve(folder.config({"alg": "RS256", "key_file": jwks})) as server:
        for head, status in (({}, 200), ({"kid": "2026"}, 200), ({"kid": "2025"}, 401)):
            equal(read(server, folder.token("RS256", head=head)).status, status, head)
        equal(read(server, folder.token()).status, 401)


@case
def scope_claim_gives_no_more_than_it_says():
    config = issuer().config({"alg": "HS256", "secret_file": issuer().path("secret"), "scope_claim": "scope"})
    with serve(config) as server:
        body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode()
        for scope, may_read, may_write in (("read", 200, 403), ("write", 403, 201), ("openid", 403, 403),
                                           ("admin", 403, 403), (None, 403, 403), ("read write", 200, 201)):
            token = issuer().token(scope=scope)
            equal(read(server, token).status, may_read, f"read with {scope}")
            made = server.ask("POST", "/v1/turns", [*JSON_FIELDS, *bearer(token)], body)
            equal(made.status, may_write, f"write with {scope}")
            equal(read(server, token, "/v1/keys").status, 403, f"admin with {scope}")


@case
def token_in_the_address_is_for_streams_of_events_and_in_no_log():
    with serve(None, "--access-log", "-", "--log", "json") as server:
        token = issuer().token()
        key = make_key(server)
        equal(server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(token)], b"1").status, 201)
        for name in (token, key):
            equal(server.ask("GET", f"/v1/streams/a?live=false&token={name}").status, 200)
            refused(server.ask("GET", f"/v1/turns?token={name}"), 401, "missing_authorization")
            refused(server.ask("POST", f"/v1/streams/a?token={name}", JSON_FIELDS, b"1"), 401, "missing_authorization")
        refused(server.ask("GET", f"/v1/streams/a?live=false&token={token}x"), 401, "invalid_token")
        # A field comes from whoever asks now.
        refused(server.ask("GET", f"/v1/streams/a?live=false&token={token}", bearer("x.y.z")), 401, "invalid_token")
        server.stop()
        for part in token.split("."):
            expect(part not in server.errors(), "a part of the token is in a log")
        expect('"key":"jwt"' in server.errors(), "a token is called so", server.errors()[-500:])


@case
def configuration_that_is_wrong_ends_the_start_with_its_place():
    folder = issuer()
    open_secret = folder.write("open", SECRET, 0o644)
    for rows, text in (([{"alg": "HS256", "secret_file": open_secret}], "chmod 600"),
                       ([{"alg": "none"}], "[0].alg"), ([{"alg": "RS256", "key_file": folder.path("EdDSA.pem")}],
                                                        "not one for RS256"),
                       ([{"alg": "RS256", "key_file": folder.path("RS256.private")}], "PUBLIC KEY"),
                       ([{"alg": "HS256", "secret_file": folder.path("secret"), "issuer": "x"}], "[0]")):
        with tempfile.TemporaryDirectory() as data:
            done = weir("serve", "--data", data, "--listen", "127.0.0.1:0", "--jwt", folder.config(*rows))
            equal(done.returncode, 1, rows)
            expect(text in done.stderr.decode(), text, done.stderr)
            expect(SECRET not in done.stderr, "a secret is told")
    done = weir("serve", "--open", "--jwt", folder.config())
    equal(done.returncode, 2)


if __name__ == "__main__":
    main()
