/* SPDX-License-Identifier: Apache-2.0 */
/* Replies without a model. */
#include "base/slice.h"
#include "chat/chat_impl.h"

enum weir_status builtin_reply(struct pass *p)
{
    return pass_say(p, SLICE("There is no model that could answer in free words here."));
}
