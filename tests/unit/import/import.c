/* SPDX-License-Identifier: Apache-2.0 */
/* Imports as a whole, on a real store: what they bring, refuse, and leave as it was. */
#include "import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/fault.h"
#include "base/slice.h"
#include "data/series.h"
#include "t.h"
#include "text.h"

#define HEAD "<HealthData>\n<ExportDate value=\"2025-03-31 09:00:00 -0400\"/>\n"
#define RECORD(day, value)                                                                         \
    "<Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"iPhone\" unit=\"count\" "     \
    "startDate=\"2025-03-" day " 08:12:00 -0500\" endDate=\"2025-03-" day                          \
    " 08:25:00 -0500\" value=\"" value "\"/>\n"
#define TAIL "</HealthData>\n"

static struct import_summary summary;
static struct import_error error;

static struct store *open_store(void)
{
    struct store *store = NULL;
    struct store_error why;
    char folder[500];
    snprintf(folder, sizeof folder, "%s/store", t_temp_dir());
    T_EQ(store_open(&store, folder, &(struct store_options){.durability = STORE_DURABLE_NORMAL},
                    &why),
         WEIR_OK);
    return store;
}

/* A path in the case's folder; a few live at a time. */
static const char *path_of(const char *name)
{
    static char paths[4][500];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", t_temp_dir(), name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t len)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    T_OK(f && fwrite(bytes, 1, len, f) == len);
    if (f) fclose(f);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

static enum weir_status import(struct store *store, const char *path, const char *kind)
{
    return import_run(store,
                      &(struct import_options){.user = SLICE("anna"),
                                               .paths = &path,
                                               .n_paths = 1,
                                               .kind = kind,
                                               .zone = "America/New_York",
                                               .clock = &clock_system},
                      &summary, &error);
}

/* Everything that the store has of the person, but for the imports themselves. */
static enum weir_status dump_doc(void *user, const struct doc *doc)
{
    struct text *t = user;
    text_printf(t, "%.*s %.*s %lld ", (int)doc->kind.len, doc->kind.ptr, (int)doc->id.len,
                doc->id.ptr, (long long)doc->body.len);
    text_quote(t, doc->body);
    text_add_char(t, '\n');
    return WEIR_OK;
}

static struct text dump(struct store *store)
{
    static const char *const kinds[] = {"facts",    "days", "series",  "sleeps",
                                        "workouts", "labs", "sources", "metrics"};
    struct text t = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        T_EQ(store_doc_list(store,
                            &(struct doc_query){.kind = weir_slice_of(kinds[i]), .limit = 1000000},
                            dump_doc, &t),
             WEIR_OK);
    return t;
}

static bool has_text(const char *text, const char *part)
{
    if (strstr(text, part)) return true;
    t_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", text, part);
    return false;
}

/* ---- what it brings ---- */

TEST(a_summary_says_what_came_of_an_import)
{
    struct store *store = open_store();
    const char *path =
        write_text("export.xml", HEAD RECORD("01", "100") RECORD("02", "200") RECORD("01", "100")
                                     RECORD("03", "x") "<Audiogram/>" TAIL);
    T_EQ(import(store, path, NULL), WEIR_OK);
    T_EQ(summary.records, 4);
    T_EQ(summary.n_facts, 3);
    T_EQ(summary.n_new, 2);
    T_EQ(summary.n_duplicates, 1);
    T_EQ(summary.n_refused, 1);
    T_EQ(summary.refusals[0].line, 6);
    has_text(summary.refusals[0].reason, "is no number");
    T_EQ(summary.n_days, 2);
    T_EQ(summary.last_day - summary.first_day, 1);
    T_EQ(summary.n_metrics, 1);
    T_EQ_STR(weir_slice_of(summary.metrics[0].name), "steps");
    T_EQ(summary.metrics[0].n, 3);
    T_EQ_STR(weir_slice_of(summary.sources[0].name), "iPhone");
    T_EQ_STR(weir_slice_of(summary.ignored[0].name), "Audiogram");
    store_close(store);
}

TEST(what_the_store_refuses_has_its_line_too)
{
    struct store *store = open_store();
    const char *path = write_text(
        "export.xml",
        HEAD RECORD("01",
                    "100") "<Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"S\" "
                           "unit=\"count\" startDate=\"2024-01-01 08:00:00 -0500\" "
                           "endDate=\"2025-01-01 08:00:00 -0500\" value=\"1\"/>\n" TAIL);
    T_EQ(import(store, path, NULL), WEIR_OK);
    T_EQ(summary.n_refused, 1);
    T_EQ(summary.refusals[0].line, 4);
    store_close(store);
}

/* A header of 300 bytes is no name of a metric, and not passed over in silence either. */
TEST(a_column_of_too_long_a_name_is_refused_with_the_line)
{
    struct store *store = open_store();
    char table[400];
    int n = snprintf(table, sizeof table, "date,%0300d,steps\n2025-03-01,5,6\n", 0);
    T_OK(n > 0 && (size_t)n < sizeof table);
    T_EQ(import(store, write_text("table.csv", table), NULL), WEIR_OK);
    T_EQ(summary.n_new, 1);
    T_EQ(summary.n_refused, 1);
    T_EQ(summary.refusals[0].line, 2);
    store_close(store);
}

TEST(the_same_file_twice_changes_nothing)
{
    struct store *store = open_store();
    const char *path = write_text("export.xml", HEAD RECORD("01", "100") RECORD("02", "200") TAIL);
    T_EQ(import(store, path, NULL), WEIR_OK);
    struct text once = dump(store);
    T_EQ(import(store, path, NULL), WEIR_OK);
    struct text twice = dump(store);
    T_OK(once.len > 0);
    T_EQ_SLICE(text_slice(&twice), text_slice(&once));
    T_EQ(summary.n_new, 0);
    text_fini(&once);
    text_fini(&twice);
    store_close(store);
}

TEST(an_import_writes_its_own_log_and_closes_it)
{
    struct store *store = open_store();
    struct log_read read;
    const char *path = write_text("export.xml", HEAD RECORD("01", "100") TAIL);
    T_EQ(import(store, path, NULL), WEIR_OK);
    T_OK(strncmp(summary.log, "imports/", 8) == 0);
    store_read(store, weir_slice_of(summary.log), 1, 1 << 20, &read);
    T_EQ(read.status, WEIR_OK);
    T_OK(read.state.is_sealed);
    struct text t = {0};
    for (unsigned i = 0; i < read.n_chunks; i++) {
        struct weir_slice bytes = chunk_from(read.chunks[i], 1);
        text_add(&t, bytes.ptr, bytes.len);
        chunk_unref(read.chunks[i]);
    }
    text_add_char(&t, 0);
    has_text(t.ptr, "event: import.started\n");
    has_text(t.ptr, "event: import.file\n");
    has_text(t.ptr, "\"kind\":\"apple\"");
    has_text(t.ptr, "event: import.completed\n");
    has_text(t.ptr, "\"metrics\":{\"steps\":1}");
    text_fini(&t);
    store_close(store);
}

/* ---- archives and folders ---- */

static void zip_add_text(zip_t *zip, const char *name, const char *text)
{
    zip_source_t *source = zip_source_buffer(zip, text, strlen(text), 0);
    T_OK(source && zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) >= 0);
}

static zip_t *zip_begin(const char *path)
{
    int code;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    T_OK(zip != NULL);
    return zip;
}

static const char *write_export_zip(const char *name)
{
    const char *path = path_of(name);
    zip_t *zip = zip_begin(path);
    zip_add_text(zip, "apple_health_export/导出.xml", HEAD RECORD("01", "100") TAIL);
    zip_add_text(zip, "apple_health_export/export_cda.xml", "<ClinicalDocument/>");
    zip_add_text(zip, "apple_health_export/workout-routes/route_1.gpx", "<gpx/>");
    zip_add_text(zip, "apple_health_export/electrocardiograms/ecg_1.csv", "Name,x\n");
    zip_add_text(zip, "apple_health_export/notes.txt", "hello");
    zip_add_text(zip, "apple_health_export/clinical-records/Observation-1.json",
                 "{\"resourceType\":\"Observation\",\"code\":{\"text\":\"LDL\"},"
                 "\"effectiveDateTime\":\"2024-05-06\",\"valueQuantity\":{\"value\":121,\"unit\":"
                 "\"mg/dL\"}}");
    zip_add_text(zip, "apple_health_export/clinical-records/Observation-2.json",
                 "{\"resourceType\":\"Observation\",");
    T_EQ(zip_close(zip), 0);
    return path;
}

TEST(an_export_zip_is_read_whatever_its_xml_is_called)
{
    struct store *store = open_store();
    T_EQ(import(store, write_export_zip("export.zip"), NULL), WEIR_OK);
    T_EQ(summary.n_new, 2);
    T_EQ(summary.n_ignored, 4);
    /* A clinical record that is broken does not keep ten years of steps out. */
    T_EQ(summary.n_refused, 1);
    has_text(summary.refusals[0].reason, "ends before its value does");
    store_close(store);
}

TEST(a_folder_is_read_with_the_archives_in_it)
{
    struct store *store = open_store();
    T_EQ(mkdir(path_of("takeout"), 0700), 0);
    T_EQ(mkdir(path_of("takeout/deep"), 0700), 0);
    write_export_zip("takeout/deep/export.zip");
    write_text("takeout/more.xml", HEAD RECORD("05", "500") TAIL);
    write_text("takeout/.DS_Store", "x");
    T_EQ(import(store, path_of("takeout"), NULL), WEIR_OK);
    T_EQ(summary.n_new, 3);
    store_close(store);
}

TEST(a_folder_without_anything_known_is_an_error_that_lists_it)
{
    struct store *store = open_store();
    T_EQ(mkdir(path_of("letters"), 0700), 0);
    write_text("letters/a.txt", "Dear Anna");
    T_EQ(import(store, path_of("letters"), NULL), WEIR_INVALID);
    has_text(error.text, "nothing in it that weir can read");
    has_text(error.text, "a.txt");
    has_text(error.text, "apple");
    store_close(store);
}

/* ---- hostile and broken files change nothing ---- */

/* Fails with this status and these words, and leaves everything as it was. */
static void check_refused(struct store *store, const char *path, const char *kind,
                          enum weir_status want, const char *words)
{
    struct text before = dump(store);
    T_EQ(import(store, path, kind), want);
    has_text(error.text, words);
    struct text after = dump(store);
    T_EQ_SLICE(text_slice(&after), text_slice(&before));
    text_fini(&before);
    text_fini(&after);
}

static struct store *store_with_data(void)
{
    struct store *store = open_store();
    T_EQ(import(store, write_text("first.xml", HEAD RECORD("01", "100") TAIL), NULL), WEIR_OK);
    return store;
}

TEST(broken_xml_changes_nothing)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {HEAD RECORD("02", "7"), "truncated"},
        {HEAD RECORD("02", "7") "<Record ", "line 4"},
        {HEAD RECORD("02", "7") "</Workout>", "line 4: </Workout> stands where </HealthData>"},
        {"<!DOCTYPE HealthData [\n<!ENTITY a \"aaaa\">\n<!ENTITY b \"&a;&a;\">\n]>\n" HEAD RECORD(
             "02", "7") TAIL,
         "line 2: its DOCTYPE declares entities"},
        {HEAD RECORD("02", "7") "<Record type=\"&b;\"/>" TAIL, "entity"},
        {HEAD RECORD("02", "7") "<Record sourceName=\"M\xFCller\"/>" TAIL, "not UTF-8"},
    };
    struct store *store = store_with_data();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(store, write_text("bad.xml", cases[i].text), NULL, WEIR_INVALID,
                      cases[i].words);
    static const char with_nul[] = HEAD RECORD("02", "7") "\0" TAIL;
    check_refused(store, write_file("nul.xml", with_nul, sizeof with_nul - 1), NULL, WEIR_INVALID,
                  "NUL byte");
    store_close(store);
}

TEST(an_attribute_of_ten_megabytes_changes_nothing)
{
    struct store *store = store_with_data();
    struct text t = {0};
    static const char begin[] = HEAD RECORD("02", "7") "<Record sourceName=\"";
    text_add(&t, begin, sizeof begin - 1);
    for (int i = 0; i < 10 << 20; i++) text_add_char(&t, 'x');
    text_add(&t, "\"/>" TAIL, sizeof "\"/>" TAIL - 1);
    check_refused(store, write_file("long.xml", t.ptr, t.len), NULL, WEIR_LIMIT,
                  "longer than 1 MiB");
    text_fini(&t);
    store_close(store);
}

TEST(utf16_and_unknown_files_say_what_they_look_like)
{
    struct store *store = store_with_data();
    check_refused(store, write_file("a.xml", "\xFF\xFE<\0?\0x\0", 8), NULL, WEIR_INVALID, "UTF-16");
    check_refused(store, write_text("a.txt", "just a letter\n"), NULL, WEIR_INVALID, "plain text");
    check_refused(store, write_text("a.bin", "\x7F\x45LF\x02\x01"), NULL, WEIR_INVALID,
                  "binary data");
    check_refused(store, write_text("a.pdf", "%PDF-1.7"), NULL, WEIR_INVALID, "a PDF");
    check_refused(store, write_text("a.html", "<html><body>"), NULL, WEIR_INVALID, "a web page");
    check_refused(store, write_text("cda.xml", "<?xml?><ClinicalDocument>"), NULL, WEIR_INVALID,
                  "import the export.xml beside it");
    check_refused(store, write_text("a.json", "{\"foo\":1,\"bar\":2}"), NULL, WEIR_INVALID,
                  "with the keys foo, bar");
    check_refused(store, write_text("a.csv", "colour,shape\nred,round\n"), NULL, WEIR_INVALID,
                  "CSV with the columns colour, shape");
    check_refused(store, write_text("empty", ""), NULL, WEIR_INVALID, "it is empty");
    check_refused(store, path_of("nowhere"), NULL, WEIR_NOT_FOUND, "there is no such file");
    check_refused(store, write_text("a.csv", "x"), "apple", WEIR_INVALID, "line 1");
    check_refused(store, write_text("a.csv", "x"), "nokind", WEIR_INVALID, "there is no kind");
    store_close(store);
}

/* The bytes of a file; freed by the caller. */
static struct text read_all(const char *path)
{
    struct text t = {0};
    char bytes[4096];
    FILE *f = fopen(path, "rb");
    for (size_t n; f && (n = fread(bytes, 1, sizeof bytes, f)) > 0;) text_add(&t, bytes, n);
    if (f) fclose(f);
    return t;
}

TEST(a_zip_cut_at_any_place_changes_nothing)
{
    struct store *store = store_with_data();
    const char *whole = path_of("whole.zip");
    zip_t *zip = zip_begin(whole);
    zip_add_text(zip, "export.xml", HEAD RECORD("02", "7") TAIL);
    T_EQ(zip_close(zip), 0);
    struct text bytes = read_all(whole);
    for (size_t len = 4; len < bytes.len; len += 7) {
        struct text before = dump(store);
        T_OK(import(store, write_file("cut.zip", bytes.ptr, len), NULL) != WEIR_OK);
        struct text after = dump(store);
        T_EQ_SLICE(text_slice(&after), text_slice(&before));
        text_fini(&before);
        text_fini(&after);
    }
    check_refused(store, write_file("cut.zip", bytes.ptr, bytes.len / 2), NULL, WEIR_INVALID,
                  "truncated");
    text_fini(&bytes);
    store_close(store);
}

TEST(damaged_members_change_nothing)
{
    struct store *store = store_with_data();
    const char *path = path_of("stored.zip");
    zip_t *zip = zip_begin(path);
    zip_add_text(zip, "export.xml", HEAD RECORD("02", "7") TAIL);
    zip_set_file_compression(zip, 0, ZIP_CM_STORE, 0);
    T_EQ(zip_close(zip), 0);
    struct text bytes = read_all(path);
    char *value = memmem(bytes.ptr, bytes.len, "value=\"7\"", 9);
    T_OK(value != NULL);
    if (value) value[7] = '9';
    check_refused(store, write_file("damaged.zip", bytes.ptr, bytes.len), NULL, WEIR_INVALID,
                  "damaged");
    text_fini(&bytes);
    store_close(store);
}

TEST(zip_bombs_and_path_tricks_change_nothing)
{
    struct store *store = store_with_data();
    size_t len = 64 << 20;
    char *zeros = calloc(1, len);
    const char *path = path_of("bomb.zip");
    zip_t *zip = zip_begin(path);
    zip_source_t *source = zip_source_buffer(zip, zeros, len, 0);
    T_OK(zip_file_add(zip, "export.xml", source, 0) >= 0);
    T_EQ(zip_close(zip), 0);
    check_refused(store, path, NULL, WEIR_INVALID, "zip bomb");
    free(zeros);
    zip = zip_begin(path_of("trick.zip"));
    zip_add_text(zip, "../../etc/export.xml", HEAD RECORD("02", "7") TAIL);
    T_EQ(zip_close(zip), 0);
    check_refused(store, path_of("trick.zip"), NULL, WEIR_INVALID, "leads out of the archive");
    zip = zip_begin(path_of("locked.zip"));
    zip_add_text(zip, "export.xml", HEAD RECORD("02", "7") TAIL);
    zip_file_set_encryption(zip, 0, ZIP_EM_AES_256, "secret");
    if (zip_close(zip) == 0)
        check_refused(store, path_of("locked.zip"), NULL, WEIR_INVALID, "encrypted");
    zip = zip_begin(path_of("empty.zip"));
    zip_add_text(zip, "a/", "");
    if (zip_close(zip) == 0)
        check_refused(store, path_of("empty.zip"), NULL, WEIR_INVALID, "no file in it");
    store_close(store);
}

TEST(options_that_cannot_be_are_refused)
{
    struct store *store = open_store();
    const char *path = write_text("export.xml", HEAD RECORD("01", "100") TAIL);
    struct import_options o = {
        .user = SLICE("a/b"), .paths = &path, .n_paths = 1, .clock = &clock_system};
    T_EQ(import_run(store, &o, &summary, &error), WEIR_INVALID);
    o.user = SLICE("");
    T_EQ(import_run(store, &o, &summary, &error), WEIR_INVALID);
    o.user = SLICE("anna");
    o.zone = "Mars/Olympus";
    T_EQ(import_run(store, &o, &summary, &error), WEIR_INVALID);
    has_text(error.text, "Mars/Olympus");
    store_close(store);
}

/* ---- one at a time ---- */

struct second {
    struct store *store;
    const char *path;
    enum weir_status got;
    bool is_tried;
};

static void import_inside(void *user, const struct import_progress *p)
{
    static struct import_summary other;
    struct second *s = user;
    struct import_error why;
    (void)p;
    if (s->is_tried) return;
    s->is_tried = true;
    const struct import_options o = {.user = SLICE("anna"),
                                     .paths = &s->path,
                                     .n_paths = 1,
                                     .zone = "UTC",
                                     .clock = &clock_system};
    s->got = import_run(s->store, &o, &other, &why);
    has_text(why.text, "being imported just now");
}

/* A clock that runs so that progress is told after every piece. */
static uint64_t next_ns(void *user)
{
    uint64_t *ns = user;
    return *ns += 500000000;
}

static int64_t no_wall(void *user)
{
    (void)user;
    return 1700000000000;
}

TEST(a_second_import_of_the_same_person_is_told_to_wait)
{
    struct store *store = open_store();
    uint64_t ns = 0;
    struct clock clock = {next_ns, no_wall, &ns};
    struct second s = {.store = store, .got = WEIR_OK};
    s.path = write_text("export.xml", HEAD RECORD("01", "100") TAIL);
    const struct import_options o = {.user = SLICE("anna"),
                                     .paths = &s.path,
                                     .n_paths = 1,
                                     .zone = "UTC",
                                     .clock = &clock,
                                     .progress = import_inside,
                                     .progress_user = &s};
    T_EQ(import_run(store, &o, &summary, &error), WEIR_OK);
    T_OK(s.is_tried);
    T_EQ(s.got, WEIR_BUSY);
    store_close(store);
}

/* ---- a disk that is full ---- */

static double steps_on_first_day(struct store *store)
{
    struct dataset *d;
    const struct series *series;
    double value = -1;
    T_EQ(dataset_open(&d, store, SLICE("anna")), WEIR_OK);
    if (dataset_series(d, metric_find(SLICE("steps")), &series) == WEIR_OK && series->n == 1)
        value = series->values[0];
    dataset_free(d);
    return value;
}

TEST(an_import_onto_a_full_disk_says_so_and_goes_on_when_there_is_room)
{
    struct store *store = open_store();
    const char *path = write_export_zip("export.zip");
    for (uint64_t n = 1; n < 12; n++) {
        fault_arm(FAULT_WRITE, n, FAULT_FROM);
        enum weir_status st = import(store, path, NULL);
        fault_disarm_all();
        if (st != WEIR_OK) has_text(error.text, "un the same import again");
        if (store_is_writable(store) == WEIR_OK) continue;
        store_close(store);
        store = open_store();
    }
    T_EQ(import(store, path, NULL), WEIR_OK);
    T_OK(steps_on_first_day(store) == 100);
    store_close(store);
}
