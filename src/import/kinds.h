/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds that kinds.c has in its list, each from the file of its name. */
#pragma once

#include "import/reader.h"

extern const struct reader_kind reader_activities;
extern const struct reader_kind reader_apple;
extern const struct reader_kind reader_fhir;
extern const struct reader_kind reader_fitabase;
extern const struct reader_kind reader_fitbit;
extern const struct reader_kind reader_fitbit_csv;
extern const struct reader_kind reader_garmin;
extern const struct reader_kind reader_garmin_connect;
extern const struct reader_kind reader_labs;
extern const struct reader_kind reader_oura;
extern const struct reader_kind reader_oura_api;
extern const struct reader_kind reader_plain;
extern const struct reader_kind reader_samsung;
extern const struct reader_kind reader_whoop;
