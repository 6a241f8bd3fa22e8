/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions on our own invariants, kept in every build. A CHECK that fails
 * says that weir is wrong, not its input: nothing that a peer sends may reach
 * one, and the fuzzers look for such a way.
 */
#pragma once

__attribute__((noreturn, cold)) void check_failed(const char *file, int line, const char *claim);

#define CHECK(claim) ((claim) ? (void)0 : check_failed(__FILE__, __LINE__, #claim))
