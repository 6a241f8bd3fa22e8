/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics: what the workers count, what the store knows, what the process costs, as
 * Prometheus text (version 0.0.4). Names and sentences of the workers' figures come from the
 * tables of counters.h; durations are counted in microseconds and shown in seconds.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/version.h>

#include "base/slice.h"
#include "gateway/gateway.h"
#include "serve/resource.h"
#include "shield/decision.h"

enum {
    PAGE_BYTES = 256 << 10,
    LINE_BYTES = 256,
};

/* ---- lines ---- */

static void put_head(struct weir_buf *out, const char *name, const char *kind, const char *help)
{
    weir_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void put_u64(struct weir_buf *out, const char *name, const char *kind, const char *help,
                    uint64_t value)
{
    put_head(out, name, kind, help);
    weir_buf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void put_seconds(struct weir_buf *out, const char *name, const char *kind, const char *help,
                        double seconds)
{
    put_head(out, name, kind, help);
    weir_buf_printf(out, "%s %.3f\n", name, seconds);
}

/* How a histogram is shown: counts of bucket i are those up to 2^i units. */
struct shown {
    const char *name;
    const char *help;
    const uint64_t *counts;
    unsigned n_buckets;
    uint64_t sum;
    double unit; /* what one unit is in the shown one: 1e-6 for microseconds as seconds */
};

static void put_histogram(struct weir_buf *out, const struct shown *h)
{
    uint64_t n = 0;
    put_head(out, h->name, "histogram", h->help);
    for (unsigned i = 0; i < h->n_buckets; i++) {
        n += h->counts[i];
        if (i + 1 < h->n_buckets)
            weir_buf_printf(out, "%s_bucket{le=\"%.9g\"} %llu\n", h->name,
                            (double)((uint64_t)1 << i) * h->unit, (unsigned long long)n);
    }
    weir_buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n", h->name,
                    (unsigned long long)n, h->name, (double)h->sum * h->unit, h->name,
                    (unsigned long long)n);
}

/* ---- the workers ---- */

static const struct {
    const char *name;
    const char *kind;
    const char *help;
} counter_rows[N_COUNTERS] = {
#define ROW(symbol, name, kind, help) [COUNT_##symbol] = {name, kind, help},
    COUNTER_TABLE(ROW)
#undef ROW
};

static void put_counters(struct weir_buf *out, const struct counters_sum *sum)
{
    for (int i = 0; i < N_COUNTERS; i++)
        put_u64(out, counter_rows[i].name, counter_rows[i].kind, counter_rows[i].help,
                sum->values[i]);
}

static void put_errors(struct weir_buf *out, const struct counters_sum *sum)
{
    put_head(out, "weir_errors_total", "counter", "Error answers, by code");
    for (int i = WEIR_OK + 1; i < WEIR_N_STATUS; i++)
        if (sum->errors[i] > 0)
            weir_buf_printf(out, "weir_errors_total{code=\"%s\"} %llu\n",
                            weir_status_name((enum weir_status)i),
                            (unsigned long long)sum->errors[i]);
}

static void put_closed(struct weir_buf *out, const struct counters_sum *sum)
{
    put_head(out, "weir_connections_closed_total", "counter", "Connections closed, by reason");
    for (int i = 0; i < N_CLOSE_REASONS; i++)
        weir_buf_printf(out, "weir_connections_closed_total{reason=\"%s\"} %llu\n",
                        close_reason_name((enum close_reason)i),
                        (unsigned long long)sum->closed[i]);
}

/* By the rows of the route table; requests that met none have an empty name. */
static void put_answers(struct weir_buf *out, const struct counters_sum *sum)
{
    unsigned n_routes = 0;
    while (routes[n_routes].handle && n_routes < COUNTERS_NO_ROUTE) n_routes++;
    put_head(out, "weir_answers_total", "counter", "Answers, by route and class of status");
    for (unsigned i = 0; i < COUNTERS_ROUTES; i++) {
        if (i >= n_routes && i != COUNTERS_NO_ROUTE) continue;
        for (unsigned kind = 1; kind < COUNTERS_CLASSES; kind++)
            if (sum->answers[i][kind] > 0)
                weir_buf_printf(out, "weir_answers_total{route=\"%s\",class=\"%uxx\"} %llu\n",
                                i < n_routes ? routes[i].name : "", kind,
                                (unsigned long long)sum->answers[i][kind]);
    }
}

static void put_workers(struct weir_buf *out, struct server *s)
{
    struct counters_sum sum = {0};
    server_counters(s, &sum);
    put_counters(out, &sum);
    put_answers(out, &sum);
    put_errors(out, &sum);
    put_closed(out, &sum);
    put_histogram(
        out, &(struct shown){"weir_request_seconds", "From the whole request to its answer",
                             sum.request_us.counts, HISTOGRAM_BUCKETS, sum.request_us.sum, 1e-6});
    put_histogram(out, &(struct shown){"weir_fan_lag_seconds",
                                       "From durable to written to its readers, by round",
                                       sum.lag_us.counts, HISTOGRAM_BUCKETS, sum.lag_us.sum, 1e-6});
}

/* ---- the store ---- */

struct metric {
    const char *name;
    const char *kind;
    const char *help;
    uint64_t value;
};

static void put_metrics(struct weir_buf *out, const struct metric *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_u64(out, rows[i].name, rows[i].kind, rows[i].help, rows[i].value);
}

/* Only of a store that has a database and other nodes. */
static void put_shared_store(struct weir_buf *out, const struct store_shared_stats *s)
{
    const struct metric rows[] = {
        {"weir_pg_databases", "gauge", "Databases that the store is on", s->n_databases},
        {"weir_pg_away", "gauge", "Of them, those that cannot be reached now", s->n_away},
        {"weir_pg_connects_total", "counter", "Connections that the committer has made",
         s->n_connects},
        {"weir_pg_lost_total", "counter", "Connections that the committer has lost", s->n_lost},
        {"weir_pg_conflicts_total", "counter",
         "Batches of commits that were decided again, for something had changed", s->n_conflicts},
        {"weir_pg_alone_total", "counter",
         "Batches of commits that were decided while all others had to wait", s->n_alone},
        {"weir_pg_reading", "gauge", "Connections that read", s->n_reading},
        {"weir_pg_reading_max", "gauge", "Connections that may read at a time", s->max_reading},
        {"weir_pg_waits_total", "counter", "Reads that had to wait for a connection", s->n_waits},
        {"weir_pg_busy_total", "counter", "Of them, those that got none in time", s->n_busy},
        {"weir_pg_standby_reads_total", "counter", "Reads that a standby has answered",
         s->n_standby_reads},
        {"weir_pg_failed_sweeps_total", "counter",
         "Rounds of looking after the tables that did not work", s->n_failed_sweeps},
        {"weir_pg_listening", "gauge", "1 while what other nodes write is heard of at once",
         s->is_listening},
        {"weir_pg_listens_total", "counter", "Connections that were made to listen", s->n_listens},
        {"weir_pg_notifications_total", "counter", "Notifications that were heard", s->n_notes},
        {"weir_pg_fetches_total", "counter", "Fetches of events that other nodes have written",
         s->n_fetches},
        {"weir_pg_news_lost_total", "counter",
         "Times that news of other nodes were lost, and everything was looked at", s->n_news_lost},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

static void put_store(struct weir_buf *out, struct store *store)
{
    struct store_stats stats;
    store_stats(store, &stats);
    const struct metric rows[] = {
        {"weir_store_commits_total", "counter", "Commits made durable", stats.n_commits},
        {"weir_store_events_total", "counter", "Events appended", stats.n_events},
        {"weir_store_event_bytes_total", "counter", "Bytes of those events", stats.event_bytes},
        {"weir_store_refused_total", "counter", "Commits refused", stats.n_refused},
        {"weir_store_syncs_total", "counter", "Syncs of the journal", stats.n_syncs},
        {"weir_store_settles_total", "counter", "Times the journal was settled into the database",
         stats.n_settles},
        {"weir_store_reads_total", "counter", "Reads of logs", stats.n_reads},
        {"weir_store_read_bytes_total", "counter", "Bytes of those reads", stats.read_bytes},
        {"weir_store_pending_bytes", "gauge", "Durable bytes that are not settled yet",
         stats.pending_bytes},
        {"weir_store_queued_bytes", "gauge", "Bytes that wait to be made durable",
         stats.queued_bytes},
        {"weir_store_broken", "gauge", "1 when a write or sync failed and nothing is accepted",
         stats.is_broken},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
    put_histogram(out, &(struct shown){"weir_store_batch_commits", "Commits made durable by a sync",
                                       stats.batch_commits.counts, STORE_HISTOGRAM_BUCKETS,
                                       stats.batch_commits.sum, 1});
    put_histogram(out,
                  &(struct shown){"weir_store_commit_seconds",
                                  "From the request to commit to durable", stats.commit_us.counts,
                                  STORE_HISTOGRAM_BUCKETS, stats.commit_us.sum, 1e-6});
    if (store_is_shared(store)) put_shared_store(out, &stats.shared);
}

/* ---- the subscriptions ---- */

static void put_hooks(struct weir_buf *out, struct hooks *hooks)
{
    struct hooks_stats stats = {0};
    if (hooks) hooks_stats(hooks, &stats);
    const struct metric rows[] = {
        {"weir_hooks_subscriptions", "gauge", "Subscriptions", stats.n_subscriptions},
        {"weir_hooks_wakes_total", "counter", "Wakes of subscriptions", stats.n_wakes},
        {"weir_hooks_deliveries_total", "counter", "Webhooks sent", stats.n_deliveries},
        {"weir_hooks_failures_total", "counter", "Webhooks that were not taken", stats.n_failures},
        {"weir_hooks_refused_total", "counter", "Requests refused, for too many waited",
         stats.n_refused},
        {"weir_hooks_unlinked_total", "counter", "Streams that a subscription had no room for",
         stats.n_unlinked},
        {"weir_hooks_scans_total", "counter", "Looks at all streams", stats.n_scans},
        {"weir_fetch_running", "gauge", "Outgoing requests under way", stats.fetches.n_running},
        {"weir_fetch_waiting", "gauge", "Outgoing requests that wait", stats.fetches.n_waiting},
        {"weir_fetch_refused_total", "counter", "Outgoing requests refused, for too many waited",
         stats.fetches.n_refused},
        {"weir_fetch_forbidden_total", "counter", "Outgoing requests to forbidden addresses",
         stats.fetches.n_forbidden},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

/* ---- the turns ---- */

static void put_turns(struct weir_buf *out, struct turns *turns)
{
    struct flow_stats stats = {0};
    if (turns) turns_stats(turns, &stats);
    const struct metric rows[] = {
        {"weir_turns_in_flight", "gauge", "Turns that are queued or running", stats.n_in_flight},
        {"weir_turns_waiting", "gauge", "Of them, those that wait for somebody", stats.n_waiting},
        {"weir_turns_working", "gauge", "Of them, those whose step has a thread", stats.n_running},
        {"weir_turns_begun_total", "counter", "Turns begun", stats.n_begun},
        {"weir_turns_completed_total", "counter", "Turns completed", stats.n_completed},
        {"weir_turns_failed_total", "counter", "Turns failed or cancelled", stats.n_failed},
        {"weir_turns_recovered_total", "counter", "Turns taken up from an earlier process",
         stats.n_recovered},
        {"weir_turns_steps_total", "counter", "Steps done", stats.n_steps},
        {"weir_turns_retries_total", "counter", "Steps that were tried again", stats.n_retries},
        {"weir_turns_fenced_total", "counter", "Commits refused, for another node has the turn",
         stats.n_fenced},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

/* ---- the chats ---- */

static void put_chats(struct weir_buf *out, struct chats *chats)
{
    struct chats_stats s = {0};
    if (chats) chats_stats(chats, &s);
    const struct metric rows[] = {
        {"weir_chats_in_flight", "gauge", "Replies that are queued or running", s.runs.n_in_flight},
        {"weir_chats_begun_total", "counter", "Replies begun", s.runs.n_begun},
        {"weir_chats_completed_total", "counter", "Replies completed", s.runs.n_completed},
        {"weir_chats_failed_total", "counter", "Replies failed or cancelled", s.runs.n_failed},
        {"weir_chats_recovered_total", "counter", "Replies taken up from an earlier process",
         s.runs.n_recovered},
        {"weir_chats_abandoned_total", "counter", "Replies cancelled, for nobody read them",
         s.n_abandoned},
        {"weir_chats_redacted_total", "counter", "Private values that got placeholders",
         s.n_redacted},
        {"weir_chats_blocked_total", "counter", "Replies that were not sent to a model",
         s.n_blocked},
        {"weir_chats_asked_total", "counter", "Questions about private values", s.n_asked},
        {"weir_chats_timed_out_total", "counter", "Questions that nobody answered in time",
         s.n_timed_out},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

/* ---- the sessions ---- */

static void put_session_turns(struct weir_buf *out, const struct sessions_stats *s)
{
    const struct metric rows[] = {
        {"weir_sessions_in_flight", "gauge", "Turns of sessions that are queued or running",
         s->runs.n_in_flight},
        {"weir_sessions_waiting", "gauge", "Of them, those that wait for somebody",
         s->runs.n_waiting},
        {"weir_sessions_nodes", "gauge", "Nodes that sessions are told of, this one with them",
         s->n_nodes},
        {"weir_sessions_begun_total", "counter", "Turns of sessions begun", s->runs.n_begun},
        {"weir_sessions_completed_total", "counter", "Turns of sessions completed",
         s->runs.n_completed},
        {"weir_sessions_failed_total", "counter", "Turns of sessions failed or aborted",
         s->runs.n_failed},
        {"weir_sessions_recovered_total", "counter",
         "Turns of sessions taken up from an earlier process", s->runs.n_recovered},
        {"weir_sessions_sent_total", "counter", "Messages sent to sessions", s->n_sent},
        {"weir_sessions_queued_total", "counter", "Of them, those that had to wait", s->n_queued},
        {"weir_sessions_steered_total", "counter", "Words to turns under way", s->n_steered},
        {"weir_sessions_aborted_total", "counter", "Turns that somebody aborted", s->n_aborted},
        {"weir_sessions_trimmed_total", "counter", "Times old events were removed", s->n_trimmed},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

static void put_sessions(struct weir_buf *out, struct sessions *sessions)
{
    struct sessions_stats s = {.n_sent = 0};
    if (sessions) sessions_stats(sessions, &s);
    put_session_turns(out, &s);
    const struct metric rows[] = {
        {"weir_sessions_tools_total", "counter", "Tools run", s.n_tools},
        {"weir_sessions_tools_failed_total", "counter", "Of them, those that failed",
         s.n_tools_failed},
        {"weir_sessions_tools_killed_total", "counter", "Of them, those whose turn was aborted",
         s.n_tools_killed},
        {"weir_sessions_runner_restarts_total", "counter",
         "Times the process that runs tools had to be started anew", s.n_runner_restarts},
        {"weir_sessions_approvals_total", "counter", "Times somebody was asked to allow a tool",
         s.n_approvals},
        {"weir_sessions_allowed_total", "counter", "Of them, those that were allowed", s.n_allowed},
        {"weir_sessions_denied_total", "counter", "Of them, those that were denied", s.n_denied},
        {"weir_sessions_approvals_expired_total", "counter",
         "Of them, those that nobody answered in time", s.n_approvals_expired},
        {"weir_sessions_clarifications_total", "counter", "Questions to users", s.n_clarifications},
        {"weir_sessions_answered_total", "counter", "Of them, those that were answered",
         s.n_answered},
        {"weir_sessions_clarifications_expired_total", "counter",
         "Of them, those that nobody answered in time", s.n_clarifications_expired},
        {"weir_sessions_cron_fired_total", "counter", "Scheduled prompts that ran", s.n_cron_fired},
        {"weir_sessions_skills_proposed_total", "counter", "Shortcuts proposed",
         s.n_skills_proposed},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

/* ---- the models ---- */

static void put_model_tokens(struct weir_buf *out, const struct models_stats *s)
{
    static const char name[] = "weir_model_tokens_total";
    put_head(out, name, "counter", "Tokens of models, by kind");
    weir_buf_printf(out, "%s{kind=\"input\"} %llu\n%s{kind=\"output\"} %llu\n", name,
                    (unsigned long long)s->input_tokens, name,
                    (unsigned long long)s->output_tokens);
    weir_buf_printf(out, "%s{kind=\"cache_read\"} %llu\n%s{kind=\"cache_write\"} %llu\n", name,
                    (unsigned long long)s->cache_read_tokens, name,
                    (unsigned long long)s->cache_write_tokens);
}

/* A label's value: the operator's own words, but any. */
static void put_label(struct weir_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') weir_buf_append_char(out, '\\');
        weir_buf_append_char(out, *text);
    }
}

static void put_provider(struct weir_buf *out, const char *metric,
                         const struct model_provider_stats *p, uint64_t value)
{
    weir_buf_printf(out, "%s{provider=\"", metric);
    put_label(out, p->name);
    weir_buf_printf(out, "\"} %llu\n", (unsigned long long)value);
}

static void put_providers(struct weir_buf *out, struct models *models)
{
    static const char attempts[] = "weir_model_attempts_total";
    static const char failures[] = "weir_model_failures_total";
    static const char is_open[] = "weir_model_breaker_open";
    struct model_provider_stats p;
    put_head(out, attempts, "counter", "Requests to a provider of models");
    for (unsigned i = 0; models_provider_stats(models, i, &p); i++)
        put_provider(out, attempts, &p, p.n_attempts);
    put_head(out, failures, "counter", "Of them, those that found the provider in trouble");
    for (unsigned i = 0; models_provider_stats(models, i, &p); i++)
        put_provider(out, failures, &p, p.n_failed);
    put_head(out, is_open, "gauge", "1 while a provider is left alone, for it failed too often");
    for (unsigned i = 0; models_provider_stats(models, i, &p); i++)
        put_provider(out, is_open, &p, p.is_open);
}

static void put_models(struct weir_buf *out, struct models *models)
{
    struct models_stats stats = {0};
    if (models) models_stats(models, &stats);
    const struct metric rows[] = {
        {"weir_model_calls_total", "counter", "Calls of models", stats.n_calls},
        {"weir_model_calls_failed_total", "counter", "Of them, those without a whole answer",
         stats.n_failed},
        {"weir_model_calls_running", "gauge", "Calls of models under way", stats.n_running},
        {"weir_model_retries_total", "counter", "Requests to models that were made again",
         stats.n_retries},
        {"weir_model_fallbacks_total", "counter", "Calls that were taken to the fallback",
         stats.n_fallbacks},
        {"weir_model_breaker_opened_total", "counter", "Times a provider was left alone",
         stats.n_opened},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
    put_model_tokens(out, &stats);
    put_head(out, "weir_model_cost_usd_total", "counter",
             "What models have cost, as far as prices are known");
    weir_buf_printf(out, "weir_model_cost_usd_total %.6f\n", stats.cost_usd);
    if (models) put_providers(out, models);
}

/* ---- the shield ---- */

static void put_shield(struct weir_buf *out, struct models *models)
{
    static const char decisions[] = "weir_shield_decisions_total";
    struct models_stats stats = {0};
    const char *action;
    uint64_t n;
    if (models) models_stats(models, &stats);
    put_head(out, decisions, "counter", "What was decided about private data, by what was done");
    for (size_t i = 0; (action = audit_count(i, &n)); i++)
        weir_buf_printf(out, "%s{action=\"%s\"} %llu\n", decisions, action, (unsigned long long)n);
    const struct metric rows[] = {
        {"weir_shield_residues_total", "counter",
         "Requests to models that were not sent, for something private was left in them",
         stats.n_residues}};
    put_metrics(out, rows, 1);
}

static void put_gateway(struct weir_buf *out, struct gateway *gateway)
{
    struct gateway_stats stats = {0};
    if (gateway) gateway_stats(gateway, &stats);
    const struct metric rows[] = {
        {"weir_gateway_requests_total", "counter", "Requests that were to be passed on",
         stats.n_requests},
        {"weir_gateway_streams_total", "counter", "Of them, those whose answer streams",
         stats.n_streams},
        {"weir_gateway_failed_total", "counter", "Of them, those without a whole answer",
         stats.n_failed},
        {"weir_gateway_redacted_total", "counter", "Of them, those with something private",
         stats.n_redacted},
        {"weir_gateway_blocked_total", "counter", "Of them, those that may not leave",
         stats.n_blocked},
        {"weir_gateway_open", "gauge", "Requests of the gateway under way", stats.n_open},
    };
    put_metrics(out, rows, sizeof rows / sizeof *rows);
}

/* ---- the process ---- */

/* The second number of /proc/self/statm: resident pages. */
static bool resident_bytes(uint64_t *bytes)
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return false;
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *space = is_read ? strchr(line, ' ') : NULL;
    if (!space) return false;
    *bytes = strtoull(space + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

/* Newer kernels have the number as the folder's size; on others its entries are counted. */
static bool open_fds(uint64_t *n)
{
    struct stat folder;
    *n = 0;
    if (stat("/proc/self/fd", &folder) != 0) return false;
    if (folder.st_size > 0) {
        *n = (uint64_t)folder.st_size;
        return true;
    }
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) return false;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        if (entry->d_name[0] != '.') ++*n;
    closedir(dir);
    if (*n > 0) --*n; /* the one that reads the folder */
    return true;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void put_process(struct weir_buf *out)
{
    uint64_t value;
    struct rusage usage;
    struct rlimit limit;
    if (resident_bytes(&value))
        put_u64(out, "process_resident_memory_bytes", "gauge", "Resident memory", value);
    if (open_fds(&value)) put_u64(out, "process_open_fds", "gauge", "Open descriptors", value);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        put_u64(out, "process_max_fds", "gauge", "Descriptors that may be open", limit.rlim_cur);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        put_seconds(out, "process_cpu_seconds_total", "counter", "CPU time",
                    seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}

static void put_server(struct weir_buf *out, struct server *s)
{
    struct keys *keys = server_keys(s);
    put_head(out, "weir_info", "gauge", "The version that runs");
    weir_buf_printf(out, "weir_info{version=\"%s\"} 1\n", WEIR_VERSION);
    put_seconds(out, "weir_uptime_seconds", "gauge", "Time since the start",
                (double)server_uptime_ms(s) / 1e3);
    if (keys)
        put_u64(out, "weir_keys", "gauge", "Keys that are neither revoked nor expired",
                keys_count(keys));
    put_u64(out, "weir_work_threads", "gauge", "Backups, checks and changes of keys under way",
            resource_n_working());
}

void metrics_get(struct exchange *ex)
{
    struct weir_buf page;
    struct server *s = exchange_server(ex);
    weir_buf_init(&page, PAGE_BYTES);
    put_server(&page, s);
    put_workers(&page, s);
    put_store(&page, server_store(s));
    put_hooks(&page, server_hooks(s));
    put_turns(&page, server_turns(s));
    put_chats(&page, server_chats(s));
    put_sessions(&page, server_sessions(s));
    put_models(&page, server_models(s));
    put_shield(&page, server_models(s));
    put_gateway(&page, server_gateway(s));
    put_process(&page);
    enum weir_status st = weir_buf_status(&page);
    if (st == WEIR_OK)
        exchange_text(ex, 200, "text/plain; version=0.0.4; charset=utf-8", weir_buf_slice(&page));
    else resource_store_error(ex, st);
    weir_buf_fini(&page);
}
