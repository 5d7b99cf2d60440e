/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration text of any kind against a lane. Property: after every operation
 * `get` describes the lane as it is, and setting a second lane from that text
 * gives the same text again. The first byte: device up, port or mark refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lane/lane.h"
#include "agent/lane/log.h"
#include "agent/lane/textbuf.h"
#include "agent/lane/uapi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "broken: %s\n", #x);                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

enum { UP = 1, PORT_REFUSED = 2, FWMARK_REFUSED = 4 };

static uint64_t now_ns, seed;
static int open_err, fwmark_err;

static uint64_t fake_now(void *ctx)
{
	(void)ctx;
	return now_ns += 1000000;
}

static void fake_wall(void *ctx, struct timespec *ret)
{
	(void)ctx;
	*ret = (struct timespec){.tv_sec = 1700000000};
}

static void fake_random(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	for (size_t i = 0; i < len; i++) {
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		((uint8_t *)buf)[i] = (uint8_t)(seed >> 56);
	}
}

static int fake_read(void *ctx, struct io_read *r)
{
	(void)ctx;
	(void)r;
	return 0;
}

static int fake_write(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n)
{
	(void)ctx;
	(void)vnet;
	(void)iov;
	(void)n;
	return 0;
}

static int fake_receive(void *ctx, int family, struct udp_message *msgs, unsigned max)
{
	(void)ctx;
	(void)family;
	(void)msgs;
	(void)max;
	return 0;
}

static void fake_send(void *ctx, struct udp_run *runs, unsigned n)
{
	(void)ctx;
	(void)runs;
	(void)n;
}

static int fake_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	(void)ctx;
	(void)fwmark;
	if (!open_err && !*port)
		*port = 40000;
	return open_err;
}

static void fake_close(void *ctx)
{
	(void)ctx;
}

static int fake_probe(void *ctx, uint16_t port)
{
	(void)ctx;
	return port ? open_err : 0;
}

static int fake_set_fwmark(void *ctx, uint32_t fwmark)
{
	(void)ctx;
	(void)fwmark;
	return fwmark_err;
}

static const struct lane_env env = {NULL, fake_now, fake_wall, fake_random};
static const struct device_io device = {.read = fake_read, .write = fake_write};
static const struct udp_io udp = {
	.receive = fake_receive,
	.send = fake_send,
	.open = fake_open,
	.close = fake_close,
	.probe = fake_probe,
	.set_fwmark = fake_set_fwmark,
};

/* A get's text, read back as the lines of a set. */
static void copy_lane(struct lane *to, const struct textbuf *text)
{
	struct uapi_set s;
	const char *line = text->data, *end;

	uapi_set_begin(&s, to);
	for (; (end = strchr(line, '\n')); line = end + 1) {
		if (!strncmp(line, "last_", 5) || !strncmp(line, "tx_", 3) ||
		    !strncmp(line, "rx_", 3) || !strncmp(line, "errno=", 6) || end == line)
			continue;
		CHECK(uapi_set_line(&s, line, (size_t)(end - line)) == 0);
	}
	uapi_set_end(&s);
}

/* @text counts peers and prefixes as the lane does. */
static void check_text(const struct lane *lane, const struct textbuf *text)
{
	const char *line = text->data, *end;
	unsigned n_peers = 0;

	CHECK(!text->failed && strlen(text->data) == text->len);
	for (; (end = strchr(line, '\n')); line = end + 1) {
		n_peers += !strncmp(line, "public_key=", 11);
		CHECK(end == line ? !end[1] : memchr(line, '=', (size_t)(end - line)) != NULL);
	}
	CHECK(n_peers == lane->n_peers);
	CHECK(text->len >= 9 && !strcmp(text->data + text->len - 9, "errno=0\n\n"));
}

static void check_get(const struct lane *lane)
{
	struct textbuf text = {0}, again = {0};
	struct lane twin;

	uapi_get(lane, &text);
	check_text(lane, &text);
	open_err = fwmark_err = 0;
	CHECK(lane_init(&twin, &env, &device, &udp, 1420) == 0);
	copy_lane(&twin, &text);
	uapi_get(&twin, &again);
	/* A lane that is up has sent handshakes, which its counters show. */
	if (!lane->up)
		CHECK(text.len == again.len && !memcmp(text.data, again.data, text.len));
	CHECK(twin.n_peers == lane->n_peers);
	lane_done(&twin);
	textbuf_done(&text);
	textbuf_done(&again);
}

static void run_sets(struct lane *lane, const char *text, size_t len)
{
	struct uapi_set s;
	int err = 0;

	uapi_set_begin(&s, lane);
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line_len = end ? (size_t)(end - text) : len;

		if (line_len && !err)
			err = uapi_set_line(&s, text, line_len);
		CHECK(err == 0 || err == -EINVAL || err == -EPROTO || err == -EADDRINUSE);
		if (!line_len) {
			uapi_set_end(&s);
			lane_expire(lane);
			err = 0;
			uapi_set_begin(&s, lane);
		}
		text += line_len + !!end;
		len -= line_len + !!end;
	}
	uapi_set_end(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lane lane;

	if (!size)
		return 0;
	log_setup(LOG_SILENT);
	now_ns = 1000000000;
	seed = 1;
	open_err = fwmark_err = 0;
	CHECK(lane_init(&lane, &env, &device, &udp, 1420) == 0);
	if (data[0] & UP)
		CHECK(lane_set_up(&lane, true) == 0);
	open_err = data[0] & PORT_REFUSED ? -EADDRINUSE : 0;
	fwmark_err = data[0] & FWMARK_REFUSED ? -EPERM : 0;
	run_sets(&lane, (const char *)data + 1, size - 1);
	check_get(&lane);
	lane_done(&lane);
	return 0;
}
