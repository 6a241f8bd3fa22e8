// SPDX-License-Identifier: Apache-2.0
// Made by scripts/types.mjs out of /openapi.json; changes here are lost.

/** An event of a turn or an import; the members of its data are its own, too. */
export type Numbered<T extends string, D> = { id: number; type: T; data: D } & D;

/** An event of a chat; its id is MESSAGE:NUMBER. */
export type Named<T extends string, D> = { id: string; type: T; data: D };

export type Ack = {
  wake_id: string;
  generation: number;
  acks?: Array<{ stream?: string; path?: string; offset: string }>;
  done?: boolean;
};

export type AckDone = { ok: true; next_wake: boolean };

export type AgentCompleted = {
  agent: string;
  at: string;
  duration_ms: number;
  cost_usd: number;
  output_summary: string;
};

export type AgentStarted = { agent: string; at: string; question: string };

export type AgentThought = { agent: string; channel?: "synthesis"; delta: string };

export type AnswerNumber = { start: number; end: number; text: string; claim: string };

export type Appended = { id: number } | { first: number; last: number };

export type Approval = {
  approvalId: string;
  sessionId: string;
  toolCallId: string;
  toolName: string;
  args: unknown;
  reason: string | null;
  deadlineAt?: string;
};

export type AuditEntry = {
  id: number;
  at: string;
  user?: string | null;
  conversation?: string | null;
  message?: string | null;
  action: "redact" | "allow" | "block" | "timeout" | "policy_block" | "residue_block";
  decidedBy: "user" | "policy" | "remembered" | "deadline" | "egress";
  path: "chat" | "gateway" | "turn" | "session" | "document";
  count: number;
  categories: Record<string, number>;
};

export type AuditPage = { data: Array<AuditEntry>; next_cursor: string | null };

export type Backup = { path: string };

export type Call = { json?: Record<string, unknown>; meta?: unknown };

export type CallAnswer = { json: unknown };

export type CallError = { json: { defined: false; code: string; status: number; message: string; data: unknown } };

export type ChatDone = { messageId: string; usage: ChatUsage; model: string | null };

export type ChatError = { code: ErrorCode; message: string };

export type ChatMessage = {
  role: "user" | "assistant";
  content: string | Array<{ type: "text"; text: string }>;
};

export type ChatNew = {
  agentId?: "asst_default";
  messages: Array<ChatMessage>;
  conversationId?: string;
  stream?: boolean;
  piiAction?: "ask" | "auto_redact" | "block" | "off";
  showRawPayload?: boolean;
  includeSourceReferences?: boolean;
};

export type ChatProgress = { label: string; percent: number };

export type ChatResult = {
  messageId: string;
  conversationId: string;
  text: string;
  toolCalls: Array<Record<string, unknown>>;
  citations: Array<Citation>;
  usage: ChatUsage;
  model: string | null;
};

export type ChatToken = { text: string };

export type ChatToolCall = { id: string; name: string; args: Record<string, unknown> };

export type ChatToolError = { id: string; error: string };

export type ChatToolResult = { id: string; result: unknown };

export type ChatUsage = { input: number; output: number };

export type Citation = { sourceId: string; title: string; snippet: string };

export type Claim = {
  wake_id: string;
  generation: number;
  token: string;
  streams: Array<SubscribedStream>;
  lease_ttl_ms: number;
};

export type ClaimNew = { worker: string };

export type Clarification = {
  requestId: string;
  sessionId: string;
  question: string;
  options?: Array<string>;
  default?: string;
  defaultDeadlineAt: string | null;
};

export type Concern = { kind: string; severity: string; note: string };

export type Conversation = {
  id: string;
  agentId: string | null;
  createdAt: string;
  updatedAt: string;
  running: boolean;
  closed: boolean;
  title: string;
  remembered: "redact" | "allow" | null;
  messages: Array<Record<string, unknown>>;
};

export type ConversationPage = {
  conversations: Array<{ id: string; agentId: string | null; createdAt: string; updatedAt: string; running: boolean; closed: boolean; title: string; messages: number }>;
  next: string | null;
};

export type CostWarning = { turn_id: string; cost_usd: number; threshold_usd: number; at: string };

export type DayValue = {
  day: string;
  value: number;
  quality: "good" | "partial" | "not_worn" | "implausible";
  source: string | null;
};

export type Decision = {
  decisionId: string;
  choice: "redact" | "block" | "allow";
  rememberForConversation?: boolean;
};

export type DlpBlocked = {
  reason: "policy_block" | "user_blocked" | "timeout";
  findings: Array<Finding>;
};

export type DlpPreview = {
  decisionId: string;
  findings: Array<Finding>;
  redactedText: string;
  provider: { displayName: string };
};

export type DlpResolved = {
  appliedChoice: "redact" | "allow";
  redactedCount: number;
  categories: Array<string>;
};

export type Document = {
  id: string;
  title: string;
  mediaType: "text/plain" | "text/markdown";
  bytes: number;
  passages: number;
  redacted: boolean;
  createdAt: string;
  updatedAt: string;
  text: string;
};

export type DocumentHit = {
  sourceId: string;
  title: string;
  heading: string | null;
  snippet: string;
  highlights: Array<Array<number>>;
};

export type DocumentHits = { data: Array<DocumentHit> };

export type DocumentNew = {
  title?: string;
  text: string;
  mediaType?: "text/plain" | "text/markdown";
};

export type DocumentPage = { data: Array<DocumentSummary>; next_cursor: string | null };

export type DocumentSummary = {
  id: string;
  title: string;
  mediaType: "text/plain" | "text/markdown";
  bytes: number;
  passages: number;
  redacted: boolean;
  createdAt: string;
  updatedAt: string;
};

export type Drain = {
  drained: boolean;
  others: boolean;
  turns: number;
  sessions: number;
  chats: number;
  imports: number;
};

export type Error = { error: { code: ErrorCode; message: string; request_id: string; docs_url: string } };

export type ErrorCode =
  | "no_memory"
  | "invalid_argument"
  | "limit_exceeded"
  | "line_too_long"
  | "event_too_long"
  | "id_too_long"
  | "json_syntax"
  | "json_utf8"
  | "json_too_deep"
  | "json_truncated"
  | "bad_event"
  | "stream_error"
  | "stream_empty"
  | "stream_incomplete"
  | "io_error"
  | "internal_error"
  | "no_space"
  | "corrupt"
  | "storage_unavailable"
  | "not_found"
  | "sealed"
  | "conflict"
  | "busy"
  | "locked"
  | "newer_version"
  | "missing_authorization"
  | "invalid_token"
  | "forbidden"
  | "invalid_request"
  | "invalid_field"
  | "gone"
  | "method_not_allowed"
  | "not_acceptable"
  | "request_timeout"
  | "already_exists"
  | "payload_too_large"
  | "uri_too_long"
  | "unsupported_media_type"
  | "expectation_failed"
  | "rate_limit_exceeded"
  | "header_too_large"
  | "not_implemented"
  | "too_many_connections"
  | "http_version_not_supported"
  | "shutting_down"
  | "unprocessable"
  | "upstream_unavailable"
  | "cancelled"
  | "concurrency_limit_exceeded"
  | "invalid_file_type"
  | "turn_not_found"
  | "lab_not_found"
  | "source_not_found"
  | "memory_not_found"
  | "turn_events_expired"
  | "idempotency_key_mismatch"
  | "pending"
  | "cost_limit_exceeded";

export type Fact = {
  claim: string;
  value: number | string;
  unit: string | null;
  source: string;
  n: number | null;
  window: string | null;
  metric?: string | null;
  verdict?: string;
};

export type Finding = { label: string; category: string; source: string };

export type Flagged = { attempt: number; text: string; offence: string };

export type HookError = { error: { code: string; message: string; current_holder?: string; generation?: number } };

export type Import = {
  id: string;
  status: "running" | "completed" | "failed";
  file: string;
  kind: string | null;
  zone: string | null;
  dates: string | null;
  units: string | null;
  person: string | null;
  bytes: number;
  created_at: string;
  completed_at: string | null;
  summary: ImportSummary | null;
  error: { code: ErrorCode; message: string } | null;
};

export type ImportFailed = { error: string };

export type ImportFile = { file: string; kind: string | null; bytes: number };

export type ImportPage = { data: Array<Import>; next_cursor: string | null };

export type ImportProgress = {
  file: string;
  kind?: string | null;
  bytes: number;
  total_bytes: number;
  records: number;
  refused?: number;
  elapsed_ms?: number;
};

export type ImportStarted = {
  file: string;
  files: number;
  bytes: number;
  resumed: boolean;
  at: string;
};

export type ImportSummary = {
  bytes: number;
  records: number;
  facts: number;
  new: number;
  duplicates: number;
  refused: number;
  ignored: number;
  days: number;
  first_day?: string | null;
  last_day?: string | null;
  resumed?: boolean;
  metrics: Record<string, number>;
  sources?: Record<string, number>;
  ignored_kinds?: Record<string, number>;
  refusals?: Array<Refusal>;
  log?: string;
};

export type Job = {
  id: string;
  sessionId: string | null;
  name: string | null;
  schedule: string;
  timezone: string;
  text: string;
  nextRunAt: string | null;
  lastRunAt: string | null;
  createdAt: string;
};

export type Key = {
  key?: string;
  name: string;
  label: string;
  owner: string;
  scopes: Array<string>;
  rate?: number | null;
  burst?: number | null;
  prefix?: string | null;
  created?: string | null;
  expires?: string | null;
  revoked?: string | null;
};

export type KeyList = { keys: Array<Key> };

export type KeyNew = {
  label?: string;
  owner?: string;
  scopes?: Array<"read" | "write" | "admin">;
  prefix?: string;
  expires_in?: number | null;
  rate?: number;
  burst?: number;
};

export type KeySet = { keys: Array<{ kty: "OKP"; crv: "Ed25519"; x: string; kid: string; use: "sig"; alg: "EdDSA" }> };

export type Lab = {
  id: string;
  analyte: string | null;
  title: string | null;
  label: string | null;
  date: string;
  value: number;
  comparator: "<" | ">" | null;
  unit: string | null;
  printed: string | null;
  range: string | null;
  flag: string | null;
  source: string | null;
};

export type LabPage = { data: Array<Lab>; next_cursor: string | null };

export type LabReport = {
  new: number;
  duplicates: number;
  refused: number;
  refusals: Array<Refusal>;
  data: Array<Lab>;
};

export type Link = { stream: string; expires: string; token: string; path: string };

export type LinkNew = { stream: string; expires_in?: number };

export type LoggedIn = {
  owner: string;
  scopes: Array<"read" | "write" | "admin">;
  expiresAt: string | null;
};

export type Login = { apiKey?: string; link?: string };

export type LoginLink = { url: string; path: string; expires: string; key: string; owner: string };

export type LoginLinkNew = { key?: string; owner?: string };

export type Memory = {
  id: string;
  category: "goal" | "preference" | "insight" | "hypothesis";
  text: string;
  data: unknown;
  source_turn: string | null;
  created_at: string;
  updated_at: string;
};

export type MemoryChange = {
  category?: "goal" | "preference" | "insight" | "hypothesis";
  text?: string;
  data?: unknown;
};

export type MemoryNew = {
  category: "goal" | "preference" | "insight" | "hypothesis";
  text: string;
  data?: unknown;
};

export type MemoryPage = { data: Array<Memory>; next_cursor: string | null };

export type MeshAgent = { agentId: string; capabilities: Array<string>; activeSessions: number };

export type Message = { role: "user" | "assistant"; content: string };

export type Metric = {
  metric: string;
  title: string;
  unit: string | null;
  n: number;
  first: string;
  last: string;
  sources: Array<string>;
};

export type MetricList = { data: Array<Metric> };

export type Ok = { ok: boolean };

export type PrivacyTokenMap = { tokenMap: Record<string, string>; source: string };

export type Question = {
  decisionId: string;
  conversationId: string;
  messageId: string;
  deadlineAt: string;
};

export type Refusal = { file?: string; line: number; reason: string | null };

export type Replay = {
  turn_id: string;
  from: string | null;
  same: boolean;
  steps: Array<{ name: string; same: boolean; error: string | null; differences: Array<{ path: string; was: unknown; is: unknown }> }>;
};

export type Series = { metric: string; title: string; unit: string | null; data: Array<DayValue> };

export type Session = {
  id: string;
  key: string;
  platform: "weir";
  model: string;
  provider: string;
  personalityId: string | null;
  parentSessionId: string | null;
  workingDir: string | null;
  title: string | null;
  pinned: boolean;
  usage: SessionUsage;
  createdAt: string;
  updatedAt: string;
  version: 1;
  state: "idle" | "running";
  queued: number;
};

export type SessionAuditEntry = {
  id: number;
  at: string;
  user: string;
  session: string;
  turn: string;
  question: string;
  kind: "approval" | "clarification";
  tool?: string | null;
  argsHash?: string | null;
  decision: "allow" | "deny" | "user" | "timeout-default" | "timeout-no-default" | "cancel";
  decidedBy: string;
  decider: "user" | "deadline" | "abort" | "end" | "scope" | "limit";
  scope?: "once" | "exact-args" | "any-args" | null;
  textBytes: number;
  waitedMs: number;
};

export type SessionAuditPage = { data: Array<SessionAuditEntry>; next_cursor: string | null };

export type SessionEvent =
  | { type: "run_start"; provider: string; model: string; source: string; traceId?: string }
  | { type: "text_delta"; text: string }
  | { type: "thinking_delta"; thinking: string }
  | { type: "tool_start"; toolCallId: string; toolName: string; args: unknown; audience?: string }
  | { type: "tool_progress"; toolName: string; message: string; percent?: number; audience: "internal" | "user" | "dashboard" }
  | { type: "tool_end"; toolCallId: string; toolName: string; ok: boolean; durationMs: number; result?: string }
  | { type: "usage"; inputTokens: number; outputTokens: number; estimatedCostUsd: number }
  | { type: "context_meta"; data: Record<string, unknown> }
  | { type: "message_persisted"; messageId: string; role: "user" | "assistant" }
  | { type: "done"; text: string; turnCount: number }
  | { type: "error"; error: string; code: string }
  | { type: "tool.approval_required"; request: Approval }
  | { type: "approval.resolved"; approvalId: string; decision: "allow" | "deny"; decidedBy: string }
  | { type: "clarify.request"; requestId: string; question: string; options?: Array<string>; default?: string; defaultDeadlineAt: string | null }
  | { type: "clarify.resolved"; requestId: string; source: "user" | "timeout-default" | "timeout-no-default" | "cancel" }
  | { type: "cron.fired"; jobId: string; ranAt: string; outputPath: string | null }
  | { type: "mesh.changed"; agents: Array<MeshAgent> }
  | { type: "evolve.skill_pending"; skillId: string; personalityId: string | null; proposedAt: string }
  | { type: "protocol.upgrade_required"; serverVersion: string; clientVersionExpected: string };

export type SessionMessage = {
  id: string;
  sessionId: string;
  role: "user" | "assistant";
  content: string;
  timestamp: string;
  tools?: Array<Record<string, unknown>>;
  provider?: string;
  model?: string;
  incomplete?: true;
  blocked?: true;
};

export type SessionUsage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheCreationTokens: number;
  estimatedCostUsd: number;
  apiCallCount: number;
  compactionCount: number;
};

export type SessionWaiting = { turnId: string; text: string; createdAt: string };

export type Skill = {
  id: string;
  name: string;
  text: string;
  state: "pending" | "accepted";
  proposedAt: string;
};

export type StoreCheck = { wrong: number; complaints: Array<string> };

export type StreamState = { name: string; last: number; sealed: boolean };

export type SubscribedStream = {
  path: string;
  link_type: "explicit" | "glob";
  acked_offset: string;
  tail_offset?: string;
  has_pending?: boolean;
};

export type Subscription = {
  id: string;
  subscription_id: string;
  type: "webhook" | "pull-wake";
  pattern?: string;
  streams: Array<SubscribedStream>;
  webhook?: { url: string; signing: { alg: "ed25519"; kid: string; jwks_url: string } };
  wake_stream?: string;
  lease_ttl_ms: number;
  created_at: string;
  status: "active" | "failed";
  description?: string;
};

export type SubscriptionNew = {
  type: "webhook" | "pull-wake";
  pattern?: string;
  streams?: Array<string>;
  webhook?: { url: string };
  wake_stream?: string;
  lease_ttl_ms?: number;
  description?: string;
};

export type SubscriptionStreams = { streams: Array<string> };

export type Trace = {
  turn_id: string;
  status: string;
  created_at: string;
  completed_at: string | null;
  steps: Array<TraceStep>;
  cost_usd: number;
  agents: Array<TraceAgent>;
  findings: Array<TraceFinding>;
  gates: Array<TraceGate>;
  critic: Array<TraceCritic>;
  flagged: Array<Flagged>;
  removed: Array<string>;
};

export type TraceAgent = {
  agent: string;
  step: string;
  question: string;
  summary: string;
  findings: number;
};

export type TraceCall = {
  purpose: string;
  role: "fast" | "main" | "critic";
  agent: string | null;
  part: number;
  number: number;
  started_at: string | null;
  duration_ms: number;
  earlier_usd: number;
  provider: string | null;
  model: string | null;
  status: string;
  why: string | null;
  stop: "end" | "tool" | "length" | "refused" | "cut";
  usage: unknown;
  cost_usd: number;
  attempts: number;
  content: Array<unknown>;
  request: unknown;
};

export type TraceCritic = {
  finding_id: string;
  verdict: "accept" | "downgrade" | "reject";
  reasoning: string;
  concerns: Array<Concern>;
};

export type TraceFinding = {
  id: string;
  kind: string;
  claim: string;
  metric: string | null;
  metric_y: string | null;
  lag: number;
  window: string | null;
  verdict: "validated" | "conditional" | "rejected" | null;
  assessment: string | null;
};

export type TraceGate = {
  finding_id: string;
  gate:
    | "sample_size"
    | "construct_validity"
    | "effect_vs_noise"
    | "bootstrap"
    | "subgroup_consistency"
    | "method_triangulation"
    | "discriminative_power";
  verdict: "passed" | "failed" | "skipped";
  why?: string;
  detail: unknown;
};

export type TraceStep = {
  name: string;
  number: number;
  started_at: string | null;
  ended_at: string | null;
  attempts: number;
  cost_usd?: number;
  input?: unknown;
  output?: unknown;
  error?: { code: string; message: string } | null;
  model_calls?: Array<TraceCall>;
};

export type Turn = {
  id: string;
  status: "queued" | "running" | "completed" | "failed";
  created_at: string;
  completed_at: string | null;
  messages: Array<Message>;
  result: TurnResult | null;
  error: TurnError | null;
};

export type TurnCompleted = { turn_id: string; result: TurnResult };

export type TurnError = {
  code: ErrorCode;
  message: string;
  request_id?: string | null;
  docs_url?: string;
};

export type TurnFailed = { turn_id: string; error: TurnError };

export type TurnNew = {
  messages: Array<Message>;
  stream?: boolean;
  context?: { include_memory?: boolean; include_biomarkers?: boolean };
};

export type TurnPage = { data: Array<Turn>; next_cursor: string | null };

export type TurnResult = {
  answer: string;
  numbers?: Array<AnswerNumber>;
  fact_sheet: Array<Fact>;
  agents_used: Array<string>;
  validator: Validator;
  cost_usd: number;
  duration_ms: number;
};

export type TurnStarted = { turn_id: string; at: string };

export type Validator = {
  findings_total: number;
  findings_validated: number;
  findings_conditional: number;
  findings_rejected: number;
};

export type ValidatorCritic = {
  finding_id: string;
  verdict: "accept" | "downgrade" | "reject";
  reasoning: string;
  concerns: Array<Concern>;
};

export type ValidatorGate = {
  finding_id: string;
  claim: string;
  gate:
    | "sample_size"
    | "construct_validity"
    | "effect_vs_noise"
    | "bootstrap"
    | "subgroup_consistency"
    | "method_triangulation"
    | "discriminative_power";
  verdict: "passed" | "failed" | "skipped";
  detail: unknown;
};

export type Visitor = Whoami | null;

export type Whoami = {
  version: string;
  now: string;
  access: "key" | "cookie" | "token" | "open" | "local";
  owner: string;
  scopes: Array<string>;
  key: Key | null;
};

export type TurnEvent =
  | Numbered<"turn.started", TurnStarted>
  | Numbered<"agent.started", AgentStarted>
  | Numbered<"agent.thought", AgentThought>
  | Numbered<"agent.completed", AgentCompleted>
  | Numbered<"validator.gate", ValidatorGate>
  | Numbered<"validator.critic", ValidatorCritic>
  | Numbered<"cost_warning", CostWarning>
  | Numbered<"turn.completed", TurnCompleted>
  | Numbered<"turn.failed", TurnFailed>;

export type ChatEvent =
  | Named<"token", ChatToken>
  | Named<"tool_call", ChatToolCall>
  | Named<"tool_result", ChatToolResult>
  | Named<"tool_error", ChatToolError>
  | Named<"progress", ChatProgress>
  | Named<"dlp_preview", DlpPreview>
  | Named<"dlp_resolved", DlpResolved>
  | Named<"dlp_blocked", DlpBlocked>
  | Named<"privacy_token_map", PrivacyTokenMap>
  | Named<"citation", Citation>
  | Named<"done", ChatDone>
  | Named<"error", ChatError>;

export type ImportEvent =
  | Numbered<"import.started", ImportStarted>
  | Numbered<"import.file", ImportFile>
  | Numbered<"import.progress", ImportProgress>
  | Numbered<"import.completed", ImportSummary>
  | Numbered<"import.failed", ImportFailed>;
