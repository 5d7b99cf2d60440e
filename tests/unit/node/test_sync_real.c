/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane's half of a pass against a real sealaned, whose path is in the environment
 * variable SEALANED: that the models of the other tests answer as it does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/node/lane_client.h"
#include "agent/node/sync.h"
#include "desired_world.h"

enum { PATIENCE_MS = 30000 };

static const char *skip_reason;

struct fixture {
	struct desired_world w;
	struct lane_client *client;
	struct sync_lane_memory *memory;
	char ifname[IFNAMSIZ];
	pid_t pid;
};

static pid_t start_lane(const char *ifname)
{
	const char *program = getenv("SEALANED");
	const pid_t pid = fork();

	if (!pid) {
		execl(program, program, "-f", ifname, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static int setup(void **state)
{
	static unsigned turn;
	struct fixture *f = calloc(1, sizeof(*f));
	bool uapi_only;
	int err = -ENOENT;

	*state = f;
	if (skip_reason)
		return 0;
	world_init(&f->w);
	f->w.config.node.listen_port = 0;
	f->memory = sync_lane_memory_new();
	/* Sockets are files, which all network namespaces share. */
	snprintf(f->ifname, sizeof(f->ifname), "sr%d-%u", (int)getpid(), turn++);
	f->pid = start_lane(f->ifname);
	for (int i = 0; err && i < PATIENCE_MS / 10; i++) {
		usleep(10000);
		err = lane_client_open(f->ifname, &f->client, &uapi_only);
	}
	assert_int_equal(err, 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	lane_client_close(f->client);
	sync_lane_memory_free(f->memory);
	if (f->pid) {
		kill(f->pid, SIGTERM);
		waitpid(f->pid, NULL, 0);
	}
	free(f);
	return 0;
}

static void need_lane(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static void pass(struct fixture *f)
{
	struct report *r = &f->w.report;

	*r = (struct report){0};
	assert_int_equal(sync_lane_add(f->client, &f->w.d, f->memory, r), 0);
	assert_int_equal(sync_ports_add(f->client, &f->w.d, r), 0);
	assert_int_equal(sync_ports_remove(f->client, &f->w.d, r), 0);
	assert_int_equal(sync_lane_remove(f->client, &f->w.d, f->memory, r), 0);
}

static void assert_counts(const struct fixture *f, unsigned added, unsigned changed,
			  unsigned removed, unsigned failed)
{
	for (unsigned i = 0; i < f->w.report.failed && i < REPORT_FAULTS_MAX; i++)
		print_message("%s\n", f->w.report.faults[i]);
	assert_int_equal(f->w.report.failed, failed);
	assert_int_equal(f->w.report.added, added);
	assert_int_equal(f->w.report.changed, changed);
	assert_int_equal(f->w.report.removed, removed);
}

/* One pass does it, the next has nothing to do. */
static void assert_pass(struct fixture *f, unsigned added, unsigned changed, unsigned removed)
{
	pass(f);
	assert_counts(f, added, changed, removed, 0);
	pass(f);
	assert_counts(f, 0, 0, 0, 0);
}

static void test_peers(void **state)
{
	struct fixture *f = *state;
	struct member *m;

	need_lane();
	f->w.config.lane.fwmark = 0x51;
	m = world_add_peer(&f->w, 1);
	world_endpoint(m, "192.0.2.1:51820");
	world_allow(&f->w, "10.1.0.0/16");
	world_allow(&f->w, "fd00:1::/32");
	m->has_psk = true;
	memset(m->psk, 0xbb, sizeof(m->psk));
	m = world_add_peer(&f->w, 2);
	world_endpoint(m, "[2001:db8::2]:51820");
	world_allow(&f->w, "10.2.0.0/16");
	m->keepalive_s = 25;
	world_add_peer(&f->w, 3);
	world_allow(&f->w, "0.0.0.0/0");
	world_allow(&f->w, "::/0");
	assert_pass(f, 3, 2, 0);

	/* Two peers exchange their IPv4 prefixes, one of them has no key any more. */
	assert_true(ip_prefix_parse("10.2.0.0/16", &f->w.allowed[0][0]));
	assert_true(ip_prefix_parse("10.1.0.0/16", &f->w.allowed[1][0]));
	f->w.members[0].has_psk = false;
	assert_pass(f, 0, 2, 0);

	/* The first one goes, the last one has what it had. */
	f->w.d.n_peers = 0;
	world_add_peer(&f->w, 2);
	world_allow(&f->w, "10.1.0.0/16");
	world_add_peer(&f->w, 3);
	world_allow(&f->w, "10.2.0.0/16");
	f->w.config.lane.fwmark = 0;
	assert_pass(f, 0, 3, 1);
	f->w.d.n_peers = 0;
	assert_pass(f, 0, 0, 2);
}

/* Somebody has the port: all else is done. */
static void test_refused_port(void **state)
{
	struct sockaddr_in6 addr = {.sin6_family = AF_INET6};
	socklen_t len = sizeof(addr);
	struct fixture *f = *state;
	int fd;

	need_lane();
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	f->w.config.node.listen_port = ntohs(addr.sin6_port);
	world_add_peer(&f->w, 1);
	pass(f);
	assert_counts(f, 1, 1, 0, 1); /* the peer, the private key */
	assert_string_equal(f->w.report.faults[0],
			    "the lane's listen port: Address already in use");
	close(fd);
	assert_pass(f, 0, 1, 0);
}

static void add_two_stations(struct fixture *f, bool v6)
{
	world_add_station(&f->w, 3, v6 ? "fd00::3" : "10.9.0.3", "10.10.0.3");
	world_add_station(&f->w, 2, v6 ? "fd00::2" : "10.9.0.2", "fd10::2");
}

static void test_ports(void **state)
{
	struct fixture *f = *state;
	struct config_overlay *config = f->w.overlay_configs;

	need_lane();
	world_add_overlay(&f->w, "srov0", 42, "10.9.0.1");
	add_two_stations(f, false);
	world_add_overlay(&f->w, "srov1", 43, "fd00::1")->csum = true;
	add_two_stations(f, true);
	assert_pass(f, 2, 1, 0); /* and the private key */

	/* Entries: one goes, one has another VTEP, one is new. */
	f->w.overlays[0].n_stations = 0;
	f->w.d.n_overlays = 1;
	world_add_station(&f->w, 2, "10.9.0.7", "10.10.0.2");
	world_add_station(&f->w, 4, "10.9.0.4", "fd10::2");
	f->w.d.n_overlays = 2;
	assert_pass(f, 0, 1, 0);

	config[0].flood = false;
	config[0].learning = true;
	config[0].answer_neighbours = false;
	config[0].ttl = 7;
	config[0].fdb_limit = 100;
	config[0].udp_port = 8472;
	f->w.overlays[0].csum = true;
	assert_pass(f, 0, 1, 0);
	config[0].fdb_limit = 1048576;
	assert_pass(f, 0, 1, 0);

	/* Made again, */
	f->w.overlays[0].mac[5] = 77;
	assert_pass(f, 1, 0, 1);
	config[0].gso_max_size = 65536;
	assert_pass(f, 1, 0, 1);
	/* with another name, */
	strcpy(config[0].name, "srov2");
	assert_pass(f, 1, 0, 1);
	/* in the other family, whose stations have other VTEPs. */
	f->w.overlays[1].vtep = world_ip("10.9.0.1");
	for (int i = 0; i < 2; i++)
		f->w.stations[1][i].vtep = world_ip(i ? "10.9.0.2" : "10.9.0.3");
	assert_pass(f, 0, 1, 0);

	f->w.d.n_overlays = 0;
	assert_pass(f, 0, 0, 2);
}

/* Two ports exchange their VNIs: none can have the other's while that is there. */
static void test_swapped_ports(void **state)
{
	struct fixture *f = *state;

	need_lane();
	world_add_overlay(&f->w, "srov0", 42, "10.9.0.1");
	world_add_overlay(&f->w, "srov1", 43, "10.9.0.1");
	assert_pass(f, 2, 1, 0);
	f->w.overlay_configs[0].vni = 43;
	f->w.overlay_configs[1].vni = 42;
	pass(f);
	assert_int_equal(f->w.report.failed, 0);
	pass(f);
	assert_counts(f, 0, 0, 0, 0);
}

/* Entries the lane does not take are named and left out. */
static void test_refused_entries(void **state)
{
	struct fixture *f = *state;

	need_lane();
	world_add_overlay(&f->w, "srov0", 42, "10.9.0.1");
	add_two_stations(f, false);
	world_add_station(&f->w, 4, "10.9.0.4", "224.0.0.1");
	world_add_station(&f->w, 5, "224.0.0.5", "10.10.0.5")->mac[0] = 1;
	pass(f);
	/* Its VTEP twice, as an entry and to flood to; its MAC; two neighbours. */
	assert_true(f->w.report.failed >= 3);
	assert_non_null(strstr(f->w.report.faults[0], "port srov0: fdb"));

	f->w.overlays[0].n_stations = 3;
	f->w.stations[0][2].addresses[0] = world_ip("10.10.0.4");
	pass(f);
	assert_counts(f, 0, 1, 0, 0); /* one neighbour more */
	pass(f);
	assert_counts(f, 0, 0, 0, 0);
}

static void test_many(void **state)
{
	enum { N = 300 };
	struct fixture *f = *state;
	struct desired_station *stations;
	struct desired_overlay *o;

	need_lane();
	stations = calloc(N, sizeof(*stations));
	o = world_add_overlay(&f->w, "srov0", 42, "10.9.0.1");
	for (size_t i = 0; i < N; i++) {
		char vtep[20];

		snprintf(vtep, sizeof(vtep), "10.9.%zu.%zu", 1 + i / 250, 1 + i % 250);
		stations[i].vtep = world_ip(vtep);
		memcpy(stations[i].mac, (uint8_t[]){2, 0, 0, 1, i >> 8 & 0xff, i & 0xff}, 6);
	}
	o->stations = stations;
	o->n_stations = N;
	assert_pass(f, 1, 1, 0);
	o->n_stations = N / 2;
	assert_pass(f, 0, 1, 0);
	f->w.d.n_overlays = 0;
	free(stations);
}

/* The client sees the lane's end. */
static void test_end(void **state)
{
	struct fixture *f = *state;
	char err[LANE_CLIENT_ERR_LEN], byte;
	struct lane_client *c;
	bool uapi_only;

	need_lane();
	kill(f->pid, SIGTERM);
	waitpid(f->pid, NULL, 0);
	f->pid = 0;
	assert_int_equal(recv(lane_client_fd(f->client, LANE_CONTROL), &byte, 1, 0), 0);
	assert_int_equal(lane_client_ask(f->client, LANE_UAPI, "get=1\n", NULL, err), -EPIPE);
	assert_int_equal(lane_client_open(f->ifname, &c, &uapi_only), -ENOENT);
	assert_false(uapi_only);
}

static const char *why_not(void)
{
	if (!getenv("SEALANED"))
		return "SEALANED is not set: it names the sealaned to test with";
	if (geteuid() != 0)
		return "needs root";
	if (unshare(CLONE_NEWNET) < 0)
		return "no network namespace can be made";
	return NULL;
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_peers),		 T(test_refused_port), T(test_ports), T(test_swapped_ports),
		T(test_refused_entries), T(test_many),	       T(test_end),
	};

	skip_reason = why_not();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
