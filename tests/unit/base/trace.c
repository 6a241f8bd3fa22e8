/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/fault.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "t.h"

static struct fake_clock fake;
static char last_line[TRACE_MAX_LINE_BYTES];
static size_t last_len;
static unsigned n_lines;

static void keep(void *user, struct weir_slice line)
{
    (void)user;
    T_OK(line.len <= TRACE_MAX_LINE_BYTES);
    memcpy(last_line, line.ptr, line.len);
    last_len = line.len;
    n_lines++;
}

static struct trace make(enum trace_format format)
{
    fake_clock_init(&fake, 1234567890123);
    last_len = n_lines = 0;
    return (struct trace){
        .sink = keep, .clock = &fake.clock, .format = format, .level = TRACE_DEBUG};
}

static void expect(const char *want)
{
    T_EQ_STR(slice_of(last_line, last_len), want);
}

/* --- a small judge of lines --------------------------------------------- */

static const char *skip_string(const char *p, const char *end)
{
    if (p == end || *p++ != '"') return NULL;
    for (; p < end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) return NULL;
        if (*p == '\\' && (++p == end || !strchr("\"\\/bfnrtu", *p))) return NULL;
    }
    return p < end ? p + 1 : NULL;
}

static const char *skip_value(const char *p, const char *end)
{
    if (p < end && *p == '"') return skip_string(p, end);
    const char *from = p;
    while (p < end && (*p == '-' || *p == '+' || *p == '.' || (*p >= '0' && *p <= '9') ||
                       (*p >= 'a' && *p <= 'z')))
        p++;
    return p > from ? p : NULL;
}

static bool is_json_line(struct weir_slice s)
{
    const char *p = s.ptr;
    const char *end = s.ptr + s.len;
    if (p == end || *p != '{') return false;
    do {
        p = skip_string(p + 1, end);
        if (!p || p == end || *p != ':') return false;
        p = skip_value(p + 1, end);
        if (!p || p == end) return false;
    } while (*p == ',');
    return end - p == 2 && p[0] == '}' && p[1] == '\n';
}

static void expect_sound_line(const struct trace *t)
{
    struct weir_slice s = slice_of(last_line, last_len);
    T_OK(s.len > 0 && memchr(s.ptr, '\n', s.len) == s.ptr + s.len - 1);
    T_EQ(utf8_valid_prefix(s), s.len);
    for (size_t i = 0; i + 1 < s.len; i++) T_OK((unsigned char)s.ptr[i] >= 0x20);
    if (t->format == TRACE_JSON) T_OK(is_json_line(s));
}

/* --- cases --------------------------------------------------------------- */

TEST(text_line_has_all_kinds_of_fields)
{
    struct trace t = make(TRACE_TEXT);
    TRACE(&t, TRACE_WARN, "store", "log opened", trace_str("name", SLICE("main/1.2")),
          trace_str("title", SLICE("two words")), trace_int("delta", -5),
          trace_uint("n", UINT64_MAX), trace_double("rate", 0.1), trace_bool("is_new", true),
          trace_ms("took", 12), trace_secret("blob"), trace_str("empty", SLICE("")));
    expect("2009-02-13T23:31:30.123Z warn store: log opened name=main/1.2 title=\"two words\" "
           "delta=-5 "
           "n=18446744073709551615 rate=0.1 is_new=true took=12ms blob=[secret] empty=\"\"\n");
    expect_sound_line(&t);
}

TEST(json_line_has_all_kinds_of_fields)
{
    struct trace t = make(TRACE_JSON);
    TRACE(&t, TRACE_ERROR, "store", "log \"x\" opened", trace_str("name", SLICE("main")),
          trace_int("delta", INT64_MIN), trace_uint("n", 7), trace_double("rate", -2.5e300),
          trace_bool("is_new", false), trace_ms("took", 12), trace_secret("blob"));
    expect(
        "{\"ts\":\"2009-02-13T23:31:30.123Z\",\"level\":\"error\",\"component\":\"store\","
        "\"msg\":\"log \\\"x\\\" opened\",\"name\":\"main\",\"delta\":-9223372036854775808,\"n\":7,"
        "\"rate\":-2.5e+300,\"is_new\":false,\"took_ms\":12,\"blob\":\"[secret]\"}\n");
    expect_sound_line(&t);
}

TEST(line_without_fields_is_a_line)
{
    struct trace t = make(TRACE_JSON);
    TRACE(&t, TRACE_DEBUG, "a", "b");
    expect_sound_line(&t);
    t.format = TRACE_TEXT;
    TRACE(&t, TRACE_INFO, "a", "b");
    expect("2009-02-13T23:31:30.123Z info a: b\n");
}

TEST(levels_above_the_chosen_one_are_dropped)
{
    struct trace t = make(TRACE_TEXT);
    for (int chosen = TRACE_ERROR; chosen <= TRACE_DEBUG; chosen++) {
        t.level = (enum trace_level)chosen;
        n_lines = 0;
        for (int level = TRACE_ERROR; level <= TRACE_DEBUG; level++)
            TRACE(&t, (enum trace_level)level, "a", "b");
        T_EQ(n_lines, chosen + 1);
    }
    TRACE(NULL, TRACE_ERROR, "a", "nobody listens");
}

TEST(doubles_are_json_numbers_or_strings)
{
    static const struct {
        double d;
        const char *want;
    } rows[] = {{0, "0"},
                {-0.5, "-0.5"},
                {1e21, "1e+21"},
                {1.0 / 3, "0.33333333333333331"},
                {5e-324, "4.94065645841247e-324"},
                {100, "100"},
                {(double)INFINITY, "\"inf\""},
                {-(double)INFINITY, "\"-inf\""},
                {(double)NAN, "\"nan\""}};
    struct trace t = make(TRACE_JSON);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[200];
        TRACE(&t, TRACE_INFO, "a", "b", trace_double("d", rows[i].d));
        snprintf(want, sizeof want,
                 "{\"ts\":\"2009-02-13T23:31:30.123Z\",\"level\":\"info\",\"component\":\"a\","
                 "\"msg\":\"b\",\"d\":%s}\n",
                 rows[i].want);
        expect(want);
        expect_sound_line(&t);
    }
}

TEST(field_with_a_secret_name_is_never_shown_whatever_its_kind)
{
    static const char *const names[] = {"authorization", "Cookie",   "set-cookie",   "api_key",
                                        "key",           "token",    "access_token", "PASSWORD",
                                        "secret",        "X-Api-Key"};
    for (int format = TRACE_TEXT; format <= TRACE_JSON; format++) {
        struct trace t = make((enum trace_format)format);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            TRACE(&t, TRACE_INFO, "a", "b", trace_str(names[i], SLICE("77777")),
                  trace_int(names[i], 77777), trace_uint(names[i], 77777),
                  trace_double(names[i], 77777), trace_ms(names[i], 77777), trace_secret(names[i]));
            T_OK(!memmem(last_line, last_len, "77777", 5));
            T_OK(memmem(last_line, last_len, "[secret]", 8));
            expect_sound_line(&t);
        }
    }
}

TEST(secrets_inside_messages_and_strings_are_masked)
{
    struct trace t = make(TRACE_TEXT);
    TRACE(&t, TRACE_INFO, "model", "sent Bearer HUSH to https://u:HUSH@host/?api_key=HUSH&n=1",
          trace_str("said", SLICE("bad key sk-HUSH")), trace_str("url", SLICE("http://HUSH@h/")));
    expect("2009-02-13T23:31:30.123Z info model: sent Bearer [secret] to "
           "https://[secret]@host/?api_key=[secret]&n=1 said=\"bad key sk-[secret]\" "
           "url=http://[secret]@h/\n");
}

TEST(line_stays_a_line_whatever_is_in_it)
{
    struct trace t = make(TRACE_TEXT);
    TRACE(&t, TRACE_INFO, "a\nb", "one\ntwo\r\x1b[2J\x7f",
          trace_str("c1", SLICE("\xC2\x85\xC2\x9B\xC2\xA0")),
          trace_str("sep", SLICE("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE\xE2\x81\xA6")),
          trace_str("bad", SLICE("\xFF\xED\xA0\x80\0")), trace_str("odd name=", SLICE("x")));
    expect("2009-02-13T23:31:30.123Z info a\\nb: one\\ntwo\\r\\u001b[2J\\u007f "
           "c1=\"\\u0085\\u009b\xC2\xA0\" sep=\"\\u2028\\u2029\\u202e\\u2066\" "
           "bad=\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\u0000\" \"odd name=\"=x\n");
    expect_sound_line(&t);
}

TEST(random_bytes_give_sound_lines)
{
    for (int round = 0; round < 4000; round++) {
        struct trace t = make(round % 2 ? TRACE_JSON : TRACE_TEXT);
        char bytes[3][1500];
        size_t len = t_random() % sizeof bytes[0];
        unsigned mask = round % 3 ? 0xff : 0x1f;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i / 1500][i % 1500] = (char)(t_random() & mask ? t_random() & mask : 1);
        bytes[0][len] = bytes[1][t_random() % 100] = 0;
        TRACE(&t, TRACE_INFO, "fuzz", bytes[0], trace_str(bytes[1], slice_of(bytes[2], len)),
              trace_str("again", slice_of(bytes[2], 1500)), trace_uint("n", 1));
        expect_sound_line(&t);
    }
}

TEST(long_values_are_cut_between_characters_with_an_ellipsis)
{
    for (size_t shift = 0; shift < 5; shift++) {
        struct trace t = make(TRACE_JSON);
        struct weir_buf text;
        weir_buf_init(&text, 10000);
        for (size_t i = 0; i < shift; i++) weir_buf_append_char(&text, 'x');
        for (int i = 0; i < 1000; i++) weir_buf_append_str(&text, "\xF0\x9F\x98\x80");
        TRACE(&t, TRACE_INFO, "a", "b", trace_str("s", weir_buf_slice(&text)), trace_uint("n", 1));
        expect_sound_line(&t);
        T_OK(!memmem(last_line, last_len, "\xEF\xBF\xBD", 3));
        T_OK(memmem(last_line, last_len, "\xF0\x9F\x98\x80\xE2\x80\xA6\",\"n\":1}", 15));
        weir_buf_fini(&text);
    }
}

TEST(value_of_the_ceiling_is_not_cut)
{
    struct trace t = make(TRACE_TEXT);
    char text[TRACE_MAX_VALUE_BYTES + 1];
    memset(text, 'x', sizeof text);
    TRACE(&t, TRACE_INFO, "a", "b", trace_str("s", slice_of(text, sizeof text - 1)));
    T_OK(!memmem(last_line, last_len, "\xE2\x80\xA6", 3));
    TRACE(&t, TRACE_INFO, "a", "b", trace_str("s", slice_of(text, sizeof text)));
    T_OK(memmem(last_line, last_len, "x\xE2\x80\xA6\n", 5));
}

TEST(fields_that_do_not_fit_are_left_out_and_the_line_says_so)
{
    char text[TRACE_MAX_VALUE_BYTES + 1];
    memset(text, '\x01', sizeof text);
    text[TRACE_MAX_VALUE_BYTES] = 0;
    for (int format = TRACE_TEXT; format <= TRACE_JSON; format++) {
        struct trace t = make((enum trace_format)format);
        struct weir_slice worst = slice_of(text, sizeof text);
        TRACE(&t, TRACE_INFO, text, text, trace_str("a", worst), trace_uint("n", 1),
              trace_str("b", worst));
        expect_sound_line(&t);
        T_OK(memmem(last_line, last_len,
                    format == TRACE_JSON ? "\"n\":1,\"cut\":true" : "n=1 cut=true",
                    format == TRACE_JSON ? 16 : 12));
    }
}

/* Fields of every total length, to meet the ceiling at every place. */
TEST(every_length_of_line_is_sound)
{
    char text[TRACE_MAX_VALUE_BYTES];
    memset(text, 'x', sizeof text);
    struct weir_slice s = slice_of(text, sizeof text);
    for (size_t len = 0; len < sizeof text; len += 1) {
        struct trace t = make(len % 2 ? TRACE_JSON : TRACE_TEXT);
        TRACE(&t, TRACE_INFO, "a", "b", trace_str("s1", s), trace_str("s2", s), trace_str("s3", s),
              trace_str("s4", s), trace_str("s5", s), trace_str("s6", s), trace_str("s7", s),
              trace_str("s8", slice_of(text, len)), trace_uint("n", 1), trace_secret("z"));
        expect_sound_line(&t);
    }
}

TEST(lines_need_no_memory_and_keep_errno)
{
    struct trace t = make(TRACE_JSON);
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    errno = 42;
    TRACE(&t, TRACE_INFO, "a", "b", trace_str("s", SLICE("text")), trace_double("d", 1e-7));
    T_EQ(errno, 42);
    T_EQ(fault_count(FAULT_ALLOC), 0);
    fault_disarm_all();
    expect_sound_line(&t);
}

TEST(file_descriptor_gets_text_lines_up_to_info)
{
    int ends[2];
    char got[200];
    struct trace t;
    fake_clock_init(&fake, 0);
    T_EQ(pipe(ends), 0);
    trace_init(&t, &fake.clock, ends[1]);
    TRACE(&t, TRACE_DEBUG, "a", "dropped");
    TRACE(&t, TRACE_INFO, "a", "b");
    TRACE(&t, TRACE_ERROR, "a", "c");
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], got + len, sizeof got - len)) > 0;) len += (size_t)n;
    T_EQ_STR(slice_of(got, len),
             "1970-01-01T00:00:00.000Z info a: b\n1970-01-01T00:00:00.000Z error a: c\n");
    close(ends[0]);
    errno = 0;
    trace_init(&t, &fake.clock, -1);
    TRACE(&t, TRACE_INFO, "a", "lost");
    T_EQ(errno, 0);
}

enum { N_THREADS = 4, N_EACH = 500 };

static void *write_many(void *trace)
{
    for (int i = 0; i < N_EACH; i++)
        TRACE((const struct trace *)trace, TRACE_INFO, "thread", "one of many lines",
              trace_int("i", i));
    return NULL;
}

TEST(lines_of_many_threads_do_not_mix)
{
    char path[100];
    struct trace t;
    pthread_t threads[N_THREADS];
    snprintf(path, sizeof path, "%s/trace", t_temp_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    T_OK(fd >= 0);
    fake_clock_init(&fake, 0);
    trace_init(&t, &fake.clock, fd);
    t.format = TRACE_JSON;
    for (int i = 0; i < N_THREADS; i++) T_EQ(pthread_create(&threads[i], NULL, write_many, &t), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    close(fd);
    struct weir_slice all = t_read_file(path);
    size_t n = 0;
    while (all.len > 0) {
        const char *lf = memchr(all.ptr, '\n', all.len);
        if (!lf) break;
        size_t len = (size_t)(lf - all.ptr) + 1;
        T_OK(is_json_line(slice_of(all.ptr, len)));
        all = slice_from(all, len);
        n++;
    }
    T_EQ(n, N_THREADS * N_EACH);
}
