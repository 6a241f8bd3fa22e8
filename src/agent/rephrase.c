/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in until the step is here: each agent is asked what the person asked. */
#include "agent/agent_impl.h"

enum weir_status agent_rephrase(struct agent_case *c, struct weir_buf *out)
{
    const struct weir_json *route = agent_output(c, "route");
    const struct weir_json *v = weir_json_first(weir_json_get_str(route, "supporting"));
    weir_json_put_begin_object(out);
    weir_json_put_key_slice(out, agent_text(route, "main"));
    weir_json_put_string(out, c->question);
    for (; v; v = weir_json_next(v)) {
        weir_json_put_key_slice(out, weir_json_text(v));
        weir_json_put_string(out, c->question);
    }
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}
