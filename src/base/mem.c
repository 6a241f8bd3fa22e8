/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void *mem_alloc(size_t size)
{
    return fault_hit(FAULT_ALLOC) ? NULL : malloc(size);
}

void *mem_zalloc(size_t size)
{
    return fault_hit(FAULT_ALLOC) ? NULL : calloc(1, size);
}

void *mem_zalloc_lines(size_t size)
{
    void *block = fault_hit(FAULT_ALLOC) ? NULL : aligned_alloc(MEM_LINE_BYTES, size);
    if (block) memset(block, 0, size);
    return block;
}

void *mem_realloc(void *block, size_t size)
{
    return fault_hit(FAULT_ALLOC) ? NULL : realloc(block, size);
}

void mem_free(void *block)
{
    free(block);
}
