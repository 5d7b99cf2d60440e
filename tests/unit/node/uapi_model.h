/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane's configuration as the UAPI has it, in text: lines are applied as they come and
 * never taken back, an allowed-ip belongs to one peer and the last writer has it.
 */
#ifndef SEALANE_TESTS_UAPI_MODEL_H
#define SEALANE_TESTS_UAPI_MODEL_H

#include <errno.h>

#include "lane_server.h"

enum { MODEL_PEERS = 32, MODEL_ALLOWED = 64, MODEL_TEXT = 96 };

struct model_peer {
	char public_key[MODEL_TEXT], psk[MODEL_TEXT], endpoint[MODEL_TEXT];
	unsigned long keepalive, handshake_s;
	char allowed[MODEL_ALLOWED][MODEL_TEXT];
	size_t n_allowed;
};

struct uapi_model {
	char private_key[MODEL_TEXT];
	unsigned long listen_port, fwmark;
	struct model_peer peers[MODEL_PEERS];
	size_t n_peers;
	/* Lines that begin so are refused; NULL: none. */
	const char *refuse[2];
	/* How often a prefix had no owner after a line; watched is one of them. */
	const char *watched;
	unsigned n_unowned;
};

static const char model_no_psk[] =
	"0000000000000000000000000000000000000000000000000000000000000000";

static inline struct model_peer *model_find(struct uapi_model *m, const char *public_key)
{
	for (size_t i = 0; i < m->n_peers; i++) {
		if (!strcmp(m->peers[i].public_key, public_key))
			return &m->peers[i];
	}
	return NULL;
}

static inline struct model_peer *model_add(struct uapi_model *m, const char *public_key)
{
	struct model_peer *p = &m->peers[m->n_peers++];

	*p = (struct model_peer){0};
	strcpy(p->public_key, public_key);
	strcpy(p->psk, model_no_psk);
	return p;
}

/* True: @p had it. */
static inline bool model_disown(struct model_peer *p, const char *prefix)
{
	for (size_t i = 0; i < p->n_allowed; i++) {
		if (strcmp(p->allowed[i], prefix) != 0)
			continue;
		memmove(p->allowed[i], p->allowed[i + 1],
			(--p->n_allowed - i) * sizeof(p->allowed[0]));
		return true;
	}
	return false;
}

static inline void model_allow(struct uapi_model *m, struct model_peer *p, const char *prefix)
{
	for (size_t i = 0; i < m->n_peers; i++)
		model_disown(&m->peers[i], prefix);
	strcpy(p->allowed[p->n_allowed++], prefix);
}

static inline bool model_owned(const struct uapi_model *m, const char *prefix)
{
	for (size_t i = 0; i < m->n_peers; i++) {
		for (size_t j = 0; j < m->peers[i].n_allowed; j++) {
			if (!strcmp(m->peers[i].allowed[j], prefix))
				return true;
		}
	}
	return false;
}

/* As X25519 uses it: three bits of the first byte are off, of the last the first is off
 * and the second on. */
static inline void model_clamp(char *hex)
{
	static const char digits[] = "0123456789abcdef", last[] = "4567456745674567";

	hex[1] = hex[1] < '8' ? '0' : '8';
	hex[62] = last[strchr(digits, hex[62]) - digits];
}

static inline int model_device_line(struct uapi_model *m, const char *key, const char *value)
{
	if (!strcmp(key, "private_key")) {
		strcpy(m->private_key, value);
		model_clamp(m->private_key);
	} else if (!strcmp(key, "listen_port"))
		m->listen_port = strtoul(value, NULL, 10);
	else if (!strcmp(key, "fwmark"))
		m->fwmark = strtoul(value, NULL, 10);
	else
		return -EINVAL;
	return 0;
}

static inline int model_peer_line(struct uapi_model *m, struct model_peer *p, const char *key,
				  const char *value)
{
	if (!strcmp(key, "preshared_key"))
		strcpy(p->psk, value);
	else if (!strcmp(key, "endpoint"))
		strcpy(p->endpoint, value);
	else if (!strcmp(key, "persistent_keepalive_interval"))
		p->keepalive = strtoul(value, NULL, 10);
	else if (!strcmp(key, "replace_allowed_ips"))
		p->n_allowed = 0;
	else if (!strcmp(key, "allowed_ip") && *value == '-')
		model_disown(p, value + 1);
	else if (!strcmp(key, "allowed_ip"))
		model_allow(m, p, value);
	else
		return -EINVAL;
	return 0;
}

static inline void model_remove(struct uapi_model *m, struct model_peer *p)
{
	const size_t i = (size_t)(p - m->peers);

	memmove(p, p + 1, (--m->n_peers - i) * sizeof(*p));
}

static inline bool model_refuses(const struct uapi_model *m, const char *line)
{
	for (size_t i = 0; i < 2; i++) {
		if (m->refuse[i] && !strncmp(line, m->refuse[i], strlen(m->refuse[i])))
			return true;
	}
	return false;
}

/* The lines after "set=1". */
static inline int model_set(struct uapi_model *m, char *lines)
{
	char peer[MODEL_TEXT] = "", *line, *save = NULL;
	bool created = false;

	for (line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char key[MODEL_TEXT], *value = strchr(line, '=');
		struct model_peer *p = model_find(m, peer);
		int err = 0;

		if (!value)
			return -EPROTO;
		if (model_refuses(m, line))
			return -EADDRINUSE;
		snprintf(key, sizeof(key), "%.*s", (int)(value - line), line);
		value++;
		if (!strcmp(key, "public_key")) {
			strcpy(peer, value);
			created = !model_find(m, value);
			if (created)
				model_add(m, value);
		} else if (!*peer) {
			err = model_device_line(m, key, value);
		} else if (!strcmp(key, "update_only") || !strcmp(key, "remove")) {
			if (p && (created || *key == 'r'))
				model_remove(m, p);
		} else if (p) {
			err = model_peer_line(m, p, key, value);
		}
		if (err)
			return err;
		m->n_unowned += m->watched && !model_owned(m, m->watched);
	}
	return 0;
}

static inline void model_put_peer(const struct model_peer *p, FILE *out)
{
	fprintf(out, "public_key=%s\npreshared_key=%s\nprotocol_version=1\n", p->public_key,
		p->psk);
	if (*p->endpoint)
		fprintf(out, "endpoint=%s\n", p->endpoint);
	fprintf(out, "last_handshake_time_sec=%lu\nlast_handshake_time_nsec=5\n", p->handshake_s);
	fprintf(out, "tx_bytes=1\nrx_bytes=2\npersistent_keepalive_interval=%lu\n", p->keepalive);
	for (size_t i = 0; i < p->n_allowed; i++)
		fprintf(out, "allowed_ip=%s\n", p->allowed[i]);
}

static inline void model_get(const struct uapi_model *m, FILE *out)
{
	if (*m->private_key)
		fprintf(out, "private_key=%s\n", m->private_key);
	if (m->listen_port)
		fprintf(out, "listen_port=%lu\n", m->listen_port);
	if (m->fwmark)
		fprintf(out, "fwmark=%lu\n", m->fwmark);
	for (size_t i = 0; i < m->n_peers; i++)
		model_put_peer(&m->peers[i], out);
}

/* For lane_server_start(). */
static inline char *uapi_model_answer(void *ctx, enum lane_socket which, const char *request)
{
	struct uapi_model *m = ctx;
	char *text = NULL, *lines;
	size_t len;
	FILE *out;
	int err = 0;

	if (which == LANE_CONTROL)
		return strdup("version=1\nports=0\nerrno=0\n\n");
	out = open_memstream(&text, &len);
	if (!strcmp(request, "get=1\n")) {
		model_get(m, out);
	} else {
		lines = strdup(request + strlen("set=1\n"));
		err = model_set(m, lines);
		free(lines);
	}
	fprintf(out, "errno=%d\n\n", err);
	fclose(out);
	return text;
}

#endif
