/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup_lane.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/node/lane_client.h"
#include "lane_doc.h"
#include "overlay/link.h"
#include "overlay/owner.h"

void cleanup_lane_name(const struct link_info *device, char ret[IFNAMSIZ])
{
	static const char mark[] = OWNER_LANE_ALIAS;
	const size_t len = sizeof(mark) - 1;
	const char *name = device->name;

	if (!strncmp(device->alias, mark, len) && device->alias[len] &&
	    strlen(device->alias + len) < IFNAMSIZ)
		name = device->alias + len;
	snprintf(ret, IFNAMSIZ, "%s", name);
}

static int tell_ports(char *answer, int (*fn)(const char *port, void *arg), void *arg)
{
	const struct lane_item *port;
	struct lane_doc doc;
	size_t cursor = 0;
	int err = lane_doc_parse(answer, &doc);

	while (!err && (port = lane_doc_next_port(&doc, &cursor)))
		err = fn(port->value, arg);
	lane_doc_done(&doc);
	return err;
}

int cleanup_lane_ports(const char *lane, int (*fn)(const char *port, void *arg), void *arg)
{
	char err_text[LANE_CLIENT_ERR_LEN], *answer;
	struct lane_client *client;
	bool uapi_only;
	int err = 0;

	if (lane_client_connect(lane, &client, &uapi_only))
		return 0;
	if (!lane_client_ask(client, LANE_CONTROL, "get=1\n", &answer, err_text)) {
		err = tell_ports(answer, fn, arg);
		lane_answer_free(answer);
	}
	lane_client_close(client);
	return err;
}

/* There, and a socket that nobody listens on. */
static bool is_dead(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	bool dead;
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return false;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 &&
	       errno == ECONNREFUSED;
	close(fd);
	return dead;
}

void cleanup_lane_sockets(const char *lane, void (*fn)(const char *path, void *arg), void *arg)
{
	static const char *const folders[] = {"/var/run/wireguard", "/var/run/sealane"};
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s.sock", folders[i], lane);
		if (is_dead(path))
			fn(path, arg);
	}
}
