/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of all that was decided about tools, and of how questions were closed: the log
 * "sessions/audit". Who reads it learns what happened, when and by whom, and no value: arguments
 * are there as their hash, reasons and answers as their length.
 *
 *   {"at","user","session","turn","question","kind":"approval"|"clarification","tool","argsHash",
 *    "decision","decidedBy","decider","scope","textBytes":N,"waitedMs":N}
 *
 * decidedBy is what clients were told, and may be any name that a tab gave itself; decider is what
 * the engine knows: "user", "deadline", "abort", "end" (of a turn that failed), "scope" or "limit".
 * Members that there are none of are null.
 */
#include "session/question_impl.h"

#include "base/slice.h"
#include "codec/json_member.h"

const char session_audit_log[] = "sessions/audit";

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

void session_audit_put(struct weir_buf *out, const struct question *q, const struct outcome *o)
{
    char at[CLOCK_TEXT_BYTES];
    bool is_approval = q->kind == QUESTION_APPROVAL;
    clock_format(at, o->at_ms);
    weir_json_put_begin_object(out);
    put_text(out, "at", weir_slice_of(at));
    put_text(out, "user", q->owner);
    put_text(out, "session", q->session);
    put_text(out, "turn", q->turn);
    put_text(out, "question", q->id);
    put_text(out, "kind", is_approval ? SLICE("approval") : SLICE("clarification"));
    put_text(out, "tool", q->tool);
    put_text(out, "argsHash", q->hash);
    put_text(out, "decision", weir_slice_of(o->decision));
    put_text(out, "decidedBy", o->by);
    put_text(out, "decider", weir_slice_of(o->decider));
    put_text(out, "scope", o->scope ? weir_slice_of(o->scope) : SLICE(""));
    member_uint(out, "textBytes", o->text.len);
    /* A clock that was set back has nobody wait for less than no time. */
    member_uint(out, "waitedMs", o->at_ms > q->asked_ms ? (uint64_t)(o->at_ms - q->asked_ms) : 0);
    weir_json_put_end_object(out);
}
