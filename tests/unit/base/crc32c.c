/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include "base/slice.h"
#include "t.h"

/* The check value of the CRC catalogue and the vectors of RFC 3720, appendix B.4. */
TEST(known_checksums_come_out)
{
    char bytes[32];
    T_EQ(crc32c(0, SLICE("123456789")), 0xE3069283);
    T_EQ(crc32c(0, SLICE("")), 0);
    memset(bytes, 0, sizeof bytes);
    T_EQ(crc32c(0, slice_of(bytes, sizeof bytes)), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof bytes);
    T_EQ(crc32c(0, slice_of(bytes, sizeof bytes)), 0x62A8AB43);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)i;
    T_EQ(crc32c(0, slice_of(bytes, sizeof bytes)), 0x46DD794E);
}

TEST(checksum_goes_on_over_pieces)
{
    char bytes[100];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)t_random();
    uint32_t whole = crc32c(0, slice_of(bytes, sizeof bytes));
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint32_t first = crc32c(0, slice_of(bytes, cut));
        T_EQ(crc32c(first, slice_of(bytes + cut, sizeof bytes - cut)), whole);
    }
}
