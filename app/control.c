/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/slice.h"

enum { PIECE_BYTES = 16 << 10 };

/* Through the folder's descriptor: a socket's path may have 107 bytes only, a folder's more. */
static int connect_to(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control.sock", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(fd);
        fd = -1;
        errno = error;
    }
    int error = errno;
    close(dir);
    errno = error;
    return fd;
}

static bool send_all(int fd, struct weir_slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = slice_from(bytes, (size_t)n);
    }
    return true;
}

static bool send_request(int fd, const char *method, const char *path, struct weir_slice body)
{
    struct weir_buf request;
    weir_buf_init(&request, CONTROL_ANSWER_BYTES);
    weir_buf_printf(&request,
                    "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                    method, path, body.len);
    weir_buf_append_slice(&request, body);
    bool is_sent = weir_buf_status(&request) == WEIR_OK && send_all(fd, weir_buf_slice(&request));
    weir_buf_fini(&request);
    return is_sent;
}

/* Until the server closes, as the request asks it to. */
static bool receive_all(int fd, struct weir_buf *all)
{
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) return weir_buf_status(all) == WEIR_OK;
        weir_buf_append(all, piece, (size_t)n);
    }
}

/* "HTTP/1.1 201 Created": the status, and the bytes behind the head moved to the front. */
static bool take_head(struct control_answer *answer)
{
    struct weir_buf *all = &answer->body;
    const char *end = all->len > 0 ? memmem(all->ptr, all->len, "\r\n\r\n", 4) : NULL;
    if (!end || all->len < 12 || memcmp(all->ptr, "HTTP/1.", 7) != 0) return false;
    answer->status = (int)strtol(all->ptr + 9, NULL, 10);
    size_t head_len = (size_t)(end - all->ptr) + 4;
    memmove(all->ptr, all->ptr + head_len, all->len - head_len);
    all->len -= head_len;
    return answer->status >= 200;
}

enum weir_status control_call(const char *folder, const char *method, const char *path,
                              struct weir_slice body, struct control_answer *answer)
{
    answer->status = 0;
    weir_buf_init(&answer->body, CONTROL_ANSWER_BYTES);
    int fd = connect_to(folder);
    if (fd < 0) return errno == ENOENT || errno == ECONNREFUSED ? WEIR_NOT_FOUND : WEIR_IO;
    errno = EPROTO; /* what it is when the bytes came and are no answer */
    bool is_answered =
        send_request(fd, method, path, body) && receive_all(fd, &answer->body) && take_head(answer);
    int error = errno;
    close(fd);
    errno = error;
    return is_answered ? WEIR_OK : WEIR_IO;
}

int control_post(const char *folder, const char *path)
{
    int fd = connect_to(folder);
    if (fd < 0 || send_request(fd, "POST", path, (struct weir_slice){0})) return fd;
    close(fd);
    return -1;
}

/* In HTTP/1.0, so that the answer comes as it is, without chunks, and ends with the connection. */
static bool send_watch(int fd, const char *path)
{
    struct weir_buf request;
    weir_buf_init(&request, CONTROL_ANSWER_BYTES);
    weir_buf_printf(
        &request, "GET %s HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", path);
    bool is_sent = weir_buf_status(&request) == WEIR_OK && send_all(fd, weir_buf_slice(&request));
    weir_buf_fini(&request);
    return is_sent;
}

/* Collects until the head is whole; from then on everything is handed over, if it is a stream. */
enum control_more control_stream_read(struct control_stream *s, control_piece_fn piece, void *user)
{
    char bytes[PIECE_BYTES];
    struct control_answer *answer = &s->answer;
    ssize_t n = recv(s->fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) return CONTROL_MORE;
    if (n < 0) return CONTROL_BROKEN;
    bool is_whole = answer->status != 0 && weir_buf_status(&answer->body) == WEIR_OK;
    if (n == 0) return is_whole ? CONTROL_ENDED : CONTROL_BROKEN;
    if (answer->status == 200)
        return piece(user, slice_of(bytes, (size_t)n)) ? CONTROL_MORE : CONTROL_ENDED;
    weir_buf_append(&answer->body, bytes, (size_t)n);
    if (answer->status != 0 || !take_head(answer) || answer->status != 200) return CONTROL_MORE;
    bool is_wanted = piece(user, weir_buf_slice(&answer->body));
    weir_buf_reset(&answer->body);
    return is_wanted ? CONTROL_MORE : CONTROL_ENDED;
}

enum weir_status control_stream_open(struct control_stream *s, const char *folder, const char *path)
{
    s->answer.status = 0;
    s->fd = connect_to(folder);
    if (s->fd < 0) return errno == ENOENT || errno == ECONNREFUSED ? WEIR_NOT_FOUND : WEIR_IO;
    weir_buf_init(&s->answer.body, CONTROL_ANSWER_BYTES);
    if (send_watch(s->fd, path)) return WEIR_OK;
    close(s->fd);
    return WEIR_IO;
}

void control_stream_close(struct control_stream *s)
{
    close(s->fd);
}

struct weir_slice control_error(struct control_answer *answer)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_slice all = weir_buf_slice(&answer->body);
    if (doc && weir_json_parse(doc, all, &v, NULL) == WEIR_OK) {
        const struct weir_json *error = weir_json_get_str(v, "error");
        if (!error) error = weir_json_get_str(v, "json"); /* of a call: app/rpc.h */
        struct weir_slice text = weir_json_text(weir_json_get_str(error, "message"));
        /* The message is shorter than the answer it stands in. */
        if (text.len > 0 && text.len <= answer->body.len) {
            memcpy(answer->body.ptr, text.ptr, text.len);
            all = slice_of(answer->body.ptr, text.len);
        }
    }
    weir_json_doc_free(doc);
    return all;
}
