/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy is made in one transaction and compared with its source, all of it, before this says that
 * it is one. Neither may be in use. When anything goes wrong before the end, the target is as empty
 * as it was; there is nothing to resume.
 */
#include "store_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/slice.h"
#include "command.h"
#include "data_folder.h"
#include "output.h"
#include "serve/place.h"
#include "store/whole_copy.h"

enum {
    MAX_COMPLAINTS = 100, /* that are shown; all are counted */
    SHOW_EVERY_MS = 100,
    MS_NS = 1000000,
};

/* One of the two. */
struct place {
    char name[PLACE_BYTES];  /* as it is opened */
    char shown[PLACE_BYTES]; /* as it is told of */
    bool is_url;
    struct whole *whole;
};

struct errand {
    struct place from, to;
    bool is_json;
    /* Progress, on a terminal. */
    const char *doing;
    bool is_terminal;
    uint64_t next_ns;
    /* What came of it. */
    struct whole_count count;
    struct whole_verdict verdict;
    struct weir_buf complaints; /* JSON strings of an array */
};

/* ---- places ---- */

static bool find_place(struct place *p, char *word)
{
    p->is_url = place_is_url(word);
    if (p->is_url && strlen(word) >= PLACE_BYTES) {
        fputs("weir: that is too long for the URL of a database\n", stderr);
        return false;
    }
    if (p->is_url) {
        snprintf(p->name, sizeof p->name, "%s", word);
        place_wipe(word);
        snprintf(p->shown, sizeof p->shown, "%s", word);
        return true;
    }
    char folder[DATA_FOLDER_BYTES];
    if (!data_folder_find(word, folder)) return false;
    snprintf(p->name, sizeof p->name, "%s", folder);
    snprintf(p->shown, sizeof p->shown, "%s", folder);
    return true;
}

static bool is_there(const struct place *p, struct stat *found)
{
    return !p->is_url && stat(p->name, found) == 0;
}

/* A folder that is made for a copy belongs to whoever has the other one. */
static bool make_target(const struct place *from, const struct place *to)
{
    struct stat found;
    if (to->is_url || is_there(to, &found)) return true;
    const struct passwd *owner = is_there(from, &found) ? getpwuid(found.st_uid) : NULL;
    return data_folder_make(to->name, owner ? owner->pw_name : NULL);
}

/* Root takes the place of the folders' owner, who has to be able to open what is made there. */
static bool become_owner(const struct place *a, const struct place *b)
{
    struct stat of_a;
    struct stat of_b;
    bool has_a = is_there(a, &of_a);
    bool has_b = is_there(b, &of_b);
    if (geteuid() == 0 && has_a && has_b && of_a.st_uid != of_b.st_uid) {
        fprintf(stderr,
                "weir: %s and %s belong to different users: give one to the other's (chown -R)\n",
                a->shown, b->shown);
        return false;
    }
    if (has_a) return data_folder_take_place(a->name);
    return !has_b || data_folder_take_place(b->name);
}

/* A folder of a node whose store is a database may have an old store in it. */
static bool is_elsewhere(const struct place *p)
{
    char url[PLACE_BYTES];
    if (p->is_url || !place_marked(p->name, url)) return false;
    fprintf(stderr,
            "weir: the data of %s are in %s: name that one; or, if they are no more, remove "
            "store.url from the folder\n",
            p->shown, url);
    return true;
}

static bool open_place(struct place *p, enum whole_use use)
{
    struct store_error error = {{0}};
    if (is_elsewhere(p)) return false;
    enum weir_status st = whole_open(&p->whole, p->name, use, &error);
    if (st == WEIR_OK) return true;
    if (p->is_url) place_hide(error.text, p->name);
    fprintf(stderr, "weir: %s: %s\n", p->shown, error.text);
    if (st == WEIR_LOCKED) fputs("Stop what uses it first; \"weir serve\", for one.\n", stderr);
    if (st == WEIR_EXISTS)
        fputs("A copy replaces nothing: name a new folder, or an empty database.\n", stderr);
    return false;
}

/* ---- telling ---- */

static void show(void *user, const struct whole_count *done, const struct whole_facts *all)
{
    struct errand *e = user;
    uint64_t now_ns = clock_mono_ns(&clock_system);
    if (!e->is_terminal || now_ns < e->next_ns) return;
    e->next_ns = now_ns + (uint64_t)SHOW_EVERY_MS * MS_NS;
    fprintf(stderr,
            "\r%s… %" PRIu64 " of %" PRIu64 " logs, %" PRIu64 " of %" PRIu64 " documents, %" PRIu64
            " MB\033[K",
            e->doing, done->n_logs, all->n_logs, done->n_docs, all->n_docs,
            done->n_bytes / 1000000);
}

static void clear(const struct errand *e)
{
    if (e->is_terminal) fputs("\r\033[K", stderr);
}

static void hear_complaint(void *user, const char *text)
{
    struct errand *e = user;
    if (e->verdict.n_wrong > MAX_COMPLAINTS) return;
    weir_json_put_str(&e->complaints, text);
    clear(e);
    if (!e->is_json) printf("%s\n", text);
}

static void put_number(struct weir_buf *line, const char *name, uint64_t value)
{
    weir_json_put_key(line, name);
    weir_json_put_uint(line, value);
}

static void print_json(struct errand *e)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    put_number(&line, "logs", e->count.n_logs);
    put_number(&line, "events", e->count.n_events);
    put_number(&line, "documents", e->count.n_docs);
    put_number(&line, "bytes", e->count.n_bytes);
    put_number(&line, "wrong", e->verdict.n_wrong);
    weir_json_put_key(&line, "complaints");
    weir_buf_append_slice(&line, weir_buf_slice(&e->complaints));
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

static int print_verdict(struct errand *e, const char *done)
{
    bool is_same = e->verdict.n_wrong == 0;
    if (e->is_json) print_json(e);
    else if (is_same)
        printf("%s: %" PRIu64 " logs with %" PRIu64 " events, %" PRIu64
               " documents, the same in both\n",
               done, e->count.n_logs, e->count.n_events, e->count.n_docs);
    else printf("%" PRIu64 " things differ\n", e->verdict.n_wrong);
    return is_same ? EXIT_DONE : EXIT_FAILED;
}

static int failed(const struct errand *e, enum weir_status st)
{
    const struct place *places[] = {&e->from, &e->to};
    clear(e);
    fprintf(stderr, "weir: it failed while %s: %s\n", e->doing, weir_status_text(st));
    for (int i = 0; i < 2; i++) {
        char text[sizeof(struct store_error)];
        snprintf(text, sizeof text, "%s", whole_message(places[i]->whole));
        if (places[i]->is_url) place_hide(text, places[i]->name);
        if (text[0] != 0) fprintf(stderr, "%s: %s\n", places[i]->shown, text);
    }
    return EXIT_FAILED;
}

/* ---- the errands ---- */

static bool begin(struct errand *e, char *from, char *to, bool is_json)
{
    *e = (struct errand){.is_json = is_json, .is_terminal = isatty(STDERR_FILENO) == 1};
    e->verdict = (struct whole_verdict){.complain = hear_complaint, .user = e};
    weir_buf_init(&e->complaints, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_array(&e->complaints);
    if (!find_place(&e->from, from) || !find_place(&e->to, to)) return false;
    if (strcmp(e->from.name, e->to.name) != 0) return true;
    fputs("weir: that is twice the same place\n", stderr);
    return false;
}

static int end(struct errand *e, int exit_status)
{
    whole_close(e->to.whole);
    whole_close(e->from.whole);
    weir_buf_fini(&e->complaints);
    return exit_status;
}

static enum weir_status compare(struct errand *e)
{
    const struct whole_watch watch = {show, e};
    e->doing = "comparing";
    e->next_ns = 0;
    enum weir_status st = whole_compare(e->from.whole, e->to.whole, &watch, &e->verdict, &e->count);
    weir_json_put_end_array(&e->complaints);
    return st;
}

static bool is_there_or_told(const struct place *p)
{
    return p->is_url || data_folder_is_there(p->name);
}

int store_copy(char *from, char *to, bool is_json)
{
    static struct errand e; /* large, for its places */
    const struct whole_watch watch = {show, &e};
    if (!begin(&e, from, to, is_json) || !is_there_or_told(&e.from) ||
        !make_target(&e.from, &e.to) || !become_owner(&e.from, &e.to) ||
        !open_place(&e.from, WHOLE_READ) || !open_place(&e.to, WHOLE_FILL))
        return end(&e, EXIT_FAILED);
    e.doing = "copying";
    enum weir_status st = whole_copy(e.from.whole, e.to.whole, &watch, &e.count);
    if (st == WEIR_OK) st = compare(&e);
    if (st != WEIR_OK) return end(&e, failed(&e, st));
    clear(&e);
    return end(&e, print_verdict(&e, "copied"));
}

int store_compare(char *one, char *other, bool is_json)
{
    static struct errand e;
    if (!begin(&e, one, other, is_json) || !is_there_or_told(&e.from) || !is_there_or_told(&e.to) ||
        !become_owner(&e.from, &e.to) || !open_place(&e.from, WHOLE_READ) ||
        !open_place(&e.to, WHOLE_READ))
        return end(&e, EXIT_FAILED);
    enum weir_status st = compare(&e);
    if (st != WEIR_OK) return end(&e, failed(&e, st));
    clear(&e);
    return end(&e, print_verdict(&e, "compared"));
}
