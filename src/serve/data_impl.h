/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about a person's data: a thread of the store's opens them, writes the answer, and the
 * loop sends it.
 */
#pragma once

#include "data/dataset.h"
#include "io/loop.h"
#include "serve/documents.h"

enum {
    DATA_ANSWER_BYTES = 32 << 20, /* 100 years of days */
    DATA_WORD_BYTES = 128,        /* of a parameter */
    DATA_WHY_BYTES = 256,
};

struct data_asked;
/* Writes `json`, or says what is wrong: a status, and `why` if it is the client's to know. */
typedef enum weir_status (*data_answer_fn)(struct data_asked *a, struct dataset *d);

struct data_asked {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    data_answer_fn answer;
    char owner[DOCUMENT_OWNER_BYTES];
    char word[DATA_WORD_BYTES]; /* what the question is about: a metric, a result */
    int32_t from, to;           /* days; DAY_NONE: from the first, to the newest */
    uint64_t limit;             /* of a page */

    enum weir_status status;
    char why[DATA_WHY_BYTES];
    struct weir_buf json;
};

/* Whether whoever asks can have data at all; false when that was answered with an error. */
bool data_has_owner(struct exchange *ex);

/*
 * Whether a file may be taken that a browser may have been made to send; false when that was
 * answered with an error.
 */
bool data_is_asked_for(struct exchange *ex);

/* NULL when that was answered with an error. */
struct data_asked *data_asked_new(struct exchange *ex);
void data_ask(struct data_asked *a, data_answer_fn answer);

/* For `answer`: what is wrong, for the client. */
enum weir_status data_refuse(struct data_asked *a, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A member, null when the text is empty. */
void data_put_text(struct weir_buf *out, const char *key, struct weir_slice text);
void data_put_day(struct weir_buf *out, const char *key, int32_t day);

/* A parameter into `word`; false when it is not there, or longer than anything of the kind. */
bool data_take_word(struct exchange *ex, const char *name, struct data_asked *a);

/* ---- labs.c ---- */

enum { LAB_ID_LEN = 4 + 32 }; /* "lab_" and half of a hash */
void lab_put_id(char out[LAB_ID_LEN + 1], const struct lab *l);
void lab_put(struct weir_buf *out, const struct lab *l);
