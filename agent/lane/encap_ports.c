/* SPDX-License-Identifier: Apache-2.0 */
#include "encap_ports.h"

#include <errno.h>
#include <stdio.h>

#include "lane.h"
#include "textbuf.h"

/* False: they do not fit, and *ret is untouched. */
static bool put_together(const struct encap_table *set, const struct encap_table *environment,
			 struct encap_table *ret)
{
	struct encap_table all;

	encap_table_default(&all);
	if (!encap_table_merge(&all, set) || !encap_table_merge(&all, environment))
		return false;
	*ret = all;
	return true;
}

bool encap_change_add(struct encap_change *c, const struct encap_op *op)
{
	if (c->n == ENCAP_OPS_MAX)
		return false;
	c->op[c->n++] = *op;
	return true;
}

static int refuse_full(uint32_t line, char err_text[PORT_ERR_LEN])
{
	snprintf(err_text, PORT_ERR_LEN,
		 "line %u: encap: there may be %d ports, those of the default and of the "
		 "environment included",
		 line, ENCAP_PORTS_MAX);
	return -ENOSPC;
}

static int apply_op(struct encap_table *set, const struct encap_op *op, char err_text[PORT_ERR_LEN])
{
	if (op->kind != ENCAP_NONE) {
		if (!encap_table_set(set, op->port, op->kind))
			return refuse_full(op->line, err_text);
		return 0;
	}
	if (encap_table_remove(set, op->port))
		return 0;
	snprintf(err_text, PORT_ERR_LEN, "line %u: encap_remove: nothing was set for port %u",
		 op->line, op->port);
	return -ENOENT;
}

int encap_change_apply(struct lane *lane, const struct encap_change *c, char err_text[PORT_ERR_LEN])
{
	struct encap_table set = {.n = 0};

	if (!c->replace)
		set = lane->encap_set;
	for (unsigned i = 0; i < c->n; i++) {
		int err = apply_op(&set, &c->op[i], err_text);

		if (err)
			return err;
	}
	if (!put_together(&set, &lane->encap_environment, &lane->encap))
		return refuse_full(c->n ? c->op[c->n - 1].line : 0, err_text);
	lane->encap_set = set;
	return 0;
}

bool encap_ports_fit(const struct encap_table *environment)
{
	const struct encap_table none = {.n = 0};
	struct encap_table all;

	return put_together(&none, environment, &all);
}

void encap_ports_environment(struct lane *lane, const struct encap_table *environment)
{
	lane->encap_environment = *environment;
	(void)put_together(&lane->encap_set, environment, &lane->encap);
}

static void put_table(const struct encap_table *t, const char *source, struct textbuf *out)
{
	for (unsigned i = 0; i < t->n; i++)
		textbuf_printf(out, "encap=%u %s %s\n", t->port[i].port,
			       encap_kind_name((enum encap_kind)t->port[i].kind), source);
}

void encap_ports_put(const struct lane *lane, struct textbuf *out)
{
	struct encap_table known;

	encap_table_default(&known);
	put_table(&known, "default", out);
	put_table(&lane->encap_set, "set", out);
	put_table(&lane->encap_environment, "environment", out);
}
