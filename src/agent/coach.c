/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in until the agent is here: it has looked at nothing, and says so. */
#include "agent/agent_impl.h"

enum weir_status health_coach_work(struct agent_case *c, struct weir_slice question,
                                   struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{\"agent\":\"health_coach\",\"question\":");
    weir_json_put_string(out, question);
    weir_buf_append_str(out, ",\"summary\":\"nothing was looked at\",\"text\":\"\",\"findings\":[],"
                             "\"facts\":[]}");
    return weir_buf_status(out);
}
