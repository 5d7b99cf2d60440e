/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane is told of the overlays' UDP ports. */
#include "desired_world.h"
#include "lane_server.h"

#include "agent/node/sync.h"

struct fixture {
	struct desired_world w;
	char told[1000]; /* encap= lines of the lane */
	const char *refusal;
	struct lane_server server;
	struct lane_client *client;
	unsigned n_logged;
	char logged[256];
};

#define DEFAULTS                                                                                   \
	"encap=4789 vxlan default\nencap=8472 vxlan default\nencap=6081 geneve default\n"          \
	"encap=6635 mpls default\n"

/* Lines are kept as the lane keeps them, but for a port that is set twice. */
static void model_set(struct fixture *f, char *lines)
{
	char *save = NULL, *line, *found, needle[64];

	for (line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned port = 0;

		if (sscanf(line, "encap_remove=%u", &port) == 1) {
			snprintf(needle, sizeof(needle), "encap=%u ", port);
			for (found = strstr(f->told, needle);
			     found &&
			     strncmp(strchr(found + strlen(needle), ' '), " set\n", 5) != 0;)
				found = strstr(found + 1, needle);
			if (found)
				memmove(found, strchr(found, '\n') + 1,
					strlen(strchr(found, '\n') + 1) + 1);
		} else {
			strcat(strcat(f->told, line), " set\n");
		}
	}
}

static char *answer(void *ctx, enum lane_socket which, const char *request)
{
	struct fixture *f = ctx;
	char *text = NULL, *lines;

	if (which == LANE_UAPI)
		return NULL;
	if (!strncmp(request, "set=1\n", 6)) {
		lines = strdup(request + 6);
		if (!f->refusal)
			model_set(f, lines);
		free(lines);
		if (f->refusal)
			(void)!asprintf(&text, "error=%s\nerrno=-22\n\n", f->refusal);
		else
			text = strdup("errno=0\n\n");
		return text;
	}
	(void)!asprintf(&text, "version=1\nmtu=1420\n%sports=0\nerrno=0\n\n", f->told);
	return text;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	world_init(&f->w);
	strcpy(f->told, DEFAULTS);
	lane_server_start(&f->server, answer, f);
	f->client = lane_server_client(&f->server);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	lane_client_close(f->client);
	lane_server_stop(&f->server);
	free(f);
	return 0;
}

static void keep_log(const char *text, void *arg)
{
	struct fixture *f = arg;

	f->n_logged++;
	snprintf(f->logged, sizeof(f->logged), "%s", text);
}

static void sync_once(struct fixture *f)
{
	f->w.report = (struct report){.log = keep_log, .log_arg = f};
	f->n_logged = 0;
	lane_server_forget(&f->server);
	assert_int_equal(sync_encap(f->client, &f->w.d, &f->w.report), 0);
}

static void add(struct fixture *f, const char *name, enum config_type type, uint16_t udp_port)
{
	struct config_overlay *config = &f->w.overlay_configs[f->w.d.n_overlays];

	world_add_overlay(&f->w, name, 42, "10.9.0.1");
	config->type = type;
	config->udp_port = udp_port;
}

static void expect_quiet(struct fixture *f)
{
	sync_once(f);
	assert_int_equal(lane_server_n_sets(&f->server), 0);
	assert_int_equal(f->w.report.changed + f->w.report.failed + f->n_logged, 0);
}

static void expect_set(struct fixture *f, const char *lines)
{
	sync_once(f);
	assert_int_equal(lane_server_n_sets(&f->server), 1);
	assert_string_equal(lane_server_set(&f->server, 0), lines);
	assert_int_equal(f->w.report.changed, 1);
	assert_int_equal(f->w.report.failed, 0);
	expect_quiet(f);
}

static void test_known_by_default(void **state)
{
	struct fixture *f = *state;

	expect_quiet(f);
	add(f, "ov0", CONFIG_PORT, 4789);
	add(f, "ov1", CONFIG_VXLAN, 8472);
	add(f, "ov2", CONFIG_GENEVE, 6081);
	expect_quiet(f);
}

static void test_each_type(void **state)
{
	static const struct {
		enum config_type type;
		const char *kind;
	} types[] = {{CONFIG_PORT, "vxlan"},
		     {CONFIG_VXLAN, "vxlan"},
		     {CONFIG_GENEVE, "geneve"},
		     {CONFIG_BAREUDP, "ip"}};
	struct fixture *f = *state;
	char lines[64];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		strcpy(f->told, DEFAULTS);
		f->w.d.n_overlays = 0;
		add(f, "ov0", types[i].type, 14789);
		snprintf(lines, sizeof(lines), "set=1\nencap=14789 %s\n", types[i].kind);
		expect_set(f, lines);
	}
}

/* Of IANA's for MPLS, which bare UDP has by default here. */
static void test_bareudp_by_default(void **state)
{
	struct fixture *f = *state;

	add(f, "ov0", CONFIG_BAREUDP, 6635);
	expect_set(f, "set=1\nencap=6635 ip\n");
	f->w.d.n_overlays = 0;
	expect_set(f, "set=1\nencap_remove=6635\n");
}

static void test_only_differences(void **state)
{
	struct fixture *f = *state;

	add(f, "ov0", CONFIG_VXLAN, 14789);
	add(f, "ov1", CONFIG_GENEVE, 16081);
	expect_set(f, "set=1\nencap=14789 vxlan\nencap=16081 geneve\n");
	f->w.overlay_configs[0].udp_port = 14790;
	expect_set(f, "set=1\nencap_remove=14789\nencap=14790 vxlan\n");
	/* Somebody's, which we did not want, or another kind. */
	strcat(f->told, "encap=1 mpls set\n");
	expect_set(f, "set=1\nencap_remove=1\n");
	strcpy(f->told, DEFAULTS "encap=14790 geneve set\nencap=16081 geneve set\n"
				 "encap=4789 ip set\n");
	sync_once(f);
	assert_string_equal(lane_server_set(&f->server, 0),
			    "set=1\nencap_remove=4789\nencap=14790 vxlan\n");
}

/* Whatever the environment says stays, and is none of ours. */
static void test_environment(void **state)
{
	struct fixture *f = *state;

	strcat(f->told, "encap=14789 geneve environment\n");
	expect_quiet(f);
	add(f, "ov0", CONFIG_VXLAN, 14789);
	expect_set(f, "set=1\nencap=14789 vxlan\n");
}

/* One over IPv4, one over IPv6. */
static void test_one_port_twice(void **state)
{
	struct fixture *f = *state;

	add(f, "ov0", CONFIG_PORT, 7000);
	add(f, "ov1", CONFIG_GENEVE, 7000);
	add(f, "ov2", CONFIG_VXLAN, 7000);
	expect_set(f, "set=1\nencap=7000 geneve\n");
}

static void test_refused(void **state)
{
	struct fixture *f = *state;

	add(f, "ov0", CONFIG_VXLAN, 14789);
	f->refusal = "line 1: encap: there may be 32 ports";
	sync_once(f);
	assert_int_equal(f->w.report.failed, 1);
	assert_int_equal(f->w.report.changed, 0);
	assert_non_null(strstr(f->w.report.faults[0], f->refusal));
}

/* It is not told what it would refuse, and that is said once. */
static void test_older_lane(void **state)
{
	struct fixture *f = *state;

	f->told[0] = '\0';
	add(f, "ov0", CONFIG_PORT, 4789);
	expect_quiet(f);
	add(f, "ov1", CONFIG_VXLAN, 14789);
	sync_once(f);
	assert_int_equal(f->n_logged, 1);
	assert_non_null(strstr(f->logged, "SEALANE_ENCAP_PORTS"));
	assert_int_equal(f->w.report.failed, 0);
	assert_int_equal(lane_server_n_sets(&f->server), 0);
	expect_quiet(f);
	/* Another lane. */
	lane_client_close(f->client);
	f->client = lane_server_client(&f->server);
	sync_once(f);
	assert_int_equal(f->n_logged, 1);
}

static void test_nonsense(void **state)
{
	static const char *const lines[] = {"encap=4789\n", "encap=4789 vxlan\n",
					    "encap=65536 vxlan set\n", "encap=x vxlan set\n",
					    "encap=1 a-name-that-is-too-long set\n"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		strcat(strcpy(f->told, DEFAULTS), lines[i]);
		sync_once(f);
		assert_int_equal(f->w.report.failed, 1);
		assert_int_equal(lane_server_n_sets(&f->server), 0);
	}
}

/* Asked for together with the ports. */
static void test_with_the_ports(void **state)
{
	struct fixture *f = *state;

	add(f, "ov0", CONFIG_VXLAN, 14789);
	f->w.report = (struct report){0};
	assert_int_equal(sync_ports_add(f->client, &f->w.d, &f->w.report), 0);
	assert_int_equal(lane_server_n_sets(&f->server), 1);
	assert_string_equal(lane_server_set(&f->server, 0), "set=1\nencap=14789 vxlan\n");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_known_by_default), T(test_each_type),   T(test_bareudp_by_default),
		T(test_only_differences), T(test_environment), T(test_one_port_twice),
		T(test_refused),	  T(test_older_lane),  T(test_nonsense),
		T(test_with_the_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
