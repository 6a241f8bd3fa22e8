// SPDX-License-Identifier: Apache-2.0
// How the types are used: compiled, never run. Lines behind @ts-expect-error have to be wrong.

import {
  ApiError,
  EventStream,
  RateLimitError,
  TurnFailedError,
  Weir,
  type SessionEvent,
  type Turn,
  type TurnEvent,
} from "weir-sdk";

const weir = new Weir({
  apiKey: "k",
  baseUrl: "http://127.0.0.1:8080",
  timeout: 1000,
  maxRetries: 1,
  fetch,
  EventSourceCtor: EventSource,
});

export async function turns(signal: AbortSignal): Promise<string> {
  const turn: Turn = await weir.turns.create({
    messages: [{ role: "user", content: "Hi" }],
    context: { include_memory: false },
  });
  const stream = weir.turns.stream(turn.id, {
    signal,
    maxRetries: 3,
    retryDelayMs: 500,
    onReconnect: (lastId, error, { attempt, delayMs }) => console.log(lastId?.length, error.code, attempt + delayMs),
  });
  for await (const event of stream) {
    if (event.type === "agent.thought")
      console.log(event.delta.length, event.data.agent, event.channel === "synthesis");
    if (event.type === "validator.gate") console.log(event.verdict satisfies "passed" | "failed" | "skipped");
    if (event.type === "turn.completed") return event.result.answer;
    if (event.type === "turn.failed") console.log(event.error.code);
    // @ts-expect-error there is no such event
    if (event.type === "turn.exploded") stream.close();
  }
  for await (const each of weir.turns.list({ status: "completed" }).iter())
    console.log(each.result?.fact_sheet[0]?.value);
  const { items, next, next_cursor } = await weir.turns.list({ limit: 3 });
  console.log(items[0]?.id, next === next_cursor);
  // @ts-expect-error a limit is a number
  weir.turns.list({ limit: "3" });
  return (await weir.turns.ask("Hi", { onEvent: (event: TurnEvent) => console.log(event.id + 1) })).answer;
}

export async function chats(): Promise<void> {
  for await (const event of weir.chat.stream("Hi", {
    onPreview: ({ redactedText }) => (redactedText ? "redact" : null),
    onOpen: ({ conversationId }) => console.log(conversationId),
  })) {
    if (event.type === "token") console.log(event.data.text, event.id.split(":"));
    if (event.type === "dlp_preview")
      await weir.chat.decide(event.data.decisionId, "allow", { rememberForConversation: true });
  }
  // @ts-expect-error no such choice
  weir.chat.decide("dlp_1", "shred");
  console.log((await weir.chat.send("Hi", { direct: true })).citations[0]?.snippet);
}

export function sessions(): number {
  const sub = EventStream({
    baseUrl: "http://127.0.0.1:8080",
    sessionId: "ses_1",
    sinceSeq: 7,
    onEvent(event: SessionEvent, seq) {
      if (event.type === "text_delta") console.log(event.text, seq + 1);
      if (event.type === "tool.approval_required") weir.sessions.approve(event.request.approvalId, "exact-args");
      if (event.type === "clarify.request")
        weir.sessions.answer(event.requestId, event.options?.[0] ?? event.default ?? "");
    },
    onError: (error, { isFinal }) => console.log(error, isFinal),
  });
  // @ts-expect-error it is the stream's own
  sub.lastSeq = 3;
  // @ts-expect-error onEvent is needed
  EventStream({ sessionId: "ses_1" });
  return sub.closed ? 0 : sub.lastSeq;
}

export async function things(file: File): Promise<void> {
  const { id } = await weir.data.import(file, {
    onProgress: ({ bytes, totalBytes }) => console.log(bytes / totalBytes),
  });
  for await (const event of weir.data.streamImport(id))
    if (event.type === "import.progress") console.log(event.records);
  for (const { metric, unit } of await weir.data.metrics())
    console.log((await weir.data.series(metric)).data[0]?.value, unit);
  const entry = await weir.memory.create({ category: "goal", text: "Walk" });
  console.log(
    (await weir.memory.update(entry.id, { text: "Run" })).updated_at,
    (await weir.documents.search("lake"))[0]?.title,
  );
  try {
    await weir.auth.logInByLink("token");
  } catch (error) {
    if (error instanceof RateLimitError) console.log(error.retryAfterMs);
    else if (error instanceof ApiError) console.log(error.status, error.code, error.requestId);
    else if (error instanceof TurnFailedError) console.log(error.turnId);
  }
}
