/* SPDX-License-Identifier: Apache-2.0 */
/* The key file and what is sealed with it. Keys are wiped when they are no longer needed. */
#include "shield/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "io/file.h"
#include "shield/wipe.h"

enum {
    MAGIC_BYTES = 4,
    ID_BYTES = 8,
    HEAD_BYTES = MAGIC_BYTES + ID_BYTES + AEAD_NONCE_BYTES,
    KEY_CHARS = 43,
    KEY_FILE_BYTES = 4096,
    FRESH_BYTES = 4096, /* of a path */
};

static const char magic[MAGIC_BYTES + 1] = "WSV1";

struct vault_key {
    unsigned char id[ID_BYTES];
    unsigned char bytes[AEAD_KEY_BYTES];
};

struct vault {
    struct vault_key keys[VAULT_MAX_KEYS];
    size_t n;
};

static void key_set(struct vault_key *k, const unsigned char bytes[AEAD_KEY_BYTES])
{
    unsigned char hash[SHA256_BYTES];
    memcpy(k->bytes, bytes, AEAD_KEY_BYTES);
    sha256(slice_of(bytes, AEAD_KEY_BYTES), hash);
    memcpy(k->id, hash, ID_BYTES);
}

/* A fresh key as a line of the file. */
static void put_key(struct weir_buf *out)
{
    unsigned char key[AEAD_KEY_BYTES];
    random_bytes(key, sizeof key);
    base64url_write(out, slice_of(key, sizeof key));
    weir_buf_append_char(out, '\n');
    explicit_bzero(key, sizeof key);
}

static enum weir_status check_file(int fd, char error[VAULT_ERROR_BYTES])
{
    struct stat info;
    if (fstat(fd, &info) != 0) return WEIR_IO;
    const char *wrong = NULL;
    if (!S_ISREG(info.st_mode)) wrong = "it is no ordinary file";
    else if (info.st_uid != geteuid() && info.st_uid != 0) wrong = "it belongs to another user";
    else if (info.st_mode & (S_IRWXG | S_IRWXO)) wrong = "others may read or write it; chmod 600";
    if (!wrong) return WEIR_OK;
    snprintf(error, VAULT_ERROR_BYTES, "the key file: %s", wrong);
    return WEIR_FORBIDDEN;
}

/* The whole file, checked. `text` has room for KEY_FILE_BYTES. */
static enum weir_status read_file(const char *path, char *text, size_t *len,
                                  char error[VAULT_ERROR_BYTES])
{
    struct file f;
    error[0] = 0;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) {
        snprintf(error, VAULT_ERROR_BYTES, "the key file cannot be opened: %s", strerror(errno));
        return st;
    }
    st = check_file(f.fd, error);
    if (st == WEIR_OK) st = file_read_at(&f, text, KEY_FILE_BYTES, 0, len);
    file_close(&f);
    if (st == WEIR_OK && *len == KEY_FILE_BYTES) {
        snprintf(error, VAULT_ERROR_BYTES, "the key file is too large");
        st = WEIR_INVALID;
    }
    return st;
}

static enum weir_status add_line(struct vault *v, struct weir_slice line, unsigned number,
                                 char error[VAULT_ERROR_BYTES])
{
    unsigned char key[AEAD_KEY_BYTES];
    while (line.len > 0 && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == ' '))
        line.len--;
    if (line.len == 0 || line.ptr[0] == '#') return WEIR_OK;
    bool is_key = line.len == KEY_CHARS && base64url_read(line, key, sizeof key);
    if (is_key && v->n < VAULT_MAX_KEYS) {
        key_set(&v->keys[v->n++], key);
        explicit_bzero(key, sizeof key);
        return WEIR_OK;
    }
    /* What stands on the line may be half a key: it is not said. */
    snprintf(error, VAULT_ERROR_BYTES,
             is_key ? "the key file: more than %d keys" : "the key file: line %d is no key",
             is_key ? VAULT_MAX_KEYS : (int)number);
    return WEIR_INVALID;
}

static enum weir_status add_lines(struct vault *v, struct weir_slice text,
                                  char error[VAULT_ERROR_BYTES])
{
    unsigned number = 0;
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        enum weir_status st = add_line(v, slice_of(text.ptr, len), ++number, error);
        if (st != WEIR_OK) return st;
        text = slice_from(text, end ? len + 1 : len);
    }
    if (v->n > 0) return WEIR_OK;
    snprintf(error, VAULT_ERROR_BYTES, "the key file has no key");
    return WEIR_INVALID;
}

enum weir_status vault_open(const char *path, struct vault **out, char error[VAULT_ERROR_BYTES])
{
    char text[KEY_FILE_BYTES];
    size_t len = 0;
    *out = NULL;
    enum weir_status st = read_file(path, text, &len, error);
    struct vault *v = st == WEIR_OK ? mem_zalloc(sizeof *v) : NULL;
    if (st == WEIR_OK) st = v ? add_lines(v, slice_of(text, len), error) : WEIR_NOMEM;
    explicit_bzero(text, sizeof text);
    if (st == WEIR_OK) *out = v;
    else vault_close(v);
    return st;
}

void vault_close(struct vault *v)
{
    if (!v) return;
    explicit_bzero(v, sizeof *v);
    mem_free(v);
}

/* A new file with these bytes, on the disk and closed to others. */
static enum weir_status write_new(const char *path, struct weir_slice text)
{
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_MUST_CREATE);
    if (st != WEIR_OK) return errno == EEXIST ? WEIR_EXISTS : st;
    if (fchmod(f.fd, S_IRUSR | S_IWUSR) != 0) st = WEIR_IO;
    if (st == WEIR_OK) st = file_write_at(&f, text, 0);
    if (st == WEIR_OK) st = file_sync(&f);
    file_close(&f);
    if (st != WEIR_OK) unlink(path);
    return st;
}

static enum weir_status sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof folder) return WEIR_INVALID;
    memcpy(folder, path, len);
    folder[len] = 0;
    return file_sync_folder(len > 0 ? folder : slash ? "/" : ".");
}

/* Another name beside it, which is of no other process. What a crash leaves there is no one's. */
static bool name_fresh(char out[FRESH_BYTES], const char *path)
{
    int len = snprintf(out, FRESH_BYTES, "%s.%ld.new", path, (long)getpid());
    return len > 0 && len < FRESH_BYTES && (unlink(out) == 0 || errno == ENOENT);
}

/* Under its own name, which nobody has yet; not every file system can say so. */
static enum weir_status give_name(const char *fresh, const char *path)
{
    int error = renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (error == EINVAL || error == ENOSYS) {
        if (file_exists(path)) error = EEXIST;
        else error = rename(fresh, path) == 0 ? 0 : errno;
    }
    if (error == 0) return WEIR_OK;
    unlink(fresh);
    errno = error;
    return error == EEXIST ? WEIR_EXISTS : WEIR_IO;
}

/* The file is there as a whole or not at all, whatever happens to the process. */
enum weir_status vault_create(const char *path)
{
    struct weir_buf text;
    char fresh[FRESH_BYTES];
    if (file_exists(path)) return WEIR_EXISTS;
    if (!name_fresh(fresh, path)) return WEIR_IO;
    weir_buf_init(&text, KEY_FILE_BYTES);
    put_key(&text);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = write_new(fresh, weir_buf_slice(&text));
    if (st == WEIR_OK) st = give_name(fresh, path);
    if (st == WEIR_OK) st = sync_folder_of(path);
    buf_wipe(&text);
    return st;
}

/* The old file is read as vault_open() reads it, so that a broken one is not carried on. */
enum weir_status vault_rotate(const char *path, char error[VAULT_ERROR_BYTES])
{
    char old[KEY_FILE_BYTES], fresh[FRESH_BYTES];
    size_t len = 0;
    struct vault *v;
    struct weir_buf text;
    enum weir_status st = vault_open(path, &v, error);
    if (st != WEIR_OK) return st;
    bool is_full = v->n == VAULT_MAX_KEYS;
    vault_close(v);
    if (is_full) {
        snprintf(error, VAULT_ERROR_BYTES, "the key file: remove old keys first");
        return WEIR_LIMIT;
    }
    if (!name_fresh(fresh, path)) return WEIR_IO;
    weir_buf_init(&text, 2 * KEY_FILE_BYTES);
    put_key(&text);
    st = read_file(path, old, &len, error);
    if (st == WEIR_OK) weir_buf_append(&text, old, len);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = write_new(fresh, weir_buf_slice(&text));
    if (st == WEIR_OK && rename(fresh, path) != 0) {
        unlink(fresh);
        st = WEIR_IO;
    }
    if (st == WEIR_OK) st = sync_folder_of(path);
    explicit_bzero(old, sizeof old);
    buf_wipe(&text);
    return st;
}

size_t vault_count(const struct vault *v)
{
    return v->n;
}

void vault_key_id(const struct vault *v, size_t i, char out[VAULT_ID_BYTES])
{
    for (size_t k = 0; k < ID_BYTES; k++)
        snprintf(out + 2 * k, VAULT_ID_BYTES - 2 * k, "%02x", v->keys[i].id[k]);
}

/* What is bound is the head of the sealed bytes and what the caller says. */
static enum weir_status bound_bytes(struct weir_buf *to, struct weir_slice head,
                                    struct weir_slice bound)
{
    weir_buf_init(to, HEAD_BYTES + bound.len);
    weir_buf_append_slice(to, head);
    weir_buf_append_slice(to, bound);
    return weir_buf_status(to);
}

enum weir_status vault_seal(const struct vault *v, struct weir_slice bound, struct weir_slice plain,
                            struct weir_buf *out)
{
    unsigned char head[HEAD_BYTES];
    struct weir_buf all;
    memcpy(head, magic, MAGIC_BYTES);
    memcpy(head + MAGIC_BYTES, v->keys[0].id, ID_BYTES);
    /* Random nonces of 96 bits: one key may seal 2^32 times, which no server will. */
    random_bytes(head + MAGIC_BYTES + ID_BYTES, AEAD_NONCE_BYTES);
    enum weir_status st = bound_bytes(&all, slice_of(head, sizeof head), bound);
    if (st == WEIR_OK) {
        weir_buf_append(out, head, sizeof head);
        aead_seal(out, v->keys[0].bytes, head + MAGIC_BYTES + ID_BYTES, weir_buf_slice(&all),
                  plain);
        st = weir_buf_status(out);
    }
    weir_buf_fini(&all);
    return st;
}

/* The key that sealed the bytes; NULL: none that is known. */
static const struct vault_key *key_of(const struct vault *v, struct weir_slice sealed)
{
    for (size_t i = 0; i < v->n; i++)
        if (memcmp(v->keys[i].id, sealed.ptr + MAGIC_BYTES, ID_BYTES) == 0) return &v->keys[i];
    return NULL;
}

static bool is_sealed(struct weir_slice sealed)
{
    return sealed.len >= VAULT_OVERHEAD_BYTES && memcmp(sealed.ptr, magic, MAGIC_BYTES) == 0;
}

enum weir_status vault_unseal(const struct vault *v, struct weir_slice bound,
                              struct weir_slice sealed, struct weir_buf *out)
{
    struct weir_buf all;
    if (!is_sealed(sealed)) return WEIR_CORRUPT;
    const struct vault_key *key = key_of(v, sealed);
    if (!key) return WEIR_NOT_FOUND;
    enum weir_status st = bound_bytes(&all, slice_of(sealed.ptr, HEAD_BYTES), bound);
    const unsigned char *nonce = (const unsigned char *)sealed.ptr + MAGIC_BYTES + ID_BYTES;
    if (st == WEIR_OK &&
        !aead_open(out, key->bytes, nonce, weir_buf_slice(&all), slice_from(sealed, HEAD_BYTES)))
        st = weir_buf_status(out) == WEIR_OK ? WEIR_CORRUPT : weir_buf_status(out);
    weir_buf_fini(&all);
    return st;
}

bool vault_is_old(const struct vault *v, struct weir_slice sealed)
{
    return is_sealed(sealed) && key_of(v, sealed) != &v->keys[0];
}
