/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealaned: order of start and its mirror, nothing else. Drop-in for
 * wireguard-go: `sealaned [-f] IFNAME`, the same environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/lane/crew.h"
#include "agent/lane/daemon.h"
#include "agent/lane/kernel_probe.h"
#include "agent/lane/log.h"

struct options {
	struct daemon_args daemon;
	bool foreground;
	bool keep_stderr; /* in the background: LOG_LEVEL asked for lines */
};

static const char usage[] =
	"usage: sealaned [-f|--foreground] [--persist] IFNAME\n"
	"       sealaned --probe | --version | --help\n"
	"Userspace WireGuard device IFNAME; configure it with wg(8). See sealaned(8).\n";

/* Environment */

static int env_fd(const char *name, int *ret)
{
	const char *text = getenv(name);
	char *end;
	long fd;

	*ret = -1;
	if (!text || !*text)
		return 0;
	errno = 0;
	fd = strtol(text, &end, 10);
	if (errno || *end || fd < 0 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0) {
		log_error("%s=%s is not an open file descriptor", name, text);
		return -EINVAL;
	}
	*ret = (int)fd;
	return 0;
}

static int env_device(enum device_choice *ret)
{
	const char *text = getenv("SEALANE_DEVICE");

	*ret = DEVICE_AUTO;
	if (!text || !*text || !strcmp(text, "auto"))
		return 0;
	if (!strcmp(text, "tap")) {
		*ret = DEVICE_TAP;
	} else if (!strcmp(text, "tun")) {
		*ret = DEVICE_TUN;
	} else {
		log_error("SEALANE_DEVICE=%s: must be auto, tap or tun", text);
		return -EINVAL;
	}
	return 0;
}

static int env_workers(struct daemon_args *args)
{
	const char *text = getenv("SEALANE_WORKERS");
	int err = daemon_workers_parse(text, &args->n_workers, args->workers_reason);

	if (err)
		log_error("SEALANE_WORKERS=%s: must be auto or 1 to %d", text, CREW_MAX);
	return err;
}

static void env_log(struct options *o)
{
	const char *text = getenv("LOG_LEVEL");
	enum log_level level = LOG_INFO;

	if (text && *text && !log_level_parse(text, &level))
		log_error("LOG_LEVEL=%s is none of silent, error, info, verbose: taken as info",
			  text);
	o->keep_stderr = text && *text && level != LOG_SILENT;
	log_setup(level);
}

static int read_environment(struct options *o)
{
	const char *foreground = getenv("WG_PROCESS_FOREGROUND");
	int err;

	env_log(o);
	err = env_fd("WG_TUN_FD", &o->daemon.device.tun_fd);
	if (!err)
		err = env_fd("WG_UAPI_FD", &o->daemon.uapi_fd);
	if (!err)
		err = env_device(&o->daemon.device.choice);
	if (!err)
		err = env_workers(&o->daemon);
	if (foreground && !strcmp(foreground, "1"))
		o->foreground = true;
	return err;
}

/* --probe: what a lane will read at its start (kernel_probe.h). */
static int probe_kernel(void)
{
	static const char *const words[] = {
		[ZERO_CSUM_UNPROBED] = "not possible",
		[ZERO_CSUM_PROBE_PASSED] = "passed",
		[ZERO_CSUM_PROBE_FAILED] = "failed",
	};
	struct kernel_probe probe;
	struct utsname uts;
	int err;

	kernel_probe_run(KERNEL_PROBE_SUPERPACKET, &probe);
	printf("UDP superpackets into a tunnel of this host: %s: %s\n", words[probe.result],
	       probe.reason);
	if (probe.result == ZERO_CSUM_UNPROBED)
		return 1;
	err = uname(&uts) < 0 ? -errno : kernel_probe_store(KERNEL_PROBE_PATH, &uts, probe.result);
	if (err) {
		fprintf(stderr, "sealaned: cannot write %s: %s\n", KERNEL_PROBE_PATH,
			strerror(-err));
		return 1;
	}
	printf("kept for kernel %s in %s\n", uts.release, KERNEL_PROBE_PATH);
	return probe.result == ZERO_CSUM_PROBE_PASSED ? 0 : 1;
}

/* Arguments. Returns the exit status to end with, or -1 to go on. */
static int read_arguments(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{"foreground", no_argument, NULL, 'f'}, {"persist", no_argument, NULL, 'P'},
		{"probe", no_argument, NULL, 'p'},	{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},	{0},
	};
	bool probe = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "fvh", long_options, NULL)) != -1) {
		switch (opt) {
		case 'f':
			o->foreground = true;
			break;
		case 'P':
			o->daemon.device.persist = true;
			break;
		case 'p':
			probe = true;
			break;
		case 'v':
			printf("sealaned %s\n", SEALANE_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (probe && optind == argc)
		return probe_kernel();
	if (probe || optind + 1 != argc) {
		fputs(usage, stderr);
		return 1;
	}
	o->daemon.device.name = argv[optind];
	return -1;
}

/* Into the background. The parent waits for one byte on the pipe, the child's
 * word that the lane answers; errors before that still reach the terminal. */
static int go_background(int *ret_ready_fd)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(fds[0]);
	setsid();
	*ret_ready_fd = fds[1];
	return 0;
}

static void tell_ready(int ready_fd, bool keep_stderr)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		if (!keep_stderr) {
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
			log_use_syslog();
		}
		close(null);
	}
	if (chdir("/"))
		log_verbose("chdir: %s", strerror(errno));
	if (write(ready_fd, "", 1) != 1)
		log_verbose("the starting process did not wait");
	close(ready_fd);
}

/* Descriptors 0 to 2 must be there before any other is opened: whatever got such a
 * number would be written over later. */
static bool fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct daemon *daemon = NULL;
	char err_text[DAEMON_ERR_LEN] = "";
	int ready_fd = -1, status, err;

	if (!fill_standard_fds()) {
		fprintf(stderr, "sealaned: /dev/null: %s\n", strerror(errno));
		return 1;
	}
	status = read_arguments(argc, argv, &o);
	if (status >= 0)
		return status;
	if (sodium_init() < 0) {
		fputs("sealaned: libsodium cannot start\n", stderr);
		return 1;
	}
	if (read_environment(&o))
		return 1;
	signal(SIGPIPE, SIG_IGN);

	err = daemon_new(&o.daemon, &daemon, err_text);
	if (!err && !o.foreground) {
		err = go_background(&ready_fd);
		if (err)
			snprintf(err_text, sizeof(err_text), "fork: %s", strerror(-err));
	}
	if (!err)
		err = daemon_start(daemon, err_text);
	if (err) {
		if (*err_text)
			log_error("%s", err_text);
		daemon_free(daemon);
		return 1;
	}
	log_name(o.daemon.device.name);
	if (ready_fd >= 0)
		tell_ready(ready_fd, o.keep_stderr);
	log_verbose("started");
	daemon_run(daemon);
	daemon_free(daemon);
	return 0;
}
