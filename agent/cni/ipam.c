/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "env.h"
#include "error.h"

/* More than any result; a plugin that prints without end is not waited for. */
enum { ANSWER_MAX = 1 << 20, PATH_LEN = 4096 };

/* The first program of that name. Relative folders depend on where we were started. */
static bool find(const char *path, const char *type, char ret[PATH_LEN])
{
	while (*path) {
		const size_t len = strcspn(path, ":");

		if (*path == '/' &&
		    snprintf(ret, PATH_LEN, "%.*s/%s", (int)len, path, type) < PATH_LEN &&
		    !access(ret, X_OK))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* A file in memory: no pipe that both sides could wait on. -1: errno. */
static int stdin_file(const char *text, size_t len)
{
	const int fd = memfd_create("cni-stdin", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (write(fd, text, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void __attribute__((noreturn))
become(const char *file, const char *type, int in, int out, const char *command)
{
	char *const argv[] = {strdup(type), NULL};

	if (argv[0] && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    !close_range(3, ~0U, 0) && !setenv("CNI_COMMAND", command, 1))
		execv(file, argv);
	_exit(127);
}

/* Everything until the end of the file; NULL: too much, no memory, or errno. */
static char *read_all(int fd, size_t *ret_len)
{
	char *text = malloc(ANSWER_MAX);
	size_t len = 0;
	ssize_t n = 1;

	while (text && len < ANSWER_MAX && n > 0) {
		n = read(fd, text + len, ANSWER_MAX - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (!text || n != 0) {
		free(text);
		return NULL;
	}
	*ret_len = len;
	return text;
}

static int failed(struct cni_error *e, const char *type, const char *what)
{
	return cni_error_set(e, CNI_IPAM_FAILED, "IPAM plugin %.60s %s", type, what);
}

/* Its own error object, or what can be said without one. */
static int told(const char *type, int status, json_t *answer, struct cni_error *e)
{
	const char *msg = json_string_value(json_object_get(answer, "msg"));
	const char *details = json_string_value(json_object_get(answer, "details"));
	const int code = (int)json_integer_value(json_object_get(answer, "code"));

	if (!msg || code <= 0) {
		failed(e, type, "failed and did not say why");
		snprintf(e->details, sizeof(e->details), "wait status 0x%x", (unsigned)status);
		return e->code;
	}
	cni_error_set(e, code, "IPAM plugin %.60s: %s", type, msg);
	snprintf(e->details, sizeof(e->details), "%s", details ? details : "");
	return code;
}

static int take_answer(const char *type, int status, const char *text, size_t len,
		       json_t **ret_result, struct cni_error *e)
{
	json_t *answer = text ? json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	int err = 0;

	if (!WIFEXITED(status) || WEXITSTATUS(status))
		err = told(type, status, answer, e);
	else if (!text || (ret_result && !json_is_object(answer)))
		err = failed(e, type, "answered what is no JSON object");
	if (!err && ret_result)
		*ret_result = json_incref(answer);
	json_decref(answer);
	return err;
}

static int run(const char *file, const char *type, const char *command, int in, json_t **ret_result,
	       struct cni_error *e)
{
	int fds[2], status = 0, err;
	size_t len = 0;
	char *text;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return failed(e, type, strerror(errno));
	pid = fork();
	if (!pid)
		become(file, type, in, fds[1], command);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return failed(e, type, "could not be started: no process");
	}
	text = read_all(fds[0], &len);
	close(fds[0]); /* one that prints on ends by SIGPIPE */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	err = take_answer(type, status, text, len, ret_result, e);
	free(text);
	return err;
}

int ipam_run(const struct cni_env *env, const char *type, const char *command,
	     const char *stdin_text, size_t stdin_len, json_t **ret_result, struct cni_error *e)
{
	char file[PATH_LEN];
	int in, err;

	if (!find(env->path, type, file)) {
		failed(e, type, "was not found");
		snprintf(e->details, sizeof(e->details), "CNI_PATH is %s", env->path);
		return e->code;
	}
	in = stdin_file(stdin_text, stdin_len);
	if (in < 0)
		return cni_error_set(e, CNI_IO_FAILURE, "no file for the IPAM plugin's input: %s",
				     strerror(errno));
	err = run(file, type, command, in, ret_result, e);
	close(in);
	return err;
}
