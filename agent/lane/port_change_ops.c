/* SPDX-License-Identifier: Apache-2.0 */
/* Single operations of a command: what is wrong with one, and which of them count. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addrtext.h"
#include "offload/neigh.h"
#include "port_change_internal.h"

/* Words */

/* "line 7: fdb_remove" */
const char *port_op_where(const struct port_op *op, const char *key, char buf[PORT_OP_WHERE_LEN])
{
	const char *suffix = op->remove ? "_remove" : "";

	if (op->line)
		snprintf(buf, PORT_OP_WHERE_LEN, "line %u: %s%s", op->line, key, suffix);
	else
		snprintf(buf, PORT_OP_WHERE_LEN, "%s%s", key, suffix);
	return buf;
}

int port_change_no_memory(char err_text[PORT_ERR_LEN])
{
	return port_change_refuse(err_text, -ENOMEM, "out of memory");
}

/* Checks of one operation */

/* As port_new() wants its own VTEP. */
static bool is_unicast(const struct vtep *a)
{
	static const uint8_t zero[16];

	if (!memcmp(a->addr, zero, a->addr_len))
		return false;
	return a->addr_len == 4 ? a->addr[0] && a->addr[0] < 224 : a->addr[0] != 0xff;
}

int port_op_check_mac(const struct port_op *op, const char *key, char err_text[PORT_ERR_LEN])
{
	char where[PORT_OP_WHERE_LEN], mac[ADDRTEXT_MAC_LEN];

	if (neigh_is_station(op->mac))
		return 0;
	return port_change_refuse(err_text, -EINVAL,
				  "%s: must be a unicast MAC address and not zero, not %s",
				  port_op_where(op, key, where), addrtext_format_mac(op->mac, mac));
}

static int refuse_addr(const struct port_op *op, const char *key, const char *wanted,
		       char err_text[PORT_ERR_LEN])
{
	char where[PORT_OP_WHERE_LEN], ip[ADDRTEXT_IP_LEN];

	return port_change_refuse(err_text, -EINVAL, "%s: must be %s, not %s",
				  port_op_where(op, key, where), wanted,
				  addrtext_format_ip(op->addr.addr, op->addr.addr_len, ip));
}

int port_op_check_host(const struct port_op *op, const char *key, char err_text[PORT_ERR_LEN])
{
	if (neigh_is_host(op->addr.addr, op->addr.addr_len))
		return 0;
	return refuse_addr(op, key, "the address of one host", err_text);
}

int port_op_check_vtep(const struct port_op *op, const char *key, const struct port_config *config,
		       char err_text[PORT_ERR_LEN])
{
	if (op->addr.addr_len != config->local.addr_len)
		return refuse_addr(op, key,
				   config->local.addr_len == 4 ? "an IPv4 address, as vtep"
							       : "an IPv6 address, as vtep",
				   err_text);
	if (is_unicast(&op->addr))
		return 0;
	return refuse_addr(op, key, "a unicast address", err_text);
}

/* The last operation per key */

static int order_of_lines(const struct port_op *a, const struct port_op *b)
{
	return a < b ? -1 : a > b;
}

int port_op_compare_mac(const void *a, const void *b)
{
	const struct port_op *x = *(const struct port_op *const *)a;
	const struct port_op *y = *(const struct port_op *const *)b;

	return memcmp(x->mac, y->mac, sizeof(x->mac));
}

static int compare_addr(const void *a, const void *b)
{
	const struct port_op *x = *(const struct port_op *const *)a;
	const struct port_op *y = *(const struct port_op *const *)b;

	if (x->addr.addr_len != y->addr.addr_len)
		return x->addr.addr_len < y->addr.addr_len ? -1 : 1;
	return memcmp(x->addr.addr, y->addr.addr, x->addr.addr_len);
}

static int compare_mac_and_line(const void *a, const void *b)
{
	int order = port_op_compare_mac(a, b);

	return order ? order
		     : order_of_lines(*(const struct port_op *const *)a,
				      *(const struct port_op *const *)b);
}

static int compare_addr_and_line(const void *a, const void *b)
{
	int order = compare_addr(a, b);

	return order ? order
		     : order_of_lines(*(const struct port_op *const *)a,
				      *(const struct port_op *const *)b);
}

static bool fdb_has(const struct port_table_view *v, const struct port_op *op)
{
	return fdb_lookup(v->port->fdb, op->mac, v->now_ns) != NULL;
}

static bool neighbours_have(const struct port_table_view *v, const struct port_op *op)
{
	return neightab_find(v->port->neighbours, op->addr.addr, op->addr.addr_len) != NULL;
}

const struct port_table_view port_fdb_view = {
	"fdb", port_op_compare_mac, compare_mac_and_line, fdb_has, NULL, 0};
const struct port_table_view port_neighbour_view = {
	"neighbour", compare_addr, compare_addr_and_line, neighbours_have, NULL, 0};

/* All pointers to @ops, sorted. */
static int sort_ops(const struct port_ops *ops, const struct port_table_view *v,
		    struct port_plan_ops *ret)
{
	if (!ops->n)
		return 0;
	ret->op = calloc(ops->n, sizeof(const struct port_op *));
	if (!ret->op)
		return -ENOMEM;
	for (size_t i = 0; i < ops->n; i++)
		ret->op[i] = &ops->op[i];
	ret->n = ops->n;
	qsort(ret->op, ret->n, sizeof(const struct port_op *), v->compare_with_line);
	return 0;
}

/* Leaves the last of each key. Returns the first operation that removes port_op_where is not
 * there; NULL: none. */
static const struct port_op *boil_down(struct port_plan_ops *ops, const struct port_table_view *v)
{
	const struct port_op *bad = NULL;
	bool present = false;
	size_t n = 0;

	ops->n_set = 0;
	for (size_t i = 0; i < ops->n; i++) {
		const struct port_op *op = ops->op[i];

		if (!n || v->compare(&ops->op[n - 1], &op) != 0) {
			n++;
			present = v->port && v->has(v, op);
		} else {
			ops->n_set -= !ops->op[n - 1]->remove;
		}
		if (op->remove && !present && (!bad || op < bad))
			bad = op;
		present = !op->remove;
		ops->n_set += present;
		ops->op[n - 1] = op;
	}
	ops->n = n;
	return bad;
}

int port_plan_table(const struct port_ops *ops, const struct port_table_view *v,
		    struct port_plan_ops *ret, char err_text[PORT_ERR_LEN])
{
	char where[PORT_OP_WHERE_LEN];
	const struct port_op *bad;

	if (sort_ops(ops, v, ret) < 0)
		return port_change_no_memory(err_text);
	bad = boil_down(ret, v);
	if (!bad)
		return 0;
	return port_change_refuse(err_text, -ENOENT, "%s: there is no such entry",
				  port_op_where(bad, v->key, where));
}
