/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talking to a server that runs on this machine, over FOLDER/control.sock: one blocking HTTP
 * request by one connection. Only the server's user and root may connect.
 */
#pragma once

#include <weir/buf.h>

enum { CONTROL_ANSWER_BYTES = 16 << 20 };

struct control_answer {
    int status;           /* HTTP's */
    struct weir_buf body; /* to be freed with weir_buf_fini(), whatever came */
};

/*
 * WEIR_OK when there is an answer, whatever it says. WEIR_NOT_FOUND: no server listens there.
 * WEIR_IO, with errno, when one does and it cannot be talked to.
 */
WEIR_MUST_CHECK enum weir_status control_call(const char *folder, const char *method,
                                              const char *path, struct weir_slice body,
                                              struct control_answer *answer);

/*
 * POSTs without waiting for the answer, for those who must not wait. The descriptor, to be closed
 * when the request may be forgotten; -1 when there is nobody to send it to.
 */
int control_post(const char *folder, const char *path);

/* Bytes of an answer as they come. False: no more is wanted. */
typedef bool (*control_piece_fn)(void *user, struct weir_slice piece);

/*
 * An event stream that is read as it comes.
 *
 * 1. control_stream_open() sends the GET; errors as of control_call(), and there is nothing to
 * close.
 * 2. poll() on fd, then control_stream_read(): one read, which waits when nothing has come.
 * 3. control_stream_close(). The answer is the caller's: with a status of 200 its body is empty,
 * any other is as from control_call().
 */
struct control_stream {
    int fd;
    struct control_answer answer;
};

enum control_more { CONTROL_MORE, CONTROL_ENDED, CONTROL_BROKEN };

WEIR_MUST_CHECK enum weir_status control_stream_open(struct control_stream *s, const char *folder,
                                                     const char *path);
enum control_more control_stream_read(struct control_stream *s, control_piece_fn piece, void *user);
void control_stream_close(struct control_stream *s);

/* The message of an error answer, or its bytes; borrowed from the answer until the next call. */
struct weir_slice control_error(struct control_answer *answer);
