#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// tests/sdk/client.mjs [CASE]...
//
// Requests and streams of the SDK against servers in this program: what is tried again and what is not,
// what ends when the caller says so, and that nothing is left behind.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  AbortError,
  ApiError,
  ConnectionError,
  EventStream,
  ServerError,
  StreamError,
  TimeoutError,
  Weir,
} from "../../sdk/js/src/index.js";
import { Client } from "../../sdk/js/src/client.js";
import { follow } from "../../sdk/js/src/stream.js";
import { linked, pause, pauseMs, sleep, within } from "../../sdk/js/src/wait.js";
import {
  bodyOf,
  collect,
  failure,
  frame,
  main,
  sendEvents,
  sendJson,
  someStray,
  test,
  until,
  WAIT_MS,
  withServer,
} from "./t.mjs";

const QUICK = { retryDelayMs: 1, mostDelayMs: 2 };
const refusal = (response, status, headers = {}) =>
  sendJson(response, status, { error: { code: "busy", message: "not now" } }, headers);
const nListeners = (signal) => {
  let n = 0;
  const { addEventListener, removeEventListener } = AbortSignal.prototype;
  signal.addEventListener = (...args) => (n++, addEventListener.apply(signal, args));
  signal.removeEventListener = (...args) => (n--, removeEventListener.apply(signal, args));
  return () => n;
};

// ---- options ----

test("a baseUrl has to be an address", async () => {
  for (const baseUrl of ["nonsense", "ftp://x", "http://x/?a=b", "http://x/#a", "http://a:b@x"])
    assert.throws(() => new Weir({ baseUrl }), TypeError);
  for (const end of ["", "/", "/?", "#", "//"])
    assert.equal(new Weir({ baseUrl: `http://x.example/weir${end}` }).baseUrl, "http://x.example/weir");
  assert.throws(() => new Weir({ baseUrl: "http://x", fetch: 7 }), TypeError);
});

test("the path of a baseUrl and odd ids stay what they are", async () => {
  await withServer(
    (request, response) => sendJson(response, 200, {}),
    async (url, requests) => {
      await new Weir({ baseUrl: `${url}/weir/` }).turns.retrieve("a/../b?c#d");
      assert.equal(requests[0].url, "/weir/v1/turns/a%2F..%2Fb%3Fc%23d");
    },
  );
});

test("a key is sent, and nothing of it without one", async () => {
  await withServer(
    (request, response) => sendJson(response, 200, {}),
    async (url, requests) => {
      await new Weir({ baseUrl: url, apiKey: "k" }).auth.whoami();
      await new Weir({ baseUrl: url }).auth.whoami();
      assert.deepEqual(
        requests.map((request) => request.headers.authorization),
        ["Bearer k", undefined],
      );
    },
  );
});

test("what cannot be sent is told at once, and not tried again", async () => {
  const weir = new Weir({ baseUrl: "http://127.0.0.1:1", apiKey: "line\nend" });
  assert.ok((await failure(weir.auth.whoami())) instanceof TypeError);
  assert.ok((await failure(collect(weir.turns.stream("t")))) instanceof TypeError);
  const named = new Weir({ baseUrl: "http://127.0.0.1:1" }).turns.create("Hi", { idempotencyKey: "\u20ac" });
  assert.ok((await failure(named)) instanceof TypeError);
});

// ---- trying again ----

test("reading is tried again after failures that pass", async () => {
  for (const status of [408, 429, 500, 502, 503]) {
    await withServer(
      (request, response, nth) =>
        nth === 1 ? refusal(response, status, { "retry-after": "0" }) : sendJson(response, 200, { id: "t" }),
      async (url, requests) => {
        assert.equal((await new Weir({ baseUrl: url }).turns.retrieve("t")).id, "t");
        assert.equal(requests.length, 2);
      },
    );
  }
});

test("what will not change is not tried again", async () => {
  for (const status of [400, 401, 403, 404, 409, 410, 422]) {
    await withServer(
      (request, response) => refusal(response, status),
      async (url, requests) => {
        assert.equal((await failure(new Weir({ baseUrl: url }).turns.retrieve("t"))).status, status);
        assert.equal(requests.length, 1);
      },
    );
  }
});

test("what makes something is repeated with the same key and body", async () => {
  const bodies = [];
  await withServer(
    async (request, response, nth) => {
      bodies.push(String(await bodyOf(request)));
      if (nth === 1) response.destroy();
      else sendJson(response, 201, { id: "t" });
    },
    async (url, requests) => {
      await new Weir({ baseUrl: url }).turns.create("Hi");
      const keys = requests.map((request) => request.headers["idempotency-key"]);
      assert.equal(keys.length, 2);
      assert.ok(keys[0] && keys[0] === keys[1]);
      assert.equal(bodies[0], bodies[1]);
    },
  );
});

test("what must not happen twice is repeated only when nothing was done", async () => {
  const acts = [
    (weir) => weir.chat.decide("d", "allow"),
    (weir) => weir.auth.logInByLink("l"),
    (weir) => weir.keys.create({}),
  ];
  for (const act of acts) {
    await withServer(
      (request, response) => response.destroy(),
      async (url, requests) => {
        assert.ok((await failure(act(new Weir({ baseUrl: url })))) instanceof ConnectionError);
        assert.equal(requests.length, 1);
      },
    );
    await withServer(
      (request, response, nth) =>
        nth === 1 ? refusal(response, 503, { "retry-after": "0" }) : sendJson(response, 200, { ok: true }),
      async (url) => assert.deepEqual(await act(new Weir({ baseUrl: url })), { ok: true }),
    );
  }
});

test("what was deleted while its answer was lost is deleted", async () => {
  await withServer(
    (request, response, nth) => (nth === 1 ? response.destroy() : refusal(response, 404)),
    async (url) => assert.equal(await new Weir({ baseUrl: url }).memory.delete("m"), null),
  );
});

test("attempts are counted as they are said to be", async () => {
  await withServer(
    (request, response) => refusal(response, 500, { "retry-after": "0" }),
    async (url, requests) => {
      assert.ok((await failure(new Weir({ baseUrl: url, maxRetries: 3 }).turns.retrieve("t"))) instanceof ServerError);
      assert.equal(requests.length, 4);
      await failure(new Weir({ baseUrl: url, maxRetries: 3 }).turns.retrieve("t", { maxRetries: 0 }));
      assert.equal(requests.length, 5);
    },
  );
});

test("pauses grow, are random and have a ceiling", async () => {
  for (let nFailed = 1; nFailed < 40; nFailed++) {
    const most = Math.min(30000, 1000 * 1.5 ** (nFailed - 1));
    for (let i = 0; i < 50; i++) assert.ok(pauseMs(nFailed) <= most);
  }
  assert.ok(new Set(Array.from({ length: 50 }, () => pauseMs(3))).size > 10);
  assert.deepEqual(
    [0, 5000, 1e9].map((askedMs) => pauseMs(1, { askedMs })),
    [100, 5000, 60000],
  );
});

// ---- answers ----

test("an answer that is no JSON is an error with its beginning", async () => {
  await withServer(
    (request, response) => response.end("<html>hello</html>"),
    async (url) => {
      const error = await failure(new Weir({ baseUrl: url }).turns.retrieve("t"));
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.status, error.page], ["bad_answer", 200, "<html>hello</html>"]);
    },
  );
});

test("a page without end is read up to its ceiling", async () => {
  await withServer(
    (request, response) => {
      response.writeHead(404);
      const more = () => !response.destroyed && response.write("x".repeat(65536), more);
      more();
    },
    async (url) => {
      const error = await failure(new Weir({ baseUrl: url }).turns.retrieve("t"));
      assert.equal(error.status, 404);
      assert.ok(error.page.length < 4 * 65536 && error.message.length <= 200);
    },
  );
});

test("an answer that is cut or late is an error with a name", async () => {
  await withServer(
    (request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => response.destroy());
    },
    async (url) =>
      assert.equal((await failure(new Weir({ baseUrl: url, maxRetries: 0 }).turns.retrieve("t"))).code, "io_error"),
  );
  for (const answer of [() => {}, (request, response) => response.writeHead(200).write("{")]) {
    await withServer(answer, async (url) => {
      const error = await failure(new Weir({ baseUrl: url, maxRetries: 0, timeout: 50 }).turns.retrieve("t"));
      assert.ok(error instanceof TimeoutError);
      assert.equal(error.code, "request_timeout");
    });
  }
});

test("a blocking turn whose answer was lost is waited for", async () => {
  const turn = (status) => ({ id: "t", status, result: status === "completed" ? { answer: "yes" } : null });
  let nAsked = 0;
  await withServer(
    (request, response, nth) => {
      if (request.method === "POST") return nth === 1 ? response.destroy() : sendJson(response, 200, turn("running"));
      if (request.url.endsWith("/events")) {
        sendEvents(response, frame(1, "turn.started", {}), frame(2, "turn.completed", { result: {} }));
        return response.end();
      }
      return sendJson(response, 200, turn(++nAsked === 1 ? "running" : "completed"));
    },
    async (url) => {
      const ended = await new Weir({ baseUrl: url }).turns.create({ messages: [], stream: false });
      assert.deepEqual(ended.result, { answer: "yes" });
    },
  );
});

// ---- the caller's signal ----

test("a request ends when the caller says so, and lets go of the signal", async () => {
  await withServer(
    () => {},
    async (url, requests) => {
      const control = new AbortController();
      const n = nListeners(control.signal);
      const asked = failure(new Weir({ baseUrl: url }).turns.retrieve("t", { signal: control.signal }));
      await until(() => requests.length === 1, "it has asked");
      control.abort("enough");
      const error = await asked;
      assert.ok(error instanceof AbortError);
      assert.deepEqual([error.name, error.code, error.cause], ["AbortError", "aborted", "enough"]);
      assert.equal(n(), 0);
    },
  );
});

test("a signal that was aborted before asks for nothing", async () => {
  await withServer(
    (request, response) => sendJson(response, 200, {}),
    async (url, requests) => {
      const weir = new Weir({ baseUrl: url });
      const signal = AbortSignal.abort();
      const acts = [
        () => weir.turns.retrieve("t", { signal }),
        () => weir.turns.list({ signal }).page(),
        () => collect(weir.turns.stream("t", { signal })),
        () => collect(weir.chat.stream("Hi", { signal })),
        () => weir.data.import("x", { signal }),
      ];
      for (const act of acts) assert.ok((await failure(act())) instanceof AbortError);
      assert.equal(weir.sessions.stream("s", { signal, onEvent() {} }).closed, true);
      assert.equal(requests.length, 0);
    },
  );
});

test("pauses between attempts end when the caller says so", async () => {
  await withServer(
    (request, response) => refusal(response, 503, { "retry-after": "60" }),
    async (url, requests) => {
      const control = new AbortController();
      const asked = failure(new Weir({ baseUrl: url }).turns.retrieve("t", { signal: control.signal }));
      await until(() => requests.length === 1, "it was refused");
      control.abort();
      assert.ok((await asked) instanceof AbortError);
    },
  );
});

test("many requests leave no listener on one signal", async () => {
  await withServer(
    (request, response) => sendJson(response, 200, { data: [], next_cursor: null }),
    async (url) => {
      const control = new AbortController();
      const n = nListeners(control.signal);
      const weir = new Weir({ baseUrl: url });
      await Promise.all(Array.from({ length: 8 }, () => weir.turns.list({ signal: control.signal })));
      assert.equal(n(), 0);
    },
  );
});

test("waiting leaves neither timers nor listeners", async () => {
  const control = new AbortController();
  const n = nListeners(control.signal);
  await sleep(1, control.signal);
  await within(Promise.resolve(7), { ms: 1000, signal: control.signal });
  await failure(within(new Promise(() => {}), { ms: 1, signal: control.signal }));
  await failure(within(Promise.reject(new Error("x")), { ms: 1000, signal: control.signal }));
  const link = linked(control.signal);
  link.free();
  assert.equal(n(), 0);
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, 1, "that of this case");
});

// ---- streams ----

const endless = (request, response) => sendEvents(response, frame(1, "turn.started", {}));

test("an abort counts for the events that came in the same piece", async () => {
  await withServer(
    (request, response) => {
      const frames = Array.from({ length: 50 }, (_, i) => frame(i + 1, i < 49 ? "agent.thought" : "turn.completed", {}));
      sendEvents(response, frames.join(""));
      response.end();
    },
    async (url) => {
      const control = new AbortController();
      const seen = [];
      const reading = (async () => {
        for await (const event of new Weir({ baseUrl: url }).turns.stream("t", { signal: control.signal })) {
          seen.push(event.id);
          if (seen.length === 3) control.abort();
        }
      })();
      assert.equal((await failure(reading)).name, "AbortError");
      assert.deepEqual(seen, [1, 2, 3]);
    },
  );
});

test("waiting for a turn keeps to its options, and throws what a callback throws", async () => {
  await withServer(
    (request, response) => {
      if (!request.url.endsWith("/events")) return sendJson(response, 200, { id: "t", status: "running" });
      sendEvents(response, frame(1, "turn.started", {}));
    },
    async (url) => {
      const onEvent = async () => {
        throw new RangeError("mine");
      };
      assert.equal((await failure(new Weir({ baseUrl: url }).turns.wait("t", { onEvent }))).message, "mine");
    },
  );
  await withServer(
    (request, response) => refusal(response, 503),
    async (url, requests) => {
      assert.equal((await failure(new Weir({ baseUrl: url }).turns.wait("t", { maxRetries: 0 }))).status, 503);
      assert.equal(requests.length, 1);
    },
  );
});

test("leaving the loop closes the connection at once", async () => {
  let isClosed = false;
  await withServer(
    (request, response) => {
      endless(request, response);
      response.on("close", () => (isClosed = true));
    },
    async (url) => {
      const control = new AbortController();
      const n = nListeners(control.signal);
      for await (const event of new Weir({ baseUrl: url }).turns.stream("t", { signal: control.signal })) {
        assert.equal(event.id, 1);
        break;
      }
      await until(() => isClosed, "the connection is closed");
      assert.equal(n(), 0);
    },
  );
});

test("a stream can be closed while its next event is waited for", async () => {
  let isClosed = false;
  await withServer(
    (request, response) => {
      endless(request, response);
      response.on("close", () => (isClosed = true));
    },
    async (url) => {
      for (const act of ["close", "return"]) {
        isClosed = false;
        const stream = new Weir({ baseUrl: url }).turns.stream("t");
        assert.equal((await stream.next()).value.type, "turn.started");
        const next = stream.next();
        stream[act]();
        assert.deepEqual(await next, { done: true, value: undefined });
        assert.equal((await stream.next()).done, true);
        await until(() => isClosed, "the connection is closed");
      }
    },
  );
});

test("a stream that nobody reads asks for nothing and holds nothing", async () => {
  await withServer(endless, async (url, requests) => {
    const control = new AbortController();
    const n = nListeners(control.signal);
    const weir = new Weir({ baseUrl: url });
    weir.turns.stream("t", { signal: control.signal });
    weir.chat.stream("Hi", { signal: control.signal }).close();
    assert.deepEqual([n(), requests.length], [0, 0]);
  });
});

test("what a callback throws is what the loop throws", async () => {
  await withServer(
    (request, response) => response.destroy(),
    async (url) => {
      const onReconnect = () => {
        throw new RangeError("mine");
      };
      assert.equal(
        (await failure(collect(new Weir({ baseUrl: url }).turns.stream("t", { onReconnect })))).message,
        "mine",
      );
    },
  );
});

test("a fetch that does not stream is told, and asks for an EventSource", async () => {
  await withServer(endless, async (url) => {
    const deaf = async (...args) => {
      const { status, ok, type, headers } = await fetch(...args);
      return { status, ok, type, headers };
    };
    const error = await failure(collect(new Weir({ baseUrl: url, fetch: deaf }).turns.stream("t")));
    assert.deepEqual([error.name, error.code], ["StreamError", "not_implemented"]);
  });
});

test("attempts begin anew with each new event", async () => {
  await withServer(
    (request, response, nth) => {
      if (nth % 4 !== 0) return response.destroy();
      const id = nth / 4;
      sendEvents(response, frame(id, id === 5 ? "turn.completed" : "agent.thought", {}));
      return response.end();
    },
    async (url) => {
      const events = await collect(new Weir({ baseUrl: url }).turns.stream("t", { ...QUICK, maxRetries: 4 }));
      assert.deepEqual(
        events.map(({ id }) => id),
        [1, 2, 3, 4, 5],
      );
    },
  );
});

test("what ends an ask says which turn it is of", async () => {
  await withServer(
    (request, response) => {
      if (request.method === "POST") return sendJson(response, 201, { id: "turn_7", status: "queued" });
      return refusal(response, 404);
    },
    async (url) => assert.equal((await failure(new Weir({ baseUrl: url }).turns.ask("Hi"))).turnId, "turn_7"),
  );
});

test("what a turn failed of is told, whatever the event says", async () => {
  const said = { code: "cost_limit_exceeded", message: "enough" };
  const unsaid = ["internal_error", "the turn has failed, and does not say why"];
  const wanted = new Map([[null, unsaid], [{}, unsaid], [{ error: null }, unsaid], [7, unsaid], [{ error: { code: 7, message: {} } }, unsaid]]);
  wanted.set({ error: said }, Object.values(said));
  for (const [data, [code, message]] of wanted)
    await withServer(
      (request, response) => {
        if (request.method === "POST") return sendJson(response, 201, { id: "turn_7", status: "queued" });
        return sendEvents(response, frame(1, "turn.failed", data));
      },
      async (url) => {
        const error = await failure(new Weir({ baseUrl: url }).turns.ask("Hi"));
        assert.deepEqual([error.name, error.code, error.message, error.turnId], ["TurnFailedError", code, message, "turn_7"]);
      },
    );
});

test("a program that has left its streams comes to its end", async () => {
  await withServer(endless, async (url) => {
    const sdk = new URL("../../sdk/js/src/index.js", import.meta.url);
    const code = `import { Weir, EventStream } from "${sdk}";
      const weir = new Weir({ baseUrl: "${url}" });
      for await (const event of weir.turns.stream("t")) break;
      const sub = EventStream({ baseUrl: "${url}", sessionId: "s", onEvent() {}, onError: () => sub.close() });
      await weir.turns.retrieve("t", { timeout: 1000, maxRetries: 0 }).catch(() => {});
      console.log("done");`;
    const { stdout } = await promisify(execFile)("node", ["--input-type=module", "-e", code], { timeout: WAIT_MS });
    assert.equal(stdout, "done\n");
  });
});

test("a lastEventId that cannot be is told at once", async () => {
  const weir = new Weir({ baseUrl: "http://127.0.0.1:1" });
  assert.ok((await failure(collect(weir.turns.stream("t", { lastEventId: "x" })))) instanceof TypeError);
  assert.ok((await failure(collect(weir.chat.attach("c", { lastEventId: "7" })))) instanceof TypeError);
});

test("a chat is begun once, and gone on with by GET once its head has come", async () => {
  await withServer(
    async (request, response, nth) => {
      await bodyOf(request);
      if (nth === 1) return response.destroy();
      if (nth === 2)
        return response
          .writeHead(200, {
            "content-type": "text/event-stream",
            "weir-message-id": "msg_1",
            "weir-conversation-id": "conv_1",
          })
          .write(": hb\n\n", () => response.destroy());
      sendEvents(response, frame("msg_1:1", "token", { text: "a" }), frame("msg_1:2", "done", {}));
      return response.end();
    },
    async (url, requests) => {
      const opened = [];
      const events = await collect(
        new Weir({ baseUrl: url }).chat.stream("Hi", { ...QUICK, onOpen: (what) => opened.push(what) }),
      );
      assert.deepEqual(
        events.map(({ id }) => id),
        ["msg_1:1", "msg_1:2"],
      );
      assert.deepEqual(
        requests.map(({ method }) => method),
        ["POST", "POST", "GET"],
      );
      assert.equal(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
      assert.equal(requests[2].headers["last-event-id"], "msg_1:0");
      assert.deepEqual(opened[0], { messageId: "msg_1", conversationId: "conv_1" });
    },
  );
});

test("a question that was settled elsewhere ends nothing, whatever becomes of the answer to it", async () => {
  let finish = () => {};
  await withServer(
    (request, response, nth) => {
      sendEvents(response, frame("msg_1:1", "dlp_preview", { decisionId: "dlp_1" }));
      if (nth === 1) response.write(frame("msg_1:2", "dlp_resolved", {}));
      finish = () => response.end(frame("msg_1:3", "done", {}));
    },
    async (url) => {
      const weir = new Weir({ baseUrl: url });
      const onPreview = (preview, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reject(new RangeError("nobody is asked any more"));
            setImmediate(finish);
          });
        });
      assert.equal((await collect(weir.chat.stream("Hi", { onPreview }))).at(-1).type, "done");
      const fails = async () => {
        throw new RangeError("mine");
      };
      assert.equal((await failure(collect(weir.chat.stream("Hi", { onPreview: fails })))).message, "mine");
    },
  );
});

test("whoever leaves a chat has decided nothing", async () => {
  await withServer(
    (request, response) => sendEvents(response, frame("msg_1:1", "dlp_preview", { decisionId: "dlp_1" })),
    async (url, requests) => {
      const ways = {
        close: (stream) => stream.close(),
        abort: (stream, control) => control.abort(),
        later: (stream) => void setImmediate(() => stream.close()),
        leave: () => true,
      };
      for (const [name, leave] of Object.entries(ways)) {
        requests.length = 0;
        const control = new AbortController();
        let answered;
        const onPreview = async (preview, { signal }) => {
          answered = until(() => signal.aborted, `${name} is told`);
          await answered;
          return "allow";
        };
        const stream = new Weir({ baseUrl: url }).chat.stream("Hi", { signal: control.signal, onPreview });
        const left = (async () => {
          for await (const _ of stream) if (leave(stream, control)) break;
        })();
        await left.catch((error) => assert.ok(error instanceof AbortError, error));
        await answered;
        // What would be sent is on its way by now: a request of our own comes behind it.
        await new Promise((resolve) => setImmediate(resolve));
        await fetch(`${url}/later`).then((response) => response.body.cancel());
        assert.deepEqual(requests.map((each) => each.url).slice(1), ["/later"], name);
      }
    },
  );
});

test("silence where it may be is asked about without a word", async () => {
  await withServer(
    (request, response, nth) => {
      if (nth < 8) return sendEvents(response);
      sendEvents(response, frame(1, "turn.completed", {}));
      return response.end();
    },
    async (url, requests) => {
      const how = {
        request: () => ({ method: "GET", path: "/" }),
        isLast: () => true,
        idleMs: 20,
        mayBeSilent: true,
        maxRetries: 0,
        onReconnect: assert.fail,
      };
      assert.equal((await collect(follow(new Client({ baseUrl: url }), how))).length, 1);
      assert.equal(requests.length, 8);
    },
  );
});

test("a pause ends when a browser has its network back", async () => {
  const page = new EventTarget();
  Object.assign(globalThis, {
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  });
  Object.defineProperty(globalThis, "navigator", { value: { onLine: false }, configurable: true });
  try {
    const control = new AbortController();
    const n = nListeners(control.signal);
    const paused = pause(WAIT_MS * 2, control.signal);
    page.dispatchEvent(new Event("online"));
    await paused;
    assert.equal(n(), 0);
    const aborted = failure(pause(WAIT_MS * 2, control.signal));
    control.abort();
    assert.ok((await aborted) instanceof AbortError);
  } finally {
    delete globalThis.addEventListener;
    delete globalThis.removeEventListener;
    delete globalThis.navigator;
  }
});

// ---- sessions ----

const told = (seq, event) => `id: ${seq}\ndata: ${JSON.stringify(event)}\n\n`;

test("the cursor of a session's stream advances", async () => {
  await withServer(
    (request, response, nth) => {
      sendEvents(response, told(nth * 2 - 1, { type: "a" }), told(nth * 2, { type: "b" }));
      response.end();
    },
    async (url, requests) => {
      const seen = [];
      const sub = EventStream({
        baseUrl: url,
        sessionId: "s",
        retryMs: 1,
        onEvent: (event, seq) => seen.push([seq, sub.lastSeq]),
      });
      await until(() => seen.length >= 6, "six events");
      sub.close();
      assert.deepEqual(seen.slice(0, 6), [
        [1, 0],
        [2, 1],
        [3, 2],
        [4, 3],
        [5, 4],
        [6, 5],
      ]);
      const asked = requests.slice(0, 3).map((request) => new URL(request.url, url).searchParams.get("lastEventId"));
      assert.deepEqual(asked, ["0", "2", "4"]);
      assert.deepEqual([sub.closed, sub.lastSeq >= 6], [true, true]);
    },
  );
});

test("one event at a time is dealt with, and mistakes of callbacks end nothing", async () => {
  await withServer(
    (request, response) =>
      sendEvents(response, told(1, { type: "a" }), "id: 2\ndata: {\n\n", told(3, 7), told(4, { type: "d" })),
    async (url) => {
      const seen = [];
      const errors = [];
      let nBusy = 0;
      const sub = EventStream({
        baseUrl: url,
        sessionId: "s",
        async onEvent(event, seq) {
          assert.equal(++nBusy, 1);
          await sleep(1);
          nBusy--;
          seen.push(seq);
          if (seq === 1) throw new RangeError("mine");
        },
        onError: (error, { isFinal }) => errors.push([error.name, isFinal]),
      });
      await until(() => seen.length === 2, "all events");
      sub.close();
      assert.deepEqual(seen, [1, 4]);
      assert.deepEqual(errors, [
        ["RangeError", false],
        ["SyntaxError", false],
        ["StreamError", false],
      ]);
    },
  );
});

test("what onError itself throws is told as of any callback", async () => {
  await withServer(
    (request, response) => refusal(response, 404),
    async (url) => {
      const sub = EventStream({
        baseUrl: url,
        sessionId: "s",
        onEvent() {},
        onError: () => {
          throw new RangeError("mine");
        },
      });
      await until(() => sub.closed, "it is closed");
      assert.deepEqual(
        (await until(someStray, "it is told")).map(({ message }) => message),
        ["mine"],
      );
    },
  );
});

test("a client that is too old is told so, whatever it has", async () => {
  await withServer(
    (request, response) => {
      sendEvents(
        response,
        told(7, { type: "protocol.upgrade_required", serverVersion: "2", clientVersionExpected: "2" }),
      );
      response.end();
    },
    async (url, requests) => {
      const types = [];
      const sub = EventStream({
        baseUrl: url,
        sessionId: "s",
        sinceSeq: 7,
        retryMs: 1,
        onEvent: ({ type }) => types.push(type),
      });
      await until(() => sub.closed, "it is closed");
      assert.deepEqual([types, requests.length], [["protocol.upgrade_required"], 1]);
    },
  );
});

test("a session's stream lets go of the signal", async () => {
  await withServer(
    (request, response) => sendEvents(response, told(1, { type: "a" })),
    async (url) => {
      const control = new AbortController();
      const n = nListeners(control.signal);
      const states = [];
      let nEvents = 0;
      const options = {
        baseUrl: url,
        sessionId: "s",
        signal: control.signal,
        onEvent: () => nEvents++,
        onState: (state) => states.push(state),
      };
      const closed = EventStream(options);
      await until(() => nEvents === 1, "an event");
      closed.close();
      assert.equal(n(), 0);
      const aborted = EventStream(options);
      await until(() => nEvents === 2, "another");
      control.abort();
      assert.deepEqual([aborted.closed, n()], [true, 0]);
      assert.deepEqual(states.slice(-3), ["connecting", "connected", "closed"]);
    },
  );
});

test("handlers that are missing are told at once", async () => {
  assert.throws(() => EventStream({ baseUrl: "http://x", sessionId: "s" }), TypeError);
  assert.throws(() => EventStream({ baseUrl: "http://x", onEvent() {} }), TypeError);
});

// ---- lists and files ----

test("all pages are gone through, one at a time", async () => {
  await withServer(
    (request, response) => {
      const cursor = Number(new URL(request.url, "http://x").searchParams.get("cursor") ?? 0);
      sendJson(response, 200, {
        data: [cursor * 2, cursor * 2 + 1],
        next_cursor: cursor < 3 ? String(cursor + 1) : null,
      });
    },
    async (url, requests) => {
      const weir = new Weir({ baseUrl: url });
      assert.deepEqual(await collect(weir.turns.list().iter()), [0, 1, 2, 3, 4, 5, 6, 7]);
      assert.deepEqual(await collect(weir.turns.list({ cursor: "3" })), [6, 7]);
      requests.length = 0;
      for await (const each of weir.turns.list().iter()) if (each === 2) break;
      assert.equal(requests.length, 2);
      assert.deepEqual(await weir.turns.list(), { data: [0, 1], next_cursor: "1", items: [0, 1], next: "1" });
    },
  );
});

test("a list whose cursor does not move comes to its end", async () => {
  await withServer(
    (request, response) => sendJson(response, 200, { data: [1], next_cursor: "same" }),
    async (url) => assert.deepEqual(await collect(new Weir({ baseUrl: url }).turns.list().iter()), [1, 1]),
  );
});

test("an answer that is no list is told", async () => {
  for (const body of ["null", "[]", "{}", '{"data":null,"json":{"sessions":7}}', "", "5"])
    await withServer(
      (request, response) => response.end(body),
      async (url) => {
        const weir = new Weir({ baseUrl: url });
        const { turns, sessions, data } = weir;
        for (const list of [() => turns.list().page(), () => collect(turns.list()), () => collect(sessions.list()), () => data.metrics()]) {
          const error = await failure(list());
          assert.deepEqual([error.name, error.code, error.status], ["ApiError", "bad_answer", 200], body);
        }
      },
    );
});

test("an error's message is a text, whatever the answer says", async () => {
  const bodies = { null: "null", '{"error":{"message":5}}': '{"error":{"message":5}}', '{"error":{"message":{"a":1},"code":7}}': null };
  for (const [body, shown] of Object.entries(bodies))
    await withServer(
      (request, response) => response.writeHead(400).end(body),
      async (url) => {
        const error = await failure(new Weir({ baseUrl: url }).turns.retrieve("t"));
        assert.deepEqual([error.name, error.code, error.message], ["InvalidRequestError", "http_400", shown ?? body]);
      },
    );
});

test("a file goes piece by piece, and again from its beginning", async () => {
  const bytes = Buffer.alloc(300000, "abc");
  const got = [];
  await withServer(
    async (request, response, nth) => {
      got.push(await bodyOf(request));
      if (nth === 1) response.destroy();
      else sendJson(response, 202, { id: "imp" });
    },
    async (url) => {
      const progress = [];
      await new Weir({ baseUrl: url }).data.import(new Uint8Array(bytes), {
        name: "x",
        onProgress: (sent) => progress.push(sent),
      });
      assert.ok(got.every((body) => body.equals(bytes)) && got.length === 2);
      assert.deepEqual(progress.at(-1), { bytes: 300000, totalBytes: 300000 });
      assert.ok(progress.length > 6);
    },
  );
  assert.throws(() => new Weir({ baseUrl: "http://x" }).data.import({ not: "a file" }), TypeError);
});

test("a fetch that was given is not gone round in a browser, unless that is allowed", async () => {
  const by = [];
  globalThis.XMLHttpRequest = class {
    constructor() {
      throw new RangeError("XMLHttpRequest");
    }
  };
  const own = async (url, { body }) => {
    by.push(body.size);
    return new Response('{"id":"imp"}');
  };
  try {
    const progress = [];
    const send = (weir, more) => weir.data.import("abc", { name: "x", onProgress: (sent) => progress.push(sent), ...more });
    const weir = new Weir({ baseUrl: "http://x", fetch: own, maxRetries: 0 });
    await send(weir);
    assert.deepEqual([by, progress], [[3], [{ bytes: 3, totalBytes: 3 }]]);
    for (const asked of [send(weir, { xhr: true }), send(new Weir({ baseUrl: "http://x", maxRetries: 0 }))])
      assert.match((await failure(asked)).message, /XMLHttpRequest/);
    assert.equal(by.length, 1);
  } finally {
    delete globalThis.XMLHttpRequest;
  }
});

test("errors of all kinds are what they say", async () => {
  const error = new StreamError("x", { code: "bad_event" });
  assert.deepEqual(
    [error.name, String(error), error.code, error instanceof Error],
    ["StreamError", "StreamError: x", "bad_event", true],
  );
  assert.ok(new TimeoutError("x") instanceof ConnectionError);
});

await main();
