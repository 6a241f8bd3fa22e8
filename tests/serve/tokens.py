# SPDX-License-Identifier: Apache-2.0
"""JSON Web Tokens as an issuer makes them: HS256 with Python's own HMAC, the others signed by
openssl, which the server does not share a line of ours with.
"""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import time

SECRET = b"a secret that has thirty-two bytes, or more"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words, data=b""):
    done = subprocess.run(["openssl", *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return done.stdout


def claims(sub="alice", **more):
    """Good for an hour; None takes a claim away."""
    all_of_it = {"sub": sub, "exp": int(time.time()) + 3600, **more}
    return {key: value for key, value in all_of_it.items() if value is not None}


class Issuer:
    """An issuer's keys in a folder, and the configuration that trusts them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.write("secret", SECRET, 0o600)
        for name, words in (("RS256", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
                            ("EdDSA", ["-algorithm", "ed25519"]),
                            ("ES256", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
            self.write(f"{name}.private", openssl("genpkey", *words), 0o600)
            self.write(f"{name}.pem", openssl("pkey", "-in", self.path(f"{name}.private"), "-pubout"))

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, data, mode=0o644):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.chmod(path, mode)
        return str(path)

    def config(self, *entries, **common):
        """The file for --jwt; without entries, all four algorithms by their PEM files."""
        rows = entries or [{"alg": "HS256", "secret_file": self.path("secret")}] + [
            {"alg": alg, "key_file": self.path(f"{alg}.pem")} for alg in ("RS256", "EdDSA", "ES256")]
        return self.write("jwt.json", json.dumps([{**row, **common} for row in rows]))

    def rsa_jwk(self, **more):
        text = openssl("rsa", "-pubin", "-in", self.path("RS256.pem"), "-noout", "-modulus").decode()
        modulus = bytes.fromhex(re.search(r"Modulus=([0-9A-F]+)", text).group(1))
        return {"kty": "RSA", "n": encode(modulus), "e": "AQAB", **more}

    def sign(self, alg, data, secret=SECRET):
        if alg == "HS256":
            return hmac.new(secret, data, hashlib.sha256).digest()
        key = self.path(f"{alg}.private")
        if alg == "EdDSA":
            self.write("data", data)  # it wants to know the length before
            return openssl("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", self.path("data"))
        signature = openssl("dgst", "-sha256", "-sign", key, data=data)
        return signature if alg == "RS256" else raw_of_der(signature)

    def token(self, alg="HS256", head=None, secret=SECRET, body=None, **more):
        """A token; `head` replaces members of its head, `body` is all claims as they are."""
        first = {"alg": alg, "typ": "JWT", **(head or {})}
        parts = f"{encode(json.dumps(first).encode())}.{encode(json.dumps(body or claims(**more)).encode())}"
        return f"{parts}.{encode(self.sign(alg, parts.encode(), secret))}"


def raw_of_der(der):
    """r and s, 32 bytes each, of a SEQUENCE of two INTEGERs."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big"))
        at += 2 + length
    return b"".join(number.to_bytes(32, "big") for number in numbers)
