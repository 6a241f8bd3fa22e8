/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the events of a turn line by line, with nothing but the C library. That is enough for this
 * stream, whose events are always "id", "event" and one line of "data"; for streams of others take
 * libweir (sse_cat.c).
 *
 *     curl -sN -H "Authorization: Bearer $KEY" -H "Accept: text/event-stream" \
 *         http://127.0.0.1:8080/v1/turns/$TURN/events | turn_lines
 *
 *     turn_lines < examples/turn.sse
 *
 * Exit status: 0 the turn is completed, 1 it has failed, 3 the stream ended before the turn did;
 * the id to go on with (Last-Event-Id) is printed then.
 */
#define _POSIX_C_SOURCE 200809L /* getline, strdup */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct event {
    char *id, *type, *data;
};

/* Takes a copy of what follows the prefix, if the line has it. */
static void take(char **member, const char *line, const char *prefix)
{
    size_t len = strlen(prefix);
    if (strncmp(line, prefix, len) != 0) return;
    free(*member);
    *member = strdup(line + len);
}

static void clear(struct event *e)
{
    free(e->id);
    free(e->type);
    free(e->data);
    *e = (struct event){0};
}

int main(void)
{
    struct event event = {0};
    char *line = NULL, *last_id = NULL;
    size_t room = 0;
    int status = 3;
    for (ssize_t n; status == 3 && (n = getline(&line, &room, stdin)) > 0;) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0') {
            take(&event.id, line, "id: ");
            take(&event.type, line, "event: ");
            take(&event.data, line, "data: ");
            continue;
        }
        if (event.type && event.data) {
            printf("%s %s\n", event.type, event.data);
            if (strcmp(event.type, "turn.completed") == 0) status = 0;
            if (strcmp(event.type, "turn.failed") == 0) status = 1;
            free(last_id);
            last_id = event.id ? strdup(event.id) : NULL;
        }
        clear(&event);
    }
    if (status == 3) printf("Last-Event-Id: %s\n", last_id ? last_id : "0");
    clear(&event);
    free(last_id);
    free(line);
    return status;
}
