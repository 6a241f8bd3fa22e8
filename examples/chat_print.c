/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the text of an Anthropic Messages stream on standard input as it arrives.
 * Exit status: 0 the message is whole, 1 the sender or a limit ended it, 3 it broke off.
 *
 *     chat_print < examples/hello.sse
 */
#include <stdio.h>
#include <unistd.h>

#include <weir/message.h>

static void print_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    (void)block, (void)all;
    fwrite(delta.ptr, 1, delta.len, user);
    fflush(user);
}

int main(void)
{
    const struct weir_message_handlers handlers = {.on_text = print_text};
    struct weir_message *message = weir_message_new(WEIR_ANTHROPIC, &handlers, stdout, NULL);
    if (!message) return 1;
    char bytes[4096];
    ssize_t n;
    /* The stream may stay open after the message is whole: its outcome ends the loop. */
    while (weir_message_outcome(message) == WEIR_OUTCOME_OPEN &&
           (n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0)
        if (weir_message_feed(message, bytes, (size_t)n) != WEIR_OK) break;
    enum weir_outcome outcome = weir_message_end(message);
    putchar('\n');
    const struct weir_json *error = weir_message_error(message);
    struct weir_slice why = weir_json_text(weir_json_get_str(error, "message"));
    if (outcome == WEIR_OUTCOME_INCOMPLETE) why = weir_slice_of(weir_status_text(WEIR_STREAM_CUT));
    if (why.len > 0) fprintf(stderr, "chat_print: %.*s\n", (int)why.len, why.ptr);
    weir_message_free(message);
    return outcome == WEIR_OUTCOME_MESSAGE ? 0 : outcome == WEIR_OUTCOME_ERROR ? 1 : 3;
}
