/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in until the step is here: nothing has to be asked again. */
#include "agent/agent_impl.h"

enum weir_status agent_reflect(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{\"follow_ups\":[]}");
    return weir_buf_status(out);
}
