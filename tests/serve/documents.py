#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/documents.py [CASE]...

/v1/documents against the real server: texts come back as they were given and are found by their
words, nothing private of them is on the disk or in a log, and nobody sees another's.
"""
import pathlib
import re
import signal
import threading
import urllib.parse

from people import fields_for, pages
from support import JSON_FIELDS, Server, case, equal, expect, main, refused, to_json

MEMBERS = ["bytes", "createdAt", "id", "mediaType", "passages", "redacted", "title", "updatedAt"]
PLAIN = [("Content-Type", "text/plain; charset=utf-8")]
MARKDOWN = [("Content-Type", "text/markdown")]
CANARY = "canary.person@example.org"


def made(answer):
    equal(answer.status, 201, f"a document ({answer.body[:300]!r})")
    document = answer.json()
    equal(sorted(document), MEMBERS)
    expect(re.fullmatch(r"doc_[0-9A-HJKMNP-TV-Z]{26}", document["id"]), "an id", document)
    equal(answer.field("location"), f"/v1/documents/{document['id']}")
    return document


def add(server, text, title=None, fields=(), kind=tuple(MARKDOWN)):
    query = f"?title={urllib.parse.quote(title)}" if title else ""
    return made(server.ask("POST", f"/v1/documents{query}", [*kind, *fields], text.encode()))


def search(server, words, fields=(), more=""):
    answer = server.ask("GET", f"/v1/documents/search?q={urllib.parse.quote(words)}{more}", fields)
    equal(answer.status, 200, f"a search ({answer.body[:300]!r})")
    return answer.json()["data"]


def marked(hit):
    """What the highlights show, by code points."""
    return [hit["snippet"][start:end] for start, end in hit["highlights"]]


@case
def text_markdown_and_json_are_taken():
    with Server() as server:
        text = "# Über das Laufen\n\nÉté 糖尿病 😀\r\n"
        document = add(server, text)
        equal((document["title"], document["mediaType"], document["bytes"]),
              ("Über das Laufen", "text/markdown", len(text.encode())))
        equal(server.ask("GET", f"/v1/documents/{document['id']}").json(), {**document, "text": text})
        document = add(server, "plain words", "A title & more", kind=PLAIN)
        equal((document["title"], document["mediaType"]), ("A title & more", "text/plain"))
        body = to_json({"title": "From JSON", "text": "a\tb", "mediaType": "text/markdown"})
        document = made(server.ask("POST", "/v1/documents", JSON_FIELDS, body))
        equal(server.ask("GET", f"/v1/documents/{document['id']}").json()["text"], "a\tb")
        document = made(server.ask("POST", "/v1/documents", JSON_FIELDS, to_json({"text": "first line\nx"})))
        equal((document["title"], document["mediaType"]), ("first line", "text/plain"))


@case
def what_is_no_document_is_refused_with_its_place():
    with Server("--max-body", "4000000") as server:
        for kind, body, status, code, word in (
                (PLAIN, b"one\ntwo \xff", 400, "invalid_field", "byte 8"),
                (PLAIN, b"a\0b", 400, "invalid_field", "NUL"),
                (PLAIN, b"  \n", 400, "invalid_field", "say something"),
                (PLAIN, b"", 400, "invalid_field", "say something"),
                ([("Content-Type", "text/plain; charset=latin1")], b"x", 415, "unsupported_media_type", "UTF-8"),
                ([("Content-Type", "text/html")], b"x", 415, "unsupported_media_type", "text/plain"),
                ([*PLAIN, ("Origin", "https://evil.example")], b"x", 415, "unsupported_media_type", "page"),
                (JSON_FIELDS, b"{", 400, "invalid_request", "JSON"),
                (JSON_FIELDS, b"[]", 400, "invalid_field", "object"),
                (JSON_FIELDS, b'{"title":"x"}', 400, "invalid_field", "text"),
                (JSON_FIELDS, b'{"text":1}', 400, "invalid_field", "text"),
                (JSON_FIELDS, b'{"text":"x","title":7}', 400, "invalid_field", "title"),
                (JSON_FIELDS, b'{"text":"x","mediaType":"text/html"}', 400, "invalid_field", "mediaType"),
                (JSON_FIELDS, b'{"text":"x","owner":"bob"}', 400, "invalid_field", "object"),
                (JSON_FIELDS, b'{"text":"x\\u0000"}', 400, "invalid_field", "NUL"),
                (JSON_FIELDS, b'{"text":"x\\ud800"}', 400, "invalid_field", "UTF-8"),
                (JSON_FIELDS, to_json({"text": "x", "title": "t" * 201}), 400, "invalid_field", "200"),
                (JSON_FIELDS, to_json({"text": "x", "title": "a\nb"}), 400, "invalid_field", "one line")):
            refused(server.ask("POST", "/v1/documents", kind, body), status, code, word)
        equal(pages(server, "/v1/documents", 10), [])
        large = ("a sentence of some words. " * 150000)[:3900000]
        document = add(server, large, "large")
        equal(server.ask("GET", f"/v1/documents/{document['id']}").json()["text"], large)
        for query in ("", "q=", "q=%20", "q=%3F", "q=%FF", "q=a&limit=0", "q=a&limit=51", "q=a&limit=x",
                      "q=" + "a" * 1025, "q=" + "+".join(["a"] * 33)):
            refused(server.ask("GET", f"/v1/documents/search?{query}"), 400, "invalid_field", "")


@case
def pages_replacing_and_removing():
    with Server() as server:
        # Ids of one millisecond are in no order.
        ids = sorted(add(server, f"text {i}", f"t{i}")["id"] for i in range(7))
        for limit in (1, 3, 100):
            equal([d["id"] for d in pages(server, "/v1/documents", limit)], ids[::-1])
        for query in ("limit=0", "limit=101", "cursor=x"):
            refused(server.ask("GET", f"/v1/documents?{query}"), 400, "invalid_field", query.split("=", 1)[0])
        answer = server.ask("PUT", f"/v1/documents/{ids[0]}?title=new", PLAIN, b"other words")
        equal((answer.status, answer.json()["title"]), (200, "new"))
        equal([h["sourceId"] for h in search(server, "other")], [ids[0]])
        equal([h["sourceId"] for h in search(server, "text", more="&limit=50")].count(ids[0]), 0)
        equal(server.ask("DELETE", f"/v1/documents/{ids[0]}").status, 204)
        for method, path, body in (("GET", ids[0], None), ("DELETE", ids[0], None), ("PUT", ids[0], b"x"),
                                   ("GET", "doc_x", None), ("DELETE", "x", None), ("GET", "search2", None)):
            refused(server.ask(method, f"/v1/documents/{path}", PLAIN if body else (), body), 404, "not_found", "")
        equal(search(server, "other"), [])


@case
def a_post_with_a_key_happens_once():
    with Server() as server:
        keyed = [*PLAIN, ("Idempotency-Key", "k1")]
        body = f"mail {CANARY}".encode()
        first = made(server.ask("POST", "/v1/documents?title=t", keyed, body))
        again = server.ask("POST", "/v1/documents?title=t", keyed, body)
        equal((made(again), again.field("idempotent-replayed")), (first, "true"))
        refused(server.ask("POST", "/v1/documents?title=t", keyed, b"other"), 409, "idempotency_key_mismatch", "")
        answers = []
        keyed = [*PLAIN, ("Idempotency-Key", "k2")]
        threads = [threading.Thread(target=lambda: answers.append(
            server.ask("POST", "/v1/documents", keyed, b"at once"))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(len({made(answer)["id"] for answer in answers}), 1)
        equal(len(pages(server, "/v1/documents", 10)), 2)
        server.restart(signal.SIGKILL)
        equal(made(server.ask("POST", "/v1/documents", keyed, b"at once"))["id"], made(answers[0])["id"])
        server.ask("DELETE", f"/v1/documents/{first['id']}")
        keyed = [*PLAIN, ("Idempotency-Key", "k1")]
        refused(server.ask("POST", "/v1/documents?title=t", keyed, body), 404, "not_found", "")
        refused(server.ask("POST", "/v1/documents", [*PLAIN, ("Idempotency-Key", "x" * 256)], b"x"), 400, "invalid_field", "")


@case
def searches_find_words_phrases_and_beginnings():
    with Server() as server:
        book = add(server, "# Book\n\n" + "Nothing to see here. " * 100 + "\n\n## Sleep\n\nCafé and _sleep_ do "
                   "not go together; naïve people drink it after dinner.\n\n" + "And more. " * 100, "Health")
        add(server, "我有糖尿病史，医生说。", "病历")
        (hit,) = search(server, "cafe sleep")
        equal((hit["sourceId"], hit["title"], hit["heading"]), (book["id"], "Health", "Book › Sleep"))
        equal(marked(hit), ["Sleep", "Café", "sleep"])
        (hit,) = search(server, '"do not go" din')
        equal(marked(hit), ["do not go", "dinner"])
        (hit,) = search(server, "糖尿病")
        equal((hit["title"], marked(hit), hit["heading"]), ("病历", ["糖尿病"], None))
        equal(search(server, "dinner NOT cafe OR *")[0]["sourceId"], book["id"], "words, whatever they are")
        equal(search(server, "zebra"), [])
        equal(len(search(server, "nothing", more="&limit=1")), 1)


@case
def nothing_private_is_on_the_disk_or_in_a_log():
    with Server("--access-log", "-") as server:
        document = add(server, f"Write to {CANARY}, card 4111 1111 1111 1111.", f"Mail of {CANARY}")
        equal(document["title"], f"Mail of {CANARY}")
        (hit,) = search(server, CANARY)
        equal((marked(hit), hit["title"]), ([CANARY], f"Mail of {CANARY}"))
        expect("4111 1111 1111 1111" in hit["snippet"], "restored", hit)
        expect(CANARY in server.ask("GET", f"/v1/documents/{document['id']}").json()["text"], "restored")
        refused(server.ask("POST", "/v1/documents", PLAIN, f"{CANARY} \0".encode()), 400, "invalid_field", "NUL")
        server.restart(signal.SIGKILL)
        equal(marked(search(server, CANARY)[0]), [CANARY])
        server.stop()
        for path in pathlib.Path(server.data).rglob("*"):
            if path.is_file() and not path.is_socket():
                for canary in (CANARY.encode(), b"4111 1111 1111 1111", b"4111111111111111"):
                    expect(canary not in path.read_bytes(), "plain on the disk", path, canary)
        expect(CANARY not in server.errors(), "in a log")


@case
def documents_are_their_owners():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        document = add(server, "a secret of ann", "Ann", ann)
        path = f"/v1/documents/{document['id']}"
        for method, body in (("GET", None), ("DELETE", None), ("PUT", b"x")):
            refused(server.ask(method, path, [*bob, *(PLAIN if body else ())], body), 404, "not_found", "")
        equal(search(server, "secret", bob), [])
        equal(pages(server, "/v1/documents", 10, bob), [])
        equal(len(search(server, "secret", ann)), 1)
        refused(server.ask("GET", path), 401, "missing_authorization", "")
        reader = fields_for(server, "ann", "--scopes", "read")
        equal(server.ask("GET", path, reader).status, 200)
        refused(server.ask("DELETE", path, reader), 403, "forbidden", "")


@case
def many_at_once_all_happen_and_survive_a_kill():
    with Server() as server:
        answers = []

        def upload(i):
            for k in range(5):
                answers.append(server.ask("POST", f"/v1/documents?title=t{i}.{k}", PLAIN,
                                          f"shared words, mail{i}.{k}@example.org".encode()))

        threads = [threading.Thread(target=upload, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = [made(answer) for answer in answers if answer.status == 201]
        expect(len(kept) >= 15, "most of them", [answer.status for answer in answers])
        expect(all(answer.status in (201, 409, 503) for answer in answers), "others may try again")
        server.restart(signal.SIGKILL)
        equal({d["id"] for d in pages(server, "/v1/documents", 7)}, {d["id"] for d in kept})
        for document in kept:
            mail = f"mail{document['title'][1:]}@example.org"
            equal([hit["sourceId"] for hit in search(server, mail)], [document["id"]])
        equal(len(search(server, "shared", more="&limit=50")), len(kept))
        equal(server.ask("POST", "/v1/store/check").json().get("wrong", 0), 0)


if __name__ == "__main__":
    main()
