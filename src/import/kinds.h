/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds that kinds.c has in its list, each from the file of its name. */
#pragma once

#include "import/reader.h"

extern const struct reader_kind reader_activities;
extern const struct reader_kind reader_apple;
extern const struct reader_kind reader_labs;
extern const struct reader_kind reader_plain;
