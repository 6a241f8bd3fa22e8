/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the databases themselves and no node: what is done here is for all nodes, and each of them
 * looks at it every few seconds. Nothing is made: a database comes into a store by a node that is
 * started with it.
 */
#include "store_databases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "command.h"
#include "data_folder.h"
#include "output.h"
#include "serve/place.h"
#include "store/databases.h"
#include "term_tty.h"
#include "text_table.h"

/* ---- where ---- */

static bool copy_url(const char *from, char url[PLACE_BYTES])
{
    size_t len = strlen(from);
    if (len >= PLACE_BYTES || !place_is_url(from)) {
        fputs("weir: databases are named as postgres://USER@HOST/NAME, several with commas between "
              "them, as by weir serve --store\n",
              stderr);
        return false;
    }
    memcpy(url, from, len + 1);
    return true;
}

/* The file of the folder has no password: one that was needed is not there. */
static bool find_marked(const char *data, char url[PLACE_BYTES])
{
    char folder[DATA_FOLDER_BYTES];
    if (!data_folder_find(data, folder) || !data_folder_is_there(folder)) return false;
    if (!place_marked(folder, url)) {
        fprintf(stderr,
                "weir: the store of %s is in the folder: only a store on PostgreSQL has "
                "databases\n",
                folder);
        return false;
    }
    if (!strstr(url, ":*") && !strstr(url, "password=*")) return true;
    fprintf(stderr,
            "weir: the store of %s is on %s: name it with its password, best by "
            "$WEIR_STORE_URL\n",
            folder, url);
    return false;
}

static bool find_urls(const struct store_databases_words *w, char url[PLACE_BYTES])
{
    const char *variable = getenv("WEIR_STORE_URL");
    if (w->urls) {
        bool is_url = copy_url(w->urls, url);
        place_wipe(w->urls);
        return is_url;
    }
    if (variable && variable[0] != 0) return copy_url(variable, url);
    return find_marked(w->data, url);
}

static int failed(struct store_error *error, const char *urls)
{
    place_hide(error->text, urls);
    fprintf(stderr, "weir: %s\n", error->text);
    return EXIT_FAILED;
}

/* ---- the list ---- */

static void put_json(struct weir_buf *line, const struct store_database *d)
{
    weir_json_put_begin_object(line);
    weir_json_put_key(line, "number");
    if (d->number == STORE_NO_DATABASE) weir_json_put_null(line);
    else weir_json_put_int(line, d->number);
    weir_json_put_key(line, "open");
    weir_json_put_bool(line, d->is_open);
    weir_json_put_key(line, "logs");
    weir_json_put_uint(line, d->n_logs);
    weir_json_put_key(line, "bytes");
    if (d->is_reached) weir_json_put_uint(line, d->n_bytes);
    else weir_json_put_null(line);
    weir_json_put_key(line, "reached");
    weir_json_put_bool(line, d->is_reached);
    weir_json_put_key(line, "url");
    weir_json_put_str(line, d->url);
    weir_json_put_key(line, "trouble");
    weir_json_put_str(line, d->trouble.text[0] != 0 ? d->trouble.text : NULL);
    weir_json_put_end_object(line);
}

static void print_json(const struct store_databases *found)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "databases");
    weir_json_put_begin_array(&line);
    for (size_t i = 0; i < found->n; i++) put_json(&line, &found->all[i]);
    weir_json_put_end_array(&line);
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

static void put_row(struct text_table *t, const struct store_database *d)
{
    bool is_known = d->number != STORE_NO_DATABASE;
    char text[32] = "?";
    if (is_known) snprintf(text, sizeof text, "%d", d->number);
    text_table_cell(t, weir_slice_of(text));
    text_table_cell(t, weir_slice_of(!is_known ? "?" : d->is_open ? "open" : "closed"));
    snprintf(text, sizeof text, "%" PRIu64, d->n_logs);
    text_table_cell(t, weir_slice_of(is_known ? text : "?"));
    snprintf(text, sizeof text, "%.1f", (double)d->n_bytes / 1e6);
    text_table_cell(t, weir_slice_of(d->is_reached ? text : "?"));
    text_table_cell(t, weir_slice_of(d->is_reached ? "yes" : "no"));
    text_table_cell(t, weir_slice_of(d->url ? d->url : "not named"));
}

static bool print_table(const struct store_databases *found)
{
    static const struct text_column titles[] = {{"number", true},   {"new logs", false},
                                                {"logs", true},     {"MB", true},
                                                {"reached", false}, {"url", false}};
    struct text_table t;
    struct weir_buf out;
    unsigned columns = 0, rows;
    weir_buf_init(&out, OUTPUT_LINE_MAX_BYTES);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    if (isatty(STDOUT_FILENO) == 1) tty_size(&columns, &rows);
    for (size_t i = 0; i < found->n; i++) put_row(&t, &found->all[i]);
    enum weir_status st = text_table_put(&t, &out, columns);
    if (st == WEIR_OK) fwrite(out.ptr, 1, out.len, stdout);
    else fprintf(stderr, "weir: %s\n", weir_status_text(st));
    text_table_fini(&t);
    weir_buf_fini(&out);
    return st == WEIR_OK;
}

static void print_trouble(const struct store_database *d)
{
    if (d->url) fprintf(stderr, "weir: %s: %s\n", d->url, d->trouble.text);
    else fprintf(stderr, "weir: database %d: %s\n", d->number, d->trouble.text);
}

static int list(const char *urls, bool is_json)
{
    static struct store_databases found; /* large, for its texts */
    struct store_error error = {{0}};
    int exit_status = EXIT_DONE;
    if (store_databases_list(urls, &found, &error) != WEIR_OK) return failed(&error, urls);
    for (size_t i = 0; i < found.n; i++) {
        struct store_database *d = &found.all[i];
        if (d->trouble.text[0] != 0) exit_status = EXIT_FAILED;
        place_hide(d->trouble.text, urls);
        if (d->url) place_wipe(d->url);
    }
    if (is_json) print_json(&found);
    else if (!print_table(&found)) exit_status = EXIT_FAILED;
    for (size_t i = 0; i < found.n && !is_json; i++)
        if (found.all[i].trouble.text[0] != 0) print_trouble(&found.all[i]);
    store_databases_fini(&found);
    return exit_status;
}

/* ---- changing it ---- */

static void print_fact(unsigned number, const char *name, bool is_so)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "number");
    weir_json_put_uint(&line, number);
    weir_json_put_key(&line, name);
    weir_json_put_bool(&line, is_so);
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

static int open_or_close(const char *urls, unsigned number, bool is_open, bool is_json)
{
    struct store_error error = {{0}};
    if (store_databases_open(urls, number, is_open, &error) != WEIR_OK) return failed(&error, urls);
    if (is_json) print_fact(number, "open", is_open);
    else if (is_open)
        printf("database %u is open: nodes put new logs there, too, within %d seconds\n", number,
               STORE_NOTICED_SECONDS);
    else
        printf("database %u is closed: nodes put new logs elsewhere within %d seconds; those that "
               "are there stay\n",
               number, STORE_NOTICED_SECONDS);
    return EXIT_DONE;
}

static int take_away(const char *urls, unsigned number, bool is_json)
{
    struct store_error error = {{0}};
    bool is_freed;
    if (store_databases_remove(urls, number, &is_freed, &error) != WEIR_OK)
        return failed(&error, urls);
    if (!is_freed)
        fprintf(stderr,
                "weir: database %u could not be told that it is nobody's now: before it is used "
                "again, drop its schema weir\n",
                number);
    if (is_json) print_fact(number, "freed", is_freed);
    else
        printf("database %u is no longer in the store: start all nodes with the list without it, "
               "one after the other, before it is used for something else\n",
               number);
    return EXIT_DONE;
}

int store_databases(const struct store_databases_words *w)
{
    static char urls[PLACE_BYTES];
    if (!find_urls(w, urls)) return EXIT_FAILED;
    if (w->open != STORE_DATABASES_NONE) return open_or_close(urls, w->open, true, w->is_json);
    if (w->close != STORE_DATABASES_NONE) return open_or_close(urls, w->close, false, w->is_json);
    if (w->remove != STORE_DATABASES_NONE) return take_away(urls, w->remove, w->is_json);
    return list(urls, w->is_json);
}
