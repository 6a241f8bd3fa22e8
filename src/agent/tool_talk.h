/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question answered without a model: by tools whose results can be said as they are, else by the
 * agents. What chats and sessions have in common of it; how a tool is called is theirs.
 *
 *   the question                            what is done
 *   is one that the grammar reads           the host's query; the agents' checked words
 *   asks what is remembered                 read_memory, as a list
 *   asks what is normal                     look_up_fact, for its sources; the agents' words
 *   has words that their documents have     search_documents; the passages that were found
 *   anything else                           the agents, who also say what they cannot do
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

/* `user` is that of the talk. */
struct tool_talk_host {
    /* The data by the question's plan, if it has one; *result is what they say, or NULL. */
    enum weir_status (*query)(void *user, const struct weir_json **result);
    /* A tool with its input, which is JSON; *result is NULL when it could not. */
    enum weir_status (*use)(void *user, const char *tool, struct weir_buf *input,
                            const struct weir_json **result);
    /* agent_answer(). */
    enum weir_status (*ask_agents)(void *user);
};

struct tool_talk {
    const struct tool_talk_host *host;
    void *user;
    struct weir_slice question; /* the host's query may make it clearer */
    struct weir_buf answer;     /* the caller's, also its status */
};

WEIR_MUST_CHECK enum weir_status tool_talk_answer(struct tool_talk *t);

/* Whether a text has these words, in letters of any case. */
bool tool_talk_has(struct weir_slice text, const char *words);

/* Of an agent's choice of words: the same for the same id, whoever says it again. */
uint64_t tool_talk_seed(struct weir_slice id);
