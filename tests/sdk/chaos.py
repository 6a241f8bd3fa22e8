#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sdk/chaos.py [CASE]...

The SDK against sites that do everything but work, in Node and in Chromium, by fetch and by an
EventSource. The cases are those of libweir-client (tests/chaos/cases.py), and so is the law: each event
once and in order, and then the end; or a part from the beginning and an error with a name.
"""
import email.utils
import socket
import time

from programs import main_with_browser
from ways import (ALL, BY_EVENT_SOURCE, BY_FETCH, NodeFetch, event, every, following)
from misbehaving import (KIBIBYTE, MEBIBYTE, N_EVENTS, PAGE, Site, events, failing, head, put_comments, said, script,
                         trickled, undisturbed, whole)
from support import PATIENCE, WAIT_S, case, equal, expect

KINDS = ("turn", "chat", "attach", "session")


def nothing_more(conn):
    conn.put(head("204 No Content", None))


def until_had(play, kind):
    """A session has no end of its own: 204 behind its last event."""
    def played(conn):
        if kind == "session" and conn.had >= N_EVENTS:
            nothing_more(conn)
        else:
            play(conn)
    return played


# ---- cuts ----

@case
def cut_at_every_byte_loses_nothing():
    """One connection for each byte of the answer, as far as each of them gets."""
    for kind in KINDS:
        length = len(head() + events(1, kind=kind))
        step = 7 if kind != "turn" else 1

        def play(conn, length=length, step=step, kind=kind):
            wire = head() + events(conn.had + 1, kind=kind)
            conn.put(wire[:conn.nth * step] if conn.nth * step < length else wire)
            if conn.nth % 3 == 0:
                conn.reset()
        every(until_had(play, kind), whole, ways=(NodeFetch,), kind=kind, retries="forever")
        coarse = until_had(lambda conn, kind=kind: conn.put((head() + events(conn.had + 1, kind=kind))[:conn.nth * 40]), kind)
        every(coarse, whole, kind=kind, retries="forever")


# ---- stalls ----

@case
def stall_before_and_within_the_head_is_given_up_and_tried_again():
    for part in (b"", b"HTTP/1.1 200", head()[:40]):
        every(script(lambda c, part=part: (c.put(part), c.stall())), whole, head_ms=int(100 * PATIENCE), retries="forever")


@case
def stall_within_and_behind_events_is_the_watchdogs():
    for part in (b"", event(1), event(1)[:20], events(1, 3) + b"id: 4\n", events(1, 3)[:-1]):
        every(script(lambda c, part=part: (c.put(head(), part), c.stall())), whole, ways=BY_FETCH, idle_ms=int(100 * PATIENCE), retries="forever")


@case
def stall_behind_the_last_event_is_nobodys_business():
    every(lambda c: (c.put(head(), events()), c.stall()), undisturbed)


@case
def stall_of_a_refusals_page_is_not_waited_for():
    def page(status):
        return lambda conn: (conn.put(head(status, "text/html"), PAGE), conn.stall())

    def check(told, _site):
        equal([error[1] for error in told.errors], ["502", "404"])
        equal(told.bodies, [PAGE.decode()] * 2)
    every(script(page("502 Bad Gateway"), page("404 Not Found")), check, ways=BY_FETCH)


@case
def comments_without_end_are_life_and_take_no_memory():
    def play(conn):
        conn.put(head())
        put_comments(conn)
        conn.put(events())

    def check(told, site):
        undisturbed(told, site)
        expect(told.peak_kb < 160 * KIBIBYTE, "its memory", told.peak_kb)
    every(play, check, ways=BY_FETCH, idle_ms=int(WAIT_S * 1000), is_alone=True)


@case
def trickle_of_single_bytes_is_the_same_stream():
    every(trickled(*(event(i) for i in range(1, N_EVENTS + 1))), undisturbed)


# ---- what comes again ----

@case
def whole_partial_and_disordered_replays_are_dropped():
    every(script(said(head(), events(1, 3)), said(head(), events(1, 4)), said(head(), events())), whole)
    every(script(said(head(), events(1, 4)), said(head(), events(3, 4), events(2, 3), event(5)),
                 said(head(), event(5), event(1), event(6))), whole)


@case
def server_that_ignores_where_we_were_costs_only_time():
    for kind in KINDS:
        def play(conn, kind=kind):
            conn.put(head(), events(1, min(conn.nth, N_EVENTS), kind=kind))
        every(until_had(play, kind), whole, kind=kind)


@case
def numbers_that_jump_in_a_turn_are_asked_for_again():
    every(script(said(head(), events(1, 2), events(4)), said(head(), event(6))), whole, ways=BY_FETCH)
    every(said(head(), events(1, 2), events(5)), failing("stream_incomplete", "missing", 0, 6), ways=BY_FETCH)


@case
def numbers_that_jump_in_a_session_are_told():
    def check(told, _site):
        equal([int(seq) for seq, _, _ in told.events], [1, 4, 5, 6])
        equal(told.gaps, [["2", "3"]])
        equal(told.closed, "ok")
    play = until_had(said(head(), event(1, "session"), events(4, kind="session")), "session")
    every(play, check, kind="session")


@case
def numbers_that_begin_anew_are_an_error_with_a_name():
    for kind in ("turn", "session"):
        anew = b"".join(event(i, kind, data=f"other{i}") for i in range(1, 4))

        def check(told, site):
            failing("conflict", "anew", 0)(told, site)
            equal(told.data, ["e1", "e2", "e3"])
        every(script(said(head(), events(1, 3, kind=kind)), said(head(), anew), kind=kind), check, kind=kind)
    # Nothing is known of what was had so far ahead, but a session gives nothing twice.
    every(said(head(), events(1, 3, kind="session")), failing("conflict", "anew", 0, 1), kind="session", since=5000)


@case
def ids_that_are_no_numbers_are_an_error():
    for wrong in (b"data: 1\n\n", b"id: x\ndata: 1\n\n", b"id: 0\ndata: 1\n\n", b"id: -1\ndata: 1\n\n",
                  b"id: 99999999999999999999\ndata: 1\n\n", b"id: 1 \ndata: 1\n\n"):
        every(said(head(), wrong), failing("bad_event", n_asked=1), ways=BY_FETCH)


@case
def what_is_no_json_is_an_error_with_a_name():
    every(said(head(), event(1), b"id: 2\nevent: agent.thought\ndata: {\n\n"), failing("bad_event", "no JSON", 0, 1))


# ---- refusals ----

@case
def pages_of_proxies_between_are_told_and_passed():
    statuses = [502, 503, 504, 500, 520, 408, 429]
    fields = (f"Content-Length: {len(PAGE)}", "Connection: close")
    pages = [said(head(f"{status} X", "text/html", *fields), PAGE) for status in statuses]

    def check(told, site):
        whole(told, site)
        equal([int(error[1]) for error in told.errors], statuses)
        equal(told.bodies, [PAGE.decode()] * 7)
    every(script(*pages), check, ways=BY_FETCH, retries=7)
    # An EventSource is asked why by another request, which sees the page behind.
    every(script(*pages[::2]), whole, ways=BY_EVENT_SOURCE, retries=7)


@case
def page_between_two_halves_loses_nothing():
    every(script(said(head(), events(1, 3)[:-9]), said(head("502 X", "text/html"), PAGE), lambda c: c.reset(),
                 said(head(), events(3, 5)), said(head("503 X", None, "Content-Length: 0"))), whole)


@case
def pauses_are_as_the_server_wants_them_within_reason():
    date = email.utils.formatdate(time.time() + 3600, usegmt=True)
    past = email.utils.formatdate(time.time() - 3600, usegmt=True)
    for value, least, most in (("1", 1000, 1000), ("0", 100, 100), ("100000000", 60000, 60000),
                               ("99999999999999999999999", 60000, 60000), (date, 60000, 60000), (past, 0, 1000),
                               ("-5", 0, 1000), ("soon", 0, 1000), ("", 0, 1000)):
        refusal = said(head("429 Too Many", None, f"Retry-After: {value}", "Content-Length: 0"))
        with following(NodeFetch, refusal, initial_ms=1000) as (follower, _):
            follower.wait(lambda line: line.startswith("error "), "an error")
            pause = int(follower.abort().end().errors[0][3])
            expect(least <= pause <= most, f"Retry-After: {value}: a pause of", pause)
    for value, least, most in ((b"300", 300, 300), (b"0", 100, 100), (b"99999999999", 60000, 60000), (b"5x", 0, 1000)):
        with following(NodeFetch, said(head(), b"retry: " + value + b"\n\n"), initial_ms=1000) as (follower, _):
            follower.wait(lambda line: line.startswith("error "), "an error")
            pause = int(follower.abort().end().errors[0][3])
            expect(least <= pause <= most, f"retry: {value}: a pause of", pause)


@case
def key_that_is_revoked_in_the_middle_ends_it():
    refused = said(head("401 Who", "application/json"), b'{"error":{"code":"invalid_token","message":"no"}}')

    def check(told, site):
        failing("invalid_token", "no", 401)(told, site)
        equal(told.data, ["e1", "e2"])
    every(script(said(head(), events(1, 2)), *[refused] * 3), check)


@case
def answers_that_will_not_change_are_not_asked_for_again():
    for status in (400, 403, 405, 410, 418, 422):
        refusal = said(head(f"{status} No", "application/json", "Content-Length: 2"), b"{}")
        every(refusal, failing(f"http_{status}", "", status, 1), ways=(NodeFetch,))
    refusal = said(head("404 No", "application/json", "Content-Length: 2"), b"{}")
    for kind in KINDS:
        every(refusal, failing("http_404", "", 404), kind=kind)
    every(said(head("404 No", "application/json", "Content-Length: 2"), b"{}"), failing("http_404", n_asked=1), ways=BY_FETCH)


@case
def nothing_more_is_an_end_at_first_and_later():
    for kind in KINDS:
        every(nothing_more, lambda told, _: equal((told.closed, told.errors), ("ok", [])), kind=kind)
    every(script(said(head(), events(1, 2)), *[nothing_more] * 2), lambda told, _: equal((told.closed, told.data), ("ok", ["e1", "e2"])))


@case
def only_event_streams_are_event_streams():
    for kind in ("text/html", "application/json", "text/event-streams", "text/plain; text/event-stream"):
        every(said(head("200 OK", kind), events()), failing("unsupported_media_type", "no event stream", n_asked=1), ways=BY_FETCH)
    # In a browser that is how a head looks that was cut: it is asked for again.
    for kind in (None, "text/eve"):
        every(said(head("200 OK", kind), events()), failing("stream_incomplete", "cut", n_asked=6), ways=BY_FETCH)
    # What an EventSource takes is its own business; of what it refuses, the reason is found.
    every(said(head("200 OK", "text/html"), events()), failing("unsupported_media_type", "no event stream"), ways=BY_EVENT_SOURCE)
    every(said(head("200 OK", "Text/Event-Stream;charset=UTF-8"), events()), undisturbed, ways=BY_FETCH)
    every(said(head("201 Created"), events()), failing("http_201", "", 201, 1), ways=BY_FETCH)


@case
def key_does_not_go_to_another_host():
    with Site(lambda conn: conn.rest()) as other:
        for status in (301, 302, 303, 307, 308):
            elsewhere = said(head(f"{status} There", None, f"Location: {other.url}/v1/turns/t1/events", "Content-Length: 0"))
            every(elsewhere, failing("redirected", "elsewhere", n_asked=1), ways=BY_FETCH, key="secret")
        equal(other.n_accepted, 0, "connections to the other host")


@case
def what_is_no_http_is_told_and_tried_again():
    nonsense = [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 100, b"\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\nContent-Type: text/event-stream\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"]
    every(script(*[said(part) for part in nonsense]), whole, ways=(NodeFetch,), retries=len(nonsense))


# ---- sizes ----

@case
def event_over_the_limit_ends_it_by_name():
    def large(conn):
        conn.put(head(), event(1), b"id: 2\ndata: ")
        for _ in range(80):
            conn.put(b"x" * (64 * KIBIBYTE))  # 5 MB
        conn.put(b"\n\n")

    def check(told, site):
        failing("event_too_long", n_asked=1)(told, site)
        equal(told.data, ["e1"])
    every(large, check, ways=BY_FETCH, max_event=MEBIBYTE)


@case
def odd_bytes_are_events_all_the_same():
    body = (b"\xef\xbb\xbf" + b'id: 1\rdata: "e1"\r\r' + b'id: 2\r\ndata: "e2"\r\n\r\n' + b'id: \x003\nid: 3\ndata: "e3"\n\n' +
            b": comment\n\n\n" + b'id: 4\ndata:"e4"\n\n' + b'junk\nid: 5\ndata: "e5"\n\n' +
            b'id: 6\nevent: turn.completed\ndata: "e6"\n\n')
    every(said(head(), body), undisturbed)
    every(lambda conn: (conn.put(head()), conn.trickle(body)), undisturbed)


# ---- networks ----

@case
def server_that_closes_at_once_is_not_hammered():
    def play(conn):
        if conn.nth > 200:
            conn.rest()
    every(play, lambda told, site: (told.whole(), equal(len(site.requests), 201)), ways=(NodeFetch,), retries="forever")


@case
def nobody_there_is_an_error_with_a_name_until_somebody_is():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{holder.getsockname()[1]}"
        told = NodeFetch(url).end().failed("io_error", "attempts", 0)
        equal(len(told.errors), 6, "five more attempts, and the last word")
        follower = NodeFetch(url, retries="forever", initial_ms=20)
        follower.wait(lambda line: line.startswith("error io_error 0 again"), "a refusal")
        holder.listen()
        sock, _ = holder.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(head() + events())
        follower.end().whole()


@case
def connection_that_is_closed_before_the_request_is_given_up():
    """What a proxy with no server behind it does; fetch in Node never hears of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        follower = NodeFetch(f"http://127.0.0.1:{listener.getsockname()[1]}", head_ms=int(300 * PATIENCE), retries="forever")
        sock, _ = listener.accept()
        sock.close()
        follower.wait(lambda line: line.startswith("error "), "an error")
        while True:
            sock, _ = listener.accept()
            with sock:
                if sock.recv(65536):
                    sock.sendall(head() + events())
                    break
        follower.end().whole()


# ---- giving up, and enough ----

def aborted(follower, n_events=0):
    told = follower.abort().end()
    equal((told.closed, told.n_events), (None, n_events))
    # At once; a busy machine may take its time for that.
    expect(told.aborted_us[0] <= 2_000_000 * PATIENCE, "microseconds until it was closed", told.aborted_us)


@case
def stream_can_be_aborted_in_every_state():
    for way in ALL:
        for part, n_events in ((b"", 0), (head()[:30], 0), (head(), 0), (head() + events(1, 2) + b"id: 3\nda", 2)):
            with following(way, lambda conn, part=part: (conn.put(part), conn.stall())) as (follower, site):
                expect(site.stalled.wait(WAIT_S), "it has asked")
                if n_events:
                    follower.wait_events(n_events)
                aborted(follower, n_events)
        with following(way, lambda conn: None, initial_ms=60000, retries="forever") as (follower, _):
            aborted(follower.wait(lambda line: line.startswith("error "), "an error"))


@case
def enough_is_enough():
    for kind in KINDS:
        every(said(head(), events(kind=kind)), lambda told, _: equal((told.closed, told.data), ("ok", ["e1", "e2"])), kind=kind, enough=2)


# ---- slow readers ----

@case
def slow_reader_costs_no_memory_and_no_event():
    """The site has more to say than fits on the way; what was not read is not had in memory."""
    line = b'"' + b"x" * (32 * KIBIBYTE) + b'"'

    def play(conn):
        conn.put(head())
        for i in range(1, 1500):  # 48 MB
            conn.put(b"id: %d\nevent: agent.thought\ndata: " % i + line + b"\n\n")
        conn.put(b'id: 1500\nevent: turn.completed\ndata: "e"\n\n')

    def check(told, _site):
        equal((told.closed, told.n_events, told.errors), ("ok", 1500, []))
        expect(told.peak_kb < 160 * KIBIBYTE, "its memory", told.peak_kb)
    every(play, check, ways=BY_FETCH, slow_ms=1, quiet=1, is_alone=True)


@case
def event_source_that_is_too_quick_is_closed_and_gone_on_with():
    n_events = 5000

    def play(conn):
        thoughts = [b'id: %d\nevent: agent.thought\ndata: "x"\n\n' % i for i in range(conn.had + 1, n_events)]
        last = b'id: %d\nevent: turn.completed\ndata: "e"\n\n' % n_events
        conn.put(b"".join([head(), *thoughts, last]))  # at once: a site that is held up is not too quick

    def check(told, site):
        equal((told.closed, told.n_events, told.errors), ("ok", n_events, []))
        expect(len(site.requests) > 1, "it was closed in between", len(site.requests))
    every(play, check, ways=BY_EVENT_SOURCE, slow_ms=1, quiet=1)


if __name__ == "__main__":
    main_with_browser()
