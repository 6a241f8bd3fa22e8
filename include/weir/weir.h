/* SPDX-License-Identifier: Apache-2.0 */
/* All of libweir. */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>
#include <weir/message.h>
#include <weir/sse.h>
#include <weir/status.h>
#include <weir/types.h>
#include <weir/ui.h>
#include <weir/version.h>
