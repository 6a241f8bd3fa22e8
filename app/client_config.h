/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which server a command talks to, and with which key. For each of the two, the first that says
 * something holds:
 *
 * 1. the command line: --url, --key-file, --ca-file; --data names a folder of this machine;
 * 2. the environment: WEIR_URL, WEIR_KEY, WEIR_CA_FILE; WEIR_DATA names a folder;
 * 3. the file $XDG_CONFIG_HOME/weir/config (~/.config/weir/config): see config_file.h; --profile
 *    or WEIR_PROFILE choose a section of it;
 * 4. else the server on this machine's data folder, over its control socket, which needs no key.
 *
 * A key of the file goes to the host of the file's URL and to nobody else: a --url that leads
 * elsewhere gets none. Files with a key in them have to be closed to others.
 */
#pragma once

#include <weir/status.h>

#include "config_file.h"
#include "data_folder.h"
#include "options.h"
#include "xdg.h"

struct client_flags {
    const char *url, *key_file, *ca_file, *profile;
    const char *data;
    bool tells_waiting; /* the command draws nothing, so it may say what it waits for (remote.h) */
};

/* The rows of these options, for every command that talks to a server. */
#define CLIENT_OPTION_ROWS(flags)                                                                  \
    {.name = "url", .kind = OPTION_TEXT, .to = &(flags)->url},                                     \
        {.name = "key-file", .kind = OPTION_TEXT, .to = &(flags)->key_file},                       \
        {.name = "ca-file", .kind = OPTION_TEXT, .to = &(flags)->ca_file},                         \
        {.name = "profile", .kind = OPTION_TEXT, .to = &(flags)->profile},                         \
    {                                                                                              \
        .name = "data", .kind = OPTION_TEXT, .to = &(flags)->data                                  \
    }

/* And what help says of them. */
#define CLIENT_HELP                                                                                \
    "  --url      the server, as https://weir.example; without: $WEIR_URL, the file\n"             \
    "             ~/.config/weir/config, else the folder of this machine\n"                        \
    "  --key-file a file with the key alone; without: $WEIR_KEY or the configuration\n"            \
    "  --ca-file  PEM of whom to trust, for a server with a certificate of its own\n"              \
    "  --profile  the section of the configuration file to use; without: $WEIR_PROFILE\n"          \
    "  --data     a folder of this machine; without: $WEIR_DATA or ~/.local/share/weir\n"

enum {
    CLIENT_URL_BYTES = 1024,
    CLIENT_KEY_BYTES = 4096,
    CLIENT_WHY_BYTES = 2 * XDG_PATH_BYTES + 512
};

/* Where a value comes from. */
enum config_from { CONFIG_FROM_DEFAULT, CONFIG_FROM_FLAG, CONFIG_FROM_ENV, CONFIG_FROM_FILE };

struct config_place {
    enum config_from from;
    char text[XDG_PATH_BYTES + 32]; /* for people: "--url", "$WEIR_KEY", "/…/config:3" */
};

struct client_config {
    bool is_local;                  /* by the control socket of `folder` */
    char folder[DATA_FOLDER_BYTES]; /* when it is */
    char url[CLIENT_URL_BYTES];     /* else; without a slash at its end */
    char key[CLIENT_KEY_BYTES];     /* "": none */
    char ca_file[XDG_PATH_BYTES];
    struct config_place server_place, key_place, ca_place;
    bool has_other_key;        /* the file has a key, but for another server than `url` */
    char file[XDG_PATH_BYTES]; /* the configuration file; "" when it has no place */
    bool has_file;             /* it was there, and read */
    bool tells_waiting;        /* of the flags */
    char profile[CONFIG_PROFILE_BYTES];
};

/* EXIT_DONE; else says what is wrong and returns the exit status. client_config_forget() after. */
int client_config_load(const struct client_flags *flags, struct client_config *out);

/* The same without a word: what is wrong is in `why`. */
int client_config_find(const struct client_flags *flags, struct client_config *out,
                       char why[CLIENT_WHY_BYTES]);

/* Wipes the key. */
void client_config_forget(struct client_config *c);

/* A URL for messages: who is named in it, with the password, is not shown. */
void client_url_shown(struct weir_slice url, char out[CLIENT_URL_BYTES]);

/* The server as people know it: its URL, or its folder. */
const char *client_config_server(const struct client_config *c);
