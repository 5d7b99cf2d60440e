/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands about ports, one after the other with empty lines between, against a lane
 * whose ports have no devices. Properties: a command that is refused says why and
 * changes nothing; one that is done leaves tables within their limits. The first
 * byte: devices that cannot be had, VTEPs that cannot.
 */
#include "agent/lane/log.h"
#include "tests/unit/lane/port_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPEN_REFUSED = 1, CHECK_REFUSED = 2 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void run_command(struct port_world *w, const char *lines, size_t len)
{
	char err_text[PORT_ERR_LEN], *before = port_world_text(w), *after;
	const int err = port_world_set(w, lines, len, err_text);
	const struct port *port;

	after = port_world_text(w);
	check(err <= 0 && !err == !err_text[0] && !strchr(err_text, '\n'));
	check(!err || !strcmp(before, after));
	TAILQ_FOREACH (port, &w->lane.ports.list, entry) {
		const size_t n_learned = fdb_count(port->fdb, true);

		check(n_learned <= port->config.fdb.learned_limit);
		check(n_learned + fdb_count(port->fdb, false) <= port->config.fdb.limit);
	}
	check(w->lane.ports.n == w->n_opened - w->n_closed);
	free(before);
	free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct port_world w;
	const char *text = (const char *)data + 1, *end = (const char *)data + size, *blank;

	if (!size)
		return 0;
	log_setup(LOG_SILENT);
	port_world_init(&w);
	for (; text < end; text = blank + 2) {
		blank = memmem(text, (size_t)(end - text), "\n\n", 2);
		run_command(&w, text, (size_t)((blank ? blank + 1 : end) - text));
		if (!blank)
			break;
		w.open_err = data[0] & OPEN_REFUSED ? -EEXIST : 0;
		w.check_err = data[0] & CHECK_REFUSED ? -EADDRINUSE : 0;
	}
	port_world_done(&w);
	return 0;
}
