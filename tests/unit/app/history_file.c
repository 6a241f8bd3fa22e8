/* SPDX-License-Identifier: Apache-2.0 */
/* What was typed, over programs. */
#include "history_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "line_history.h"
#include "t.h"

static char path[512];

static void begin(void)
{
    const char *folder = t_temp_dir();
    char state[400];
    snprintf(state, sizeof state, "%s/not/yet/there", folder);
    snprintf(path, sizeof path, "%s/weir/history", state);
    setenv("XDG_STATE_HOME", state, 1);
}

static void read_all(struct weir_buf *out)
{
    weir_buf_init(out, 4 << 20);
    history_file_read(out);
}

static off_t size_of_file(void)
{
    struct stat about;
    T_EQ(stat(path, &about), 0);
    T_EQ(about.st_mode & 0777, 0600);
    return about.st_size;
}

TEST(texts_come_back_in_their_order)
{
    struct weir_buf lines;
    begin();
    read_all(&lines);
    T_EQ(lines.len, 0);
    T_OK(history_file_add(SLICE("first")));
    T_OK(history_file_add(SLICE("second\nline")));
    history_file_read(&lines);
    T_EQ_STR(weir_buf_slice(&lines), "first\nsecond\\nline\n");
    (void)size_of_file();
    weir_buf_fini(&lines);
}

TEST(others_may_not_read_it_whoever_made_it)
{
    struct weir_buf lines;
    begin();
    T_OK(history_file_add(SLICE("first")));
    T_EQ(chmod(path, 0644), 0);
    read_all(&lines);
    T_EQ(lines.len, 6);
    (void)size_of_file();
    weir_buf_fini(&lines);
}

TEST(a_file_that_has_grown_is_cut_to_its_newer_part)
{
    struct weir_buf lines;
    char text[1000];
    begin();
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 3 * LINE_HISTORY_BYTES / 1000; i++) {
        snprintf(text, sizeof text, "%04d", i);
        text[4] = 'x';
        T_OK(history_file_add(slice_of(text, sizeof text)));
    }
    T_OK(size_of_file() > 2 * LINE_HISTORY_BYTES);
    read_all(&lines);
    T_OK(lines.len <= LINE_HISTORY_BYTES && lines.len > LINE_HISTORY_BYTES - 1001);
    T_EQ(lines.len % 1001, 0); /* whole lines */
    T_EQ(size_of_file(), (off_t)lines.len);
    T_EQ_SLICE(slice_of(lines.ptr + lines.len - 1001, 5), slice_of(text, 5));
    weir_buf_fini(&lines);
}

TEST(what_is_no_file_is_left_alone)
{
    struct weir_buf lines;
    begin();
    T_OK(history_file_add(SLICE("first")));
    T_EQ(unlink(path), 0);
    T_EQ(mkfifo(path, 0600), 0);
    read_all(&lines);
    T_EQ(lines.len, 0);
    T_OK(!history_file_add(SLICE("second")));
    weir_buf_fini(&lines);
}
