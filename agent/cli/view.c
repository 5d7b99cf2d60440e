/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/node/lane_client.h"
#include "agent/node/status.h"
#include "cli.h"

/* Of several lanes; all names fit into a text. */
enum { LANES_TOLD_MAX = 12 };
_Static_assert(LANES_TOLD_MAX *(IFNAMSIZ + 2) + 64 < VIEW_TEXT_LEN, "the names fit");

/* ---- The agent ---- */

void view_index_names(struct view *v)
{
	const json_t *peer;

	v->names = json_object();
	for (size_t i = 0; (peer = agent_item(v->agent.root, "peers", i)); i++) {
		const char *key = agent_text(peer, "public_key");

		/* Without memory a name is missing. */
		if (key)
			(void)json_object_set(v->names, key, json_object_get(peer, "name"));
	}
}

/* @no_answer: of something that does not speak as it should. */
static const char *explain(int err, const char *no_answer)
{
	switch (err) {
	case -EPROTO:
		return no_answer;
	case -EPIPE:
		return "ended while it was asked; ask again";
	case -ETIMEDOUT:
		return "does not answer in time: stopped, or stuck";
	default:
		return strerror(-err);
	}
}

static void open_agent(struct view *v)
{
	const char *path = agent_doc_path();
	const int err = agent_doc_fetch(path, &v->agent);

	v->has_agent = !err;
	if (!err) {
		view_index_names(v);
		return;
	}
	if (err == -ENOENT || err == -ECONNREFUSED) {
		snprintf(v->agent_why, sizeof(v->agent_why), "not running (nothing answers on %s)",
			 path);
		return;
	}
	/* Who may not ask cannot tell that something is wrong. */
	v->agent_broken = err != -EACCES && err != -EPERM;
	snprintf(v->agent_why, sizeof(v->agent_why), "%s: %s", path,
		 explain(err, "what answers there is no agent's status"));
}

/* ---- Which lane ---- */

static bool answers(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	bool yes;
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return false;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	/* Anything but these two is a socket that somebody listens on. */
	yes = !connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ||
	      (errno != ECONNREFUSED && errno != ENOENT);
	close(fd);
	return yes;
}

/* "sl0" of "sl0.sock"; false: no control socket's name. The agent's is in the same folder. */
static bool lane_of_file(const char *file, char ret[IFNAMSIZ])
{
	static const char suffix[] = ".sock";
	const char *agents = strrchr(STATUS_SOCKET, '/') + 1;
	const size_t suffix_len = sizeof(suffix) - 1, len = strlen(file);

	if (!strcmp(file, agents) || len <= suffix_len || len - suffix_len >= IFNAMSIZ ||
	    strcmp(file + len - suffix_len, suffix) != 0)
		return false;
	memcpy(ret, file, len - suffix_len);
	ret[len - suffix_len] = '\0';
	return true;
}

/* The lanes that answer, as many as there is room for, in order. */
struct lanes {
	char names[LANES_TOLD_MAX][IFNAMSIZ];
	size_t n; /* also those that there is no room for */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static size_t n_names(const struct lanes *lanes)
{
	return lanes->n < LANES_TOLD_MAX ? lanes->n : LANES_TOLD_MAX;
}

static void find_lanes(struct lanes *ret)
{
	DIR *folder = opendir(VIEW_LANE_FOLDER);
	char name[IFNAMSIZ], path[sizeof(VIEW_LANE_FOLDER) + IFNAMSIZ + 8];
	const struct dirent *entry;

	*ret = (struct lanes){.n = 0};
	while (folder && (entry = readdir(folder))) {
		if (!lane_of_file(entry->d_name, name))
			continue;
		snprintf(path, sizeof(path), VIEW_LANE_FOLDER "/%s.sock", name);
		if (!answers(path))
			continue;
		if (ret->n < LANES_TOLD_MAX)
			memcpy(ret->names[ret->n], name, IFNAMSIZ);
		ret->n++;
	}
	if (folder)
		closedir(folder);
	qsort(ret->names, n_names(ret), IFNAMSIZ, compare_names);
}

static void tell_several(const struct lanes *lanes, char why[VIEW_TEXT_LEN])
{
	size_t len = (size_t)snprintf(why, VIEW_TEXT_LEN,
				      "several are running: say which with --lane:");

	for (size_t i = 0; i < n_names(lanes); i++)
		len += (size_t)snprintf(why + len, VIEW_TEXT_LEN - len, "%s %s", i ? "," : "",
					lanes->names[i]);
	if (lanes->n > n_names(lanes))
		snprintf(why + len, VIEW_TEXT_LEN - len, " and %zu more",
			 lanes->n - n_names(lanes));
}

/* False: v->lane_why tells. */
static bool choose_lane(struct view *v, const char *wanted)
{
	struct lanes lanes;

	if (!wanted)
		wanted = agent_text(agent_part(v->agent.root, "lane"), "interface");
	if (wanted && *wanted && strlen(wanted) < IFNAMSIZ && !strchr(wanted, '/')) {
		snprintf(v->lane, sizeof(v->lane), "%s", wanted);
		return true;
	}
	find_lanes(&lanes);
	if (lanes.n == 1) {
		memcpy(v->lane, lanes.names[0], IFNAMSIZ);
		return true;
	}
	if (lanes.n)
		tell_several(&lanes, v->lane_why);
	else
		snprintf(v->lane_why, sizeof(v->lane_why),
			 "not running (nothing answers in " VIEW_LANE_FOLDER ")");
	return false;
}

/* ---- The lane ---- */

static pid_t lane_pid(const struct lane_client *client)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int fd = lane_client_fd(client, LANE_CONTROL);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ? 0 : cred.pid;
}

static int ask_lane(struct view *v, struct lane_client *client)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	int err;

	err = lane_client_ask(client, LANE_CONTROL, "get=1\n", &v->control_text, err_text);
	if (!err)
		err = lane_doc_parse(v->control_text, &v->control);
	if (!err)
		err = lane_client_ask(client, LANE_UAPI, "get=1\n", &v->wg_text, err_text);
	if (!err)
		err = wg_doc_parse(v->wg_text, &v->wg);
	return err;
}

/* The agent has waited already. */
static bool is_known_silent(const struct view *v)
{
	const json_t *lane = agent_part(v->agent.root, "lane");
	const char *interface = agent_text(lane, "interface");

	return interface && !strcmp(interface, v->lane) && agent_flag(lane, "silent", false);
}

static void open_lane(struct view *v)
{
	struct lane_client *client = NULL;
	int err;

	if (is_known_silent(v)) {
		snprintf(v->lane_why, sizeof(v->lane_why),
			 "does not answer, though somebody holds its sockets");
		return;
	}
	err = lane_client_open(v->lane, &client, &v->uapi_only);

	if (!err) {
		v->lane_pid = lane_pid(client);
		err = ask_lane(v, client);
		lane_client_close(client);
	}
	v->has_lane = !err;
	if (!err)
		return;
	if (err == -ENOENT && v->uapi_only)
		snprintf(v->lane_why, sizeof(v->lane_why),
			 "a WireGuard that is not sealane's answers there; ask it with wg(8)");
	else if (err == -ENOENT || err == -ECONNREFUSED)
		snprintf(v->lane_why, sizeof(v->lane_why), "not running");
	else
		snprintf(v->lane_why, sizeof(v->lane_why), "%s%s",
			 explain(err, "what answers there is no lane"),
			 err == -EACCES || err == -EPERM ? " (run as root)" : "");
}

void view_open(const char *wanted, struct view *ret)
{
	*ret = (struct view){.has_agent = false};
	open_agent(ret);
	if (choose_lane(ret, wanted))
		open_lane(ret);
}

void view_close(struct view *v)
{
	agent_doc_done(&v->agent);
	lane_doc_done(&v->control);
	wg_doc_done(&v->wg);
	json_decref(v->names);
	/* Wipes, too: the private key was in one of them. */
	lane_answer_free(v->control_text);
	lane_answer_free(v->wg_text);
	*v = (struct view){.has_agent = false};
}

void view_complain(const struct view *v, const struct cli *cli, const char *command)
{
	cli_refuse(cli, command, "lane%s%s: %s", *v->lane ? " " : "", v->lane, v->lane_why);
}

const char *view_peer_name(const struct view *v, const char *public_key)
{
	return agent_text(v->names, public_key);
}
