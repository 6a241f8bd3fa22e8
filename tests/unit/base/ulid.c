/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ulid.h"

#include "base/slice.h"
#include "t.h"

static struct ulid next(struct ulid_source *source)
{
    struct ulid id = {{0}};
    T_EQ(ulid_next(source, &id), WEIR_OK);
    return id;
}

static void expect_text(struct ulid id, const char *want)
{
    char text[ULID_TEXT_LEN + 1];
    ulid_format(text, id);
    T_EQ_STR(weir_slice_of(text), want);
}

TEST(time_part_is_the_wall_clock)
{
    struct fake_clock f;
    struct ulid_source source;
    char text[ULID_TEXT_LEN + 1];
    fake_clock_init(&f, 1469918176385); /* the example of the ULID specification */
    ulid_source_init(&source, &f.clock);
    struct ulid id = next(&source);
    ulid_format(text, id);
    T_EQ_STR(slice_of(text, 10), "01ARYZ6S41");
    T_EQ(ulid_ms(id), 1469918176385);
    T_EQ(strlen(text), ULID_TEXT_LEN);
}

TEST(random_parts_differ_between_milliseconds)
{
    struct fake_clock f;
    struct ulid_source source;
    fake_clock_init(&f, 1);
    ulid_source_init(&source, &f.clock);
    struct ulid a = next(&source);
    fake_clock_advance(&f, 1000000);
    struct ulid b = next(&source);
    T_OK(memcmp(a.bytes + 6, b.bytes + 6, 10) != 0);
    T_OK(ulid_compare(a, b) < 0);
}

TEST(ids_rise_whatever_the_wall_clock_does)
{
    struct fake_clock f;
    struct ulid_source source;
    fake_clock_init(&f, 1000000);
    ulid_source_init(&source, &f.clock);
    struct ulid last = next(&source);
    for (int i = 0; i < 20000; i++) {
        switch (t_random() % 8) {
        case 0: fake_clock_advance(&f, t_random() % 3000000); break;
        case 1: fake_clock_set_wall(&f, (int64_t)(t_random() % 2000000) - 1000); break;
        default: break;
        }
        struct ulid id = next(&source);
        T_OK(ulid_compare(last, id) < 0);
        T_OK(ulid_ms(id) >= ulid_ms(last));
        last = id;
    }
}

TEST(same_millisecond_counts_up_by_one)
{
    struct fake_clock f;
    struct ulid_source source;
    fake_clock_init(&f, 7);
    ulid_source_init(&source, &f.clock);
    next(&source);
    source.random_high = 0;
    source.random_low = UINT64_MAX;
    expect_text(next(&source), "0000000007000G000000000000");
    expect_text(next(&source), "0000000007000G000000000001");
}

TEST(used_up_random_part_moves_the_time_on)
{
    struct fake_clock f;
    struct ulid_source source;
    fake_clock_init(&f, 7);
    ulid_source_init(&source, &f.clock);
    next(&source);
    source.random_high = UINT16_MAX;
    source.random_low = UINT64_MAX;
    expect_text(next(&source), "00000000080000000000000000");
    expect_text(next(&source), "00000000080000000000000001"); /* the clock still says 7 */
    fake_clock_advance(&f, 1000000);
    expect_text(next(&source), "00000000080000000000000002");
    fake_clock_advance(&f, 1000000);
    T_EQ(ulid_ms(next(&source)), 9);
}

TEST(end_of_time_is_a_limit)
{
    struct fake_clock f;
    struct ulid_source source;
    struct ulid id = {{42}};
    fake_clock_init(&f, 0);
    ulid_source_init(&source, &f.clock);
    source =
        (struct ulid_source){&f.clock, (UINT64_C(1) << 48) - 1, UINT16_MAX, UINT64_MAX - 1, true};
    expect_text(next(&source), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    T_EQ(ulid_next(&source, &id), WEIR_LIMIT);
    T_EQ(ulid_next(&source, &id), WEIR_LIMIT);
    T_EQ(id.bytes[0], 42);
}

TEST(an_id_is_put_behind_another_process_s)
{
    struct ulid last, early, late;
    T_EQ(ulid_parse(SLICE("01ARYZ6S41ZZZZZZZZZZZZZZZZ"), &last), WEIR_OK);
    T_EQ(ulid_parse(SLICE("01ARYZ0000TSV4RRFFQ69G5FAV"), &early), WEIR_OK);
    T_EQ(ulid_parse(SLICE("01ARYZ6S42TSV4RRFFQ69G5FAV"), &late), WEIR_OK);
    struct ulid id = early;
    T_EQ(ulid_put_behind(&id, last), WEIR_OK);
    T_EQ(ulid_compare(id, late), 0);
    T_EQ(ulid_put_behind(&id, last), WEIR_OK); /* it is: it stays */
    T_EQ(ulid_compare(id, late), 0);
    T_EQ(ulid_put_behind(&id, late), WEIR_OK); /* two are never one */
    T_OK(ulid_compare(id, late) > 0);
    T_EQ(ulid_parse(SLICE("7ZZZZZZZZZ0000000000000000"), &last), WEIR_OK);
    T_EQ(ulid_put_behind(&id, last), WEIR_LIMIT);
}

TEST(text_reads_back_and_sorts_as_the_id)
{
    struct ulid last = {{0}};
    char last_text[ULID_TEXT_LEN + 1] = "00000000000000000000000000";
    for (int i = 0; i < 5000; i++) {
        struct ulid id, back;
        char text[ULID_TEXT_LEN + 1];
        for (size_t k = 0; k < sizeof id.bytes; k++)
            id.bytes[k] = t_random() % 3 ? (unsigned char)t_random() : last.bytes[k];
        ulid_format(text, id);
        T_EQ(ulid_parse(weir_slice_of(text), &back), WEIR_OK);
        T_EQ(ulid_compare(id, back), 0);
        T_EQ(ulid_compare(id, last) < 0, strcmp(text, last_text) < 0);
        last = id;
        memcpy(last_text, text, sizeof text);
    }
}

TEST(either_case_is_read)
{
    struct ulid a, b;
    T_EQ(ulid_parse(SLICE("01ARYZ6S41TSV4RRFFQ69G5FAV"), &a), WEIR_OK);
    T_EQ(ulid_parse(SLICE("01aryz6s41tsv4rrffq69g5fav"), &b), WEIR_OK);
    T_EQ(ulid_compare(a, b), 0);
    expect_text(b, "01ARYZ6S41TSV4RRFFQ69G5FAV");
}

TEST(each_bit_has_its_place_in_the_text)
{
    expect_text((struct ulid){{0}}, "00000000000000000000000000");
    expect_text((struct ulid){{[15] = 1}}, "00000000000000000000000001");
    expect_text((struct ulid){{[15] = 32}}, "00000000000000000000000010");
    expect_text((struct ulid){{0x80}}, "40000000000000000000000000");
    expect_text((struct ulid){{0x1f}}, "0Z000000000000000000000000");
}

TEST(other_text_is_refused)
{
    static const struct weir_slice bad[] = {
        SLICE(""),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FA"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FAVV"),
        SLICE("80000000000000000000000000"),
        SLICE("ZZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FAI"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FAl"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FAO"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FAU"),
        SLICE("01ARYZ6S41-TSV4RRFFQ69G5FA"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FA\0"),
        SLICE("U1ARYZ6S41TSV4RRFFQ69G5FAV"),
        SLICE(" 1ARYZ6S41TSV4RRFFQ69G5FAV"),
        SLICE("01ARYZ6S41TSV4RRFFQ69G5FA\xC3"),
    };
    struct ulid id = {{42}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        T_EQ(ulid_parse(bad[i], &id), WEIR_INVALID);
        T_EQ(id.bytes[0], 42);
    }
}

TEST(every_byte_outside_the_alphabet_is_refused)
{
    unsigned n_read = 0;
    for (unsigned c = 0; c < 256; c++) {
        char text[] = "01ARYZ6S41TSV4RRFFQ69G5FAV";
        struct ulid id;
        text[20] = (char)c;
        n_read += ulid_parse(slice_of(text, ULID_TEXT_LEN), &id) == WEIR_OK;
    }
    T_EQ(n_read, 32 + 22); /* and the letters once more in lower case */
}

TEST(name_is_its_prefix_and_an_id_in_upper_case)
{
    static const struct {
        const char *text;
        bool is_name;
    } cases[] = {
        {"mem_01ARYZ6S41TSV4RRFFQ69G5FAV", true},  {"mem_01aryz6s41tsv4rrffq69g5fav", false},
        {"mem_01ARYZ6S41TSV4RRFFQ69G5FA", false},  {"mem_01ARYZ6S41TSV4RRFFQ69G5FAVX", false},
        {"mem01ARYZ6S41TSV4RRFFQ69G5FAV", false},  {"imp_01ARYZ6S41TSV4RRFFQ69G5FAV", false},
        {"mem_81ARYZ6S41TSV4RRFFQ69G5FAV", false}, {"mem_", false},
        {"mem_01ARYZ6S41TSV4RRFFQ69G5FAU", false}, {"", false},
        {"MEM_01ARYZ6S41TSV4RRFFQ69G5FAV", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ(ulid_is_name(weir_slice_of(cases[i].text), "mem_"), cases[i].is_name);
}
