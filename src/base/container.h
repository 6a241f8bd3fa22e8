/* SPDX-License-Identifier: Apache-2.0 */
/* From a member back to the struct that holds it, for intrusive containers. */
#pragma once

#include <stddef.h>

#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
