/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a scan is: on prose, on text dense with what is private, on one byte repeated (each of
 * the 256, the worst is reported), and on short pieces repeated that are bad for some matcher. Of
 * those that could be more than linear the time of twice the input is measured, too.
 *
 * With an argument N, one run over N megabytes of each of some bytes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "shield/shield.h"

enum { PROSE_BYTES = 8 << 20, DENSE_BYTES = 4 << 20, BYTE_BYTES = 1 << 20, PIECE_BYTES = 1 << 20 };

/* Ordinary sentences, with the numbers, names, quotes and marks that prose has. */
static const char prose[] =
    "The ferry left at half past six, and by the time the lights of the harbour had gone behind "
    "the "
    "point most of the passengers were asleep. Margaret stood at the rail with her coat buttoned "
    "to "
    "the chin. \"You could have written,\" she said, not for the first time; he nodded, as he "
    "always "
    "did. It was the winter of 1987, or perhaps the year after, and nobody in the village had yet "
    "heard of the company that would buy the quarry. They had three dogs, two hundred and forty "
    "sheep, and a debt that grew by 4.5 percent a year.\n\n"
    "In the morning the snow had drifted against the north wall to a height of two metres. We dug "
    "for "
    "an hour before we found the door, which opened inwards (a mercy), and inside it was as cold "
    "as "
    "it had been outside. Old Tom -- everyone called him that, though he was hardly forty -- put "
    "the "
    "kettle on without a word. There are things one remembers: the smell of paraffin, the 12 cups "
    "on "
    "their hooks, the calendar from the feed merchant that still showed September.\n\n"
    "Economists disagree about what happened next. Some hold that prices fell because demand did; "
    "others, that the new railway made it cheaper to bring grain from the plains, so that farmers "
    "who "
    "had been safe for generations found themselves competing with people they would never meet. "
    "What "
    "is certain is that between 1871 and 1893 the number of farms in the county dropped from 2,316 "
    "to "
    "fewer than nine hundred. The census doesn't say where the families went. Its tables are "
    "silent "
    "on that, as tables are; but letters survive, and in them the same two or three cities come up "
    "again and again.\n\n"
    "Do you know the story of the clockmaker's daughter? She counted everything: steps, swallows, "
    "the "
    "beats between lightning and thunder. At eleven she could tell the time of day, to within five "
    "minutes, from the sounds of the street alone. Her father thought it a gift; her mother, who "
    "had "
    "counted too, as a girl, and stopped, thought otherwise.\n\n";

static const char dense[] =
    "Name: Ada Hill, born 12 March 1985, ada.hill@example.org, phone +44 20 7946 0958, mobile "
    "(415) "
    "555-0132.\nCard 4012 8888 8888 1881, IBAN DE89 3704 0044 0532 0130 00, SSN 078-05-1123.\n"
    "192.168.14.7 - - [2024-05-01T10:11:12Z] GET "
    "https://api.example.com/v1/users/42?token=x7Kd9Lm2Qp4 "
    "from 2001:db8::8a2e:370:7334 (00:1b:44:11:3a:b7)\nAWS key AKIAQ3EGRVTKX5J7ZP2M, "
    "password = \"Tr0ub4dor&3\", wallet bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq.\n"
    "Passport number 912803456, driver license D1234567, NHS number 943 476 5919, BSN 111222333.\n";

struct input {
    char *bytes;
    size_t len;
};

static struct input repeat(const char *piece, size_t piece_len, size_t len)
{
    struct input in = {malloc(len), len};
    bench_need(in.bytes != NULL, "no memory");
    for (size_t at = 0; at < len; at += piece_len)
        memcpy(in.bytes + at, piece, len - at < piece_len ? len - at : piece_len);
    return in;
}

static struct shield_rules *rules;

static void run_scan(struct bench_case *c)
{
    struct shield_findings found;
    bench_need(shield_scan(rules, c->text, &found) == WEIR_OK, "the scan failed");
    c->count = found.n;
    shield_findings_fini(&found);
}

static double seconds_of(const char *name, struct weir_slice text, unsigned rounds)
{
    struct bench_case c = {.name = name, .run = run_scan, .text = text};
    bench_run(&c, 1, rounds);
    return c.best_s;
}

static void measure(const char *name, const char *piece, size_t piece_len, size_t len)
{
    struct input in = repeat(piece, piece_len, len);
    struct bench_case c = {.name = name, .run = run_scan, .text = {in.bytes, in.len}};
    bench_run(&c, 1, 12);
    bench_report(&c, 1);
    free(in.bytes);
}

/* The slowest of all bytes, each repeated. */
static void measure_bytes(void)
{
    double worst_s = 0;
    unsigned worst = 0;
    for (unsigned b = 0; b < 256; b++) {
        char byte = (char)b;
        struct input in = repeat(&byte, 1, BYTE_BYTES);
        double s = seconds_of("byte", (struct weir_slice){in.bytes, in.len}, 2);
        if (s > worst_s) worst_s = s, worst = b;
        free(in.bytes);
    }
    printf("{\"name\":\"shield/one-byte-worst\",\"byte\":%u,\"bytes\":%d,\"seconds\":%.6f}\n",
           worst, BYTE_BYTES, worst_s);
}

static const char *const bad[] = {
    "1 ",
    "1.",
    "12-",
    "a.",
    "a@",
    "@",
    "a@a.",
    "http://",
    "http://a.co/",
    "://",
    "::",
    "1:",
    "ab:",
    "[",
    "-----",
    "-----BEGIN PRIVATE KEY-----",
    "eyJa-",
    "eyJaaaaaaaa.",
    "password=",
    "password:",
    "token=a1",
    "4111 ",
    "00 ",
    "(0)",
    "+1 ",
    "+1",
    "DE89 ",
    "1a",
    "a1_",
    "A1-",
    "sk-",
    "ghp_",
    "born 1 ",
    "passport A1234567 ",
    "phone 1 ",
    "\xC3\xA9@",
    "\xE7\x94\xB5",
    "\xE7\x94\xB5\x31",
    "x.com",
    "www.",
    "is 1",
    "password is 1 ",
    "1\n\n",
    "1x1",
    "0x1 ",
    "ff-",
    "ffff.",
    "\"a\"@",
    "'",
    ".@a.b",
};

/* Linear: twice the input may take twice the time, and a little for the noise of the machine. */
static void measure_bad(void)
{
    double worst_s = 0, worst_ratio = 0;
    const char *worst = "", *worst_growth = "";
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct input in = repeat(bad[i], strlen(bad[i]), 2 * PIECE_BYTES);
        double half = seconds_of(bad[i], (struct weir_slice){in.bytes, PIECE_BYTES}, 4);
        double whole = seconds_of(bad[i], (struct weir_slice){in.bytes, in.len}, 4);
        if (whole > worst_s) worst_s = whole, worst = bad[i];
        if (whole / half > worst_ratio) worst_ratio = whole / half, worst_growth = bad[i];
        if (getenv("BENCH_EACH"))
            printf("  %-32s %8.1f MB/s, twice: %.2f\n", bad[i], 2.0 / whole, whole / half);
        free(in.bytes);
    }
    printf("{\"name\":\"shield/piece-worst\",\"piece\":\"%s\",\"bytes\":%d,\"seconds\":%.6f}\n",
           worst, 2 * PIECE_BYTES, worst_s);
    printf("{\"name\":\"shield/piece-growth\",\"piece\":\"%s\",\"ratio\":%.2f}\n", worst_growth,
           worst_ratio);
}

static void measure_large(size_t megabytes)
{
    static const char bytes[] = "a1 .@:=_-[+/(\n0";
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        struct input in = repeat(bytes + i, 1, megabytes << 20);
        double s = seconds_of("large", (struct weir_slice){in.bytes, in.len}, 1);
        printf("  %3d %4zu MB %8.0f MB/s\n", bytes[i], megabytes, (double)megabytes / s);
        free(in.bytes);
    }
}

int main(int argc, char **argv)
{
    rules = shield_rules_new();
    bench_need(rules != NULL, "no memory");
    bench_keep_memory();
    if (argc > 1) {
        measure_large((size_t)strtoul(argv[1], NULL, 10));
    } else {
        measure("shield/prose", prose, sizeof prose - 1, PROSE_BYTES);
        measure("shield/dense", dense, sizeof dense - 1, DENSE_BYTES);
        measure_bytes();
        measure_bad();
    }
    shield_rules_free(rules);
    return 0;
}
