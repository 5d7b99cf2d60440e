/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/config.h"
#include "agent/node/keyfile.h"
#include "doctor.h"
#include "view.h"

/* The oldest that overlays are tried on. */
enum { OLDEST_MAJOR = 6, OLDEST_MINOR = 1, STRICT = 1 };

/* ---- Kernel ---- */

void doctor_parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor)
{
	unsigned major, minor;

	*ret_major = *ret_minor = 0;
	if (sscanf(release, "%3u.%3u", &major, &minor) != 2)
		return;
	*ret_major = major;
	*ret_minor = minor;
}

void doctor_kernel(const struct doctor_kernel *kernel, struct findings *f)
{
	if (!kernel->major)
		finding_add(f, FINDING_NOTE, "kernel", "release %s tells no version",
			    kernel->release);
	else if (kernel->major < OLDEST_MAJOR ||
		 (kernel->major == OLDEST_MAJOR && kernel->minor < OLDEST_MINOR))
		finding_add(f, FINDING_NOTE, "kernel", "%s: overlays are not tried before %d.%d",
			    kernel->release, OLDEST_MAJOR, OLDEST_MINOR);
	else
		finding_add(f, FINDING_RIGHT, "kernel", "%s", kernel->release);
}

/* Opens @path under @root. */
static FILE *open_under(const char *root, const char *path)
{
	char full[PATH_MAX];

	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return NULL;
	return fopen(full, "re");
}

long doctor_sysctl(const char *root, const char *path, long otherwise)
{
	FILE *file = open_under(root, path);
	long value;

	if (!file)
		return otherwise;
	if (fscanf(file, "%9ld", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

/* ---- Reverse path filter ---- */

void doctor_rp_filter(const char *root, const char *lane, size_t n_elsewhere, const char *example,
		      struct findings *f)
{
	char path[128];
	long all, own;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/rp_filter", lane);
	own = doctor_sysctl(root, path, 0);
	all = doctor_sysctl(root, "/proc/sys/net/ipv4/conf/all/rp_filter", 0);
	/* The larger of the two counts (Documentation/networking/ip-sysctl.rst). */
	if ((own > all ? own : all) != STRICT || !n_elsewhere)
		return;
	finding_add(f, FINDING_WRONG, "rp_filter",
		    "strict on %s, and the way back to %s%s does not lead there: what comes from "
		    "it is dropped",
		    lane, example, n_elsewhere > 1 ? " and others" : "");
	finding_cure(f, "ip route add %s dev %s\nor: sysctl net.ipv4.conf.%s.rp_filter=2", example,
		     lane, lane);
}

/* ---- Modules ---- */

enum presence { MISSING, THERE, UNKNOWN };

/* Does a list of modules have "/NAME.ko", compressed or not, or is there none? */
static enum presence in_list(const char *root, const char *path, const char *name)
{
	FILE *file = open_under(root, path);
	enum presence ret = MISSING;
	char wanted[64], *line = NULL;
	size_t room = 0;

	if (!file)
		return UNKNOWN;
	snprintf(wanted, sizeof(wanted), "/%s.ko", name);
	while (ret == MISSING && getline(&line, &room, file) > 0) {
		/* Behind the colon are those that it needs. */
		line[strcspn(line, ":\n")] = '\0';
		if (strstr(line, wanted))
			ret = THERE;
	}
	free(line);
	fclose(file);
	return ret;
}

static enum presence find_module(const char *root, const char *release, const char *name)
{
	enum presence ret = UNKNOWN;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/module/%s", root, name);
	if (!access(path, F_OK))
		return THERE;
	for (int i = 0; i < 2 && ret != THERE; i++) {
		enum presence in;

		snprintf(path, sizeof(path), "/lib/modules/%s/modules.%s", release,
			 i ? "builtin" : "dep");
		in = in_list(root, path, name);
		ret = in == UNKNOWN ? ret : in;
	}
	return ret;
}

static bool is_wanted(const struct config *config, const struct view *v, const char *type)
{
	const json_t *overlay;

	for (size_t i = 0; config && i < config->n_overlays; i++)
		if (!strcmp(config_type_name(config->overlays[i].type), type))
			return true;
	for (size_t i = 0; (overlay = agent_item(v->agent.root, "overlays", i)); i++) {
		const char *is = agent_text(overlay, "type");

		if (is && !strcmp(is, type))
			return true;
	}
	return false;
}

void doctor_modules(const char *root, const char *release, const struct config *config,
		    const struct view *v, struct findings *f)
{
	static const char *const types[] = {"vxlan", "geneve", "bareudp"};
	char what[32];

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!is_wanted(config, v, types[i]))
			continue;
		snprintf(what, sizeof(what), "module %s", types[i]);
		switch (find_module(root, release, types[i])) {
		case THERE:
			finding_add(f, FINDING_RIGHT, what, "is there");
			break;
		case UNKNOWN:
			finding_add(f, FINDING_NOTE, what,
				    "cannot be told: no list of modules of this kernel here");
			break;
		case MISSING:
			finding_add(f, FINDING_WRONG, what,
				    "this kernel has none, and an overlay of that type is wanted");
			finding_cure(f, "install the kernel's package with all modules, or choose "
					"type: port");
			break;
		}
	}
}

/* ---- The key ---- */

static void look_at_folder(const char *path, struct findings *f)
{
	char copy[PATH_MAX], *folder;
	struct stat st;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return;
	folder = dirname(copy);
	if (stat(folder, &st) < 0 || !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return;
	finding_add(f, FINDING_WRONG, "key", "others than the owner may write to %s", folder);
	finding_cure(f, "chmod go-w %s", folder);
}

void doctor_key(const char *path, struct findings *f)
{
	uint8_t key[KEY_LEN] = {0};
	const int err = keyfile_load(path, key);

	explicit_bzero(key, sizeof(key));
	switch (err) {
	case 0:
		finding_add(f, FINDING_RIGHT, "key", "%s is for its owner alone", path);
		break;
	case -ENOENT:
		finding_add(f, FINDING_NOTE, "key",
			    "%s is not there: the agent's first start makes it", path);
		return;
	case -EPERM:
		finding_add(f, FINDING_WRONG, "key",
			    "others than the owner may read %s, or it is no regular file", path);
		finding_cure(f, "chmod 600 %s", path);
		break;
	case -EINVAL:
		finding_add(f, FINDING_WRONG, "key", "%s holds no key", path);
		break;
	case -EACCES:
		finding_add(f, FINDING_NOTE, "key", "%s may not be read: run as root", path);
		return;
	default:
		finding_add(f, FINDING_WRONG, "key", "%s: %s", path, strerror(-err));
		break;
	}
	look_at_folder(path, f);
}
