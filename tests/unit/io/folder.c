/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a folder holds is gone with it, and nothing that its links point to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/folder.h"
#include "t.h"

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    T_OK(fd >= 0);
    close(fd);
}

TEST(a_folder_that_is_not_there_is_gone)
{
    T_EQ(folder_remove(t_temp_dir(), "nothing"), WEIR_OK);
    T_EQ(folder_remove("/nonexistent", "nothing"), WEIR_OK);
}

TEST(files_folders_and_links_go_and_what_they_point_to_stays)
{
    char path[512], other[512];
    const char *top = t_temp_dir();
    snprintf(other, sizeof other, "%s/other", top);
    T_EQ(mkdir(other, 0700), 0);
    snprintf(path, sizeof path, "%s/other/kept", top);
    make_file(path);
    snprintf(path, sizeof path, "%s/it", top);
    T_EQ(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/it/..moved-0", top);
    make_file(path);
    snprintf(path, sizeof path, "%s/it/link", top);
    T_EQ(symlink(other, path), 0);
    snprintf(path, sizeof path, "%s/it/a", top);
    T_EQ(mkdir(path, 0700), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "%s/it/a/%d", top, i);
        T_EQ(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/it/a/%d/f", top, i);
        make_file(path);
        snprintf(path, sizeof path, "%s/it/a/%d/up", top, i);
        T_EQ(symlink("../../../other", path), 0);
    }
    snprintf(path, sizeof path, "%s/it/a/7", top);
    T_EQ(chmod(path, 0), 0);
    T_EQ(folder_remove(top, "it"), WEIR_OK);
    snprintf(path, sizeof path, "%s/it", top);
    T_OK(!file_exists(path));
    snprintf(path, sizeof path, "%s/other/kept", top);
    T_OK(file_exists(path));
}

TEST(a_link_in_its_place_goes_alone)
{
    char path[512], other[512];
    const char *top = t_temp_dir();
    snprintf(other, sizeof other, "%s/other", top);
    T_EQ(mkdir(other, 0700), 0);
    snprintf(path, sizeof path, "%s/it", top);
    T_EQ(symlink("other", path), 0);
    T_EQ(folder_remove(top, "it"), WEIR_OK);
    T_OK(file_exists(other));
    struct stat there;
    T_OK(lstat(path, &there) != 0 && errno == ENOENT);
}

enum { DEEP = 3000 };

TEST(no_depth_is_too_deep)
{
    char path[512];
    const char *top = t_temp_dir();
    snprintf(path, sizeof path, "%s/it", top);
    T_EQ(mkdir(path, 0700), 0);
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEEP && at >= 0; i++) {
        T_EQ(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    T_OK(at >= 0);
    close(at);
    T_EQ(folder_remove(top, "it"), WEIR_OK);
    T_OK(!file_exists(path));
}
