/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the Apple reader share. */
#pragma once

#include "data/day.h"
#include "import/reader.h"
#include "import/xml.h"

/* ---- times: apple_time.c ---- */

/* Neighbours in a file are mostly of the same day. */
struct apple_clock {
    const struct zone *zone; /* of times without an offset; may be NULL */
    char date[10];           /* "2025-03-01", of `day` */
    int32_t day;
};

/* "2025-03-01 08:12:00 -0500", or any other form that cell_time() knows. */
bool apple_moment(struct apple_clock *c, struct weir_slice text, struct moment *out);

/* ---- what the identifiers mean: apple_type.c ---- */

enum apple_what {
    APPLE_UNKNOWN,
    APPLE_QUANTITY, /* a number of some unit */
    APPLE_SLEEP,    /* HKCategoryTypeIdentifierSleepAnalysis */
    APPLE_STAND,    /* HKCategoryTypeIdentifierAppleStandHour */
    APPLE_SPAN,     /* what counts is how long it took: mindful sessions */
};

struct apple_type {
    enum apple_what what;
    const struct metric *metric; /* NULL for sleep and what is not known */
};

struct apple_type apple_type_find(struct weir_slice id);

/* How a value becomes one of the metric's unit: value * factor + offset. */
struct apple_scale {
    double factor, offset;
};
bool apple_scale_find(const struct metric *metric, struct weir_slice unit, struct apple_scale *out);

/* The stage that a value of SleepAnalysis names, in words or as a number. */
bool apple_stage_find(struct weir_slice value, enum sleep_stage *out);

/* "HKWorkoutActivityTypeRunning", "Running"; never NULL. */
const struct activity *apple_activity_find(struct weir_slice type, struct weir_slice *label);

/* ---- who measured it: apple_source.c ---- */

enum { APPLE_SOURCES = 8, APPLE_SOURCE_BYTES = 160, APPLE_DEVICE_BYTES = 320 };

/* The sources seen last, as the file writes them. */
struct apple_sources {
    struct {
        char raw[APPLE_SOURCE_BYTES];
        char device[APPLE_DEVICE_BYTES];
        char name[APPLE_SOURCE_BYTES];
        size_t raw_len, device_len, name_len;
        enum source_class kind;
    } seen[APPLE_SOURCES];
    unsigned n_seen, next;
    char name[APPLE_SOURCE_BYTES]; /* of one that is too long to be kept */
};

/* The name is valid until the next call. False when it refers to unknown entities. */
bool apple_source_find(struct apple_sources *s, struct xml *x, const struct xml_attr *name,
                       const struct xml_attr *device, struct source *out);

/* By the names of device and source; "" where there is none. */
enum source_class apple_source_class(struct weir_slice name, struct weir_slice device);
