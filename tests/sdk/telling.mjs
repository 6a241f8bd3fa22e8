// SPDX-License-Identifier: Apache-2.0
// Follows one stream with the SDK and tells, line by line, what tests/chaos/misbehaving.py wants to hear
// of a follower: see tests/chaos/follow.c. In Node (follow.mjs) and in a page (chaos.py) alike.
//
//   kind=turn|session|chat|attach  url  id  key  since  retries=N|forever  initial_ms  head_ms  idle_ms
//   max_event  enough=N  slow_ms=N  quiet=1

const SLOW_EVERY = 20; // events; a page's timers are slow themselves

function nameOf(error) {
  return error.code ?? error.name;
}

class Teller {
  nEvents = 0;
  lastSeq = 0;

  constructor(options, say) {
    this.options = options;
    this.say = say;
  }

  async event(seq, type, data) {
    this.nEvents++;
    this.lastSeq = Number(String(seq).split(":").at(-1));
    if (!this.options.quiet)
      this.say(`event ${this.lastSeq} ${type} ${typeof data === "string" ? data : JSON.stringify(data)}`);
    if (this.options.slow_ms && this.nEvents % SLOW_EVERY === 0)
      await new Promise((resolve) => setTimeout(resolve, Number(this.options.slow_ms)));
    return this.nEvents === Number(this.options.enough);
  }

  error(error, how, delayMs = 0) {
    this.say(
      `error ${nameOf(error)} ${error.status ?? 0} ${how} ${Math.round(delayMs)} ${error.message.replace(/\s+/g, " ")}`,
    );
    if (typeof error.page === "string") this.say(`body ${error.page}`);
  }
}

/** Those options that were given, by the names of the SDK. */
function numbers({ retries, head_ms, idle_ms, max_event }) {
  const all = {
    maxRetries: retries === "forever" ? Infinity : retries,
    headMs: head_ms,
    idleMs: idle_ms,
    maxEventChars: max_event,
  };
  return Object.fromEntries(
    Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, Number(value)]),
  );
}

function streamOf(weir, { kind, id = "t1", since = null, ...options }, { signal, teller }) {
  const how = {
    ...numbers(options),
    signal,
    retryDelayMs: Number(options.initial_ms ?? 1),
    mostDelayMs: Number(options.initial_ms ?? 2),
    lastEventId: since,
    onOpen: () => teller.say("open"),
    onReconnect: (_, error, { delayMs }) => teller.error(error, "again", delayMs),
  };
  if (kind === "chat") return weir.chat.stream("Hi", how);
  if (kind === "attach") return weir.chat.attach("conv_1", how);
  return weir.turns.stream(id, how);
}

async function followIterator(weir, options, control, teller) {
  const events = streamOf(weir, options, { signal: control.signal, teller });
  for await (const { id, type, data } of events) if (await teller.event(id, type, data)) break;
}

function followSession({ EventStream }, options, control, teller) {
  return new Promise((resolve, reject) => {
    const sub = EventStream({
      baseUrl: options.url,
      apiKey: options.key,
      EventSourceCtor: options.EventSourceCtor,
      sessionId: options.id ?? "s1",
      sinceSeq: Number(options.since ?? 0),
      retryMs: Number(options.initial_ms ?? 1),
      ...numbers(options),
      signal: control.signal,
      onEvent: async (event, seq) => (await teller.event(seq, event.type, event.data)) && sub.close(),
      onError: (error, { isFinal, delayMs }) => (isFinal ? reject(error) : teller.error(error, "again", delayMs)),
      onGap: ({ first, last }) => teller.say(`gap ${first} ${last}`),
      onState: (state) => {
        if (state === "connected") teller.say("open");
        if (state === "closed") resolve();
      },
    });
  });
}

/** Until the stream ends, or the signal of `control` says so. */
export async function follow(sdk, options, control, say) {
  const teller = new Teller(options, say);
  const weir = new sdk.Weir({ baseUrl: options.url, apiKey: options.key, EventSourceCtor: options.EventSourceCtor });
  let abortedAt = null;
  control.signal.addEventListener("abort", () => (abortedAt = performance.now()));
  try {
    await (options.kind === "session"
      ? followSession(sdk, options, control, teller)
      : followIterator(weir, options, control, teller));
    if (abortedAt === null) say("closed ok");
  } catch (error) {
    if (abortedAt === null) {
      teller.error(error, "final");
      say(`closed ${nameOf(error)}`);
    }
  }
  if (abortedAt !== null) say(`aborted ${Math.round((performance.now() - abortedAt) * 1000)}`);
  return teller;
}
