/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of addresses among those of config_values.c. Any thread. */
#ifndef SEALANE_NODE_CONFIG_VALUES_IP_H
#define SEALANE_NODE_CONFIG_VALUES_IP_H

#include "config_values.h"

bool value_tunnel(const struct config_value *row, const char *text, void *ret,
		  struct config_why *why);
bool value_address(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why);
bool value_own_address(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why);
bool value_network(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why);
bool value_allowed_ip(const struct config_value *row, const char *text, void *ret,
		      struct config_why *why);
bool value_endpoint(const struct config_value *row, const char *text, void *ret,
		    struct config_why *why);
bool value_listen(const struct config_value *row, const char *text, void *ret,
		  struct config_why *why);

/* Writes what is wrong; false always. */
bool config_wrong(struct config_why *why, const char *wrong);

#endif
