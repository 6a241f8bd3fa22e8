/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reserve.h"

#include "base/fault.h"
#include "t.h"

TEST(nothing_is_reserved_unless_it_is_asked_for)
{
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    T_EQ(memory_reserve(0), WEIR_OK);
    T_EQ(fault_count(FAULT_ALLOC), 0);
    fault_disarm_all();
}

TEST(a_reserve_that_cannot_be_had_is_said)
{
    fault_arm(FAULT_ALLOC, 3, FAULT_FROM);
    T_EQ(memory_reserve(4 << 20), WEIR_NOMEM);
    fault_disarm_all();
    T_EQ(memory_reserve(4 << 20), WEIR_OK);
}
