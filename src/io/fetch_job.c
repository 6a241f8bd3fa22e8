/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One outgoing request: what libcurl is told about it, what it tells as the answer comes, and how
 * it ended. See fetch.h.
 *
 * The address policy sits where libcurl asks for a socket: it has resolved the name by then and
 * connects to nothing else. Limits of time are ours and not libcurl's: it has none for a single
 * phase. A request's timer may be due too early, for it is not moved with every byte that comes;
 * whoever finds it due asks job_due_ns() again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/fetch_impl.h"

enum {
    JOB_MAGIC = 0x66657463,
    NS_PER_MS = 1000 * 1000,
    HEAD_BYTES = 256 << 10, /* most of an answer's head, those of 1xx included */
    /* libcurl's buffers, of which a waiting transfer has one. */
    READ_BYTES = 4 << 10,
    UPLOAD_BYTES = 16 << 10,
    MAX_CA_FILE = 4096, /* longest path */
    MAX_SOCKET = 108,   /* likewise, of a socket: what the system takes */
    KEEP_ALIVE_S = 30,
};

struct job *job_checked(void *user)
{
    struct job *job = user;
    CHECK(job->magic == JOB_MAGIC);
    return job;
}

/* ---- limits of time ---- */

static uint64_t after_ms(uint64_t from_ns, unsigned ms)
{
    return ms > 0 ? from_ns + (uint64_t)ms * NS_PER_MS : UINT64_MAX;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Half a head is none, however lively it comes. */
static uint64_t head_due_ns(const struct job *job)
{
    if (job->http_status > 0) return UINT64_MAX;
    return after_ms(job->phase_ns, job->request.limits.first_byte_ms);
}

static uint64_t phase_due_ns(const struct job *job)
{
    const struct fetch_limits *limits = &job->request.limits;
    switch (job->phase) {
    case FETCH_WAITING: break;
    case FETCH_CONNECTING: return after_ms(job->phase_ns, limits->connect_ms);
    case FETCH_SENT: return head_due_ns(job);
    case FETCH_ANSWERED: return sooner(after_ms(job->last_ns, limits->idle_ms), head_due_ns(job));
    }
    return UINT64_MAX;
}

uint64_t job_due_ns(const struct job *job)
{
    uint64_t whole = after_ms(job->start_ns, job->request.limits.whole_ms);
    return sooner(phase_due_ns(job), whole);
}

static enum fetch_end slow_end(const struct job *job)
{
    if (job->phase == FETCH_CONNECTING) return FETCH_SLOW_CONNECT;
    return job->http_status == 0 ? FETCH_SLOW_HEAD : FETCH_SLOW_BODY;
}

void job_expire(struct job *job, uint64_t now_ns)
{
    job->end = phase_due_ns(job) <= now_ns ? slow_end(job) : FETCH_SLOW_WHOLE;
}

void job_limit(struct job *job, unsigned ms)
{
    uint64_t now = clock_mono_ns(&clock_system);
    uint64_t whole_ms = (now - job->start_ns) / NS_PER_MS + ms;
    unsigned *limit = &job->request.limits.whole_ms;
    if (*limit == 0 || whole_ms < *limit) *limit = whole_ms < UINT_MAX ? (unsigned)whole_ms : 0;
    heap_move(&job->fetcher->timers, &job->timer, job_due_ns(job));
}

static void enter(struct job *job, enum fetch_phase phase)
{
    job->phase = phase;
    job->last_ns = clock_mono_ns(&clock_system);
    if (phase != FETCH_ANSWERED) job->phase_ns = job->last_ns;
    heap_move(&job->fetcher->timers, &job->timer, job_due_ns(job));
}

static void note_bytes(struct job *job)
{
    if (job->phase != FETCH_ANSWERED) enter(job, FETCH_ANSWERED);
    job->last_ns = clock_mono_ns(&clock_system);
}

/* ---- what libcurl calls ---- */

/* The one place where a connection begins. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct job *job = job_checked(user);
    if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
    bool is_named = job->is_listed || job->socket; /* by the caller, and not by a name */
    if (!is_named && !target_allows(&job->fetcher->rules, &address->addr)) {
        job->end = FETCH_NOT_ALLOWED;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) job->end = FETCH_NO_DESCRIPTORS;
    /* Another address of the same host may do. */
    if (fd >= 0) job->end = FETCH_WHOLE;
    return fd;
}

/* It is connected, and sends from now on; also when a request is sent again. */
static int on_connected(void *user, char *ip, char *local_ip, int port, int local_port)
{
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    struct job *job = job_checked(user);
    origin_leave(job);
    enter(job, FETCH_SENT);
    return CURL_PREREQFUNC_OK;
}

/* Thousands of requests may wait for hours: what was sent need not be kept. */
static void drop_body(struct job *job)
{
    curl_off_t n_sent = 0;
    curl_easy_getinfo(job->answer.curl, CURLINFO_SIZE_UPLOAD_T, &n_sent);
    if ((size_t)n_sent != job->n_request) return;
    mem_free(job->body);
    job->body = NULL;
}

static bool is_encoded(const struct job *job)
{
    struct weir_slice encoding = fetch_field_of(&job->answer, "Content-Encoding");
    return encoding.len > 0 && !(encoding.len == 8 && slice_ends_with_nocase(encoding, "identity"));
}

/* False ends it, as job->end says. */
static bool take_head(struct job *job, int http_status)
{
    const struct fetch_request *request = &job->request;
    job->http_status = http_status;
    drop_body(job);
    if (is_encoded(job)) job->end = FETCH_ENCODED;
    else if (request->on_head && !request->on_head(request->user, http_status, &job->answer))
        job->end = FETCH_ENOUGH;
    return job->end == FETCH_WHOLE;
}

/* A line of a head, or of what may come behind a chunked body. */
static size_t on_line(char *bytes, size_t one, size_t len, void *user)
{
    struct job *job = job_checked(user);
    long http_status = 0;
    (void)one;
    note_bytes(job);
    job->n_head += len;
    if (job->n_head > HEAD_BYTES) job->end = FETCH_TOO_LARGE;
    if (job->end != FETCH_WHOLE) return 0; /* less than all ends the transfer */
    if (job->http_status > 0 || (bytes[0] != '\r' && bytes[0] != '\n')) return len;
    curl_easy_getinfo(job->answer.curl, CURLINFO_RESPONSE_CODE, &http_status);
    return http_status < 200 || take_head(job, (int)http_status) ? len : 0;
}

static void gather(struct job *job, const char *bytes, size_t len)
{
    size_t room = job->gathered.max - job->gathered.len;
    weir_buf_append(&job->gathered, bytes, len < room ? len : room);
    if (len > room) job->end = FETCH_TOO_LARGE;
    else if (weir_buf_status(&job->gathered) != WEIR_OK) job->end = FETCH_NO_MEMORY;
}

static size_t on_bytes(char *bytes, size_t one, size_t len, void *user)
{
    struct job *job = job_checked(user);
    const struct fetch_request *request = &job->request;
    (void)one;
    note_bytes(job);
    job->n_body += len;
    if (!request->on_body || job->http_status != 200) gather(job, bytes, len);
    else if (request->limits.max_body > 0 && job->n_body > request->limits.max_body)
        job->end = FETCH_TOO_LARGE;
    else if (!request->on_body(request->user, slice_of(bytes, len))) job->end = FETCH_ENOUGH;
    return job->end == FETCH_WHOLE ? len : 0;
}

struct weir_slice fetch_field_of(const struct fetch_answer *answer, const char *name)
{
    struct curl_header *field = NULL;
    if (curl_easy_header(answer->curl, name, 0, CURLH_HEADER, -1, &field) != CURLHE_OK)
        return SLICE("");
    return weir_slice_of(field->value);
}

/* ---- making one ---- */

void job_free(struct job *job)
{
    if (job->answer.curl) curl_easy_cleanup(job->answer.curl);
    curl_slist_free_all(job->fields);
    weir_buf_fini(&job->gathered);
    mem_free(job->body);
    job->magic = 0;
    mem_free(job);
}

static WEIR_MUST_CHECK enum weir_status add_line(struct job *job, const char *text)
{
    struct curl_slist *longer = curl_slist_append(job->fields, text);
    if (!longer) return WEIR_NOMEM;
    job->fields = longer;
    return WEIR_OK;
}

static bool can_be_value(struct weir_slice value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\r' || value.ptr[i] == '\n' || value.ptr[i] == 0) return false;
    return true;
}

static WEIR_MUST_CHECK enum weir_status add_field(struct job *job, const struct fetch_field *field)
{
    char line[FETCH_FIELD_BYTES];
    if (!can_be_value(field->value) || field->value.len > sizeof line) return WEIR_INVALID;
    /* A semicolon is libcurl's way to send a field without a value. */
    int len = field->value.len > 0 ? snprintf(line, sizeof line, "%s: %.*s", field->name,
                                              (int)field->value.len, field->value.ptr)
                                   : snprintf(line, sizeof line, "%s;", field->name);
    enum weir_status st = len > 0 && (size_t)len < sizeof line ? add_line(job, line) : WEIR_INVALID;
    explicit_bzero(line, sizeof line); /* it may have been a key */
    return st;
}

static bool has_field(const struct fetch_request *request, const char *name)
{
    for (unsigned i = 0; i < request->n_fields; i++)
        if (strcasecmp(request->fields[i].name, name) == 0) return true;
    return false;
}

static WEIR_MUST_CHECK enum weir_status add_fields(struct job *job,
                                                   const struct fetch_request *request)
{
    /* No 100 Continue, and no media type but the caller's. */
    enum weir_status st = add_line(job, "Expect:");
    if (st == WEIR_OK) st = add_line(job, "Accept-Encoding: identity");
    if (st == WEIR_OK && !has_field(request, "Accept"))
        st = add_line(job, "Accept: application/json, */*;q=0.1");
    if (st == WEIR_OK && !has_field(request, "Content-Type")) st = add_line(job, "Content-Type:");
    for (unsigned i = 0; st == WEIR_OK && i < request->n_fields; i++)
        st = add_field(job, &request->fields[i]);
    return st;
}

static WEIR_MUST_CHECK enum weir_status copy_body(struct job *job, struct weir_slice body)
{
    job->n_request = body.len;
    job->body = mem_alloc(body.len + 1);
    if (!job->body) return WEIR_NOMEM;
    if (body.len > 0) memcpy(job->body, body.ptr, body.len);
    job->body[body.len] = 0;
    return WEIR_OK;
}

static void copy_request(struct job *job, const struct fetch_request *request)
{
    job->request = *request;
    /* Borrowed: nothing of these may be used after this call. */
    job->request.url = job->request.body = SLICE("");
    job->request.n_fields = 0;
    job->request.ca_file = job->request.socket = NULL;
    memset(job->request.fields, 0, sizeof job->request.fields);
    if (request->limits.connect_ms == 0) job->request.limits.connect_ms = FETCH_CONNECT_MS;
    uint64_t max = request->on_body ? 0 : request->limits.max_body;
    weir_buf_init(&job->gathered, max > 0 ? (size_t)max : FETCH_ANSWER_BYTES);
}

enum weir_status job_new(struct job **out, struct fetcher *f, const struct fetch_request *request)
{
    char url[FETCH_URL_BYTES];
    size_t n_ca = request->ca_file ? strnlen(request->ca_file, MAX_CA_FILE) : 0;
    size_t n_socket = request->socket ? strnlen(request->socket, MAX_SOCKET) : 0;
    if (!fetch_copy_url(request->url, url) || n_ca == MAX_CA_FILE || n_socket == MAX_SOCKET)
        return WEIR_INVALID;
    size_t n_url = strlen(url) + 1;
    struct job *job = mem_zalloc(sizeof *job + n_url + n_ca + 1 + n_socket + 1);
    if (!job) return WEIR_NOMEM;
    job->magic = JOB_MAGIC;
    job->fetcher = f;
    memcpy(job->url, url, n_url);
    if (n_ca > 0) job->ca_file = memcpy(job->url + n_url, request->ca_file, n_ca + 1);
    if (n_socket > 0)
        job->socket = memcpy(job->url + n_url + n_ca + 1, request->socket, n_socket + 1);
    copy_request(job, request);
    job->start_ns = clock_mono_ns(&clock_system) + (uint64_t)request->delay_ms * NS_PER_MS;
    enum weir_status st = add_fields(job, request);
    if (st == WEIR_OK) st = copy_body(job, request->body);
    if (st == WEIR_OK) *out = job;
    else job_free(job);
    return st;
}

/* ---- starting one ---- */

static bool set_request(CURL *c, struct job *job)
{
    bool is_set = curl_easy_setopt(c, CURLOPT_URL, &job->url[0]) == CURLE_OK &&
                  curl_easy_setopt(c, CURLOPT_HTTPHEADER, job->fields) == CURLE_OK &&
                  curl_easy_setopt(c, CURLOPT_USERAGENT, "weir") == CURLE_OK &&
                  curl_easy_setopt(c, CURLOPT_PRIVATE, job) == CURLE_OK;
    if (is_set && job->ca_file)
        is_set = curl_easy_setopt(c, CURLOPT_CAINFO, job->ca_file) == CURLE_OK &&
                 curl_easy_setopt(c, CURLOPT_CAPATH, NULL) == CURLE_OK;
    if (is_set && job->socket)
        is_set = curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, job->socket) == CURLE_OK;
    if (is_set && job->request.method == FETCH_DELETE)
        is_set = curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "DELETE") == CURLE_OK;
    if (!is_set || job->request.method != FETCH_POST) return is_set;
    return curl_easy_setopt(c, CURLOPT_POSTFIELDS, job->body) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)job->n_request) == CURLE_OK;
}

static bool set_callbacks(CURL *c, struct job *job)
{
    return curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_connected) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PREREQDATA, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_line) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERDATA, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEDATA, job) == CURLE_OK;
}

/*
 * With TLS requests rather wait for a connection that can be shared than make one more each: the
 * handshake tells. Without it nothing would, before an answer has come.
 */
static bool set_version(CURL *c, const char *url)
{
    bool is_tls = strncasecmp(url, "https:", 6) == 0;
    long version = is_tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
    return curl_easy_setopt(c, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PIPEWAIT, (long)is_tls) == CURLE_OK;
}

/* What holds for every request; libcurl's own defaults ask the environment. */
static bool set_policy(CURL *c, const struct fetch_limits *limits)
{
    return curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) == CURLE_OK &&
           /* It shares this among the addresses of a host. */
           curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect_ms) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)READ_BYTES) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           /* A peer that went without a word is noticed, also where silence is allowed. */
           curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_TCP_KEEPIDLE, (long)KEEP_ALIVE_S) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_TCP_KEEPINTVL, (long)KEEP_ALIVE_S) == CURLE_OK &&
           /* So that ending does not wait for a resolver. */
           curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK;
}

/* The rules are asked again: they hold for whatever gets here. */
static bool is_allowed(struct job *job)
{
    const struct fetcher *f = job->fetcher;
    enum weir_status st =
        fetch_judge(f->has_rules ? &f->rules : NULL, job->url, &job->is_listed, &job->why);
    if (st == WEIR_OK) job->why = NULL;
    else job->end = st == WEIR_FORBIDDEN ? FETCH_NOT_ALLOWED : FETCH_BAD_URL;
    return st == WEIR_OK;
}

bool job_take_turn(struct job *job)
{
    if (!is_allowed(job)) return false;
    job->phase = FETCH_CONNECTING;
    job->start_ns = job->phase_ns = clock_mono_ns(&clock_system);
    if (heap_push(&job->fetcher->timers, &job->timer, job_due_ns(job)) == WEIR_OK) return true;
    job->end = FETCH_NO_MEMORY;
    return false;
}

bool job_start(struct job *job)
{
    job->end = FETCH_NO_MEMORY;
    CURL *c = job->answer.curl = curl_easy_init();
    if (!c || !set_request(c, job) || !set_callbacks(c, job) || !set_version(c, job->url) ||
        !set_policy(c, &job->request.limits))
        return false;
    if (curl_multi_add_handle(job->fetcher->multi, c) == CURLM_OK) job->end = FETCH_WHOLE;
    return job->end == FETCH_WHOLE;
}

/* ---- its end ---- */

/* libcurl does not say so where it was no connection that it wanted one for. */
static bool has_descriptors(const struct fetcher *f)
{
    int fd = fcntl(f->wake_fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static enum fetch_end end_of(const struct job *job, CURLcode code)
{
    bool is_in_head = job->phase >= FETCH_SENT && job->http_status == 0;
    switch ((int)code) {
    case CURLE_OK: /* to libcurl an answer may end within its head */
        return job->http_status > 0 ? FETCH_WHOLE : FETCH_CUT;
    case CURLE_URL_MALFORMAT: return FETCH_BAD_URL;
    case CURLE_COULDNT_RESOLVE_HOST: return FETCH_NO_NAME;
    case CURLE_COULDNT_CONNECT: return FETCH_NO_CONNECTION;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER: return FETCH_NO_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return FETCH_NOT_TRUSTED;
    case CURLE_OPERATION_TIMEDOUT: return slow_end(job);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY: return FETCH_NOT_HTTP;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return FETCH_CUT;
    case CURLE_OUT_OF_MEMORY: /* so it says of a line of the head that is too long, too */
        return is_in_head ? FETCH_TOO_LARGE : FETCH_NO_MEMORY;
    default: return FETCH_OTHER;
    }
}

void job_judge_code(struct job *job, CURLcode code)
{
    if (job->end != FETCH_WHOLE) return; /* a callback has said why */
    job->end = end_of(job, code);
    if (job->phase == FETCH_CONNECTING && !has_descriptors(job->fetcher))
        job->end = FETCH_NO_DESCRIPTORS;
}

struct fetch_result job_result(const struct job *job)
{
    static const struct {
        enum weir_status status;
        const char *why;
    } ends[] = {
#define END_ROW(symbol, status, why) [FETCH_##symbol] = {WEIR_##status, why},
        FETCH_END_TABLE(END_ROW)
#undef END_ROW
    };
    return (struct fetch_result){
        .status = ends[job->end].status,
        .end = job->end,
        .phase = job->phase,
        .http_status = job->http_status,
        .body = weir_buf_slice(&job->gathered),
        .n_body = job->n_body,
        .why = job->why ? job->why : ends[job->end].why,
        .answer = job->http_status > 0 ? &job->answer : NULL,
    };
}
