/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"

#include <stdio.h>
#include <string.h>

#include "data_folder.h"

struct opening {
    const struct person_options *options;
    const char *folder;
    person_fn use;
    void *user;
};

int person_failed(enum weir_status st)
{
    fprintf(stderr, "weir: the data cannot be read: %s\n", weir_status_text(st));
    return EXIT_FAILED;
}

static int server_runs(struct control_answer *answer, void *user)
{
    const struct opening *o = user;
    (void)answer;
    fprintf(stderr,
            "weir: a server runs on %s and has its data open. Stop it first, read another folder "
            "with --data, or use weir ask, which asks the server.\n",
            o->folder);
    return EXIT_FAILED;
}

static int use_store(struct store *store, void *user)
{
    const struct opening *o = user;
    struct dataset *d = NULL;
    enum weir_status st = dataset_open(&d, store, weir_slice_of(o->options->user));
    if (st != WEIR_OK) return person_failed(st);
    int exit_status = o->use(d, o->user);
    dataset_free(d);
    return exit_status;
}

int person_run(const struct command *command, const struct person_options *o, person_fn use,
               void *user)
{
    char folder[DATA_FOLDER_BYTES];
    struct opening opening = {.options = o, .folder = folder, .use = use, .user = user};
    size_t len = strlen(o->user);
    if (len == 0 || len > 96) return usage_error(command, "--user takes a name of up to 96 bytes");
    if (!data_folder_find(o->data, folder)) return EXIT_USAGE;
    if (!data_folder_is_there(folder)) return EXIT_FAILED;
    return data_folder_run(folder, &(struct data_request){
                                       .method = "GET",
                                       .path = "/healthz",
                                       .answered = server_runs,
                                       .offline = use_store,
                                       .user = &opening,
                                   });
}
