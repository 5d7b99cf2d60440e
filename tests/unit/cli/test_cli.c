/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command as a whole, through its entry point: with a lane and an agent that are
 * sockets of the test's own, in a mount namespace whose /run is empty.
 */
#include "agent/cli/cli.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/node/agent_lock.h"
#include "canned.h"
#include "cli_world.h"

static const char *skip_reason;

/* ---- Running it ---- */

struct outcome {
	struct printed out, err;
	int status;
};

static void run(struct outcome *o, const char *const *args)
{
	char *argv[8] = {strdup("sealane")};
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = strdup(args[argc - 1]);
	printed_begin(&o->out);
	printed_begin(&o->err);
	o->status = cli_main(argc, argv, o->out.out, o->err.out);
	printed_text(&o->out);
	printed_text(&o->err);
	while (argc--)
		free(argv[argc]);
}
#define RUN(o, ...) run(o, (const char *const[]){__VA_ARGS__, NULL})

static void outcome_end(struct outcome *o)
{
	printed_end(&o->out);
	printed_end(&o->err);
}

static void assert_outcome(struct outcome *o, int status, const char *out, const char *err)
{
	if (o->status != status)
		fail_msg("status %d:\n%s%s", o->status, o->out.text, o->err.text);
	assert_printed(&o->out, out);
	assert_printed(&o->err, err);
}

/* ---- Sockets that answer ---- */

struct station {
	int fd;
	const char *answer;
	bool is_lane; /* speaks the line grammar, else one document a connection */
	pthread_t thread;
};

/* An answer for each empty line, however requests are cut into pieces. */
static void answer_lines(int fd, const char *answer)
{
	char byte, last = 0;

	for (; recv(fd, &byte, 1, 0) == 1; last = byte) {
		if (byte != '\n' || last != '\n')
			continue;
		(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		(void)send(fd, "errno=0\n\n", 9, MSG_NOSIGNAL);
	}
}

static void *serve(void *arg)
{
	const struct station *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		if (s->is_lane)
			answer_lines(fd, s->answer);
		else
			(void)send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static void station_begin(struct station *s, const char *path, bool is_lane, const char *answer)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	*s = (struct station){.answer = answer, .is_lane = is_lane};
	memcpy(addr.sun_path, path, strlen(path) + 1);
	unlink(path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->fd, 8), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void station_end(struct station *s)
{
	shutdown(s->fd, SHUT_RDWR); /* ends accept() */
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static void need_run(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	mkdir("/run/sealane", 0755);
	mkdir("/run/wireguard", 0755);
}

struct lane {
	struct station control, uapi;
};

static void lane_begin(struct lane *l, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/run/sealane/%s.sock", name);
	station_begin(&l->control, path, true, CANNED_CONTROL);
	snprintf(path, sizeof(path), "/run/wireguard/%s.sock", name);
	station_begin(&l->uapi, path, true, CANNED_WG);
}

/* Leaves the files, as a lane that was killed does. */
static void lane_end(struct lane *l)
{
	station_end(&l->control);
	station_end(&l->uapi);
}

/* ---- Dispatch ---- */

static void test_usage(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, (const char *const[]){NULL});
	assert_outcome(&o, CLI_USAGE, "",
		       "usage: sealane COMMAND [OPTIONS]\n"
		       "       sealane COMMAND --help | --version | --help\n");
	RUN(&o, "ste\x1b");
	assert_outcome(&o, CLI_USAGE, "", "sealane: no command ste\\x1b; see sealane --help\n");
	RUN(&o, "version", "--lane", "x");
	assert_outcome(&o, CLI_USAGE, "",
		       "sealane version: option --lane is not known here; see sealane version "
		       "--help\n");
	RUN(&o, "status", "\x07");
	assert_outcome(&o, CLI_USAGE, "",
		       "sealane status: argument \\x07 is not known here; see sealane status "
		       "--help\n");
}

static void test_help(void **state)
{
	static const char *const commands[] = {"status", "peers",  "drops",   "doctor",
					       "genkey", "pubkey", "cleanup", "version"};
	struct outcome o;

	(void)state;
	RUN(&o, "--help");
	assert_int_equal(o.status, CLI_FINE);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		char line[40];
		struct outcome own;

		snprintf(line, sizeof(line), "\n  %-8s  ", commands[i]);
		assert_non_null(strstr(o.out.text, line));
		RUN(&own, commands[i], "--help");
		assert_int_equal(own.status, CLI_FINE);
		snprintf(line, sizeof(line), "usage: sealane %s", commands[i]);
		assert_int_equal(strncmp(own.out.text, line, strlen(line)), 0);
		assert_non_null(strstr(own.out.text, "--help "));
		outcome_end(&own);
	}
	outcome_end(&o);
	RUN(&o, "genkey", "-h");
	assert_outcome(&o, CLI_FINE,
		       "usage: sealane genkey [--json]\n"
		       "a new private key on standard output\n\n"
		       "  -j, --json          one JSON document instead of text\n"
		       "  -h, --help          this text\n",
		       "");
}

static void test_version(void **state)
{
	struct outcome o;

	(void)state;
	RUN(&o, "--version");
	assert_outcome(&o, CLI_FINE, "sealane " SEALANE_VERSION "\n", "");
	RUN(&o, "version", "--json");
	assert_outcome(&o, CLI_FINE, "{\n  \"version\": \"" SEALANE_VERSION "\"\n}\n", "");
}

/* Nothing may look done that was not. */
static void test_full_disk(void **state)
{
	char *argv[] = {strdup("sealane"), strdup("version")};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(cli_main(2, argv, full, stderr), CLI_WRONG);
	fclose(full);
	free(argv[0]);
	free(argv[1]);
}

/* ---- Which lane ---- */

static void test_only_lane(void **state)
{
	struct outcome o;
	struct lane lane;

	(void)state;
	need_run();
	RUN(&o, "drops");
	assert_outcome(&o, CLI_WRONG, "",
		       "sealane drops: lane: not running (nothing answers in /var/run/sealane)\n");
	lane_begin(&lane, "sl0");
	RUN(&o, "drops");
	assert_outcome(&o, CLI_FINE,
		       "no_peer        12  -\n"
		       "port_fragment  3   -\n"
		       "\nWhat they mean: man sealaned, \"Drop reasons\"\n",
		       "");
	RUN(&o, "peers", "--lane", "sl0");
	assert_int_equal(o.status, CLI_FINE);
	assert_non_null(strstr(o.out.text, "192.0.2.2:51820"));
	outcome_end(&o);
	RUN(&o, "peers", "--lane", "sl9");
	assert_outcome(&o, CLI_WRONG, "", "sealane peers: lane sl9: not running\n");
	lane_end(&lane);
	RUN(&o, "peers", "--lane", "sl0");
	assert_outcome(&o, CLI_WRONG, "", "sealane peers: lane sl0: not running\n");
}

static void test_several_lanes(void **state)
{
	struct station agent;
	struct lane a, b;
	struct outcome o;

	(void)state;
	need_run();
	lane_begin(&a, "sl0");
	lane_begin(&b, "sl1");
	RUN(&o, "drops");
	assert_outcome(&o, CLI_WRONG, "",
		       "sealane drops: lane: several are running: say which with --lane: sl0, "
		       "sl1\n");
	RUN(&o, "peers", "--json");
	assert_outcome(&o, CLI_WRONG,
		       "{\n  \"error\": \"lane: several are running: say which with --lane: sl0, "
		       "sl1\"\n}\n",
		       "");
	RUN(&o, "drops", "--json", "--lane", "sl1");
	assert_int_equal(o.status, CLI_FINE);
	outcome_end(&o);
	/* The agent's socket is in the same folder, and none of a lane. */
	lane_end(&b);
	station_begin(&agent, "/run/sealane/agent.sock", false, "{\"pid\": 3}");
	RUN(&o, "drops");
	assert_int_equal(o.status, CLI_FINE);
	outcome_end(&o);
	station_end(&agent);
	station_begin(&agent, "/run/sealane/agent.sock", false,
		      "{\"lane\": {\"interface\": \"sl1\"}}");
	RUN(&o, "drops");
	assert_outcome(&o, CLI_WRONG, "", "sealane drops: lane sl1: not running\n");
	station_end(&agent);
	lane_end(&a);
	unlink("/run/sealane/agent.sock");
}

/* However many there are, the text has an end. */
static void test_very_many_lanes(void **state)
{
	struct station lanes[14];
	char path[100];
	struct outcome o;

	(void)state;
	need_run();
	for (int i = 0; i < 14; i++) {
		snprintf(path, sizeof(path), "/run/sealane/lane-of-15-c-%02d.sock", i);
		station_begin(&lanes[i], path, true, CANNED_CONTROL);
	}
	RUN(&o, "drops");
	assert_int_equal(o.status, CLI_WRONG);
	assert_non_null(strstr(o.err.text, "with --lane: lane-of-15-c-"));
	assert_non_null(strstr(o.err.text, " and 2 more\n"));
	outcome_end(&o);
	for (int i = 0; i < 14; i++) {
		station_end(&lanes[i]);
		snprintf(path, sizeof(path), "/run/sealane/lane-of-15-c-%02d.sock", i);
		unlink(path);
	}
}

static void test_foreign_wireguard(void **state)
{
	struct station uapi;
	struct outcome o;

	(void)state;
	need_run();
	station_begin(&uapi, "/run/wireguard/wg0.sock", true, CANNED_WG);
	RUN(&o, "status", "--lane", "wg0");
	assert_int_equal(o.status, CLI_FINE);
	assert_non_null(strstr(o.out.text, "lane       wg0: a WireGuard that is not sealane's"));
	outcome_end(&o);
	station_end(&uapi);
}

static void test_status_document(void **state)
{
	struct station agent;
	struct outcome o;
	struct lane lane;
	struct agent_doc doc;

	(void)state;
	need_run();
	lane_begin(&lane, "sl0");
	station_begin(&agent, "/run/sealane/agent.sock", false, CANNED_AGENT);
	RUN(&o, "status", "--json");
	assert_int_equal(o.status, CLI_FINE);
	assert_int_equal(agent_doc_parse(o.out.text, o.out.len, &doc), 0);
	assert_int_equal(agent_number(agent_part(doc.root, "lane"), "pid", 0), getpid());
	assert_int_equal(agent_number(agent_part(doc.root, "agent"), "pid", 0), 812);
	agent_doc_done(&doc);
	outcome_end(&o);
	station_end(&agent);
	lane_end(&lane);
	unlink("/run/sealane/agent.sock");
}

static void test_doctor_document(void **state)
{
	struct agent_doc doc;
	struct outcome o;

	(void)state;
	need_run();
	RUN(&o, "doctor", "--json", "--lane", "nothing");
	assert_int_equal(o.status, CLI_WRONG);
	assert_int_equal(agent_doc_parse(o.out.text, o.out.len, &doc), 0);
	assert_false(agent_flag(doc.root, "fine", true));
	assert_true(agent_count(doc.root, "findings") > 2);
	agent_doc_done(&doc);
	outcome_end(&o);
}

static void test_cleanup_beside_an_agent(void **state)
{
	struct station agent;
	struct outcome o;

	(void)state;
	need_run();
	station_begin(&agent, "/run/sealane/agent.sock", false, CANNED_AGENT);
	RUN(&o, "cleanup");
	assert_outcome(&o, CLI_WRONG, "",
		       "sealane cleanup: an agent runs (pid 812) and would make everything again: "
		       "stop it first, or --force\n");
	RUN(&o, "cleanup", "--json");
	assert_outcome(&o, CLI_WRONG,
		       "{\n  \"error\": \"an agent runs (pid 812) and would make everything again: "
		       "stop it first, or --force\"\n}\n",
		       "");
	RUN(&o, "cleanup", "--force");
	assert_outcome(
		&o, CLI_FINE,
		"removed 0 routes, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets\n", "");
	RUN(&o, "cleanup", "--dry-run");
	assert_outcome(
		&o, CLI_FINE,
		"would remove 0 routes, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets\n",
		"");
	station_end(&agent);
	/* A socket that nobody listens on is no agent. */
	RUN(&o, "cleanup");
	assert_outcome(
		&o, CLI_FINE,
		"removed 0 routes, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets\n", "");
	unlink("/run/sealane/agent.sock");
}

/* Whatever its socket is called: it has the namespace's lock. */
static void test_cleanup_beside_another_agent(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN], want[AGENT_LOCK_TEXT_LEN];
	struct agent_lock lock;
	struct outcome o;

	(void)state;
	need_run();
	assert_int_equal(agent_lock_take(AGENT_LOCK_FOLDER, "sl7", 0, &lock, why), 0);
	snprintf(
		want, sizeof(want),
		"this network namespace is kept by process %d (sealane-agent, lane sl7), which has "
		"the lock /var/run/sealane/netns-",
		(int)getpid());
	RUN(&o, "cleanup");
	assert_int_equal(o.status, CLI_WRONG);
	assert_string_equal(o.out.text, "");
	assert_int_equal(strncmp(o.err.text, "sealane cleanup: ", 17), 0);
	assert_int_equal(strncmp(o.err.text + 17, want, strlen(want)), 0);
	assert_non_null(strstr(o.err.text, ": stop it first, or --force\n"));
	outcome_end(&o);
	RUN(&o, "cleanup", "--json");
	assert_int_equal(o.status, CLI_WRONG);
	assert_string_equal(o.err.text, "");
	assert_non_null(strstr(o.out.text, want));
	outcome_end(&o);
	RUN(&o, "cleanup", "--dry-run");
	assert_int_equal(o.status, CLI_FINE);
	outcome_end(&o);
	RUN(&o, "cleanup", "--force");
	assert_int_equal(o.status, CLI_FINE);
	outcome_end(&o);
	agent_lock_drop(&lock);
	RUN(&o, "cleanup");
	assert_int_equal(o.status, CLI_FINE);
	outcome_end(&o);
	/* And it keeps none. */
	assert_int_equal(agent_lock_take(AGENT_LOCK_FOLDER, "sl7", 0, &lock, why), 0);
	agent_lock_drop(&lock);
}

static void test_cleanup_tells_what_is_left(void **state)
{
	static const char text[] =
		"sealane cleanup: device t\\xc3\\xa9 (tun) is left: the agent used it, but its "
		"alias is \"mine\", and not ours; if it is to go: ip link set dev t\\xc3\\xa9 "
		"alias sealane and cleanup again, or ip link delete dev t\\xc3\\xa9\n";
	struct agent_doc doc;
	const json_t *left;
	struct outcome o;

	(void)state;
	need_run();
	if (access("/dev/net/tun", R_OK | W_OK)) {
		print_message("skipped: no /dev/net/tun to make devices with\n");
		skip();
	}
	assert_int_equal(system("ip tuntap add mode tap name t\xc3\xa9 && "
				"ip link set t\xc3\xa9 alias mine up && "
				"ip route add 10.9.0.0/16 dev t\xc3\xa9 proto 94"),
			 0);
	RUN(&o, "cleanup", "--dry-run", "--json");
	assert_int_equal(o.status, CLI_WRONG);
	assert_int_equal(agent_doc_parse(o.out.text, o.out.len, &doc), 0);
	left = agent_item(doc.root, "left", 0);
	assert_string_equal(agent_text(left, "device"), "t\xc3\xa9");
	assert_string_equal(agent_text(left, "kind"), "tun");
	assert_string_equal(agent_text(left, "alias"), "mine");
	assert_non_null(strstr(agent_text(left, "cure"), "ip link delete dev"));
	assert_true(json_is_null(json_object_get(doc.root, "error")));
	agent_doc_done(&doc);
	outcome_end(&o);
	RUN(&o, "cleanup");
	assert_outcome(
		&o, CLI_WRONG,
		"removed 1 route, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets\n",
		text);
	assert_int_equal(system("ip link delete t\xc3\xa9"), 0);
}

static void test_cleanup_tells(void **state)
{
	struct agent_doc doc;
	struct outcome o;

	(void)state;
	need_run();
	assert_int_equal(
		system("ip link set lo up && ip route add unreachable 10.7.0.0/16 proto 94 "
		       "&& ip route add unreachable 10.8.0.0/16 proto 95"),
		0);
	RUN(&o, "cleanup", "-n");
	assert_outcome(
		&o, CLI_FINE,
		"route unreachable 10.7.0.0/16\n"
		"would remove 1 route, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets\n",
		"");
	RUN(&o, "cleanup", "--json");
	assert_int_equal(o.status, CLI_FINE);
	assert_int_equal(agent_doc_parse(o.out.text, o.out.len, &doc), 0);
	assert_false(agent_flag(doc.root, "dry_run", true));
	assert_int_equal(agent_number(agent_part(doc.root, "removed"), "route", 0), 1);
	assert_string_equal(agent_text(agent_item(doc.root, "objects", 0), "object"),
			    "unreachable 10.7.0.0/16");
	agent_doc_done(&doc);
	outcome_end(&o);
	assert_int_equal(system("ip route | grep -q 10.8.0.0/16"), 0);
	assert_int_not_equal(system("ip route | grep -q 10.7.0.0/16"), 0);
}

/* Before any thread. */
static const char *make_namespaces(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		return "no namespaces of our own: run as root";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, "mode=755") < 0)
		return "no /run of our own";
	return NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_only_lane),
		cmocka_unit_test(test_several_lanes),
		cmocka_unit_test(test_very_many_lanes),
		cmocka_unit_test(test_foreign_wireguard),
		cmocka_unit_test(test_status_document),
		cmocka_unit_test(test_doctor_document),
		cmocka_unit_test(test_cleanup_beside_an_agent),
		cmocka_unit_test(test_cleanup_beside_another_agent),
		cmocka_unit_test(test_cleanup_tells),
		cmocka_unit_test(test_cleanup_tells_what_is_left),
	};

	unsetenv("SEALANE_AGENT_SOCKET");
	skip_reason = make_namespaces();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
