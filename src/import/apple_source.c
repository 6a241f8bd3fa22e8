/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who measured it. A record names its source ("Owner's Apple Watch") and mostly the device:
 *
 *   <<HKDevice: 0x2812e4230>, name:Apple Watch, model:Watch, hardware:Watch6,2, software:9.1>
 *
 * The address changes with every record and says nothing. What the device is says what class of
 * source it is; where there is none, the source's name may. Only the name is handed on, exactly
 * as it is.
 */
#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "import/apple_impl.h"

/* Words by which a device or app is known, in lower case; the first that fits decides. */
static const struct {
    const char *word;
    enum source_class kind;
} words[] = {
    {"watch", SOURCE_WATCH},    {"oura", SOURCE_WATCH},        {"whoop", SOURCE_WATCH},
    {"garmin", SOURCE_WATCH},   {"fitbit", SOURCE_WATCH},      {"polar", SOURCE_WATCH},
    {"wahoo", SOURCE_WATCH},    {"tickr", SOURCE_WATCH},       {"ultrahuman", SOURCE_WATCH},
    {"amazfit", SOURCE_WATCH},  {"zepp", SOURCE_WATCH},        {"coros", SOURCE_WATCH},
    {"suunto", SOURCE_WATCH},   {"mi band", SOURCE_WATCH},     {"smart band", SOURCE_WATCH},
    {"ringconn", SOURCE_WATCH}, {"scanwatch", SOURCE_WATCH},   {"iphone", SOURCE_PHONE},
    {"ipad", SOURCE_PHONE},     {"ipod", SOURCE_PHONE},        {"phone", SOURCE_PHONE},
    {"scale", SOURCE_SCALE},    {"withings", SOURCE_SCALE},    {"health mate", SOURCE_SCALE},
    {"renpho", SOURCE_SCALE},   {"omron", SOURCE_SCALE},       {"qardio", SOURCE_SCALE},
    {"eufylife", SOURCE_SCALE}, {"arboleaf", SOURCE_SCALE},    {"body+", SOURCE_SCALE},
    {"waage", SOURCE_SCALE},    {"blutdruck", SOURCE_SCALE},   {"blood pressure", SOURCE_SCALE},
    {"bpm", SOURCE_SCALE},      {"thermometer", SOURCE_SCALE}, {"kinsa", SOURCE_SCALE},
    {"dexcom", SOURCE_SCALE},   {"libre", SOURCE_SCALE},       {"contour", SOURCE_SCALE},
    {"bp", SOURCE_SCALE},       {"cuff", SOURCE_SCALE},        {"airpods", SOURCE_WATCH},
    {"ring", SOURCE_WATCH},     {"band", SOURCE_WATCH},        {"strap", SOURCE_WATCH},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A long word may stand anywhere; a short one ("ring" in "Spring") only at a word's beginning. */
static bool has_word(struct weir_slice s, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= s.len; i++) {
        if (strncasecmp(s.ptr + i, word, len) != 0) continue;
        bool ends = i + len == s.len || !is_letter(s.ptr[i + len]);
        if (len > 4 || ((i == 0 || !is_letter(s.ptr[i - 1])) && ends)) return true;
    }
    return false;
}

static enum source_class class_of(struct weir_slice text)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(text, words[i].word)) return words[i].kind;
    return SOURCE_UNKNOWN;
}

enum source_class apple_source_class(struct weir_slice name, struct weir_slice device)
{
    enum source_class kind = class_of(device);
    if (kind == SOURCE_UNKNOWN) kind = class_of(name);
    return kind == SOURCE_UNKNOWN && name.len > 0 ? SOURCE_APP : kind;
}

/* Behind the address: "&gt;, name:Apple Watch, …". What has no address stays whole. */
static struct weir_slice without_address(struct weir_slice device)
{
    const char *end = memchr(device.ptr, ',', device.len);
    bool has_address = device.len > 0 && end && memmem(device.ptr, device.len, "HKDevice", 8);
    return has_address ? slice_from(device, (size_t)(end - device.ptr)) : device;
}

/* As much of a name as there is room for, cut between characters. */
static size_t keep_name(char out[APPLE_SOURCE_BYTES], struct weir_slice name)
{
    size_t len = name.len;
    if (len > APPLE_SOURCE_BYTES) len = utf8_valid_prefix(slice_of(name.ptr, APPLE_SOURCE_BYTES));
    if (len > 0) memcpy(out, name.ptr, len);
    return len;
}

static bool is_kept(const struct apple_sources *s, unsigned i, struct weir_slice raw,
                    struct weir_slice device)
{
    return slice_eq(slice_of(s->seen[i].raw, s->seen[i].raw_len), raw) &&
           slice_eq(slice_of(s->seen[i].device, s->seen[i].device_len), device);
}

static void keep(struct apple_sources *s, struct weir_slice raw, struct weir_slice device,
                 const struct source *source)
{
    unsigned i = s->next;
    s->next = (s->next + 1) % APPLE_SOURCES;
    if (s->n_seen < APPLE_SOURCES) s->n_seen++;
    if (raw.len > 0) memcpy(s->seen[i].raw, raw.ptr, raw.len);
    if (device.len > 0) memcpy(s->seen[i].device, device.ptr, device.len);
    s->seen[i].raw_len = raw.len;
    s->seen[i].device_len = device.len;
    s->seen[i].name_len = keep_name(s->seen[i].name, source->name);
    s->seen[i].kind = source->kind;
}

bool apple_source_find(struct apple_sources *s, struct xml *x, const struct xml_attr *name,
                       const struct xml_attr *device, struct source *out)
{
    static const struct xml_attr none = {.raw = {"", 0}, .is_plain = true};
    struct xml_attr d = device ? *device : none;
    const struct xml_attr *n = name ? name : &none;
    struct weir_slice text;
    d.raw = without_address(d.raw);
    for (unsigned i = 0; i < s->n_seen; i++) {
        if (!is_kept(s, i, n->raw, d.raw)) continue;
        out->name = slice_of(s->seen[i].name, s->seen[i].name_len);
        out->kind = s->seen[i].kind;
        return true;
    }
    if (!xml_value(x, &d, &text) || !xml_value(x, n, &out->name)) return false;
    out->kind = apple_source_class(out->name, text);
    if (n->raw.len <= APPLE_SOURCE_BYTES && d.raw.len <= APPLE_DEVICE_BYTES)
        keep(s, n->raw, d.raw, out);
    out->name = slice_of(s->name, keep_name(s->name, out->name));
    return true;
}
