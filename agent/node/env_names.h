/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variables of the environment are ours: those that the agent reads, and those of
 * a lane, which inherits them from the agent that starts it. A misspelt one must not
 * pass in silence. Any thread.
 */
#ifndef SEALANE_NODE_ENV_NAMES_H
#define SEALANE_NODE_ENV_NAMES_H

/* Calls @tell for each of @environment (as environ(7) has it; NULL is empty) that begins
 * with SEALANE_ and is none of them; @nearest is what it may have been meant to be, or
 * NULL. */
void env_names_check(char *const *environment, void (*tell)(const char *name, const char *nearest));

#endif
