/* SPDX-License-Identifier: Apache-2.0 */
#include "http_world.h"

#include <dirent.h>

static const struct request_case {
	const char *request;
	bool ready;
	const char *status, *header, *body; /* header, body: NULL: of no interest */
} request_cases[] = {
	{"GET /metrics" REST, true, "HTTP/1.1 200 ",
	 "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n", "a_metric 1\n"},
	{"GET /metrics?name=x" REST, true, "HTTP/1.1 200 ", NULL, "a_metric 1\n"},
	{"HEAD /metrics" REST, true, "HTTP/1.1 200 ", "\r\nContent-Length: 11\r\n", ""},
	{"GET /healthz" REST, false, "HTTP/1.1 200 ", "\r\nContent-Type: text/plain; charset=utf-8",
	 "ok\n"},
	{"GET /readyz" REST, true, "HTTP/1.1 200 ", NULL, "ok\n"},
	{"GET /readyz" REST, false, "HTTP/1.1 503 ", NULL, "lane sl0 has ended\n"},
	{"HEAD /readyz" REST, false, "HTTP/1.1 503 ", "\r\nContent-Length: 19\r\n", ""},
	{"GET /" REST, true, "HTTP/1.1 404 ", NULL, NULL},
	{"GET /metrics/" REST, true, "HTTP/1.1 404 ", NULL, NULL},
	{"GET /../etc/passwd" REST, true, "HTTP/1.1 404 ", NULL, NULL},
	{"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
	 true, "HTTP/1.1 405 ", "\r\nAllow: GET, HEAD\r\n", NULL},
	{"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n", true,
	 "HTTP/1.1 405 ", NULL, NULL},
	{"DELETE /nowhere" REST, true, "HTTP/1.1 405 ", NULL, NULL},
	{"OPTIONS *" REST, true, "HTTP/1.1 405 ", NULL, NULL},
	{"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
	 true, "HTTP/1.1 200 ", NULL, "ok\n"},
};

static void test_requests(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < sizeof(request_cases) / sizeof(request_cases[0]); i++) {
		const struct request_case *c = &request_cases[i];
		const char *body;
		struct reader r;

		is_ready = c->ready;
		ask(&w, c->request, &r);
		body = strstr(r.text, "\r\n\r\n");
		if (strncmp(r.text, c->status, strlen(c->status)) != 0 || !body ||
		    (c->header && !strstr(r.text, c->header)) ||
		    (c->body && strcmp(body + 4, c->body) != 0))
			fail_msg("%s\n->\n%s", c->request, r.text);
		reader_done(&r);
	}
	end(&w);
}

/* What is no HTTP, or too much of it, ends; with an answer or without. */
static void test_nonsense(void **state)
{
	static const char *const texts[] = {"\x16\x03\x01\x02\r\n\r\n", "GET\r\n\r\n",
					    "GET /metrics HTTP/9.9\r\n\r\n"};
	char *long_header = malloc(100001);
	struct reader r;
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ask(&w, texts[i], &r);
		assert_null(strstr(r.text, " 200 "));
		reader_done(&r);
	}
	assert_non_null(long_header);
	memset(long_header, 'x', 100000);
	long_header[100000] = '\0';
	memcpy(long_header, "GET /metrics HTTP/1.1\r\nX: ", 26);
	ask(&w, long_header, &r);
	assert_null(strstr(r.text, " 200 "));
	reader_done(&r);
	free(long_header);
	assert_int_equal(n_metrics, 0);

	ask(&w, "GET /healthz" REST, &r); /* none the worse */
	assert_non_null(strstr(r.text, " 200 "));
	reader_done(&r);
	end(&w);
}

/* A connection is for many requests, and metrics are not made for each of them. */
static void test_kept_connection(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
				      "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
				      "GET /healthz" REST;
	const char *first, *second;
	struct reader r;
	struct world w;

	(void)state;
	begin(&w);
	ask(&w, request, &r);
	first = strstr(r.text, "a_metric 1\n");
	assert_non_null(first);
	second = strstr(first + 1, "a_metric 1\n");
	assert_non_null(second);
	assert_non_null(strstr(second, "ok\n"));
	assert_true(n_metrics >= 1 && n_metrics <= 2);
	reader_done(&r);
	end(&w);
}

static unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void test_addresses(void **state)
{
	struct sockaddr_storage ss = localhost(0);
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct http_server *second = NULL;
	const unsigned n_fds = count_fds();
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(w.address.ss_family, AF_INET);
	assert_int_not_equal(((struct sockaddr_in *)&w.address)->sin_port, 0);
	assert_int_equal(http_server_start(&w.loop, &w.address, &source, &second), -EADDRINUSE);
	assert_null(second);
	in->sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 */
	assert_int_equal(http_server_start(&w.loop, &ss, &source, &second), -EADDRNOTAVAIL);
	end(&w);
	assert_int_equal(count_fds(), n_fds);
	http_server_stop(NULL);
}

static void test_ipv6(void **state)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct reader r;
	struct world w;
	int err;

	(void)state;
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_loopback;
	err = start_at(&w, &ss, LONG_MS);
	if (err) {
		assert_true(err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT);
		end(&w);
		print_message("skipped: this host has no IPv6\n");
		skip();
	}
	ask(&w, "GET /healthz" REST, &r);
	assert_non_null(strstr(r.text, " 200 "));
	reader_done(&r);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_kept_connection),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
