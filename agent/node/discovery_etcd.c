/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider that reads etcd: all records below PREFIX/nodes/ once, then a watch from that
 * revision on. A watch that ends is begun again where it was, on the next server; one that was
 * compacted away, or goes back in time (another etcd), has all read again. Nothing is taken away
 * before a reading is whole. Besides, this node's own record is published (etcd_publish.h).
 */
#include "discovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "backoff.h"
#include "etcd_nodes.h"
#include "etcd_publish.h"
#include "etcd_session.h"
#include "keyfile.h"
#include "log.h"
#include "loop.h"
#include "told.h"

enum {
	FIRST_MS = 200,
	MAX_MS = 10000,
	LINE_MAX_LEN = 16 << 20, /* of a watch */
	FAULTS_TOLD = 100,
};

struct etcd {
	void (*changed)(void *ctx);
	void *ctx;
	uv_loop_t *loop;
	const struct config *config;
	struct http_client *client;
	struct etcd_session session;
	struct etcd_publish publish;
	struct etcd_nodes nodes;
	struct http_request *request;
	uv_timer_t *timer;
	struct backoff backoff;

	char prefix[CONFIG_PATH_LEN + 8];      /* of the records' keys, with its "/" */
	int64_t revision;		       /* all is known up to it; 0: a reading is due */
	int64_t page_revision;		       /* of the reading that runs; 0: its first page */
	char *page_last;		       /* the last key of it so far */
	char *own;			       /* this node's record in etcd; NULL: none */
	bool records_changed, members_changed; /* and are to be gathered and told */

	char *line; /* of the watch, what came of it */
	size_t line_len, line_room;
	bool is_watching, watch_ended;

	bool synced;
	int64_t synced_s;
	char fault[ETCD_FAULT_LEN]; /* "": none */
	char *faults;		    /* all, as view() shows them */
	struct told told;
};

static void step(struct etcd *d);
static void on_timer(uv_timer_t *timer);

/* Telling */

static void tell_line(const char *line)
{
	log_error("%s", line);
}

static void tell_faults(struct etcd *d)
{
	const char *lines[FAULTS_TOLD];
	char *copy = d->faults ? strdup(d->faults) : NULL, *next = copy, *line;
	size_t n = 0;

	while (n < FAULTS_TOLD && (line = strsep(&next, "\n"))) {
		if (*line)
			lines[n++] = line;
	}
	told_update(&d->told, lines, n, tell_line);
	free(copy);
}

/* True: they are others. */
static bool gather_faults(struct etcd *d)
{
	const char *records = d->nodes.faults.text ? d->nodes.faults.text : "";
	const char *own = d->publish.fault;
	char *text = NULL;
	bool differs;

	if ((d->fault[0] || own[0] || records[0]) &&
	    asprintf(&text, "%s%s%s%s%s%s%s", d->fault[0] ? "etcd " : "", d->fault,
		     d->fault[0] ? "\n" : "", own[0] ? "etcd, this node's record: " : "", own,
		     own[0] ? "\n" : "", records) < 0)
		text = NULL;
	differs = !text != !d->faults || (text && strcmp(text, d->faults) != 0);
	free(d->faults);
	d->faults = text;
	tell_faults(d);
	return differs;
}

/* Whoever asks hears of what is new, once a step. */
static void show(struct etcd *d, bool news)
{
	if (d->records_changed && !etcd_nodes_gather(&d->nodes))
		news |= d->members_changed;
	d->records_changed = d->members_changed = false;
	news |= gather_faults(d);
	if (news)
		d->changed(d->ctx);
}

static void on_publish(void *ctx)
{
	show(ctx, false);
}

/* Failing */

static void fail(struct etcd *d)
{
	d->is_watching = false;
	etcd_session_rotate(&d->session);
	uv_timer_start(d->timer, on_timer, backoff_next_ms(&d->backoff, randombytes_random()), 0);
	show(d, false);
}

static void fail_with(struct etcd *d, const char *what)
{
	snprintf(d->fault, sizeof(d->fault), "%s: %s", etcd_session_url(&d->session), what);
	fail(d);
}

static void ask(struct etcd *d, const struct etcd_ask *a)
{
	const int err = etcd_session_ask(&d->session, a, &d->request);

	if (err)
		fail_with(d, strerror(-err));
}

/* The token */

static void on_token(void *ctx, const struct http_answer *answer)
{
	struct etcd *d = ctx;

	d->request = NULL;
	if (etcd_session_take_token(&d->session, answer, d->fault))
		step(d);
	else
		fail(d);
}

static void ask_token(struct etcd *d)
{
	if (etcd_session_ask_token(&d->session, on_token, d, &d->request, d->fault))
		fail(d);
}

/* Records */

static void set_own(struct etcd *d, const struct etcd_kv *kv)
{
	free(d->own);
	d->own = kv->deleted ? NULL : strdup(kv->value);
}

static bool is_record(const struct etcd *d, const struct etcd_kv *kv)
{
	const size_t len = strlen(d->prefix);

	return !strncmp(kv->key, d->prefix, len) && kv->key[len] &&
	       strlen(kv->key + len) < NODE_NAME_LEN;
}

static void take_record(struct etcd *d, const struct etcd_kv *kv)
{
	const char *name = kv->key + strlen(d->prefix);

	if (!is_record(d, kv))
		return;
	d->records_changed = true;
	if (!strcmp(name, d->config->node.name))
		set_own(d, kv);
	else if (kv->deleted)
		d->members_changed |= etcd_nodes_delete(&d->nodes, name);
	else
		d->members_changed |= etcd_nodes_put(&d->nodes, name, kv->value, kv->len,
						     d->config);
}

/* Reading all */

static void on_range_key(void *ctx, const struct etcd_kv *kv)
{
	struct etcd *d = ctx;

	free(d->page_last);
	d->page_last = strdup(kv->key);
	take_record(d, kv);
}

static void is_read(struct etcd *d, const char *local)
{
	const bool was_synced = d->synced;

	d->members_changed |= etcd_nodes_end(&d->nodes);
	d->records_changed = true;
	d->revision = d->page_revision;
	d->page_revision = 0;
	d->synced = true;
	d->synced_s = time(NULL);
	d->fault[0] = '\0';
	if (d->members_changed || !was_synced)
		log_info("read etcd: %zu peers", d->nodes.n);
	etcd_publish_seen(&d->publish, d->own, d->own ? strlen(d->own) : 0, local);
	show(d, !was_synced);
	step(d);
}

static void on_range(void *ctx, const struct http_answer *answer)
{
	struct etcd *d = ctx;
	struct etcd_range range;

	d->request = NULL;
	if (!etcd_session_judge(&d->session, answer, d->fault)) {
		d->page_revision = 0;
		fail(d);
		return;
	}
	if (!etcd_wire_parse_range(answer->body, answer->len, on_range_key, d, &range) ||
	    (range.more && !d->page_last)) {
		d->page_revision = 0;
		fail_with(d, "this is no answer of etcd");
		return;
	}
	if (!d->page_revision)
		d->page_revision = range.revision;
	if (range.more)
		step(d);
	else
		is_read(d, answer->local_address);
}

static void ask_range(struct etcd *d)
{
	struct etcd_ask a = {.path = "/v3/kv/range", .done = on_range, .ctx = d};

	if (!d->page_revision) {
		etcd_nodes_begin(&d->nodes);
		free(d->page_last);
		d->page_last = NULL;
		free(d->own);
		d->own = NULL;
	}
	a.body = etcd_wire_range(d->prefix, d->page_last, ETCD_PAGE, d->page_revision);
	ask(d, &a);
}

/* Watching */

/* What it still has to say is not heard. */
static void end_watch(struct etcd *d, bool read_again, const char *why)
{
	http_client_cancel(&d->request);
	d->watch_ended = true;
	if (read_again)
		d->revision = 0;
	if (why)
		fail_with(d, why);
	else
		uv_timer_start(d->timer, on_timer, FIRST_MS, 0);
}

static void on_event(void *ctx, const struct etcd_kv *kv)
{
	struct etcd *d = ctx;

	take_record(d, kv);
	if (is_record(d, kv) && !strcmp(kv->key + strlen(d->prefix), d->config->node.name))
		etcd_publish_seen(&d->publish, d->own, d->own ? strlen(d->own) : 0, NULL);
}

static void take_line(struct etcd *d, const char *line, size_t len)
{
	struct etcd_watch w;

	if (!etcd_wire_parse_watch(line, len, on_event, d, &w)) {
		end_watch(d, true, "this is no watch of etcd");
	} else if (w.compact_revision) {
		log_info("etcd has forgotten what was since revision %lld, all is read again",
			 (long long)d->revision);
		end_watch(d, true, NULL);
	} else if (w.canceled || w.failed) {
		sodium_memzero(d->session.token, sizeof(d->session.token));
		end_watch(d, w.canceled, w.reason[0] ? w.reason : "the watch was canceled");
	} else if (w.revision < d->revision) {
		/* Another etcd, or a server that lags behind: a reading waits for it. */
		log_info("etcd is at revision %lld, before %lld, all is read again",
			 (long long)w.revision, (long long)d->revision);
		end_watch(d, true, NULL);
	} else {
		d->is_watching = true;
		d->fault[0] = '\0';
		backoff_reset(&d->backoff);
		/* What was created has told nothing yet. */
		if (!w.created)
			d->revision = w.revision;
	}
}

static bool add_to_line(struct etcd *d, const char *data, size_t len)
{
	size_t room = d->line_room ? d->line_room : 4096;
	char *larger;

	if (len > LINE_MAX_LEN - d->line_len)
		return false;
	while (room - d->line_len < len)
		room *= 2;
	if (room != d->line_room) {
		larger = realloc(d->line, room);
		if (!larger)
			return false;
		d->line = larger;
		d->line_room = room;
	}
	memcpy(d->line + d->line_len, data, len);
	d->line_len += len;
	return true;
}

static void on_watch_data(void *ctx, const char *data, size_t len)
{
	struct etcd *d = ctx;
	const char *end;

	while (!d->watch_ended && len && (end = memchr(data, '\n', len))) {
		const size_t part = (size_t)(end - data);

		if (!add_to_line(d, data, part)) {
			end_watch(d, true, "a line of the watch is too long");
			return;
		}
		if (d->line_len)
			take_line(d, d->line, d->line_len);
		d->line_len = 0;
		data = end + 1;
		len -= part + 1;
	}
	if (d->watch_ended)
		return;
	if (!add_to_line(d, data, len))
		end_watch(d, true, "a line of the watch is too long");
	else
		show(d, false);
}

/* One without a word is begun again, on another server, which is no fault. */
static void on_watch_end(void *ctx, const struct http_answer *answer)
{
	struct etcd *d = ctx;
	const bool was_watching = d->is_watching;

	d->request = NULL;
	if (was_watching && answer->err == -ETIMEDOUT) {
		d->is_watching = false;
		etcd_session_rotate(&d->session);
		step(d);
	} else if (etcd_session_judge(&d->session, answer, d->fault)) {
		fail_with(d, "the watch ended");
	} else {
		fail(d);
	}
}

static void ask_watch(struct etcd *d)
{
	const struct etcd_ask a = {
		.path = "/v3/watch",
		.body = etcd_wire_watch(d->prefix, d->revision + 1),
		.is_stream = true,
		.chunk = on_watch_data,
		.done = on_watch_end,
		.ctx = d,
	};

	d->line_len = 0;
	d->watch_ended = false;
	ask(d, &a);
}

/* What is due next. */
static void step(struct etcd *d)
{
	if (d->request)
		return;
	if (etcd_session_needs_token(&d->session))
		ask_token(d);
	else if (!d->revision)
		ask_range(d);
	else
		ask_watch(d);
}

static void on_timer(uv_timer_t *timer)
{
	step(timer->data);
}

/* The provider */

static bool wanted(const struct config *config)
{
	return config->etcd.n_endpoints;
}

static void set_prefix(struct etcd *d)
{
	snprintf(d->prefix, sizeof(d->prefix), "%s/nodes/", d->config->etcd.prefix);
}

static void stop(void *provider)
{
	struct etcd *d = provider;

	etcd_publish_done(&d->publish);
	http_client_cancel(&d->request);
	http_client_free(d->client);
	loop_timer_free(&d->timer);
	etcd_nodes_done(&d->nodes);
	told_done(&d->told);
	sodium_memzero(d->session.token, sizeof(d->session.token));
	free(d->page_last);
	free(d->own);
	free(d->line);
	free(d->faults);
	free(d);
}

static int start_parts(struct etcd *d)
{
	uint8_t private_key[KEY_LEN], public_key[KEY_LEN];
	int err = keyfile_load(d->config->node.private_key_file, private_key);

	if (!err)
		key_public(private_key, public_key);
	sodium_memzero(private_key, sizeof(private_key));
	if (!err)
		err = http_client_new(d->loop, &d->client);
	if (!err)
		err = etcd_publish_init(&d->publish, d->loop, d->client, d->config, public_key);
	d->publish.told = on_publish;
	d->publish.ctx = d;
	d->session = (struct etcd_session){.client = d->client, .config = d->config};
	d->timer = loop_timer_new(d->loop, d);
	return err || d->timer ? err : -ENOMEM;
}

static int start(uv_loop_t *loop, const struct config *config, void (*changed)(void *ctx),
		 void *ctx, void **ret)
{
	struct etcd *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->loop = loop;
	d->changed = changed;
	d->ctx = ctx;
	d->config = config;
	d->backoff = (struct backoff){.first_ms = FIRST_MS, .max_ms = MAX_MS};
	set_prefix(d);
	err = start_parts(d);
	if (err) {
		stop(d);
		return err;
	}
	uv_timer_start(d->timer, on_timer, 0, 0);
	*ret = d;
	return 0;
}

/* Another configuration may mean another etcd, other credentials, another name: all is read
 * again, and what is known stays until then. */
static void reconfigure(void *provider, const struct config *config)
{
	struct etcd *d = provider;

	d->config = config;
	d->session.config = config;
	d->session.endpoint = 0;
	sodium_memzero(d->session.token, sizeof(d->session.token));
	set_prefix(d);
	etcd_publish_config(&d->publish, config);
	http_client_cancel(&d->request);
	d->revision = d->page_revision = 0;
	(void)etcd_nodes_again(&d->nodes, config);
	(void)etcd_nodes_gather(&d->nodes);
	backoff_reset(&d->backoff);
	uv_timer_start(d->timer, on_timer, 0, 0);
}

static void view(const void *provider, struct discovery_view *ret)
{
	const struct etcd *d = provider;

	*ret = (struct discovery_view){
		.kind = "etcd",
		.where = etcd_session_url(&d->session),
		.synced = d->synced,
		.synced_s = d->is_watching ? time(NULL) : d->synced_s,
		.members = d->nodes.members,
		.n_members = d->nodes.n_members,
		.faults = d->faults,
	};
}

const struct discovery_ops discovery_etcd = {
	.wanted = wanted,
	.start = start,
	.reconfigure = reconfigure,
	.view = view,
	.stop = stop,
};
