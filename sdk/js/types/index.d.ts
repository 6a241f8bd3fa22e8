// SPDX-License-Identifier: Apache-2.0
// The types of weir-sdk. Those of what the server says are made of its /openapi.json: api.d.ts.

import type * as api from "./api.js";

export type * from "./api.js";

// ---- how ----

export interface WeirOptions {
  /** Without one, the browser's cookie says who asks. */
  apiKey?: string;
  /** The page's own origin, or http://127.0.0.1:8080. */
  baseUrl?: string;
  /** Of a request, not of a stream; milliseconds, 0: none. 60000. */
  timeout?: number;
  /** Further attempts at what may be tried again. 2. */
  maxRetries?: number;
  fetch?: typeof globalThis.fetch;
  /** For places where fetch does not stream. */
  EventSourceCtor?: EventSourceLike;
  /** Names this window to others that look at the same session. */
  clientId?: string;
}

export interface EventSourceLike {
  new (
    url: string,
    options?: any,
  ): {
    addEventListener(type: string, listener: (event: any) => void): void;
    removeEventListener?(type: string, listener: (event: any) => void): void;
    close(): void;
  };
}

export interface RequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  maxRetries?: number;
}

export interface NamedRequestOptions extends RequestOptions {
  /** The same key is the same request, for a day; made anew for each call otherwise. */
  idempotencyKey?: string;
}

export interface AnyRequestOptions extends NamedRequestOptions {
  query?: Record<string, string | number | boolean | null | undefined>;
  json?: unknown;
  body?: BodyInit | null;
  headers?: Record<string, string>;
}

export interface Reconnection {
  attempt: number;
  delayMs: number;
}

export interface StreamOptions {
  signal?: AbortSignal;
  /** What was had: a turn's and an import's is a number, a chat's is MESSAGE:NUMBER. */
  lastEventId?: number | string | null;
  /** In a row, without a new event between them. 5. */
  maxRetries?: number;
  /** The first pause, 1000; each is half as long again, up to mostDelayMs, and a die is thrown for how much of it is waited. */
  retryDelayMs?: number;
  mostDelayMs?: number;
  /** Silence after which a connection counts as lost; 0: none. */
  idleMs?: number;
  /** Until the head of the answer. */
  headMs?: number;
  maxEventChars?: number;
  onReconnect?(lastId: string | null, error: WeirError, how: Reconnection): void;
  onOpen?(): void;
}

/** Goes through a stream once. close(), or leaving the loop, lets go of the connection at once. */
export interface EventIterator<T> extends AsyncIterableIterator<T> {
  close(): void;
}

/** Await it for a page, iterate over it, or over iter(), for all. */
export interface Pages<T, P = unknown> extends PromiseLike<Page<T> & P> {
  page(cursor?: string | null): Promise<Page<T> & P>;
  iter(): AsyncIterableIterator<T>;
  catch<R>(rejected: (error: unknown) => R): Promise<(Page<T> & P) | R>;
  finally(settled: () => void): Promise<Page<T> & P>;
  [Symbol.asyncIterator](): AsyncIterator<T>;
}

export interface Page<T> {
  items: T[];
  /** The cursor of the page behind it. */
  next: string | null;
}

export interface ListOptions extends RequestOptions {
  limit?: number;
  cursor?: string | null;
}

// ---- what there is ----

export class Weir {
  constructor(options?: WeirOptions);
  readonly baseUrl: string;
  readonly turns: TurnsResource;
  readonly sessions: SessionsResource;
  readonly chat: ChatResource;
  readonly memory: MemoryResource;
  readonly data: DataResource;
  readonly labs: LabsResource;
  readonly documents: DocumentsResource;
  readonly auth: AuthResource;
  readonly keys: KeysResource;
  readonly shield: ShieldResource;
  /** What has no method here: the answer's JSON, or null. */
  request(method: string, path: string, options?: AnyRequestOptions): Promise<any>;
}

export interface TurnsResource {
  /** A question, or a request; with `stream: false` the turn comes when it has ended. */
  create(question: string | api.TurnNew, options?: NamedRequestOptions): Promise<api.Turn>;
  retrieve(id: string, options?: RequestOptions): Promise<api.Turn>;
  list(options?: ListOptions & { status?: api.Turn["status"] }): Pages<api.Turn, api.TurnPage>;
  cancel(id: string, options?: NamedRequestOptions): Promise<api.Turn>;
  trace(id: string, options?: RequestOptions & { brief?: boolean }): Promise<api.Trace>;
  stream(id: string, options?: StreamOptions): EventIterator<api.TurnEvent>;
  /** The turn when it has ended. */
  wait(id: string, options?: AskOptions): Promise<api.Turn>;
  /** The result, or TurnFailedError. */
  ask(question: string | api.TurnNew, options?: AskOptions): Promise<api.TurnResult>;
}

export interface AskOptions extends NamedRequestOptions {
  onEvent?(event: api.TurnEvent): unknown;
  onReconnect?: StreamOptions["onReconnect"];
  onOpen?(): void;
  retryDelayMs?: number;
}

export type DlpChoice = "redact" | "allow" | "block";

export interface ChatStreamOptions extends Omit<StreamOptions, "onOpen"> {
  /** Empty members where an EventSource tells nothing. */
  onOpen?(reply: { messageId: string | null; conversationId: string | null }): void;
  /** Answers the shield's question; nothing: somebody else does, by decide(). */
  onPreview?(preview: api.DlpPreview, more: { signal: AbortSignal }): PreviewAnswer | Promise<PreviewAnswer>;
}

export type PreviewAnswer =
  DlpChoice | { choice: DlpChoice; rememberForConversation?: boolean } | null | undefined | void;

export interface ChatResource {
  /** Says something, and gives the reply. `direct`: without tools. */
  stream(
    message: string | api.ChatNew,
    options?: Omit<ChatStreamOptions, "lastEventId"> & { direct?: boolean; idempotencyKey?: string },
  ): EventIterator<api.ChatEvent>;
  /** The newest reply of a conversation, or of the one that was had last. */
  attach(conversationId?: string, options?: ChatStreamOptions): EventIterator<api.ChatEvent>;
  /** The whole reply at once. */
  send(message: string | api.ChatNew, options?: NamedRequestOptions & { direct?: boolean }): Promise<api.ChatResult>;
  decide(
    decisionId: string,
    choice: DlpChoice,
    options?: RequestOptions & { rememberForConversation?: boolean },
  ): Promise<api.Ok>;
  /** A question that waits: what is asked, and until when. */
  question(decisionId: string, options?: RequestOptions): Promise<api.Question>;
  conversations(options?: ListOptions): Pages<api.ConversationPage["conversations"][number], api.ConversationPage>;
  conversation(id: string, options?: RequestOptions): Promise<api.Conversation>;
  /** Ends the reply that is under way, with an error whose code is "cancelled". */
  cancel(id: string, options?: RequestOptions): Promise<null>;
  deleteConversation(id: string, options?: RequestOptions): Promise<null>;
  /** From then on nobody can tell what its placeholders stand for. */
  forgetPlaceholders(id: string, options?: RequestOptions): Promise<null>;
}

export interface SessionsResource {
  clientId: string;
  /** Any method by its name, as "sessions/get". */
  call(method: string, input?: object, options?: NamedRequestOptions): Promise<any>;
  list(
    options?: ListOptions & { q?: string },
  ): Pages<api.Session, { sessions: api.Session[]; nextCursor: string | null }>;
  get(id: string, options?: RequestOptions): Promise<SessionState>;
  create(session?: { title?: string }, options?: NamedRequestOptions): Promise<{ session: api.Session }>;
  fork(id: string, options?: NamedRequestOptions): Promise<{ session: api.Session }>;
  update(
    id: string,
    change: { title: string | null },
    options?: NamedRequestOptions,
  ): Promise<{ session: api.Session }>;
  pin(id: string, isPinned?: boolean, options?: NamedRequestOptions): Promise<api.Ok>;
  delete(id: string, options?: NamedRequestOptions): Promise<api.Ok>;
  /** Without `sessionId` it begins a session. */
  send(
    message: { sessionId?: string; text: string },
    options?: NamedRequestOptions,
  ): Promise<{ sessionId: string; turnId: string }>;
  abort(sessionId: string, options?: NamedRequestOptions): Promise<api.Ok>;
  /** {ok: false}: no turn runs. */
  steer(sessionId: string, text: string, options?: NamedRequestOptions): Promise<{ ok: boolean }>;
  tools(
    options?: RequestOptions,
  ): Promise<{ groups: Array<{ group: string; tools: Array<{ name: string; description: string }> }> }>;
  /** ConflictError: somebody was quicker. */
  approve(
    approvalId: string,
    scope?: "once" | "exact-args" | "any-args",
    options?: NamedRequestOptions,
  ): Promise<api.Ok>;
  deny(approvalId: string, reason?: string, options?: NamedRequestOptions): Promise<api.Ok>;
  pendingApprovals(where?: { sessionId?: string }, options?: RequestOptions): Promise<api.Approval[]>;
  pendingQuestions(where?: { sessionId?: string }, options?: RequestOptions): Promise<api.Clarification[]>;
  answer(requestId: string, answer: string, options?: NamedRequestOptions): Promise<api.Ok>;
  dismiss(requestId: string, options?: NamedRequestOptions): Promise<api.Ok>;
  jobs(options?: RequestOptions): Promise<{ jobs: api.Job[] }>;
  schedule(job: NewJob, options?: NamedRequestOptions): Promise<{ job: api.Job }>;
  unschedule(id: string, options?: NamedRequestOptions): Promise<api.Ok>;
  skills(options?: RequestOptions): Promise<{ skills: api.Skill[]; pendingCount: number }>;
  acceptSkill(id: string, name?: string, options?: NamedRequestOptions): Promise<{ skill: api.Skill }>;
  rejectSkill(id: string, options?: NamedRequestOptions): Promise<api.Ok>;
  audit(options?: ListOptions): Pages<api.SessionAuditEntry, api.SessionAuditPage>;
  /** EventStream() on this client's connection. */
  stream(sessionId: string, handlers: SessionHandlers): EventStreamSubscription;
}

export interface SessionState {
  session: api.Session;
  messages: api.SessionMessage[];
  queue: api.SessionWaiting[];
  /** stream(id, {sinceSeq: seq}) goes on behind these messages. */
  seq: number;
  leftOut?: number;
}

export interface NewJob {
  /** Five fields of cron. */
  schedule: string;
  text: string;
  sessionId?: string;
  timezone?: string;
  name?: string;
}

export interface SessionHandlers {
  sinceSeq?: number;
  signal?: AbortSignal;
  /** What it returns is waited for before the next one comes. */
  onEvent(event: api.SessionEvent, seq: number): unknown;
  onError?(error: unknown, how: { isFinal: boolean; delayMs: number | null }): void;
  /** These are kept no more. */
  onGap?(missing: { first: number; last: number }): void;
  onState?(state: "connecting" | "connected" | "reconnecting" | "closed"): void;
  retryMs?: number;
  maxRetries?: number;
  idleMs?: number;
  headMs?: number;
  maxEventChars?: number;
}

export interface EventStreamOptions extends SessionHandlers, Omit<WeirOptions, "maxRetries"> {
  sessionId: string;
}

export interface EventStreamSubscription {
  close(): void;
  /** Of the last event that was handed to onEvent. */
  readonly lastSeq: number;
  /** After close(), and when nothing will come any more. */
  readonly closed: boolean;
}

export function EventStream(options: EventStreamOptions): EventStreamSubscription;

export interface MemoryResource {
  list(options?: ListOptions & { category?: api.Memory["category"] }): Pages<api.Memory, api.MemoryPage>;
  create(entry: api.MemoryNew, options?: NamedRequestOptions): Promise<api.Memory>;
  retrieve(id: string, options?: RequestOptions): Promise<api.Memory>;
  update(id: string, change: api.MemoryChange, options?: NamedRequestOptions): Promise<api.Memory>;
  delete(id: string, options?: RequestOptions): Promise<null>;
}

export type FileLike = Blob | string | ArrayBuffer | ArrayBufferView;

export interface ImportOptions extends NamedRequestOptions {
  /** Of the file; a File has its own. */
  name?: string;
  kind?: string;
  zone?: string;
  dates?: string;
  units?: string;
  person?: string;
  onProgress?(sent: { bytes: number; totalBytes: number }): void;
  /** In browsers: whether a file with onProgress may go by XMLHttpRequest, past `fetch`. Where none was given, it may. */
  xhr?: boolean;
}

export interface DataResource {
  metrics(options?: RequestOptions): Promise<api.Metric[]>;
  /** Values by day, from and to days as "2026-05-31". */
  series(metric: string, options?: RequestOptions & { from?: string; to?: string }): Promise<api.Series>;
  import(file: FileLike, options?: ImportOptions): Promise<api.Import>;
  imports(options?: ListOptions): Pages<api.Import, api.ImportPage>;
  retrieveImport(id: string, options?: RequestOptions): Promise<api.Import>;
  streamImport(id: string, options?: StreamOptions): EventIterator<api.ImportEvent>;
}

export interface LabsResource {
  list(options?: ListOptions): Pages<api.Lab, api.LabPage>;
  retrieve(id: string, options?: RequestOptions): Promise<api.Lab>;
  /** CSV as a text or a file, or FHIR as an object. */
  create(report: string | Blob | object, options?: NamedRequestOptions): Promise<api.LabReport>;
}

export interface DocumentsResource {
  list(options?: ListOptions): Pages<api.DocumentSummary, api.DocumentPage>;
  search(q: string, options?: RequestOptions & { limit?: number }): Promise<api.DocumentHit[]>;
  retrieve(id: string, options?: RequestOptions): Promise<api.Document>;
  create(document: api.DocumentNew, options?: NamedRequestOptions): Promise<api.DocumentSummary>;
  replace(id: string, document: api.DocumentNew, options?: RequestOptions): Promise<api.DocumentSummary>;
  delete(id: string, options?: RequestOptions): Promise<null>;
}

export interface AuthResource {
  /** A key, once, for a cookie that no script can read. */
  logIn(apiKey: string, options?: RequestOptions): Promise<api.LoggedIn>;
  /** The same with the end of a one-time link. */
  logInByLink(link: string, options?: RequestOptions): Promise<api.LoggedIn>;
  whoami(options?: RequestOptions): Promise<api.Whoami>;
  me(options?: RequestOptions): Promise<api.Visitor>;
  logOut(options?: RequestOptions): Promise<null>;
}

export interface KeysResource {
  list(options?: RequestOptions): Promise<api.Key[]>;
  /** The answer is the only place where the key itself can be read. */
  create(wish?: api.KeyNew, options?: RequestOptions): Promise<api.Key>;
  revoke(name: string, options?: RequestOptions): Promise<null>;
}

export interface ShieldResource {
  audit(options?: ListOptions): Pages<api.AuditEntry, api.AuditPage>;
}

// ---- events ----

export const TURN_EVENTS: ReadonlyArray<api.TurnEvent["type"]>;
export const CHAT_EVENTS: ReadonlyArray<api.ChatEvent["type"]>;
export const IMPORT_EVENTS: ReadonlyArray<api.ImportEvent["type"]>;

/** Server-Sent Events out of bytes, wherever these are cut. */
export class SseDecoder {
  constructor(options: {
    onEvent(event: { type: string; data: string; id: string }): void;
    onComment?(text: string): void;
    lastId?: string;
    maxEventChars?: number;
  });
  feed(bytes: Uint8Array): void;
  lastId: string;
  retry: number | null;
}

// ---- errors ----

export class WeirError extends Error {
  readonly code: string;
  /** Of turns.ask(), once the turn has begun. */
  readonly turnId?: string;
}
/** There was no answer, or the connection was lost too often. */
export class ConnectionError extends WeirError {}
/** Nothing came in the time that was given. */
export class TimeoutError extends ConnectionError {}
/** The caller's signal. */
export class AbortError extends WeirError {}
/** What came is not the stream that it should be. */
export class StreamError extends WeirError {}
/** A turn that ended with turn.failed. */
export class TurnFailedError extends WeirError {
  readonly requestId: string | null;
  readonly docsUrl: string | null;
}
/** An answer that says no. */
export class ApiError extends WeirError {
  readonly status: number;
  readonly requestId: string | null;
  readonly docsUrl: string | null;
  readonly retryAfterMs: number | null;
  /** Which member of the input is at fault, where that is told. */
  readonly data: unknown;
  /** The beginning of the answer. */
  readonly page: string | null;
}
export class InvalidRequestError extends ApiError {}
export class AuthenticationError extends ApiError {}
export class PermissionError extends ApiError {}
export class NotFoundError extends ApiError {}
export class ConflictError extends ApiError {}
export class ExpiredError extends ApiError {}
export class RateLimitError extends ApiError {}
export class ServerError extends ApiError {}
