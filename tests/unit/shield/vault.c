/* SPDX-License-Identifier: Apache-2.0 */
/* Maps at rest: closed to whoever lacks the key, to another's place, to a changed bit. */
#include "shield/vault.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/slice.h"
#include "t.h"

static const char *key_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", t_temp_dir(), name);
    return path;
}

static struct vault *open_vault(const char *path)
{
    struct vault *v;
    char error[VAULT_ERROR_BYTES];
    T_EQ(vault_open(path, &v, error), WEIR_OK);
    return v;
}

TEST(what_is_sealed_opens_with_the_same_key_and_place_alone)
{
    const char *path = key_path("key");
    struct weir_buf sealed, plain;
    T_EQ(vault_create(path), WEIR_OK);
    struct vault *v = open_vault(path);
    weir_buf_init(&sealed, 1 << 16);
    weir_buf_init(&plain, 1 << 16);
    T_EQ(vault_seal(v, SLICE("conv_1"), SLICE("{\"[email_1]\":\"a@x.org\"}"), &sealed), WEIR_OK);
    T_EQ(sealed.len, 23 + VAULT_OVERHEAD_BYTES);
    T_OK(!memmem(sealed.ptr, sealed.len, "a@x", 3));
    T_EQ(vault_unseal(v, SLICE("conv_1"), weir_buf_slice(&sealed), &plain), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&plain), "{\"[email_1]\":\"a@x.org\"}");
    weir_buf_reset(&plain);
    T_EQ(vault_unseal(v, SLICE("conv_2"), weir_buf_slice(&sealed), &plain), WEIR_CORRUPT);
    T_EQ(plain.len, 0);
    weir_buf_fini(&plain);
    weir_buf_fini(&sealed);
    vault_close(v);
}

TEST(every_changed_bit_and_every_cut_is_seen)
{
    const char *path = key_path("key");
    struct weir_buf sealed, plain;
    T_EQ(vault_create(path), WEIR_OK);
    struct vault *v = open_vault(path);
    weir_buf_init(&sealed, 1 << 16);
    weir_buf_init(&plain, 1 << 16);
    T_EQ(vault_seal(v, SLICE("c"), SLICE("secret"), &sealed), WEIR_OK);
    for (size_t i = 0; i < sealed.len * 8; i++) {
        sealed.ptr[i / 8] = (char)(sealed.ptr[i / 8] ^ 1 << (i % 8));
        enum weir_status st = vault_unseal(v, SLICE("c"), weir_buf_slice(&sealed), &plain);
        T_OK(st == WEIR_CORRUPT || st == WEIR_NOT_FOUND);
        T_EQ(plain.len, 0);
        sealed.ptr[i / 8] = (char)(sealed.ptr[i / 8] ^ 1 << (i % 8));
    }
    for (size_t len = 0; len < sealed.len; len++)
        T_EQ(vault_unseal(v, SLICE("c"), slice_of(sealed.ptr, len), &plain), WEIR_CORRUPT);
    T_EQ(vault_unseal(v, SLICE("c"), weir_buf_slice(&sealed), &plain), WEIR_OK);
    weir_buf_fini(&plain);
    weir_buf_fini(&sealed);
    vault_close(v);
}

TEST(a_new_key_seals_and_the_old_ones_still_open)
{
    const char *path = key_path("key");
    char error[VAULT_ERROR_BYTES];
    struct weir_buf old, fresh, plain;
    T_EQ(vault_create(path), WEIR_OK);
    T_EQ(vault_create(path), WEIR_EXISTS);
    struct vault *v = open_vault(path);
    weir_buf_init(&old, 1 << 16);
    weir_buf_init(&fresh, 1 << 16);
    weir_buf_init(&plain, 1 << 16);
    T_EQ(vault_seal(v, SLICE("c"), SLICE("x"), &old), WEIR_OK);
    T_OK(!vault_is_old(v, weir_buf_slice(&old)));
    T_EQ(vault_rotate(path, error), WEIR_OK);
    struct vault *next = open_vault(path);
    T_OK(vault_is_old(next, weir_buf_slice(&old)));
    T_EQ(vault_unseal(next, SLICE("c"), weir_buf_slice(&old), &plain), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&plain), "x");
    T_EQ(vault_seal(next, SLICE("c"), SLICE("x"), &fresh), WEIR_OK);
    T_OK(!vault_is_old(next, weir_buf_slice(&fresh)));
    T_EQ(vault_unseal(v, SLICE("c"), weir_buf_slice(&fresh), &plain), WEIR_NOT_FOUND);
    for (int i = 2; i < VAULT_MAX_KEYS; i++) T_EQ(vault_rotate(path, error), WEIR_OK);
    T_EQ(vault_rotate(path, error), WEIR_LIMIT);
    struct stat info;
    T_EQ(stat(path, &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    weir_buf_fini(&plain);
    weir_buf_fini(&fresh);
    weir_buf_fini(&old);
    vault_close(next);
    vault_close(v);
}

TEST(a_key_file_is_there_as_a_whole_or_not_at_all)
{
    char name[32];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "key-%u", i);
        const char *path = key_path(name);
        pid_t child = fork();
        if (child == 0) _exit(vault_create(path) == WEIR_OK ? 0 : 1);
        for (volatile unsigned k = 0; k < i * 2000; k++) continue;
        T_EQ(kill(child, SIGKILL), 0);
        T_EQ(waitpid(child, NULL, 0), child);
        enum weir_status st = vault_create(path);
        T_OK(st == WEIR_OK || st == WEIR_EXISTS);
        vault_close(open_vault(path));
    }
}

static void write_text(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    T_OK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    T_EQ(fchmod(fd, mode), 0);
    close(fd);
}

#define KEY "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

TEST(a_key_file_that_is_not_right_is_refused_without_saying_keys)
{
    static const struct {
        const char *text, *says;
        mode_t mode;
        enum weir_status want;
    } rows[] = {
        {KEY "\n", "", 0600, WEIR_OK},
        {"# old\n\n" KEY "\r\n", "", 0400, WEIR_OK},
        {KEY "\n", "others", 0640, WEIR_FORBIDDEN},
        {KEY "\n", "others", 0604, WEIR_FORBIDDEN},
        {"", "no key", 0600, WEIR_INVALID},
        {"# nothing\n", "no key", 0600, WEIR_INVALID},
        {KEY "\nshort\n", "line 2", 0600, WEIR_INVALID},
        {KEY "A\n", "line 1", 0600, WEIR_INVALID},
    };
    const char *path = key_path("key");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vault *v;
        char error[VAULT_ERROR_BYTES];
        write_text(path, rows[i].text, rows[i].mode);
        T_EQ(vault_open(path, &v, error), rows[i].want);
        T_OK(strstr(error, rows[i].says) && !strstr(error, "AAECAw"));
        vault_close(v);
    }
    struct vault *none;
    char error[VAULT_ERROR_BYTES];
    T_EQ(vault_open(key_path("none"), &none, error), WEIR_IO);
    T_EQ(vault_open(t_temp_dir(), &none, error), WEIR_FORBIDDEN);
}
