/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of documents come back as they were. */
#include "data/pack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "t.h"

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void check_double(double v)
{
    struct weir_buf b;
    weir_buf_init(&b, 64);
    pack_put_double(&b, v);
    struct unpack u = unpack_begin(weir_buf_slice(&b));
    double back = unpack_scaled(&u);
    if (u.is_bad || u.at != u.end || (bits_of(back) != bits_of(v) && !(isnan(v) && isnan(back))))
        t_fail(__FILE__, __LINE__, "%.17g came back as %.17g", v, back);
    weir_buf_fini(&b);
}

TEST(doubles_are_exact)
{
    static const double cases[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   72,
                                   36.6,
                                   0.1,
                                   1e15,
                                   9007199254740993.0,
                                   1e300,
                                   -1e-300,
                                   DBL_MIN,
                                   DBL_MAX,
                                   DBL_TRUE_MIN,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   78.29911491,
                                   1.0 / 3,
                                   123456.78901,
                                   -0.00001,
                                   4503599627370497.5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_double(cases[i]);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = t_random();
        double v;
        memcpy(&v, &bits, sizeof v);
        check_double(v);
        check_double((double)(int64_t)(bits % 2000000) / 1000 - 1000);
    }
}

TEST(what_devices_measure_is_small)
{
    struct weir_buf b;
    weir_buf_init(&b, 64);
    pack_put_double(&b, 36.6);
    T_EQ(b.len, 3);
    weir_buf_fini(&b);
}

TEST(whole_numbers_come_back)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t v = t_random() >> (t_random() % 64);
        uint8_t bytes[2 * PACK_MAX_BYTES];
        uint8_t *end = pack_i64(pack_u64(bytes, v), (int64_t)v);
        struct unpack u = unpack_begin((struct weir_slice){(char *)bytes, (size_t)(end - bytes)});
        T_EQ(unpack_u64(&u), v);
        T_EQ(unpack_i64(&u), v);
        T_OK(!u.is_bad && u.at == u.end);
    }
}

/* Whatever the bytes, nothing behind their end is read, and the end of good ones is found. */
TEST(bytes_of_all_kinds_are_read_within_their_bounds)
{
    for (int i = 0; i < 20000; i++) {
        size_t len = t_random() % 24;
        char *bytes = malloc(len + (len == 0));
        for (size_t k = 0; k < len; k++) bytes[k] = (char)(t_random() % 3 == 0 ? 0xFF : t_random());
        struct unpack u = unpack_begin((struct weir_slice){bytes, len});
        while (!u.is_bad && u.at < u.end) {
            switch (t_random() % 4) {
            case 0: (void)unpack_u64(&u); break;
            case 1: (void)unpack_scaled(&u); break;
            case 2: (void)unpack_text(&u); break;
            case 3: (void)unpack_count(&u); break;
            }
        }
        T_EQ(unpack_u64(&u), 0);
        T_OK(u.is_bad);
        free(bytes);
    }
}
