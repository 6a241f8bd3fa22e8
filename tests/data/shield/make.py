#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/shield/make.py

Makes corpus.jsonl, which the rules were written against, and held_out.jsonl, which has other
sentences, other forms and other numbers and was only ever counted. Check digits are computed here
in a second way, so that the C code is not judged by itself. Nothing in it belongs to anybody.
"""
import base64
import hashlib
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent


def digits(r, n, first="0123456789"):
    return r.choice(first) + "".join(r.choice("0123456789") for _ in range(n - 1))


def luhn_digit(body):
    for d in "0123456789":
        total = 0
        for i, c in enumerate(reversed(body + d)):
            v = int(c) * (2 if i % 2 else 1)
            total += v - 9 if v > 9 else v
        if total % 10 == 0:
            return d
    raise AssertionError


CARDS = [("4", 16), ("4", 13), ("4", 19), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16),
         ("34", 15), ("37", 15), ("6011", 16), ("65", 16), ("644", 16), ("300", 14), ("36", 14),
         ("38", 14), ("3528", 16), ("3589", 16), ("2131", 15), ("1800", 15), ("62", 16), ("62", 19),
         ("5018", 12), ("5020", 12), ("5038", 12), ("6304", 12), ("6759", 13), ("6761", 16),
         ("6763", 18), ("2200", 16), ("5019", 16)]


def card(r):
    head, n = r.choice(CARDS)
    body = head + "".join(r.choice("0123456789") for _ in range(n - len(head) - 1))
    value = body + luhn_digit(body)
    if n == 13 and sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(value)) % 10 == 0:
        return card(r)
    how = r.randrange(4)
    if how == 0 or n < 14:
        return value
    sep = r.choice(" -")
    if n == 15:
        return sep.join([value[:4], value[4:10], value[10:]])
    if n == 14:
        return sep.join([value[:4], value[4:10], value[10:]])
    return sep.join(value[i:i + 4] for i in range(0, n, 4))


IBANS = {"AD": "8n12c", "AE": "19n", "AT": "16n", "AZ": "4a20c", "BE": "12n", "BG": "4a6n8c",
         "BI": "23n", "BR": "23n1a1c", "CH": "5n12c", "CY": "8n16c", "CZ": "20n", "DE": "18n",
         "DJ": "23n", "DK": "14n", "EE": "16n", "ES": "20n", "FI": "14n", "FK": "2a12n",
         "FR": "10n11c2n", "GB": "4a14n", "GE": "2a16n", "GR": "7n16c", "HR": "17n", "HU": "24n",
         "IE": "4a14n", "IL": "19n", "IS": "22n", "IT": "1a10n12c", "KZ": "3n13c", "LT": "16n",
         "LU": "3n13c", "LV": "4a13c", "MC": "10n11c2n", "MN": "16n", "MT": "4a5n18c", "NI": "4a20n",
         "NL": "4a10n", "NO": "11n", "OM": "3n16c", "PK": "4a16c", "PL": "24n", "PT": "21n",
         "RO": "4a16c", "RS": "18n", "RU": "14n15c", "SA": "2n18c", "SD": "14n", "SE": "20n",
         "SI": "15n", "SK": "20n", "SM": "1a10n12c", "SO": "19n", "SV": "4a20n", "TN": "20n",
         "TR": "6n16c", "UA": "6n19c", "VG": "4a16n", "XK": "16n", "YE": "4a4n18c"}


def iban(r):
    country = r.choice(sorted(IBANS))
    bban, size = "", ""
    for c in IBANS[country]:
        if c.isdigit():
            size += c
            continue
        pool = {"n": "0123456789", "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                "c": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}[c]
        bban += "".join(r.choice(pool) for _ in range(int(size)))
        size = ""
    number = "".join(str(int(c, 36)) for c in bban + country + "00")
    value = country + "%02d" % (98 - int(number) % 97) + bban
    how = r.randrange(5)
    if how == 0:
        return value.lower()
    if how in (1, 2):
        value = " ".join(value[i:i + 4] for i in range(0, len(value), 4))
        return value.lower() if r.random() < 0.2 else value
    return value


def shaped(r, pattern):
    """# any digit, N 2 to 9, X a capital, h a hex digit."""
    pools = {"#": "0123456789", "N": "23456789", "X": "ABCDEFGHJKLMNPRSTUVWXYZ",
             "h": "0123456789abcdef"}
    return "".join(r.choice(pools[c]) if c in pools else c for c in pattern)


PHONES = [
    ["+1-N##-N##-####", "+1 (N##) N##-####", "(N##) N##-####", "N##-N##-####", "N##.N##.####",
     "+1N##N######", "001-N##-N##-####x####", "(###)###-####x###", "###-###-####x#####",
     "+44 20 7946 0###", "020 7946 0###", "+44(0)1214960###", "(0121) 496 0###", "07700 900###",
     "+33 1 42 68 53 ##", "01 42 68 53 ##", "06 ## ## ## ##", "+49 30 #######", "030/12345##",
     "0151 234567##", "+34 6## ### ###", "+39 06 678 43##", "+31 6 ########", "06-########",
     "+61 2 9876 54##", "(02) 9876 54##", "0412 ### ###", "+91 98### #####", "+81-3-1234-56##",
     "090-1234-56##", "+55 11 9####-####", "(11) 9####-####", "+86 138 #### ####", "+27 82 ### ####"],
    ["1-N##-N##-####", "+1.N##.N##.####", "(N##)N##-####", "N##-N##-#### ext. 12", "001-###-###-####",
     "+44 161 496 0###", "0161 496 0###", "+44 7700 900###", "(0115) 4960###", "01632 960###",
     "+33 6 12 34 56 ##", "+33142685###", "04.91.12.34.##", "+49 (0)89 123456##", "(089) 1234567",
     "0176/12345##", "+34 91 ### ## ##", "+39 347 ### ####", "+32 2 555 12 ##", "02/555 12 ##",
     "+43 1 5853##", "+41 44 668 18 ##", "044 668 18 ##", "+46 8 123 456 ##", "08-123 456 ##",
     "+47 22 12 34 ##", "+45 32 12 34 ##", "+358 9 1234 ##", "+48 22 123 45 ##", "+420 2## ### ###",
     "+972 9-762-54##", "09-76254##", "+90 (532) 123 45 ##", "+7 495 123-45-##", "+52 55 1234 56##",
     "+64 9 123 45##", "+65 6123 45##", "+852 2123 45##", "+971 4 123 45##"],
]

PHONE_SAYS = [
    ["Call me on {} tomorrow.", "Tel: {}", "My number is {}, ring after six.", "fax {}",
     "You can reach our office at {} from 9 to 5.", "{} is where I am", "Rufen Sie {} an.",
     "téléphone : {}", "contact=({})", "Ask for Ann, {}!"],
    ["Please phone {} when you arrive.", "T. {}", "mobile: {}.", "Text {} to confirm the booking",
     "Her cell, {}, is switched off.", "Mein Telefon: {}", "Mi teléfono es {}, gracias",
     "support line <{}>", "* {} (home)", "Numéro de portable {}"],
]

MAILS = [["{}.{}@example.com", "{}+tag@mail.example.co.uk", "{}_{}99@sub.domain.org", "{}@xn--bcher-kva.ch",
          "\"{} {}\"@example.net", "o'{}@example.ie", "{}@münchen.de"],
         ["{}-{}@example.io", "{}{}@company.travel", "{}.{}@uni.ac.jp", "{}%{}@relay.example.net",
          "josé.{}@correo.es", "{}@bücher.example.com", "x@{}.museum"]]
NAMES = ["alice", "bob", "carol", "dmitri", "eva", "farid", "grace", "hiro", "ines", "jan", "kwame"]
MAIL_SAYS = [["Write to {}.", "mailto:{}", "<{}>", "{}, please", "邮箱{}，谢谢", "E-Mail: {}"],
             ["cc {} and me", "login={};", "[{}]", "Von: {} An: mich", "连络{}请", "({})"]]


def mail(r, half):
    return r.choice(MAILS[half]).format(*[r.choice(NAMES) for _ in range(2)])


def ssn(r):
    area = r.choice([n for n in range(1, 899) if n != 666])
    return f"{area:03d}-{r.randrange(1, 99):02d}-{r.randrange(1, 9999):04d}"


IPS = [["192.168.{}.{}", "10.{}.0.{}", "172.16.{}.{}/16", "8.8.{}.{}", "fe80::{}:{}%eth0",
        "2001:db8:{}::{}", "::ffff:192.0.{}.{}"],
       ["203.0.{}.{}", "100.64.{}.{}/10", "198.51.{}.{}", "2001:0db8:0000:0000:0000:ff00:{}:{}",
        "fd00:{}::{}/8", "64:ff9b::1.2.{}.{}", "2a00:1450:4009:{}::{}"]]
IP_SAYS = [["ping {} failed", "Host: {}", "from {}, port 22", "({})", "addr={} up"],
           ["Connected to {} after 3 tries", "{} is down", "route via {};", "\"{}\"", "client {} - -"]]


def address(r, half):
    return r.choice(IPS[half]).format(r.randrange(1, 99), r.randrange(1, 99))


def mac(r):
    return r.choice(":-").join("hh" for _ in range(6))


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def base58check(payload):
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    n, out = int.from_bytes(data, "big"), ""
    while n:
        n, k = divmod(n, 58)
        out = BASE58[k] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out


def bech32(human, values, const):
    def polymod(all_values):
        c = 1
        for v in all_values:
            top = c >> 25
            c = (c & 0x1FFFFFF) << 5 ^ v
            for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                c ^= g if top >> i & 1 else 0
        return c
    head = [ord(c) >> 5 for c in human] + [0] + [ord(c) & 31 for c in human]
    check = polymod(head + values + [0] * 6) ^ const
    values = values + [check >> 5 * (5 - i) & 31 for i in range(6)]
    return human + "1" + "".join(BECH32[v] for v in values)


def coin(r):
    how = r.randrange(5)
    raw = bytes(r.randrange(256) for _ in range(20))
    if how == 0:
        return base58check(b"\0" + raw)
    if how == 1:
        return base58check(b"\5" + raw)
    if how == 2:
        return bech32("bc", [0] + [r.randrange(32) for _ in range(32)], 1)
    if how == 3:
        return bech32("bc", [1] + [r.randrange(32) for _ in range(52)], 0x2BC830A3)
    return "0x" + "".join(r.choice("0123456789abcdef") for _ in range(40))


def weighted(r, n, weights, mod, pick):
    """Digits whose check digit pick(sum % mod) is one digit."""
    while True:
        body = digits(r, n, "123456789")
        check = pick(sum(int(c) * w for c, w in zip(body, weights)) % mod)
        if 0 <= check <= 9:
            return body + str(check)


def dni(r):
    n = r.randrange(1000000, 99999999)
    return f"{n:08d}" + "TRWAGMYFPDXBNJZSQVHLCKE"[n % 23]


def cpf(r):
    d = [int(c) for c in digits(r, 9, "123456789")]
    for size in (9, 10):
        d.append(sum(d[i] * (size + 1 - i) for i in range(size)) * 10 % 11 % 10)
    t = "".join(map(str, d))
    return f"{t[:3]}.{t[3:6]}.{t[6:9]}-{t[9:]}"


def nir(r):
    body = f"{r.choice('12')}{r.randrange(40, 99)}{r.randrange(1, 12):02d}{digits(r, 8, '0123456789')}"
    return body + "%02d" % (97 - int(body) % 97)


def belgian(r):
    body = f"{r.randrange(40, 99)}{r.randrange(1, 12):02d}{r.randrange(1, 28):02d}{r.randrange(1, 998):03d}"
    check = 97 - int(body) % 97
    return f"{body[:2]}.{body[2:4]}.{body[4:6]}-{body[6:9]}.{check:02d}"


def chinese(r):
    body = f"110101{r.randrange(1950, 2005)}{r.randrange(1, 12):02d}{r.randrange(1, 28):02d}{r.randrange(1, 999):03d}"
    total = sum(int(c) * (2 ** (17 - i) % 11) for i, c in enumerate(body))
    return body + "10X98765432"[total % 11]


def swedish(r):
    body = f"{r.randrange(40, 99)}{r.randrange(1, 12):02d}{r.randrange(1, 28):02d}{r.randrange(1, 999):03d}"
    return body[:6] + "-" + body[6:] + luhn_digit(body)


def swiss(r):
    body = "756" + digits(r, 9)
    total = sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(body))
    value = body + str(-total % 10)
    return f"{value[:3]}.{value[3:7]}.{value[7:11]}.{value[11:]}"


NATIONAL = [
    [("DNI {}", dni), ("CPF {} ok", cpf), ("Sécu {}", nir), ("身份证{}号", chinese),
     ("personnummer {}", swedish)],
    [("documento {}.", dni), ("meu CPF: {}", cpf), ("no {} de sécurité sociale", nir),
     ("rijksregister {}", belgian), ("AHV-Nr. {}", swiss), ("ID card {}", chinese)],
]


def bsn(r):
    return weighted(r, 8, range(9, 1, -1), 11, lambda m: m)


def nhs(r):
    t = weighted(r, 9, range(10, 1, -1), 11, lambda m: (11 - m) % 11)
    return f"{t[:3]} {t[3:6]} {t[6:]}"


def npi(r):
    body = "1" + digits(r, 8)
    return body + luhn_digit("80840" + body)


def dea(r):
    d = digits(r, 6)
    total = int(d[0]) + int(d[2]) + int(d[4]) + 2 * (int(d[1]) + int(d[3]) + int(d[5]))
    return r.choice("ABFGM") + r.choice("ABCDEFGHJKLM") + d + str(total % 10)


MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December"]


def born(r, half):
    y, m, d = r.randrange(1935, 2012), r.randrange(1, 12), r.randrange(1, 28)
    if half == 0:
        return r.choice([f"{y}-{m:02d}-{d:02d}", f"{d:02d}/{m:02d}/{y}", f"{d} {MONTHS[m - 1]} {y}",
                         f"{MONTHS[m - 1]} {d}, {y}", f"{d:02d}.{m:02d}.{y}"])
    return r.choice([f"{m}/{d}/{y % 100:02d}", f"{y}/{m:02d}/{d:02d}", f"{d}th of {MONTHS[m - 1]} {y}",
                     f"{MONTHS[m - 1][:3]} {d} {y}", f"{d}-{MONTHS[m - 1][:3]}-{y}"])


SAYS = {
    "date_of_birth": [["DOB: {}", "She was born on {} in Leeds.", "date of birth {}", "Geburtsdatum: {}"],
                      ["birthday {}", "He, born {}, lives here.", "né le {} à Lyon", "D.O.B. {}"]],
    "credit_card": [["Pay with {} please", "card: {}", "{}", "Visa {} exp 12/27", "(cc {})"],
                    ["charge {}, thanks", "number={}", "my card is {}.", "\"{}\"", "PAN {};"]],
    "iban": [["IBAN {}", "transfer to {} today", "{}", "Konto: {}."],
             ["account {} at the bank", "iban={},", "Send it to {}!", "({})"]],
    "us_ssn": [["SSN {}", "social security number {}.", "{}"], ["his ssn: {}", "({})", "social {},"]],
    "bsn": [["BSN {}", "burgerservicenummer: {}"], ["mijn bsn is {}.", "BSN-nummer {}"]],
    "crypto": [["send to {}", "wallet {}."], ["BTC: {}", "pay {} now"]],
    "mac_address": [["MAC {}", "{} joined"], ["device {}.", "ether {} txqueuelen"]],
    "passport": [["passport number {}", "Passport No. {}"], ["my passport is {}", "Reisepass {}"]],
    "driver_license": [["driver's license {}", "driving licence: {}"],
                       ["driver license number {}", "DL {}"]],
}

URLS = [["https://www.example.com/a?b=c", "http://news.example.co.uk/x_(y)", "example.org",
         "www.example.de", "ftp://files.example.net/pub"],
        ["https://sub.example.io:8443/p#q", "shop.example.fr/item/1", "example.com.au", "www.example.se",
         "https://example.app/"]]
URL_SAYS = [["see {} for more", "Visit {}.", "({})"], ["at {}, they say", "go to {}!", "<{}>"]]

LOOKALIKES = [
    ["Order 1234567890 shipped on 2024-03-15 at 10:45:33.", "version 1.2.3.4 of the driver",
     "ISBN 978-3-16-148410-0", "The price is 1,234,567.89 EUR or 12.50 per unit",
     "commit 8f953371d3e85eddb89b05ed6b9e680791055315", "id 550e8400-e29b-41d4-a716-446655440000",
     "Open README.md and main.py, then run setup.sh", "user.name = this.id; self.is_open()",
     "It ended.In the morning they left.So did we", "std::vector<int> a = b[::2];",
     "timestamp 1700000000123, took 0.123456789 s", "temperature 36.6, ratio 3:2:1, score 10-12",
     "see RFC 5322 section 3.4.1, page 12-34", "rgb(255,255,255) #ff00aa 0xdeadbeef",
     "4111 1111 1111 1112 is no card", "GB29 NWBK 6016 1331 9268 18 is no account",
     "born in Leeds; the meeting is on 2024-05-06", "chapters 1.2.3, 10.11.12 and 2.3.4.5.6",
     "The years 1990-1995 and 2001-2005 were good", "SKU 12-34567-890, part no. 0123-4567",
     "logo@2x.png and sprite@3x.webp", "lodash@4.17.21 react@18.2.0", "x = a @ b.T",
     "window.location.href = document.title", "java.util.List and com.example.app.Main",
     "The ASP.NET and Node.js teams met at 5 p.m. (e.g. in room 12.4.)", "call foo(12, 3456, 789)",
     "12345-6789 is the ZIP code", "coordinates 51.507351, -0.127758",
     "The passport office opens at 9.", "a driver with no licence", "phone home and card games",
     "00:11:22:33 is a time code", "15:30:00.123456", "total 100 200 300 400", "1 000 000 000 people"],
    ["Invoice 2023-000451 of 12/01/2024, due in 30 days", "Chrome/120.0.6099.109 Safari/537.36",
     "ISBN-10 0-306-40615-2", "EUR 1.234.567,89 net, 19% VAT", "sha256:e3b0c44298fc1c149afbf4c8996fb924",
     "{\"id\":\"f47ac10b-58cc-4372-a567-0e02b2c3d479\"}", "edit config.yaml, build.rs and lib.so",
     "event.target.value, node.name, items.map(x)", "He said yes.It was late.At noon she left",
     "namespace a::b::c { using d::e; }", "epoch 1609459200 and 1609459200000 ms",
     "blood pressure 120/80, pulse 72, 5-10 mg", "Part II, art. 12.3.4, para 5",
     "matrix 4x4, 16:9, 1920x1080@60", "5500 0000 0000 0005 is no card",
     "DE89 3704 0044 0532 0130 01 is none", "the birth of a nation; 2024-01-02 it was",
     "OID 1.3.6.1.4.1.311", "pages 100-200, 300-400", "item 0001-0002-0003", "icon@2x.jpg",
     "typescript@5.3.3", "decorators like @property.setter", "System.out.println and os.path.join",
     "org.apache.commons.lang3", "Approx. 3.5 of 10. The U.S. team won 3-2.", "f(1)(2)(3)",
     "postcode 90210-1234", "lat 40.712776 lon -74.005974", "travel broadens the mind",
     "social drinks at 6", "number 5 is alive", "12:34:56:78 timecode", "2024-W05-1",
     "sum 1200 3400 5600", "chapter 7: 1984 and 2001", "10 000 steps, 8 500 yesterday",
     "born to run, 1975", "tokens: 1024, max_tokens=4096", "password: please enter it again"],
]


ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
HEX = "0123456789abcdef"
KEYS = [("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), ("ASIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
        ("ghp_", ALNUM, 36), ("gho_", ALNUM, 36), ("ghs_", ALNUM, 36), ("github_pat_", ALNUM + "_", 82),
        ("glpat-", ALNUM + "-_", 20), ("sk_live_", ALNUM, 24), ("rk_live_", ALNUM, 24),
        ("AIza", ALNUM + "-_", 35), ("GOCSPX-", ALNUM + "-_", 28), ("ya29.", ALNUM + "-_", 68),
        ("sk-", ALNUM, 48), ("sk-proj-", ALNUM + "-_", 64), ("sk-ant-api03-", ALNUM + "-_", 93),
        ("hf_", ALNUM, 34), ("npm_", ALNUM, 36), ("pypi-AgEIcHlwaS5vcmc", ALNUM + "-_", 120),
        ("shpat_", HEX, 32), ("dop_v1_", HEX, 64), ("dapi", HEX, 32), ("key-", HEX, 32),
        ("xoxb-123456789012-123456789012-", ALNUM, 24), ("whsec_", ALNUM + "+/", 32),
        ("lin_api_", ALNUM, 40), ("sq0atp-", ALNUM + "-_", 22), ("hvs.", ALNUM + "-_", 90),
        ("dckr_pat_", ALNUM + "-_", 27), ("rubygems_", HEX, 48), ("sbp_", HEX, 40), ("gsk_", ALNUM, 52),
        ("NRAK-", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 27), ("sqp_", HEX, 40), ("figd_", ALNUM + "-_", 43)]
KEY_SAYS = ["export KEY={}", "key: {}", "\"{}\"", "I pasted {} by mistake", "curl -H 'X-Key: {}'", "{}",
            "token={}&x=1", "use {}, then delete it"]
ASSIGNED = ["password = \"{}\"", "DB_PASSWORD={}", "\"password\": \"{}\"", "passwd: '{}'",
            "my password is {}", "api_key = '{}'", "CLIENT_SECRET={}", "\"secret_key\":\"{}\"",
            "Authorization: Bearer {}", "auth_token: {}", "aws_secret_access_key = {}", "password => '{}',"]
PLAIN_SECRETS = [
    "password = os.environ['PASSWORD']", "password: ${DB_PASSWORD}", "api_key: <your-api-key>",
    "AKIAIOSFODNN7EXAMPLE", "token = getToken()", "secret: null", "password is required",
    "DB_PASSWORD=********", "api_key=YOUR_API_KEY_HERE", "password: changeme", "token: {{ .Values.token }}",
    "max_tokens=4096", "token_type: bearer", "sk-your-key-here-your-key-here-1234", "password: string",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "the secret is to keep stirring", "password=password",
    "secret_name: my-app-database", "key-value store", "tokens: 128, cost 0.25", "Bearer of bad news",
    "forgot password? Reset it here.", "xoxb-your-token", "AIzaSyEXAMPLEEXAMPLEEXAMPLEEXAMPLE12345",
    "private_key_path: /etc/ssl/private/key.pem", "password_file = /run/secrets/db", "PASSWORD=$1",
    "secret = \"projects/my-project/secrets/db\"[0]", "auth: none", "password: ''", "pass the salt, 2x4"]


def jwt(r):
    def part(n):
        return "eyJ" + "".join(r.choice(ALNUM + "-_") for _ in range(n))
    return part(33) + "." + part(60) + "." + "".join(r.choice(ALNUM + "-_") for _ in range(43))


def pem(r):
    lines = ["".join(r.choice(ALNUM + "+/") for _ in range(64)) for _ in range(12)]
    kind = r.choice(["RSA ", "EC ", "OPENSSH ", ""])
    return f"-----BEGIN {kind}PRIVATE KEY-----\n" + "\n".join(lines) + f"\n-----END {kind}PRIVATE KEY-----"


def strong(r, n):
    """As password managers make them: every class of bytes is in it."""
    value = [r.choice("abcdefgh"), r.choice("ABCDEFGH"), r.choice("23456789")]
    value += [r.choice(ALNUM + "!#%*+-_") for _ in range(n - 3)]
    return "".join(value)


def random_text(r):
    """What looks as random as a key and is none."""
    raw = bytes(r.randrange(256) for _ in range(64))
    h = raw.hex()
    b = base64.b64encode(raw).decode()
    u = f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"
    return r.choice([
        f"id {u}", f"GET /items/{u}/parts", f"commit {h[:40]}", f"{h[:7]} fix the build", f"md5 {h[:32]}",
        f"sha256:{h[:64]}", f"data:image/png;base64,iVBORw0KGgo{b}{b}", f"integrity sha512-{b}",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{b[:40]} me@host", f"ETag: \"{h[:20]}\"", f"trace {h[:32]}-{h[32:48]}",
        "01HV" + "".join(r.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(22)),
        f"-----BEGIN CERTIFICATE-----\n{b}\n-----END CERTIFICATE-----", f"nonce-{b[:22]}", f"blob {b}",
        f"file_{h[:24]}.bin", f"req_{b[:20].replace('/', 'x').replace('+', 'y')}", f"{u.upper()}"])


def write_secrets(name):
    r = random.Random("secrets")
    lines = []

    def positive(template, value):
        start = len(template.split("{}")[0])
        lines.append((template.replace("{}", value, 1),
                      [{"category": "secret", "start": start, "end": start + len(value)}]))
    for i in range(220):
        head, pool, n = KEYS[i % len(KEYS)]
        tail = "".join(r.choice(pool) for _ in range(n))
        while tail[-1] in "-_/+." or "--" in tail:
            tail = "".join(r.choice(pool) for _ in range(n))
        positive(r.choice(KEY_SAYS), head + tail)
    for i in range(120):
        template = ASSIGNED[i % len(ASSIGNED)]
        is_password = "pass" in template.lower()
        value = strong(r, r.randrange(10, 20)) if is_password else \
            "".join(r.choice(ALNUM) for _ in range(r.choice([24, 32, 40])))
        positive(template, value)
    for _ in range(40):
        positive(r.choice(KEY_SAYS[:6]), jwt(r))
    for _ in range(20):
        positive(r.choice(["{}", "key:\n{}\nend"]), pem(r))
    for i in range(400):
        text = PLAIN_SECRETS[i % len(PLAIN_SECRETS)] if i % 4 == 0 else random_text(r)
        lines.append((text, []))
    with open(HERE / name, "w", encoding="utf-8") as out:
        for i, (text, expected) in enumerate(lines):
            out.write(json.dumps({"id": f"s{i}", "text": text, "expected": expected,
                                  "scope": ["secret"]}, ensure_ascii=False) + "\n")


class Corpus:
    def __init__(self, half):
        self.half = half
        self.random = random.Random(f"shield {half}")
        self.lines = []

    def add(self, category, template, value):
        before = template.split("{}")[0]
        text = template.replace("{}", value, 1)
        start = len(before)
        self.lines.append({"text": text, "expected": [{"category": category, "start": start,
                                                       "end": start + len(value)}]})

    def say(self, category, value):
        self.add(category, self.random.choice(SAYS[category][self.half]), value)

    def fill(self):
        r, half = self.random, self.half
        for _ in range(120):
            self.say("credit_card", card(r))
            self.say("iban", iban(r))
        for pattern in PHONES[half] * 5:
            self.add("phone", r.choice(PHONE_SAYS[half]), shaped(r, pattern))
        for _ in range(60):
            self.add("email", r.choice(MAIL_SAYS[half]), mail(r, half))
            self.add("ip_address", r.choice(IP_SAYS[half]), address(r, half))
            self.say("crypto", coin(r))
            self.say("date_of_birth", born(r, half))
        for _ in range(40):
            self.say("us_ssn", ssn(r))
            template, make = r.choice(NATIONAL[half])
            self.add("national_id", template, make(r))
            self.add("url", r.choice(URL_SAYS[half]), r.choice(URLS[half]))
        for _ in range(20):
            self.say("bsn", bsn(r))
            self.say("mac_address", shaped(r, mac(r)))
            self.say("passport", shaped(r, r.choice(["X########", "#########", "XX#######"])))
            self.say("driver_license", shaped(r, r.choice(["X#######", "X####-#####"[:5] + "####", "########"])))
            self.add("medical", ["NHS number {}", "patient {}."][half], nhs(r))
            self.add("medical", ["NPI {}", "provider NPI: {}"][half], npi(r))
            self.add("medical", ["DEA {}", "DEA number: {}"][half], dea(r))
        for text in LOOKALIKES[half]:
            self.lines.append({"text": text, "expected": []})

    def write(self, name):
        self.fill()
        with open(HERE / name, "w", encoding="utf-8") as out:
            for i, line in enumerate(self.lines):
                out.write(json.dumps({"id": f"{name[0]}{i}", **line}, ensure_ascii=False) + "\n")


write_secrets("secrets.jsonl")
Corpus(0).write("corpus.jsonl")
Corpus(1).write("held_out.jsonl")
