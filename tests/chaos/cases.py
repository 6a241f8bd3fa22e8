#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/chaos/cases.py [CASE...]

libweir-client against sites that do everything but work. Each case has a site of its own and says
what a program that follows it is to see; that it sees each event once and in order, and a name for
every failure, is looked at in all of them (misbehaving.Told). cuts.c has every byte of a turn.
"""
import email.utils
import http
import os
import random
import socket
import subprocess
import tempfile
import time

from misbehaving import (KIBIBYTE, MEBIBYTE, N_EVENTS, PAGE, SSE, Follower, Site, Skip, both, equal, event, events,
                         expect, failing, follow, head, put_comments, said, script, tls_context, trickled, undisturbed,
                         whole)
from cutter import Cutter
from support import PATIENCE, WAIT_S, Server, case, main
from turn_rules import new_turn, read_events


# ---- stalls ----

@case
def stall_before_the_head_is_given_up_and_tried_again():
    both(script(lambda c: c.stall()), whole, first_byte_ms=150, retries="forever")


@case
def stall_within_the_head_is_given_up_without_a_watchdog():
    for part in (b"HTTP/1.1 200", head()[:40], head()[:-2]):
        def play(conn, part=part):
            conn.put(part)
            conn.stall()
        both(script(play), whole, first_byte_ms=150, retries="forever")


@case
def stall_within_and_behind_events_is_the_watchdogs():
    for part in (b"", event(1), event(1)[:20], events(1, 3) + b"id: 4\n", events(1, 3)[:-1]):
        def play(conn, part=part):
            conn.put(head(), part)
            conn.stall()
        both(script(play), whole, idle_ms=150, retries="forever")


@case
def stall_behind_the_last_event_is_nobodys_business():
    def play(conn):
        conn.put(head(), events())
        conn.stall()
    both(play, undisturbed)


@case
def stall_of_a_refusals_page_is_not_waited_for():
    def page(status, content_type="text/html"):
        def play(conn):
            conn.put(head(status, content_type), PAGE)
            conn.stall()
        return play

    def check(told, _site):
        equal([error[1] for error in told.errors], ["502", "404"])
        told.failed("upstream_unavailable", http=404)
        equal(told.bodies, [PAGE.decode()] * 2)
    both(script(page("502 Bad Gateway"), page("404 Not Found")), check, first_byte_ms=int(3000 * PATIENCE))
    both(page("200 OK"), failing("unsupported_media_type", "no event stream", 200, 1), first_byte_ms=int(3000 * PATIENCE))


@case
def comments_without_end_are_life_and_take_no_memory():
    def play(conn):
        conn.put(head())
        put_comments(conn)
        for _ in range(5):
            time.sleep(0.05)
            conn.put(b": hb\n")
        conn.put(events())

    def check(told, site):
        undisturbed(told, site)
        if not is_slow():
            expect(told.peak_kb < 40 * KIBIBYTE, "its memory", told.peak_kb)
    both(play, check, idle_ms=int(WAIT_S * 1000))


@case
def trickle_of_single_bytes_is_the_same_stream():
    both(trickled(*(event(i) for i in range(1, N_EVENTS + 1))), undisturbed)


# ---- what comes again ----

@case
def whole_replays_are_dropped():
    both(script(said(head(), events(1, 3)), said(head(), events(1, 4)), said(head(), events())), whole)


@case
def partial_and_disordered_replays_are_dropped():
    both(script(said(head(), events(1, 4)), said(head(), events(3, 4), events(2, 3), event(5)),
                said(head(), event(5), event(1), event(6))), whole)


@case
def server_that_ignores_where_we_were_costs_only_time():
    for kind, close in (("turn", None), ("session", 7), ("any", 7), ("chat", None)):
        def play(conn, kind=kind, close=close):
            if conn.nth == close:
                conn.put(head("204 No Content", None))
            else:
                conn.put(head(), events(1, min(conn.nth, N_EVENTS), kind=kind))
        both(play, whole, kind=kind)


@case
def numbers_that_jump_in_a_turn_are_asked_for_again():
    both(script(said(head(), events(1, 2), events(4)), said(head(), event(6))), whole)
    both(said(head(), events(1, 2), events(5)), failing("stream_incomplete", "missing", 200, 6))


@case
def numbers_that_jump_in_a_session_are_told():
    def check(told, _site):
        equal([int(seq) for seq, _, _ in told.events], [1, 4, 5, 6])
        equal(told.gaps, [["2", "3"]])
        equal(told.closed, "ok")
    both(script(said(head(), event(1), events(4)), kind="session"), check, kind="session")


@case
def numbers_that_begin_anew_are_an_error_with_a_name():
    anew = b"".join(event(i, data=f"other{i}") for i in range(1, 4))
    for kind in ("turn", "session"):
        def check(told, site):
            failing("conflict", "anew", 200, 2)(told, site)
            equal(told.data, ["e1", "e2", "e3"])
        both(script(said(head(), events(1, 3)), said(head(), anew)), check, kind=kind)
    # Nothing is known of what was had so far ahead, but a session gives nothing twice.
    both(said(head(), events(1, 3)), failing("conflict", "anew", 200, 1), kind="session", since=5000)
    # Of ids without an order the same is new.
    def check_any(told, _site):
        equal(told.data, ["e1", "e2", "e3", "other1", "other2", "other3"])
    both(script(said(head(), events(1, 3)), said(head(), anew), said(head("204 No Content", None))), check_any,
         kind="any")


@case
def ids_that_are_no_numbers_are_an_error_in_a_turn():
    for wrong in (b"data: x\n\n", b"id: x\ndata: x\n\n", b"id: 0\ndata: x\n\n", b"id: -1\ndata: x\n\n",
                  b"id: 99999999999999999999\ndata: x\n\n", b"id: 1 \ndata: x\n\n"):
        both(said(head(), wrong), failing("bad_event", n_asked=1))


@case
def ids_without_events_and_ids_taken_back_are_where_to_go_on():
    def play(conn):
        if conn.nth == 1:
            conn.put(head(), b"id: a\ndata: 1\n\n", b"id: b\n\n", b"id: c\n")
        elif conn.nth == 2:
            conn.put(head(), b"data: hello\n\nid: d\ndata: 2\n\nid\n\n")
        else:
            conn.put(head("204 No Content", None))

    def check(told, site):
        equal(told.data, ["1", "hello", "2"])
        equal([conn.fields.get("last-event-id") for conn in site.requests], [None, "b", None])
    both(play, check, kind="any")


@case
def long_replays_of_ids_without_order_are_dropped():
    def play(conn):
        if conn.nth == 3:
            conn.put(head("204 No Content", None))
        else:
            conn.put(head(), b"".join(b"id: id-%d\ndata: %d\n\n" % (i, i) for i in range(1000)))

    def check(told, _site):
        equal(told.data, [str(i) for i in range(1000)])
    both(play, check, kind="any")


# ---- refusals ----

@case
def pages_of_proxies_between_are_told_and_passed():
    pages = [said(head(f"{status} X", "text/html", f"Content-Length: {len(PAGE)}"), PAGE)
             for status in (502, 503, 504, 500, 520, 408, 429)]

    def check(told, site):
        whole(told, site)
        equal([int(error[1]) for error in told.errors], [502, 503, 504, 500, 520, 408, 429])
        equal(told.bodies, [PAGE.decode()] * 7)
    both(script(*pages), check, retries=7)


@case
def page_between_two_halves_loses_nothing():
    both(script(said(head(), events(1, 3)[:-9]), said(head("502 X", "text/html"), PAGE), lambda c: c.reset(),
                said(head(), events(3, 5)), said(head("503 X", None, "Content-Length: 0"))), whole)


@case
def retry_after_is_obeyed_within_reason():
    date = email.utils.formatdate(time.time() + 3600, usegmt=True)
    past = email.utils.formatdate(time.time() - 3600, usegmt=True)
    for value, least, most in (("1", 1000, 1000), ("0", 0, 1000), ("100000000", 60000, 60000),
                               ("99999999999999999999999", 60000, 60000), (date, 60000, 60000), (past, 0, 1000),
                               ("-5", 0, 1000), ("soon", 0, 1000), ("1.5", 0, 1500), ("", 0, 1000)):
        with Site(said(head("429 Too Many", None, f"Retry-After: {value}", "Content-Length: 0"))) as site:
            follower = Follower(site.url, initial_ms=1000, max_ms=1000)
            follower.wait(lambda line: line.startswith("error "), "an error")
            told = follower.abort().end()
            pause = int(told.errors[0][3])
            expect(least <= pause <= most, f"Retry-After: {value}: a pause of", pause)


@case
def retry_field_of_the_stream_is_obeyed_within_reason():
    for value, least, most in ((b"300", 300, 450), (b"0", 100, 150), (b"99999999999", 60000, 60000), (b"5x", 0, 1000)):
        with Site(said(head(), b"retry: " + value + b"\n\n")) as site:
            follower = Follower(site.url, initial_ms=1000, max_ms=1000)
            follower.wait(lambda line: line.startswith("error "), "an error")
            pause = int(follower.abort().end().errors[0][3])
            expect(least <= pause <= most, f"retry: {value}: a pause of", pause)


@case
def key_that_is_revoked_in_the_middle_ends_it():
    def check(told, site):
        failing("upstream_unavailable", "refuses", 401, 2)(told, site)
        equal(told.data, ["e1", "e2"])
        equal(told.bodies, ['{"error":{"code":"invalid_token"}}'])
    both(script(said(head(), events(1, 2)),
                said(head("401 Who", "application/json"), b'{"error":{"code":"invalid_token"}}')), check)


@case
def answers_that_will_not_change_are_not_asked_for_again():
    for status in (400, 401, 403, 404, 405, 406, 410, 413, 418, 422, 451):
        reason = http.HTTPStatus(status).phrase
        with Site(said(head(f"{status} {reason}", "application/json", "Content-Length: 2"), b"{}")) as site:
            told = follow(site, kind="session")
            failing("upstream_unavailable", "refuses", status, 1)(told, site)
            equal(told.bodies, ["{}"])


@case
def nothing_more_is_an_end_at_first_and_later():
    nothing = said(head("204 No Content", None))
    for kind in ("turn", "session", "any", "model", "chat"):
        both(nothing, lambda told, site: equal((told.closed, told.errors, len(site.requests)), ("ok", [], 1)),
             kind=kind)

    def later(told, _site):
        equal((told.closed, told.data), ("ok", ["e1", "e2"]))
    both(script(said(head(), events(1, 2)), nothing), later)


@case
def only_event_streams_are_event_streams():
    for kind in ("text/html", "application/json", "text/event-streams", "text/plain; text/event-stream", None):
        both(said(head("200 OK", kind), events()), failing("unsupported_media_type", "no event stream", 200, 1))
    both(said(head("200 OK", SSE, "Content-Encoding: gzip"), b"\x1f\x8b\x08\0"),
         failing("unsupported_media_type", "compressed", 200, 1))
    both(said(head("200 OK", "Text/Event-Stream;charset=UTF-8", "Content-Encoding: identity"), events()), whole)
    both(said(head("201 Created"), events()), failing("upstream_unavailable", http_status=201, n_asked=1))
    both(said(head("206 Partial Content"), events()), failing("upstream_unavailable", http_status=206, n_asked=1))


@case
def key_does_not_go_to_another_host():
    with Site(lambda conn: conn.rest()) as other:
        for status in (301, 302, 303, 307, 308):
            both(said(head(f"{status} There", None, f"Location: {other.url}/v1/turns/t1/events", "Content-Length: 0")),
                 failing("upstream_unavailable", "elsewhere", status, 1), key="secret")
        both(said(head("200 OK", "text/html", f"Refresh: 0; url={other.url}/")), failing("unsupported_media_type"),
             key="secret")
        equal(other.n_accepted, 0, "connections to the other host")


@case
def what_is_no_http_is_told_and_tried_again():
    nonsense = [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 100, b"HTTP/9.9 200 OK\r\n\r\n", b"ICY 200 OK\r\n\r\n", b"\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\nContent-Type: text/event-stream\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"]
    both(script(*[said(part) for part in nonsense]), whole, retries=len(nonsense))


@case
def odd_forms_of_answers_are_read_or_told():
    body = events()
    for good in (b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body,
                 b"HTTP/1.1 200\nContent-Type: text/event-stream\n\n" + body,
                 head("200 OK", SSE, f"Content-Length: {len(body)}") + body + b"HTTP/1.1 200 OK\r\n\r\nmore",
                 b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nContent-Type: text/html\r\n\r\n" + head() + body,
                 head("200 OK", SSE, "X-Folded: a,", " b") + body,
                 head("200 OK", SSE, "Transfer-Encoding: chunked") + b"%X ;x=y\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(body), body)):
        both(said(good), undisturbed)
    both(script(said(head("200 OK", SSE, "Content-Length: 0")), said(head("200 OK", SSE, "Content-Length: 10"), event(1)),
                said(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + body),
                lambda c: (c.put(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), c.stall())),
         whole, first_byte_ms=100, retries="forever")


# ---- sizes ----

@case
def event_over_the_limit_ends_it_by_name():
    def large(conn):
        conn.put(head(), event(1), b"id: 2\ndata: ")
        for _ in range(160):
            conn.put(b"x" * (64 * KIBIBYTE))  # 10 MB
        conn.put(b"\n\n")

    def check(told, site):
        failing("event_too_long", n_asked=1)(told, site)
        equal(told.data, ["e1"])
    both(large, check, max_event=MEBIBYTE)

    def fits(conn):
        if conn.nth == 1:
            large(conn)
        conn.put(events(3))

    def check_whole(told, _site):
        equal((told.closed, told.n_events), ("ok", N_EVENTS))
    with Site(fits) as site:
        check_whole(follow(site), site)


@case
def head_without_end_is_ended_by_name():
    def lines(conn):
        conn.put(b"HTTP/1.1 200 OK\r\n")
        while True:
            conn.put(b"X-Field: 0123456789012345678901234567890123456789\r\n" * 100)

    def line(conn):
        conn.put(b"HTTP/1.1 200 OK\r\nX-Field: ")
        while True:
            conn.put(b"0123456789" * 1000)

    def interim(conn):
        while True:
            conn.put(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" * 100)
    for play in (lines, line, interim):
        both(play, failing("payload_too_large", n_asked=1))


@case
def odd_bytes_are_events_all_the_same():
    body = (b"\xef\xbb\xbf" + b"id: 1\rdata: e1\r\r" + b"id: 2\r\ndata: e2\r\n\r\n" + b"id: \x003\nid: 3\ndata: e3\n\n" +
            b": comment\n\n\n" + b"id: 4\ndata:e4\n\n" + b"junk\nid: 5\ndata: e5\n\n" +
            b"id: 6\nevent: turn.completed\ndata: e6\n\n")
    both(said(head(), body), whole)

    def play(conn):
        conn.put(head())
        for i in range(len(body)):
            conn.put(body[i:i + 1])
    both(play, whole)
    nul = b"id: 1\ndata: a\0b\xff\n\nid: 2\nevent: turn.failed\ndata\n\n"
    both(said(head(), nul), lambda told, _: equal((told.closed, told.data), ("ok", [r"a\x00b" + "�", ""])))


# ---- networks ----

@case
def server_that_closes_at_once_is_not_hammered():
    def play(conn):
        if conn.nth > 1000:
            conn.rest()
    with Site(play) as site:
        told = follow(site, retries="forever", initial_ms=1, max_ms=2)
        told.whole()
        equal(len(site.requests), 1001)
        pauses = [int(error[3]) for error in told.errors]
        expect(pauses[0] <= 1 and max(pauses) in (1, 2), "pauses grow to their ceiling")
    # As they are by default there are few in a second or two.
    with Site(lambda conn: None) as site:
        follower = Follower(site.url, initial_ms=1000, max_ms=30000, retries="forever")
        follower.wait(lambda line: line.startswith("error "), "an error")
        time.sleep(0.5)
        n_asked = len(site.requests)
        told = follower.abort().end()
        expect(n_asked < 30, "requests in half a second", n_asked)
        expect(told.cpu_ms < 1000 or is_slow(), "milliseconds of work while it waits", told.cpu_ms)


@case
def silence_is_waited_for_without_work():
    for loop in (0, 1):
        with Site(lambda conn: (conn.put(head(), event(1)), conn.stall())) as site:
            follower = Follower(site.url, loop=loop).wait_events(1)
            time.sleep(0.5)
            told = follower.abort().end()
            expect(told.cpu_ms < 150 or is_slow(), "milliseconds of work in half a second of silence", told.cpu_ms)


@case
def name_that_leads_nowhere_is_an_error_with_a_name():
    for loop in (0, 1):
        follow("http://nobody.invalid", loop=loop).failed("io_error", "name", 0)


@case
def nobody_there_is_an_error_with_a_name_until_somebody_is():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        for loop in (0, 1):
            told = follow(f"http://127.0.0.1:{port}", loop=loop).failed("io_error", "connection", 0)
            equal(len(told.errors), 6)
        follower = Follower(f"http://127.0.0.1:{port}", retries="forever", max_ms=20)
        follower.wait(lambda line: line.startswith("error io_error 0 again"), "a refusal")
        holder.listen()
        sock, _ = holder.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(head() + events())
        follower.end().whole()


@case
def tls_that_is_cut_without_a_word_loses_nothing():
    with tempfile.TemporaryDirectory() as folder:
        context, cert = tls_context(folder)
        wire = head() + events()
        cuts = list(range(0, len(wire), 9))

        def play(conn):
            if conn.nth <= len(cuts):
                conn.put(wire[:cuts[conn.nth - 1]] if conn.had == 0 else (head() + events(conn.had + 1))[:cuts[conn.nth - 1]])
                if conn.nth % 3 == 0:
                    conn.reset()
            else:
                conn.rest()
        for loop in (0, 1):
            with Site(play, tls=context) as site:
                follow(site, ca=cert, retries="forever", loop=loop).whole()
        with Site(lambda conn: conn.rest(), tls=context) as site:
            follow(site).failed("io_error", "not trusted", 0)
            equal(site.requests, [], "requests to whom we do not trust")


# ---- models: what is paid for ----

MODEL = b"".join(b"event: x\ndata: e%d\n\n" % i for i in range(1, N_EVENTS)) + b"event: message_stop\ndata: e6\n\n"


@case
def model_is_asked_twice_only_before_its_first_byte():
    retried = [lambda c: None, lambda c: c.reset(), said(b"HTTP/1.1 20"), said(head()), said(head("529 Busy", None)),
               said(head("200 OK", SSE, "Transfer-Encoding: chunked"), b"5"),
               lambda c: (c.put(head("200 OK", SSE, "Content-Length: 50")), c.reset())]
    for first in retried:
        both(lambda conn, first=first: first(conn) if conn.nth == 1 else conn.put(head(), MODEL),
             lambda told, site: (told.whole(), equal(len(site.requests), 2)), kind="model", body="{}")
    paid = [said(head(), b":"), said(head(), MODEL[:5]), said(head(), MODEL[:-1]),
            said(head("200 OK", SSE, "Transfer-Encoding: chunked"), b"1\r\ne"),
            said(head("200 OK", SSE, "Content-Length: 9999"), MODEL[:40])]
    for first in paid:
        def check(told, site):
            expect(told.closed in ("stream_incomplete", "io_error"), "a cut", told.lines)
            equal((len(site.requests), site.n_accepted), (1, 1), "requests and connections")
            equal(told.data, [f"e{i}" for i in range(1, len(told.data) + 1)])
        both(first, check, kind="model", body="{}")

    def stall(conn):
        conn.put(head() + MODEL[:5])
        conn.stall()
    both(stall, failing("request_timeout", n_asked=1), kind="model", body="{}", idle_ms=60)


@case
def model_that_sends_an_error_is_not_asked_again():
    both(said(head(), b"event: error\ndata: {}\n\n"),
         lambda told, site: equal((told.closed, told.data, len(site.requests)), ("ok", ["{}"], 1)), kind="model",
         body="{}")


# ---- giving up ----

def aborted(follower, n_events=0):
    told = follower.abort().end()
    equal((told.closed, told.n_events), (None, n_events))
    # What it was in would have lasted much longer; how quick it is, is measured elsewhere.
    expect(told.aborted_us[0] <= 2_000_000 * PATIENCE, "microseconds until it was closed", told.aborted_us)


@case
def stream_can_be_aborted_in_every_state():
    for loop in (0, 1):
        follower = Follower("http://stuck.invalid", loop=loop, connect_ms=60000)
        time.sleep(0.05)
        aborted(follower)
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            fillers = [socket.socket() for _ in range(8)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            follower = Follower(f"http://127.0.0.1:{port}", loop=loop, connect_ms=60000)
            time.sleep(0.05)
            aborted(follower)
            for filler in fillers:
                filler.close()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            follower = Follower(f"https://127.0.0.1:{silent.getsockname()[1]}", loop=loop, connect_ms=60000)
            sock, _ = silent.accept()
            expect(sock.recv(1), "its hello")
            aborted(follower)
            sock.close()
        for part, n_events in ((b"", 0), (head()[:30], 0), (head(), 0), (head() + events(1, 2) + b"id: 3\nda", 2)):
            def play(conn, part=part):
                conn.put(part)
                conn.stall()
            with Site(play) as site:
                follower = Follower(site.url, loop=loop)
                expect(site.stalled.wait(WAIT_S), "it has asked")
                if n_events:
                    follower.wait_events(n_events)
                aborted(follower, n_events)
        with Site(lambda conn: None) as site:
            follower = Follower(site.url, loop=loop, initial_ms=60000, max_ms=60000, retries="forever")
            aborted(follower.wait(lambda line: line.startswith("error "), "an error"))


@case
def enough_is_enough():
    both(said(head(), events()), lambda told, _: equal((told.closed, told.data), ("ok", ["e1", "e2"])), enough=2)


# ---- the real server ----

@case
def turn_of_the_real_server_comes_through_a_proxy_that_cuts():
    with Server("--turn-pace", "30ms") as server:
        turn = new_turn(server, "How did I sleep last week?")
        limits = [random.randrange(2500) for _ in range(40)]
        with Cutter(server.port, limits) as cutter:
            told = follow(f"http://127.0.0.1:{cutter.port}", id=turn["id"], retries="forever")
        wanted = [[str(number), name] for number, name, _ in read_events(server, turn["id"])]
        equal([parts[:2] for parts in told.events], wanted, f"each event once, cut at {limits}")
        equal(told.closed, "ok")


# ---- slow readers ----

@case
def slow_reader_costs_no_memory_and_no_event():
    """The site has more to say than fits on the way; what was not read is not had in memory."""
    line = b"x" * (32 * KIBIBYTE)

    def play(conn):
        conn.put(head())
        for i in range(1, 600):  # 19 MB
            conn.put(b"id: %d\ndata: " % i + line + b"\n\n")
        conn.put(b"id: 600\nevent: turn.completed\ndata: e\n\n")

    def check(told, _site):
        equal((told.closed, told.n_events, told.errors), ("ok", 600, []))
        if not is_slow():
            expect(told.peak_kb < 30 * KIBIBYTE, "its memory", told.peak_kb)
    both(play, check, slow_ms=1, quiet=1, idle_ms=int(WAIT_S * 1000))


# ---- HTTP/2 ----

NODE_H2 = """
const h2 = require('http2'), fs = require('fs');
const n = +process.argv[4];
const server = h2.createSecureServer({cert: fs.readFileSync(process.argv[2]), key: fs.readFileSync(process.argv[3])});
let nth = 0;
server.on('stream', (stream, fields) => {
  const way = nth++ % 6, had = +(fields['last-event-id'] || 0);
  stream.on('error', () => {});
  if (process.argv[5] === 'ways' && way === 3) { stream.close(h2.constants.NGHTTP2_REFUSED_STREAM); return; }
  stream.respond({':status': 200, 'content-type': 'text/event-stream'});
  const event = (i) => `id: ${i}\\nevent: ${i === n ? 'turn.completed' : 'x'}\\ndata: e${i}\\n\\n`;
  const all = Array.from({length: n - had}, (_, k) => event(had + 1 + k));
  if (process.argv[5] !== 'ways' || way === 5) { stream.end(all.join('')); return; }
  stream.write(all[0] + all.slice(1).join('').slice(0, 9), () => {
    if (way === 0) stream.close(h2.constants.NGHTTP2_INTERNAL_ERROR);
    else if (way === 1) stream.session.goaway(h2.constants.NGHTTP2_NO_ERROR), stream.end();
    else if (way === 2) stream.session.destroy();
    else stream.end();
  });
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""


class Node:
    def __init__(self, folder, *words):
        path = os.path.join(folder, "h2.js")
        with open(path, "w", encoding="utf-8") as file:
            file.write(NODE_H2)
        try:
            self.child = subprocess.Popen(["node", path, os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"),
                                           str(N_EVENTS), *words], stdout=subprocess.PIPE)
        except FileNotFoundError:
            raise Skip("node is not there") from None
        self.port = int(self.child.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.child.kill()
        self.child.wait()


@case
def http_2_that_is_reset_left_or_lost_loses_nothing():
    with tempfile.TemporaryDirectory() as folder:
        _, cert = tls_context(folder)
        with Node(folder, "ways") as node:
            for loop in (0, 1):
                told = follow(f"https://127.0.0.1:{node.port}", ca=cert, retries="forever", loop=loop)
                told.whole()
                expect(len(told.errors) >= 2, "it was disturbed", told.lines)


@case
def http_2_that_is_cut_anywhere_loses_nothing():
    with tempfile.TemporaryDirectory() as folder:
        _, cert = tls_context(folder)
        with Node(folder) as node, Cutter(node.port, range(0, 2400, 60)) as cutter:
            follow(f"https://127.0.0.1:{cutter.port}", ca=cert, retries="forever").whole()


def is_slow():
    """A sanitizer's memory and time are its own."""
    return PATIENCE > 1


if __name__ == "__main__":
    main()
