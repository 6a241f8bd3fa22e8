/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that a command works on, and its store: asked of the server that runs on it, or
 * opened when none does.
 */
#pragma once

#include "command.h"
#include "control.h"
#include "store/store.h"
#include "xdg.h"

enum { DATA_FOLDER_BYTES = XDG_PATH_BYTES };

/*
 * What --data says; else $WEIR_DATA, $XDG_DATA_HOME/weir or ~/.local/share/weir. As an absolute
 * path. Complains and returns false when there is none of them.
 */
bool data_folder_find(const char *given, char out[DATA_FOLDER_BYTES]);

/*
 * Makes the folder and those above it, for the user alone; when root makes it for another user
 * (not NULL), it is that one's. Complains and returns false.
 */
bool data_folder_make(const char *folder, const char *user);

/* True when it is there; complains when not, and says what to do. */
bool data_folder_is_there(const char *folder);

/*
 * Opens the store; as root, as the folder's owner from then on, so that no file is made that
 * the server could not open later. WEIR_LOCKED is not complained about, all else is.
 */
WEIR_MUST_CHECK enum weir_status data_folder_open(const char *folder, struct store **store);

/* As root, to be the folder's owner from now on, as data_folder_open() does. Complains. */
bool data_folder_take_place(const char *folder);

/* Root again, if it took the owner's place, for files that are not the store's; and back. */
bool data_folder_leave_owner(void);
bool data_folder_become_owner(void);

/*
 * The calling thread alone opens files as root again, if root took the owner's place: for files
 * of the caller's that are only read. The store's own threads go on as the owner.
 */
void data_folder_read_as_caller(void);

/* What a command does with the store when no server runs. Returns the exit status. */
typedef int (*offline_fn)(struct store *store, void *user);

/* What it does with the server's answer. */
typedef int (*answer_fn)(struct control_answer *answer, void *user);

struct data_request {
    const char *method;
    const char *path;
    struct weir_slice body;
    answer_fn answered;
    offline_fn offline;
    void *user;
};

/*
 * Asks the server, or does it here when there is none. While one starts or stops neither may
 * be possible: then it tries again for some seconds.
 */
int data_folder_run(const char *folder, const struct data_request *request);
