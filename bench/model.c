/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-model [CALLS [DELTAS_PER_SECOND [SECONDS]]]
 *
 * So many calls of a model at once through the engine (500; each 20 deltas in a second for 10
 * seconds), from a provider in a child process on loopback. Each delta says when it was sent; how
 * long it took from there to on_delta is what a server adds, the kernel's and the provider's own
 * part included. Memory is what the process has resident more than before the first call, while all
 * calls stream.
 *
 * Prints one JSON line.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/slice.h"
#include "bench.h"
#include "model/model.h"

enum { MAX_CALLS = 4096, SYSTEM_BYTES = 12000, MAX_SAMPLES = 1 << 22, STAMP_BYTES = 16 };

static unsigned n_calls = 500, n_per_s = 20, n_seconds = 10;

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the provider ---- */

static int fds[MAX_CALLS];

static void put(int fd, const char *text)
{
    size_t len = strlen(text);
    bench_need(send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len, "the provider cannot write");
}

static void put_chunk(int fd, const char *text)
{
    char chunk[1024];
    snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", strlen(text), text);
    put(fd, chunk);
}

static void take_request(int fd)
{
    char bytes[SYSTEM_BYTES * 2];
    size_t len = 0;
    const char *end = NULL, *length = NULL;
    while (!end || !length || len < (size_t)(end + 4 - bytes) + strtoul(length + 16, NULL, 10)) {
        ssize_t n = read(fd, bytes + len, sizeof bytes - 1 - len);
        bench_need(n > 0, "a request does not come");
        len += (size_t)n;
        bytes[len] = 0;
        end = strstr(bytes, "\r\n\r\n");
        length = strcasestr(bytes, "content-length: ");
    }
}

static void begin_answers(int listener)
{
    const int on = 1;
    for (unsigned i = 0; i < n_calls; i++) {
        fds[i] = accept(listener, NULL, NULL);
        bench_need(fds[i] >= 0, "accept");
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        take_request(fds[i]);
        put(fds[i], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n");
        put_chunk(fds[i], "data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\","
                          "\"content\":[],\"usage\":{\"input_tokens\":9}}}\n\n"
                          "data: {\"type\":\"content_block_start\",\"index\":0,"
                          "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    }
}

static void end_answers(void)
{
    for (unsigned i = 0; i < n_calls; i++) {
        put_chunk(fds[i], "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
                          "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                          "\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n"
                          "data: {\"type\":\"message_stop\"}\n\n");
        put(fds[i], "0\r\n\r\n");
    }
}

/*
 * Evenly over the time: a provider's calls are not in step. What it is late by is not made good at
 * once: its own bursts would be taken for the engine's slowness.
 */
static void provide(int listener)
{
    unsigned n_deltas = n_calls * n_per_s * n_seconds;
    uint64_t pause_us = 1000000 / (n_calls * n_per_s);
    begin_answers(listener);
    uint64_t due = now_us();
    for (unsigned i = 0; i < n_deltas; i++) {
        char delta[256];
        uint64_t now = now_us();
        if (due > now) usleep((useconds_t)(due - now));
        due = (due + 1000 > now ? due : now - pause_us / 2) + pause_us;
        snprintf(delta, sizeof delta,
                 "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                 "\"delta\":{\"type\":\"text_delta\",\"text\":\"%015llu \"}}\n\n",
                 (unsigned long long)now_us());
        put_chunk(fds[i % n_calls], delta);
    }
    end_answers();
}

/* ---- who asks ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t *samples_us;
static unsigned n_samples, n_done, n_good;
static uint64_t first_us, last_us;

static void on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    uint64_t now = now_us();
    (void)user, (void)kind;
    if (first_us == 0) first_us = now;
    last_us = now;
    for (size_t at = 0; at + STAMP_BYTES <= delta.len; at += STAMP_BYTES)
        if (n_samples < MAX_SAMPLES)
            samples_us[n_samples++] = (uint32_t)(now - strtoull(delta.ptr + at, NULL, 10));
}

static void on_done(void *user, const struct model_answer *answer)
{
    (void)user;
    pthread_mutex_lock(&lock);
    n_done++;
    n_good += answer->status == WEIR_OK;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static uint64_t resident_bytes(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    bench_need(file && fgets(line, sizeof line, file), "/proc/self/statm");
    fclose(file);
    return strtoull(strchr(line, ' ') + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void ask_all(struct models *models)
{
    static char system_text[SYSTEM_BYTES];
    memset(system_text, 'x', sizeof system_text);
    const struct model_call call = {
        .request = {.role = MODEL_MAIN,
                    .purpose = "bench",
                    .system = slice_of(system_text, sizeof system_text),
                    .messages = SLICE("[{\"role\":\"user\",\"content\":\"Hi\"}]")},
        .on_delta = on_delta,
        .done = on_done,
    };
    for (unsigned i = 0; i < n_calls; i++)
        bench_need(model_call(models, &call, NULL) == WEIR_OK, "a call is refused");
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double part_ms(double part)
{
    return (double)samples_us[(size_t)((double)(n_samples - 1) * part)] / 1000;
}

static void report(uint64_t before, uint64_t during, double cpu_s)
{
    qsort(samples_us, n_samples, sizeof *samples_us, compare);
    printf("{\"name\":\"model\",\"calls\":%u,\"good\":%u,\"deltas_per_s\":%.0f,\"p50_ms\":%.3f,"
           "\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"kib_per_call\":%.1f,"
           "\"cpu_us_per_delta\":%.1f}\n",
           n_calls, n_good, (double)n_samples * 1e6 / (double)(last_us - first_us), part_ms(0.5),
           part_ms(0.9), part_ms(0.99), part_ms(1), (double)(during - before) / n_calls / 1024,
           cpu_s * 1e6 / n_samples);
}

static struct models *make_engine(unsigned port, struct model_config **config)
{
    char text[512], why[MODEL_WHY_BYTES];
    struct models *models;
    snprintf(text, sizeof text,
             "{\"providers\":{\"p\":{\"type\":\"anthropic\",\"base_url\":\"http://127.0.0.1:%u\","
             "\"limits\":{\"max_running\":%d}}},\"roles\":{\"main\":{\"provider\":\"p\","
             "\"model\":\"m\"}}}",
             port, MAX_CALLS);
    bench_need(model_config_parse(config, weir_slice_of(text), "bench", why) == WEIR_OK, why);
    const struct models_options options = {.max_calls = MAX_CALLS};
    bench_need(models_new(&models, *config, &options) == WEIR_OK, "no engine");
    return models;
}

static void measure(unsigned port)
{
    struct model_config *config;
    struct models *models = make_engine(port, &config);
    samples_us = malloc(MAX_SAMPLES * sizeof *samples_us);
    bench_need(samples_us != NULL, "memory");
    memset(samples_us, 0, MAX_SAMPLES * sizeof *samples_us);
    uint64_t before = resident_bytes();
    double cpu_s = bench_cpu_s();
    ask_all(models);
    sleep(n_seconds / 2 + 1);
    uint64_t during = resident_bytes();
    pthread_mutex_lock(&lock);
    while (n_done < n_calls) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    report(before, during, bench_cpu_s() - cpu_s);
    models_free(models);
    model_config_free(config);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    struct rlimit files;
    if (argc > 1) n_calls = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2) n_per_s = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3) n_seconds = (unsigned)strtoul(argv[3], NULL, 10);
    bench_need(n_calls > 0 && n_calls <= MAX_CALLS && n_per_s > 0, "calls");
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_need(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 &&
                   listen(listener, MAX_CALLS) == 0 &&
                   getsockname(listener, (struct sockaddr *)&at, &len) == 0,
               "no listener");
    pid_t child = fork();
    bench_need(child >= 0, "fork");
    if (child == 0) {
        provide(listener);
        _exit(0);
    }
    measure(ntohs(at.sin_port));
    waitpid(child, NULL, 0);
    return 0;
}
