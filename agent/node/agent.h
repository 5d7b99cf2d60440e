/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node agent: owns configuration, reconciliation, status and HTTP server, the lane
 * it may have started, and the signals. Its functions tell what is wrong by log.h.
 * Control thread.
 */
#ifndef SEALANE_NODE_AGENT_H
#define SEALANE_NODE_AGENT_H

#define AGENT_CONFIG_PATH "/etc/sealane/sealane.yaml"

struct agent;

/* All is borrowed for the agent's life. */
struct agent_args {
	const char *config_path;
	char *(*getenv_fn)(const char *name);
	char *const *environment; /* names of which none is read are told; NULL: empty */
	const char *lock_folder;  /* agent_lock.h, as the next */
	unsigned lock_patience_ms;
};

/* Reads the configuration and says what is wrong with it, or that it is fine, on
 * stderr and stdout. 0 or -errno. */
int agent_check(const struct agent_args *args);

/*
 * Starts in this order: configuration, locks of lane and network namespace and status
 * socket (-EADDRINUSE: there is another agent), private key, reconciliation, lane, HTTP,
 * signals. 0; or -errno, and why is said, after which agent_free() is due all the same.
 */
int agent_start(const struct agent_args *args, struct agent **ret);
/* Until a signal ends it. */
void agent_run(struct agent *a);
/* Leaves lane and kernel as they are. NULL is fine. */
void agent_free(struct agent *a);

#endif
