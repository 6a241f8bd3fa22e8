// SPDX-License-Identifier: Apache-2.0
// What can go wrong. `code` is one word for it, for programs; the message is for people.
//
//   WeirError ── ConnectionError ── TimeoutError       the network
//            ├── StreamError                           a stream that cannot be gone on with
//            ├── TurnFailedError                       the turn's own failure
//            ├── AbortError                            the caller's signal
//            └── ApiError                              an answer that says no: see classOf()

/** What somebody else has said, where it is a text at all. */
const textOr = (value, other) => (typeof value === "string" && value ? value : other);

/** Everything that this package throws on purpose. */
export class WeirError extends Error {
  constructor(message, { code, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** There was no answer, or the connection was lost too often. */
export class ConnectionError extends WeirError {
  constructor(message, { code = "io_error", cause } = {}) {
    super(message, { code, cause });
  }
}

/** Nothing came in the time that was given. */
export class TimeoutError extends ConnectionError {
  constructor(message, { cause } = {}) {
    super(message, { code: "request_timeout", cause });
  }
}

/** The caller's signal; `cause` is its reason. */
export class AbortError extends WeirError {
  constructor(message = "it was aborted", { cause } = {}) {
    super(message, { code: "aborted", cause });
  }
}

/**
 * What came is not the stream that it should be: `stream_incomplete` (it ended too soon, or events
 * are missing), `bad_event`, `event_too_long`, `conflict` (its numbers begin anew),
 * `unsupported_media_type` (no event stream).
 */
export class StreamError extends WeirError {}

/** A turn that ended with turn.failed; `code` is the server's. */
export class TurnFailedError extends WeirError {
  constructor(error) {
    const { code, message, request_id: requestId = null, docs_url: docsUrl = null } = error ?? {};
    super(textOr(message, "the turn has failed, and does not say why"), { code: textOr(code, "internal_error") });
    Object.assign(this, { requestId, docsUrl });
  }
}

/** An answer that says no. `code` is the server's word for it, `status` that of HTTP. */
export class ApiError extends WeirError {
  constructor(
    message,
    { status, code, requestId = null, docsUrl = null, retryAfterMs = null, data = null, page = null },
  ) {
    super(message, { code });
    Object.assign(this, { status, requestId, docsUrl, retryAfterMs, data, page });
  }
}

export class InvalidRequestError extends ApiError {} // 400, 405, 406, 411 to 415, 422 …
export class AuthenticationError extends ApiError {} // 401
export class PermissionError extends ApiError {} // 403
export class NotFoundError extends ApiError {} // 404
export class ConflictError extends ApiError {} // 409
export class ExpiredError extends ApiError {} // 404 turn_events_expired, 410: it was there
export class RateLimitError extends ApiError {} // 429
export class ServerError extends ApiError {} // 5xx

// Bundlers give classes other names; these stay.
const classes = {
  WeirError,
  ConnectionError,
  TimeoutError,
  AbortError,
  StreamError,
  TurnFailedError,
  ApiError,
  InvalidRequestError,
  AuthenticationError,
  PermissionError,
  NotFoundError,
  ConflictError,
  ExpiredError,
  RateLimitError,
  ServerError,
};
for (const [name, type] of Object.entries(classes))
  Object.defineProperty(type.prototype, "name", { value: name, writable: true, configurable: true });

const byStatus = new Map([
  [401, AuthenticationError],
  [403, PermissionError],
  [404, NotFoundError],
  [409, ConflictError],
  [410, ExpiredError],
  [429, RateLimitError],
]);

function classOf(status, code) {
  if (code === "turn_events_expired") return ExpiredError;
  if (status >= 500) return ServerError;
  return byStatus.get(status) ?? (status >= 400 ? InvalidRequestError : ApiError);
}

/** Whether the same request may fare better later. */
export function isTransient(error) {
  if (error instanceof ApiError) return error.status === 408 || error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError || error.code === "stream_incomplete";
}

/** Whether an error says that the server has done nothing of what was asked. */
export function isRefusal(error) {
  return error instanceof ApiError && (error.status === 429 || error.status === 503);
}

/** Seconds, or a date. */
function readRetryAfter(value, now) {
  if (!value) return null;
  const ms = /^[0-9]+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return ms >= 0 ? ms : null;
}

const SHOWN_CHARS = 200;

/** An error out of an answer and as much of its page as was read. */
export function errorOf(response, page, now = Date.now()) {
  let body = null;
  try {
    body = JSON.parse(page);
  } catch {
    // Not one of the server's own: the page of a proxy, say.
  }
  const told = body?.error ?? body?.json ?? {};
  // Browsers tell nothing about an answer that leads elsewhere.
  const isElsewhere = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  const code = isElsewhere ? "redirected" : textOr(told.code, `http_${response.status}`);
  const shown = isElsewhere ? "the server sends us elsewhere, where we do not go: is the baseUrl right?" : told.message;
  return new (classOf(response.status, code))(
    textOr(shown, page.trim().slice(0, SHOWN_CHARS) || `HTTP ${response.status}`),
    {
      status: response.status,
      code,
      requestId: told.request_id ?? response.headers.get("x-request-id"),
      docsUrl: told.docs_url ?? null,
      retryAfterMs: readRetryAfter(response.headers.get("retry-after"), now),
      data: told.data ?? null,
      page,
    },
  );
}
