/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes secrets out of text that is meant for people and logs. It knows secrets
 * by their surroundings, not by their value, so it is the second line of defence:
 * the first is not to hand a secret to whatever prints. When in doubt it masks
 * too much. Any thread.
 */
#pragma once

#include <weir/buf.h>

#define MASK_TEXT "[secret]"

/*
 * Appends s with MASK_TEXT in the place of
 *   - the word after "Bearer",
 *   - what follows "sk-" at the start of a word, or anywhere when it is long,
 *   - the user part of a URL, as in scheme://user:password@host,
 *   - what is assigned to "link" in a query, as in ?link=token,
 *   - what is assigned by = or : to a name that means a secret: up to a space,
 *     "&" or a quote, to the closing quote when it is quoted, and to the end of
 *     the line for headers such as Cookie, whose values have spaces.
 * Case does not matter, and bytes need not be UTF-8. A buffer that gets full has
 * what fits before that, and never a part of a secret.
 */
void mask_append(struct weir_buf *out, struct weir_slice s);

/*
 * Whether a value under this name must not be shown, in any case and with any
 * separators: names that contain password, passwd, passphrase, secret,
 * authorization, cookie, credential, api_key, access_key or private_key, and
 * names whose last word is key, token, auth, pass, pwd, jwt, bearer or signature.
 */
bool mask_is_secret_name(struct weir_slice name);
