/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are compared byte for byte with what linux/if_link.h says they must be,
 * written here in numbers; devices with what ip(8) makes and shows. A type that this
 * kernel has not, as ip(8) finds it too, must leave nothing behind.
 */
#include "overlay/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/tunnel_internal.h"

static const struct tunnel vxlan = {
	.name = "t0",
	.type = TUNNEL_VXLAN,
	.vni = 0xabcdef,
	.udp_port = 8472,
	.local = {.bytes = {192, 0, 2, 77}, .len = 4},
	.ttl = 64,
	.mtu = 1370,
	.mac = {2, 3, 4, 5, 6, 7},
};
static const struct tunnel geneve = {
	.name = "t0",
	.type = TUNNEL_GENEVE,
	.udp_port = 6081,
	.outer6 = true,
	.mtu = 1350,
	.mac = {2, 3, 4, 5, 6, 8},
};
static const struct tunnel bareudp = {
	.name = "t0",
	.type = TUNNEL_BAREUDP,
	.udp_port = 6635,
	.mtu = 1380,
};
static const struct ip_addr local6 = {
	.bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 7},
	.len = 16,
};

static const char *skip_reason;

/* ---- requests */

struct walk {
	char text[1024];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) say(struct walk *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w->len += (size_t)vsnprintf(w->text + w->len, sizeof(w->text) - w->len, format, args);
	va_end(args);
	assert_true(w->len < sizeof(w->text));
}

static bool is_nest(unsigned depth, unsigned type)
{
	return (depth == 0 && type == 18) || (depth == 1 && type == 2);
}

/* "type=bytes in hexadecimal", a nest as "type{...}". */
static void walk_attributes(struct walk *w, const uint8_t *p, size_t len, unsigned depth)
{
	while (len) {
		uint16_t attr_len, type;

		assert_true(len >= 4);
		memcpy(&attr_len, p, 2);
		memcpy(&type, p + 2, 2);
		assert_in_range(attr_len, 4, len);
		type &= 0x3fff;
		say(w, "%u%c", type, is_nest(depth, type) ? '{' : '=');
		if (is_nest(depth, type))
			walk_attributes(w, p + 4, attr_len - 4u, depth + 1);
		else
			for (size_t i = 4; i < attr_len; i++)
				say(w, "%02x", p[i]);
		say(w, is_nest(depth, type) ? "} " : " ");
		attr_len = (uint16_t)((attr_len + 3) & ~3);
		assert_in_range(attr_len, 4, len);
		p += attr_len;
		len -= attr_len;
	}
}

static void assert_request(const struct tunnel *t, const char *want)
{
	union linkmsg_request req;
	struct walk walk = {.len = 0};
	struct ifinfomsg ifi;
	static const struct ifinfomsg nothing;

	tunnel_request(t, &req);
	assert_int_equal(req.nlh.nlmsg_type, 16);
	assert_int_equal(req.nlh.nlmsg_flags, 0x600); /* create, exclusive */
	assert_in_range(req.nlh.nlmsg_len, 32, sizeof(req));
	memcpy(&ifi, req.bytes + 16, sizeof(ifi));
	assert_memory_equal(&ifi, &nothing, sizeof(ifi)); /* down, among others */
	walk_attributes(&walk, req.bytes + 32, req.nlh.nlmsg_len - 32, 0);
	assert_string_equal(walk.text, want);
}

static void test_request(void **state)
{
	struct tunnel t = vxlan;

	(void)state;
	assert_request(&t, "3=743000 4=5a050000 1=020304050607 "
			   "18{1=76786c616e00 2{1=efcdab00 15=2118 4=c000024d 5=40 7=00 "
			   "18=00 19=01 20=01 } } ");
	t.csum = true;
	t.ttl = 0;
	t.link = 0x0102;
	t.local = local6;
	assert_request(&t, "3=743000 4=5a050000 1=020304050607 "
			   "18{1=76786c616e00 2{1=efcdab00 15=2118 "
			   "17=20010db8000000000000000000000007 3=02010000 28= 7=00 "
			   "18=01 19=00 20=00 } } ");

	t = geneve;
	assert_request(&t, "3=743000 4=46050000 1=020304050608 "
			   "18{1=67656e65766500 2{6= 5=17c1 8=00 10=01 } } ");
	t.csum = true;
	assert_request(&t, "3=743000 4=46050000 1=020304050608 "
			   "18{1=67656e65766500 2{6= 5=17c1 8=00 10=00 } } ");
	t.outer6 = false;
	assert_request(&t, "3=743000 4=46050000 1=020304050608 "
			   "18{1=67656e65766500 2{6= 5=17c1 8=00 } } ");

	assert_request(&bareudp, "3=743000 4=64050000 "
				 "18{1=6261726575647000 2{1=19eb 2=0800 3=00c0 4= } } ");
}

static void test_type_name(void **state)
{
	(void)state;
	assert_string_equal(tunnel_type_name(TUNNEL_VXLAN), "vxlan");
	assert_string_equal(tunnel_type_name(TUNNEL_GENEVE), "geneve");
	assert_string_equal(tunnel_type_name(TUNNEL_BAREUDP), "bareudp");
}

/* ---- the kernel */

static struct nl *begin(void)
{
	struct nl *nl;

	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	assert_int_equal(nl_open(&nl), 0);
	return nl;
}

static void end(struct nl *nl)
{
	nl_close(nl);
	assert_int_equal(if_nametoindex("t0"), 0);
}

static bool ip_can(const char *arguments)
{
	char command[256];

	snprintf(command, sizeof(command), "ip %s 2>/dev/null", arguments);
	return system(command) == 0;
}

static void ip_does(const char *arguments)
{
	if (!ip_can(arguments))
		fail_msg("ip %s", arguments);
}

static void assert_ip_shows(const char *text)
{
	char got[4096];
	FILE *pipe = popen("ip -d link show t0", "r");
	size_t len;

	assert_non_null(pipe);
	len = fread(got, 1, sizeof(got) - 1, pipe);
	assert_int_equal(pclose(pipe), 0);
	got[len] = '\0';
	if (!strstr(got, text))
		fail_msg("no \"%s\" in: %s", text, got);
}

static void assert_same(const struct tunnel *is, const struct tunnel *want)
{
	assert_string_equal(is->name, want->name);
	assert_int_equal(is->type, want->type);
	assert_int_equal(is->udp_port, want->udp_port);
	assert_int_equal(is->mtu, want->mtu);
	assert_memory_equal(is->mac, want->mac, 6);
	if (want->type != TUNNEL_VXLAN)
		return;
	assert_int_equal(is->vni, want->vni);
	assert_memory_equal(&is->local, &want->local, sizeof(is->local));
	assert_int_equal(is->link, want->link);
	assert_int_equal(is->ttl, want->ttl);
	assert_int_equal(is->csum, want->csum);
}

/* Made as @t says, found again and shown as each of the NULL-ended @texts; and gone. */
static void assert_made(struct nl *nl, const struct tunnel *t, const char *const *texts)
{
	struct tunnel_found found;
	char buf[128];
	int ifindex = 0;

	assert_int_equal(tunnel_create(nl, t, &ifindex), 0);
	assert_int_equal(ifindex, if_nametoindex(t->name));
	for (; *texts; texts++)
		assert_ip_shows(*texts);
	assert_ip_shows("state DOWN");
	assert_ip_shows("alias sealane\n");
	assert_int_equal(tunnel_find(nl, t->name, &found), 0);
	assert_int_equal(found.ifindex, ifindex);
	assert_true(found.ours && found.is_tunnel && !found.up);
	assert_null(found.odd);
	assert_string_equal(found.kind, tunnel_type_name(t->type));
	assert_same(&found.tunnel, t);
	if (tunnel_differs(&found, t, buf, sizeof(buf)))
		fail_msg("%s differs at once: %s", found.kind, buf);
	assert_int_equal(link_delete(nl, ifindex), 0);
}

static void test_create_vxlan(void **state)
{
	struct nl *nl = begin();
	struct tunnel t = vxlan;

	(void)state;
	assert_made(nl, &t,
		    (const char *[]){"vxlan id 11259375 local 192.0.2.77 ", " dstport 8472 ",
				     " nolearning ", " ttl 64 ",
				     " noudpcsum udp6zerocsumtx udp6zerocsumrx ", " mtu 1370 ",
				     "link/ether 02:03:04:05:06:07 ", NULL});
	t.csum = true;
	t.ttl = 0;
	assert_made(nl, &t,
		    (const char *[]){" ttl inherit ", " udpcsum noudp6zerocsumtx noudp6zerocsumrx ",
				     NULL});
	t.local = local6;
	t.vni = 0;
	t.udp_port = 4789;
	t.ttl = 255;
	assert_made(nl, &t,
		    (const char *[]){"vxlan id 0 local 2001:db8::7 ", " dstport 4789 ", " ttl 255 ",
				     " udpcsum noudp6zerocsumtx noudp6zerocsumrx ", NULL});
	t.csum = false;
	t.vni = 0xffffff;
	assert_made(nl, &t,
		    (const char *[]){"vxlan id 16777215 ",
				     " noudpcsum udp6zerocsumtx udp6zerocsumrx ", NULL});
	end(nl);
}

static void test_create_vxlan_over_device(void **state)
{
	struct nl *nl = begin();
	struct tunnel t = vxlan;
	struct tunnel_found found;
	char buf[64], want[64];
	int ifindex = 7;

	(void)state;
	ip_does("link add va mtu 1420 type veth peer name vb");
	t.link = (int)if_nametoindex("va");
	assert_made(nl, &t, (const char *[]){" dev va ", " mtu 1370 ", NULL});

	/* More than the lower one has room for is not made smaller in silence. */
	t.mtu = 1371;
	assert_int_equal(tunnel_create(nl, &t, &ifindex), -EINVAL);
	assert_int_equal(if_nametoindex("t0"), 0);
	assert_int_equal(ifindex, 7);

	t.mtu = 1370;
	assert_int_equal(tunnel_create(nl, &t, &ifindex), 0);
	assert_int_equal(tunnel_find(nl, "t0", &found), 0);
	t.link = (int)if_nametoindex("vb");
	snprintf(want, sizeof(want), "link %d, not %d", found.tunnel.link, t.link);
	assert_string_equal(tunnel_differs(&found, &t, buf, sizeof(buf)), want);
	t.link = 99999;
	ip_does("link delete t0");
	assert_true(tunnel_create(nl, &t, &ifindex) < 0);
	ip_does("link delete va");
	end(nl);
}

/* Can ip(8) make a device of that type? */
static bool kernel_has(enum tunnel_type type)
{
	static const char *const additions[] = {
		[TUNNEL_GENEVE] = "link add probe type geneve external",
		[TUNNEL_BAREUDP] = "link add probe type bareudp dstport 9 ethertype ip multiproto",
	};

	if (!ip_can(additions[type]))
		return false;
	ip_does("link delete probe");
	return true;
}

/* The type is not there, and nothing of it either. */
static bool is_refused(struct nl *nl, const struct tunnel *t)
{
	struct tunnel_found found = {.ifindex = 7};
	int ifindex = 7;

	if (kernel_has(t->type))
		return false;
	print_message("this kernel has no %s\n", tunnel_type_name(t->type));
	assert_int_equal(tunnel_create(nl, t, &ifindex), -EOPNOTSUPP);
	assert_int_equal(ifindex, 7);
	assert_int_equal(tunnel_find(nl, t->name, &found), -ENODEV);
	assert_int_equal(found.ifindex, 7);
	return true;
}

static void test_create_geneve(void **state)
{
	struct nl *nl = begin();
	struct tunnel t = geneve;
	int a = 0, b = 7;

	(void)state;
	if (is_refused(nl, &geneve)) {
		end(nl);
		return;
	}
	for (int i = 0; i < 4; i++) {
		t.csum = i & 1;
		t.outer6 = i & 2;
		assert_made(nl, &t,
			    (const char *[]){"geneve external ", " dstport 6081 ", " mtu 1350 ",
					     "link/ether 02:03:04:05:06:08 ", NULL});
	}
	/* The port is somebody's: of either mode. */
	t.udp_port = 7777;
	ip_does("link add other type geneve external dstport 7777");
	assert_int_equal(tunnel_create(nl, &t, &b), -EADDRINUSE);
	ip_does("link delete other");
	ip_does("link add other type geneve id 1 remote 192.0.2.1 dstport 7777");
	assert_int_equal(tunnel_create(nl, &t, &b), -EADDRINUSE);
	t.udp_port = 7778;
	assert_int_equal(tunnel_create(nl, &t, &a), 0);
	assert_int_equal(tunnel_create(nl, &t, &b), -EEXIST);
	assert_int_equal(b, 7);
	ip_does("link delete other");
	assert_int_equal(link_delete(nl, a), 0);
	end(nl);
}

static void test_create_bareudp(void **state)
{
	struct nl *nl = begin();
	struct tunnel t = bareudp;
	int b = 7;

	(void)state;
	if (is_refused(nl, &bareudp)) {
		end(nl);
		return;
	}
	assert_made(nl, &t,
		    (const char *[]){"bareudp dstport 6635 ", " ethertype ip ",
				     " srcportmin 49152 ", " multiproto ", " mtu 1380 ", NULL});
	ip_does("link add other type bareudp dstport 6635 ethertype mpls_uc");
	assert_int_equal(tunnel_create(nl, &t, &b), -EADDRINUSE);
	ip_does("link delete other");
	end(nl);
}

/* A socket that has the port lets a device be made, but not come up. */
static void test_port_of_socket(void **state)
{
	static const struct tunnel *const tunnels[] = {&vxlan, &geneve, &bareudp};
	static const struct link_change up = {.set_up = true, .up = true};
	struct nl *nl = begin();
	int fd, ifindex;

	(void)state;
	for (size_t i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++) {
		const struct sockaddr_in any = {.sin_family = AF_INET,
						.sin_port = htons(tunnels[i]->udp_port)};

		if (tunnels[i]->type != TUNNEL_VXLAN && is_refused(nl, tunnels[i]))
			continue;
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
		assert_int_equal(tunnel_create(nl, tunnels[i], &ifindex), 0);
		assert_int_equal(link_set(nl, ifindex, &up), -EADDRINUSE);
		close(fd);
		assert_int_equal(link_set(nl, ifindex, &up), 0);
		assert_int_equal(link_delete(nl, ifindex), 0);
	}
	end(nl);
}

static void test_create_taken(void **state)
{
	struct nl *nl = begin();
	struct tunnel t = vxlan;
	int a, b = 7;

	(void)state;
	assert_int_equal(tunnel_create(nl, &vxlan, &a), 0);
	assert_int_equal(tunnel_create(nl, &vxlan, &b), -EEXIST);
	strcpy(t.name, "t1");
	assert_int_equal(tunnel_create(nl, &t, &b), -EADDRINUSE);
	assert_int_equal(if_nametoindex("t1"), 0);
	strcpy(t.name, "lo");
	t.vni++;
	assert_int_equal(tunnel_create(nl, &t, &b), -EEXIST);
	assert_int_equal(b, 7);
	/* And that did not make lo ours. */
	assert_int_equal(link_delete(nl, a), 0);
	end(nl);
}

static void test_create_refused(void **state)
{
	struct nl *nl = begin();
	struct tunnel t;
	int b = 7;
#define REFUSED(from, change)                                                                      \
	do {                                                                                       \
		t = from;                                                                          \
		change;                                                                            \
		assert_int_equal(tunnel_create(nl, &t, &b), -EINVAL);                              \
	} while (0)

	(void)state;
	REFUSED(vxlan, t.name[0] = '\0');
	REFUSED(vxlan, t.name[0] = '/');
	REFUSED(vxlan, strcpy(t.name, "t%d"));
	REFUSED(vxlan, memset(t.name, 'x', sizeof(t.name)));
	REFUSED(vxlan, t.type = (enum tunnel_type)3);
	REFUSED(vxlan, t.udp_port = 0);
	REFUSED(vxlan, t.vni = 1 << 24);
	REFUSED(vxlan, t.local.len = 0);
	REFUSED(vxlan, t.local.len = 5);
	REFUSED(vxlan, t.local = (struct ip_addr){.len = 4});
	REFUSED(vxlan, t.local = (struct ip_addr){.len = 16});
	REFUSED(vxlan, t.link = -1);
	REFUSED(vxlan, t.mtu = 67);
	REFUSED(vxlan, t.mtu = 65536);
	REFUSED(vxlan, t.mac[0] |= 1);
	REFUSED(vxlan, memset(t.mac, 0, 6));
	REFUSED(geneve, t.mac[0] |= 1);
	REFUSED(geneve, t.udp_port = 0);
	REFUSED(bareudp, t.udp_port = 0);
	REFUSED(bareudp, t.mtu = 0);
#undef REFUSED
	assert_int_equal(b, 7);
	end(nl);
}

/* Devices that others made: seen, named, not ours. */
static void test_find(void **state)
{
	static const char long_name[] = "sixteen-letters-";
	struct nl *nl = begin();
	struct tunnel_found found = {.ifindex = 7};
	char buf[64];

	(void)state;
	assert_int_equal(tunnel_find(nl, "t0", &found), -ENODEV);
	assert_int_equal(tunnel_find(nl, "", &found), -ENODEV);
	assert_int_equal(tunnel_find(nl, long_name, &found), -ENODEV);
	assert_int_equal(found.ifindex, 7);

	assert_int_equal(tunnel_find(nl, "lo", &found), 0);
	assert_false(found.is_tunnel || found.ours);
	assert_string_equal(found.kind, "");
	assert_int_equal(found.tunnel.mtu, 65536);
	assert_string_equal(tunnel_differs(&found, &vxlan, buf, sizeof(buf)),
			    "type none, not vxlan");

	ip_does("link add t0 mtu 1370 type vxlan id 11259375 local 192.0.2.77 dstport 8472 ttl 64 "
		"noudpcsum udp6zerocsumtx udp6zerocsumrx learning");
	ip_does("link set t0 up");
	assert_int_equal(tunnel_find(nl, "t0", &found), 0);
	assert_true(found.is_tunnel && found.up && !found.ours);
	assert_string_equal(tunnel_differs(&found, &vxlan, buf, sizeof(buf)), "learning");
	ip_does("link set t0 type vxlan nolearning");
	assert_int_equal(tunnel_find(nl, "t0", &found), 0);
	assert_null(tunnel_differs(&found, &vxlan, buf, sizeof(buf)));
	ip_does("link delete t0");
	end(nl);
}

/* What ip(8) makes and tunnel_create() does not, read from the kernel's own answer. */
static void test_find_odd(void **state)
{
	static const struct {
		const char *addition, *want;
	} cases[] = {
		{"vxlan external dstport 4789", "external"},
		{"vxlan id 1 dstport 4789 remote 192.0.2.1 nolearning", "remote"},
		{"vxlan id 1 dstport 4789 nolearning", "ttl auto"},
		{"vxlan id 1 dstport 4789 ttl inherit nolearning gbp", "gbp"},
		{"vxlan id 1 dstport 4789 ttl 1 nolearning srcport 5000 6000", "srcport"},
		{"vxlan id 1 dstport 4789 ttl 1 nolearning udpcsum udp6zerocsumtx",
		 "udp6zerocsumtx"},
		{"vxlan id 1 dstport 4789 ttl 1 nolearning udpcsum udp6zerocsumrx",
		 "udp6zerocsumrx"},
		{"geneve id 1 remote 192.0.2.1", "not external"},
		{"bareudp dstport 6635 ethertype ip srcportmin 49152", "not multiproto"},
		{"bareudp dstport 6635 ethertype mpls_uc multiproto", "ethertype"},
		{"bareudp dstport 6635 ethertype ip multiproto", "srcportmin"},
	};
	struct nl *nl = begin();
	struct tunnel_found found;
	char command[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(command, sizeof(command), "link add t0 type %s", cases[i].addition);
		if (cases[i].addition[0] != 'v' && !ip_can(command))
			continue; /* see is_refused() */
		if (cases[i].addition[0] == 'v')
			ip_does(command);
		assert_int_equal(tunnel_find(nl, "t0", &found), 0);
		assert_true(found.is_tunnel);
		if (!found.odd || strcmp(found.odd, cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].addition, found.odd ? found.odd : "nothing");
		ip_does("link delete t0");
	}
	end(nl);
}

struct owned {
	int n_calls, t0, t1;
};

static int note(int ifindex, const char *name, const char *kind, void *arg)
{
	struct owned *owned = arg;

	owned->n_calls++;
	if (!strcmp(name, "t0") && !strcmp(kind, "vxlan"))
		owned->t0 = ifindex;
	if (!strcmp(name, "t1") && !strcmp(kind, "veth"))
		owned->t1 = ifindex;
	return 0;
}

static int stop_at_once(int ifindex, const char *name, const char *kind, void *arg)
{
	(void)name;
	(void)kind;
	*(int *)arg += ifindex;
	return -ECANCELED;
}

static void test_list_owned(void **state)
{
	struct nl *nl = begin();
	struct owned owned = {0};
	int t0, sum = 0;

	(void)state;
	assert_int_equal(tunnel_list_owned(nl, note, &owned), 0);
	assert_int_equal(owned.n_calls, 0);
	assert_int_equal(tunnel_create(nl, &vxlan, &t0), 0);
	ip_does("link add t1 type veth peer name t2");
	ip_does("link set t2 alias mine");
	assert_int_equal(tunnel_list_owned(nl, stop_at_once, &sum), -ECANCELED);
	assert_int_equal(sum, t0);
	ip_does("link set t1 alias 'sealane of some kind'");
	assert_int_equal(tunnel_list_owned(nl, note, &owned), 0);
	assert_int_equal(owned.n_calls, 2);
	assert_int_equal(owned.t0, t0);
	assert_int_equal(owned.t1, if_nametoindex("t1"));
	ip_does("link delete t1");
	assert_int_equal(link_delete(nl, t0), 0);
	end(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_type_name),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_create_vxlan),
		cmocka_unit_test(test_create_vxlan_over_device),
		cmocka_unit_test(test_create_geneve),
		cmocka_unit_test(test_create_bareudp),
		cmocka_unit_test(test_port_of_socket),
		cmocka_unit_test(test_create_taken),
		cmocka_unit_test(test_create_refused),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_odd),
		cmocka_unit_test(test_list_owned),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
