// SPDX-License-Identifier: Apache-2.0
// A client of sessions, written from what users of the public one are told about it, and with the
// same names. Every event and every output of a call is validated with nothing allowed that is not
// named here: a key or type that a server invents is an error.
import { createParser } from 'eventsource-parser'
import { z } from 'zod'

// ---- events ----

const id = z.string().min(1)
const time = z.iso.datetime()
const whole = z.number().int().nonnegative()
const amount = z.number().nonnegative()
const event = (type, members) => z.strictObject({ type: z.literal(type), ...members })

const agent = z.strictObject({ agentId: id, capabilities: z.array(z.string()), activeSessions: whole })
const approval = z.strictObject({
  approvalId: id,
  sessionId: id,
  toolCallId: id,
  toolName: id,
  args: z.unknown().refine((args) => args !== undefined, 'args are required'),
  reason: z.string().nullable(),
})

export const SseEventSchema = z.discriminatedUnion('type', [
  event('run_start', {
    provider: id,
    model: id,
    source: z.enum(['team-coordinator', 'team-personality', 'personality', 'global']),
    traceId: z.string().optional(),
  }),
  event('text_delta', { text: z.string() }),
  event('thinking_delta', { thinking: z.string() }),
  event('tool_start', {
    toolCallId: id,
    toolName: id,
    args: z.unknown().refine((args) => args !== undefined, 'args are required'),
    audience: z.enum(['internal', 'user', 'dashboard']).optional(),
  }),
  event('tool_progress', {
    toolName: id,
    message: z.string(),
    percent: z.number().min(0).max(100).optional(),
    audience: z.enum(['internal', 'user', 'dashboard']),
  }),
  event('tool_end', {
    toolCallId: id,
    toolName: id,
    ok: z.boolean(),
    durationMs: amount,
    result: z.string().optional(),
  }),
  event('usage', { inputTokens: whole, outputTokens: whole, estimatedCostUsd: amount }),
  event('context_meta', { data: z.record(z.string(), z.unknown()) }),
  event('done', { text: z.string(), turnCount: whole }),
  event('error', { error: z.string().min(1), code: id }),
  event('message_persisted', { messageId: id, role: z.enum(['user', 'assistant']) }),
  event('tool.approval_required', { request: approval }),
  event('approval.resolved', {
    approvalId: id,
    decision: z.enum(['allow', 'deny']),
    decidedBy: id,
  }),
  event('clarify.request', {
    requestId: id,
    question: id,
    options: z.array(z.string()).optional(),
    default: z.string().optional(),
    defaultDeadlineAt: time.nullable(),
  }),
  event('clarify.resolved', {
    requestId: id,
    source: z.enum(['user', 'timeout-default', 'timeout-no-default', 'cancel']),
  }),
  event('cron.fired', { jobId: id, ranAt: time, outputPath: z.string().nullable() }),
  event('mesh.changed', { agents: z.array(agent) }),
  event('evolve.skill_pending', {
    skillId: id,
    personalityId: z.string().nullable(),
    proposedAt: time,
  }),
  event('protocol.upgrade_required', { serverVersion: id, clientVersionExpected: id }),
])

// ---- the stream ----

const RECONNECT_MS = 3000
const SILENCE_MS = 300_000

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })

/** Calls `dies` unless fed for so long; every byte feeds it, those of comments too. */
function watchdog(ms, dies) {
  let timer = setTimeout(dies, ms)
  return {
    feed() {
      clearTimeout(timer)
      timer = setTimeout(dies, ms)
    },
    stop: () => clearTimeout(timer),
  }
}

/**
 * Options as documented, and for tests: reconnectMs, silenceMs, query (more of it), usesHeader (the
 * resume point goes by Last-Event-ID), onOpen(response), onComment(text).
 */
export function EventStream(options) {
  const { baseUrl, apiKey, sessionId, onEvent, onError = () => {} } = options
  const { reconnectMs = RECONNECT_MS, silenceMs = SILENCE_MS } = options
  const ending = new AbortController()
  let lastSeq = options.sinceSeq ?? 0
  let isSilent = false
  options.signal?.addEventListener('abort', () => ending.abort(), { once: true })
  if (options.signal?.aborted) ending.abort()

  const take = ({ id: seq, event: name, data }) => {
    try {
      if (name !== undefined) throw new Error(`an event has the name ${name}`)
      if (!/^(0|[1-9][0-9]*)$/.test(seq ?? '')) throw new Error(`an event has the id ${seq}`)
      const parsed = SseEventSchema.parse(JSON.parse(data))
      lastSeq = Number(seq)
      onEvent(parsed, lastSeq)
    } catch (error) {
      onError(Object.assign(error, { data }))
    }
  }

  const request = () => {
    const query = new URLSearchParams(options.query)
    const headers = { Accept: 'text/event-stream' }
    if (apiKey) headers.Authorization = `Bearer ${apiKey}`
    if (options.usesHeader) headers['Last-Event-ID'] = String(lastSeq)
    else query.set('lastEventId', String(lastSeq))
    const url = `${baseUrl}/sse/sessions/${encodeURIComponent(sessionId)}?${query}`
    const credentials = apiKey ? 'same-origin' : 'include'
    return fetch(url, { headers, credentials, signal: ending.signal })
  }

  const readOnce = async () => {
    const response = await request()
    if (response.status !== 200) {
      // What the server refuses it refuses again, unless the trouble is its own.
      if (response.status < 500 && response.status !== 429) ending.abort()
      throw Object.assign(new Error(`the stream is refused: ${response.status}`), { status: response.status })
    }
    options.onOpen?.(response)
    const alive = watchdog(silenceMs, () => {
      isSilent = true
      ending.abort()
    })
    const parser = createParser({ onEvent: take, onError, onComment: options.onComment })
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const bytes of response.body) {
        alive.feed()
        parser.feed(decoder.decode(bytes, { stream: true }))
      }
    } finally {
      alive.stop()
    }
    throw new Error('the stream has ended')
  }

  const read = async () => {
    while (!ending.signal.aborted) {
      try {
        await readOnce()
      } catch (error) {
        if (isSilent) onError(new Error(`nothing came for ${silenceMs} ms`))
        else if (error.name !== 'AbortError') onError(error)
      }
      if (!ending.signal.aborted) await pause(reconnectMs, ending.signal)
    }
    options.onClose?.()
  }
  read()

  return {
    close: () => ending.abort(),
    get lastSeq() {
      return lastSeq
    },
    get closed() {
      return ending.signal.aborted
    },
  }
}

// ---- calls ----

const ok = z.strictObject({ ok: z.literal(true) })
const usage = z.strictObject({
  inputTokens: whole,
  outputTokens: whole,
  cacheReadTokens: whole,
  cacheCreationTokens: whole,
  estimatedCostUsd: amount,
  apiCallCount: whole,
  compactionCount: whole,
})
const session = z.strictObject({
  id,
  key: id,
  platform: z.literal('weir'),
  model: z.string(),
  provider: z.string(),
  personalityId: z.null(),
  parentSessionId: id.nullable(),
  workingDir: z.null(),
  title: z.string().nullable(),
  pinned: z.boolean(),
  usage,
  createdAt: time,
  updatedAt: time,
  version: z.literal(1),
  state: z.enum(['idle', 'running']),
  queued: whole,
})
// Here alone more may come than is promised.
const message = z.looseObject({
  id,
  sessionId: id,
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  timestamp: time,
})
const pending = z.strictObject({
  requestId: id,
  sessionId: id,
  question: id,
  options: z.array(z.string()).optional(),
  default: z.string().optional(),
  defaultDeadlineAt: time.nullable(),
})
const pendingApproval = approval.extend({ deadlineAt: time })
const waiting = z.strictObject({ turnId: id, text: z.string(), createdAt: time })
const job = z.strictObject({
  id,
  sessionId: id.nullable(),
  name: z.string().nullable(),
  schedule: id,
  timezone: id,
  text: id,
  nextRunAt: time.nullable(),
  lastRunAt: time.nullable(),
  createdAt: time,
})
const skill = z.strictObject({
  id,
  name: z.string(),
  text: id,
  state: z.enum(['pending', 'accepted']),
  proposedAt: time,
})
const tool = z.strictObject({ name: id, description: id })

const outputs = {
  'chat/send': z.strictObject({ sessionId: id, turnId: id }),
  'chat/abort': ok,
  'chat/steer': z.strictObject({ ok: z.boolean() }),
  'tools/approve': ok,
  'tools/deny': ok,
  'tools/listPending': z.array(pendingApproval),
  'tools/catalog': z.strictObject({ groups: z.array(z.strictObject({ group: id, tools: z.array(tool) })) }),
  'clarify/respond': ok,
  'clarify/listPending': z.array(pending),
  'sessions/list': z.strictObject({ sessions: z.array(session), nextCursor: id.nullable() }),
  'sessions/get': z.strictObject({ session, messages: z.array(message), queue: z.array(waiting), seq: whole }),
  'sessions/create': z.strictObject({ session }),
  'sessions/fork': z.strictObject({ session }),
  'sessions/update': z.strictObject({ session }),
  'sessions/pin': ok,
  'sessions/unpin': ok,
  'sessions/delete': ok,
  'cron/create': z.strictObject({ job }),
  'cron/list': z.strictObject({ jobs: z.array(job) }),
  'cron/delete': ok,
  'skills/list': z.strictObject({ skills: z.array(skill), pendingCount: whole }),
  'skills/accept': z.strictObject({ skill }),
  'skills/reject': ok,
}

const codes = {
  400: 'BAD_REQUEST', 401: 'UNAUTHORIZED', 403: 'FORBIDDEN', 404: 'NOT_FOUND', 405: 'METHOD_NOT_SUPPORTED',
  406: 'NOT_ACCEPTABLE', 408: 'TIMEOUT', 409: 'CONFLICT', 412: 'PRECONDITION_FAILED', 413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE', 422: 'UNPROCESSABLE_CONTENT', 429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR', 501: 'NOT_IMPLEMENTED', 502: 'BAD_GATEWAY', 503: 'SERVICE_UNAVAILABLE',
}
const failure = z.strictObject({
  json: z.strictObject({
    defined: z.literal(false),
    code: id,
    status: z.number().int(),
    message: id,
    data: z.strictObject({ field: id }).nullable(),
  }),
})

/** What a call brings: {status, output} or {status, code, message, data}; throws on any other form. */
export async function rpc({ baseUrl, apiKey, headers = {} }, method, input) {
  const fields = { 'Content-Type': 'application/json', ...headers }
  if (apiKey) fields.Authorization = `Bearer ${apiKey}`
  const body = JSON.stringify({ json: input })
  const response = await fetch(`${baseUrl}/rpc/${method}`, { method: 'POST', headers: fields, body })
  const type = response.headers.get('content-type')
  if (!/^application\/json(;|$)/.test(type)) throw new Error(`${method}: ${response.status} ${type}`)
  const said = await response.json()
  if (response.status === 200) {
    const schema = z.strictObject({ json: outputs[method] ?? z.never() })
    return { status: 200, output: schema.parse(said).json }
  }
  const { code, status, message: text, data } = failure.parse(said).json
  if (status !== response.status) throw new Error(`status ${response.status}, but ${status} in the body`)
  if (code !== codes[status]) throw new Error(`code ${code} with status ${status}`)
  return { status, code, message: text, data }
}
