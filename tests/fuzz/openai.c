/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAI dialect: any bytes in any cutting, the same outcome, message, error and notes. */
#include "fuzz/fuzz.h"
#include "fuzz/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_message(WEIR_OPENAI, data, size);
    return 0;
}
