/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the inputs that the C programs and the peers both read:
 *
 *   stream.sse         50 MB of messages (stream.h)
 *   stream.idx         one byte length per line, one line per message
 *   string_200k.json   a tool input that is nearly all one string; _400k twice it
 *   objects_200k.json  a tool input of many small objects; _400k twice it
 *   small.ndjson       objects of about 200 bytes, one per line, 4 MB
 *   doc_200k.json      one document of mixed values
 *
 * All JSON is compact and its escapes are the shortest ones, so that writing a
 * parsed value gives back the very same text.
 */
#include <stdio.h>

#include "bench.h"
#include "stream.h"

enum { STREAM_BYTES = 50 * 1000 * 1000, SMALL_BYTES = 4 * 1000 * 1000 };

static void save(const char *dir, const char *name, const struct weir_buf *b)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    bench_need(n > 0 && (size_t)n < sizeof path, "the data directory's name is too long");
    bench_need(weir_buf_status(b) == WEIR_OK, "the generator ran out of memory");
    FILE *f = fopen(path, "wb");
    bench_need(f != NULL && fwrite(b->ptr, 1, b->len, f) == b->len && fclose(f) == 0, path);
}

static void make_stream(const char *dir, struct weir_buf *out)
{
    struct stream s;
    struct weir_buf index;
    stream_init(&s, 1);
    weir_buf_init(&index, SIZE_MAX / 2);
    weir_buf_reset(out);
    while (out->len < STREAM_BYTES) {
        size_t before = out->len;
        stream_message(&s, out);
        weir_buf_append_u64(&index, out->len - before);
        weir_buf_append_char(&index, '\n');
    }
    save(dir, "stream.sse", out);
    save(dir, "stream.idx", &index);
    weir_buf_fini(&index);
}

/* Code-like text: mostly plain, with line ends, quotes and tabs as escapes. */
static void make_string(const char *dir, const char *name, size_t len, struct weir_buf *out)
{
    struct stream s;
    stream_init(&s, 2);
    weir_buf_reset(out);
    weir_buf_append_str(out, "{\"path\":\"src/main.c\",\"content\":\"");
    while (out->len < len - 100) {
        stream_words(&s, out, 10 + stream_random(&s, 50), true);
        weir_buf_append_str(out, stream_random(&s, 4) == 0 ? "\\t\\\"größe\\\"\\n" : "\\n");
    }
    weir_buf_append_str(out, "\"}");
    save(dir, name, out);
}

static void put_small(struct stream *s, struct weir_buf *out, uint32_t n)
{
    weir_buf_append_str(out, "{\"id\":");
    weir_buf_append_u64(out, n);
    weir_buf_append_str(out, ",\"name\":\"");
    stream_words(s, out, 5, true);
    weir_buf_append_str(out, "\",\"on\":true,\"at\":[");
    weir_buf_append_u64(out, stream_random(s, 1000));
    weir_buf_append_str(out, ",");
    weir_buf_append_u64(out, stream_random(s, 100000));
    weir_buf_append_str(out, ".5]}");
}

static void make_objects(const char *dir, const char *name, size_t len, struct weir_buf *out)
{
    struct stream s;
    stream_init(&s, 3);
    weir_buf_reset(out);
    weir_buf_append_str(out, "{\"items\":[");
    for (uint32_t n = 0; out->len < len - 60; n++) {
        if (n > 0) weir_buf_append_char(out, ',');
        put_small(&s, out, n);
    }
    weir_buf_append_str(out, "]}");
    save(dir, name, out);
}

/* An object of about 200 bytes in the shape of a stream event. */
static void put_event(struct stream *s, struct weir_buf *out, uint32_t n)
{
    weir_buf_append_str(out, "{\"type\":\"content_block_delta\",\"index\":");
    weir_buf_append_u64(out, stream_random(s, 10));
    weir_buf_append_str(out, ",\"delta\":{\"type\":\"text_delta\",\"text\":\"");
    stream_words(s, out, 60, true);
    weir_buf_append_str(out, stream_random(s, 4) == 0 ? "größe\\n" : "");
    weir_buf_append_str(out, "\"},\"usage\":{\"output_tokens\":");
    weir_buf_append_u64(out, n);
    weir_buf_append_str(out, ",\"rate\":0.125},\"final\":false,\"stop_reason\":null}");
}

static void make_documents(const char *dir, struct weir_buf *out)
{
    struct stream s;
    stream_init(&s, 4);
    weir_buf_reset(out);
    for (uint32_t n = 0; out->len < SMALL_BYTES; n++) {
        put_event(&s, out, n);
        weir_buf_append_char(out, '\n');
    }
    save(dir, "small.ndjson", out);

    weir_buf_reset(out);
    weir_buf_append_str(out, "{\"events\":[");
    for (uint32_t n = 0; out->len < 200 * 1000; n++) {
        if (n > 0) weir_buf_append_char(out, ',');
        put_event(&s, out, n);
    }
    weir_buf_append_str(out, "]}");
    save(dir, "doc_200k.json", out);
}

int main(int argc, char **argv)
{
    bench_need(argc == 2, "usage: bench-gen DIRECTORY");
    const char *dir = argv[1];
    struct weir_buf out;
    weir_buf_init(&out, SIZE_MAX / 2);
    make_stream(dir, &out);
    make_string(dir, "string_200k.json", 200 * 1000, &out);
    make_string(dir, "string_400k.json", 400 * 1000, &out);
    make_objects(dir, "objects_200k.json", 200 * 1000, &out);
    make_objects(dir, "objects_400k.json", 400 * 1000, &out);
    make_documents(dir, &out);
    weir_buf_fini(&out);
    return 0;
}
