/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of answers. What a value may not contain would let whoever chose it write fields,
 * or answers, of their own, so that is checked in every build.
 */
#include "base/check.h"
#include "base/slice.h"
#include "codec/http.h"

struct reason {
    int status;
    const char *text;
};

const char *http_reason(int status)
{
    /* The usual ones first. RFC 9110 15. */
    static const struct reason reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {100, "Continue"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status) return reasons[i].text;
    return "Unknown";
}

void http_write_status(struct weir_buf *out, int status)
{
    CHECK(status >= 100 && status <= 999);
    weir_buf_append_slice(out, SLICE("HTTP/1.1 "));
    weir_buf_append_u64(out, (uint64_t)status);
    weir_buf_append_char(out, ' ');
    weir_buf_append_str(out, http_reason(status));
    weir_buf_append_slice(out, SLICE("\r\n"));
}

static bool is_one_line(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == '\0') return false;
    return true;
}

void http_write_field(struct weir_buf *out, const char *name, struct weir_slice value)
{
    CHECK(is_one_line(value));
    weir_buf_append_str(out, name);
    weir_buf_append_slice(out, SLICE(": "));
    weir_buf_append_slice(out, value);
    weir_buf_append_slice(out, SLICE("\r\n"));
}

void http_write_u64_field(struct weir_buf *out, const char *name, uint64_t value)
{
    weir_buf_append_str(out, name);
    weir_buf_append_slice(out, SLICE(": "));
    weir_buf_append_u64(out, value);
    weir_buf_append_slice(out, SLICE("\r\n"));
}

void http_end_head(struct weir_buf *out)
{
    weir_buf_append_slice(out, SLICE("\r\n"));
}

size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_BYTES], size_t len)
{
    size_t n_digits = 1;
    for (size_t rest = len >> 4; rest > 0; rest >>= 4) n_digits++;
    for (size_t i = 0; i < n_digits; i++)
        out[i] = "0123456789abcdef"[len >> (4 * (n_digits - 1 - i)) & 15];
    out[n_digits] = '\r';
    out[n_digits + 1] = '\n';
    return n_digits + 2;
}
