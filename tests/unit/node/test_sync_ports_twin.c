/* SPDX-License-Identifier: Apache-2.0 */
/* Any ports, any desired ones, and a model that tells whether the ones became the other. */
#include "sync_ports_world.h"

/* Any ports become any desired ones in one pass, and the next says nothing. */

static void random_ports(struct port_model *m)
{
	*m = (struct port_model){0};
	for (int i = 0; i < 4; i++) {
		struct model_port *p;
		char text[MODEL_TEXT];

		if (rand() % 2)
			continue;
		snprintf(text, sizeof(text), "ov%d", i);
		p = model_add(m, text);
		strcpy(model_value(p, "vtep"), rand() % 2 ? "10.9.0.1" : "fd00::1");
		snprintf(model_value(p, "vni"), MODEL_TEXT, "%d", 10 + i);
		snprintf(model_value(p, "mac"), MODEL_TEXT, "02:00:00:00:00:%02x", 1 + rand() % 4);
		snprintf(model_value(p, "ttl"), MODEL_TEXT, "%d", 63 + rand() % 2);
		for (int j = 0; j < 8; j++) {
			const char *format = strchr(model_value(p, "vtep"), ':') ? "fd00::"
										 : "10.9.0.";

			snprintf(text, sizeof(text), "02:00:00:00:01:%02x %s%d %s", 2 + rand() % 8,
				 format, 2 + rand() % 8, rand() % 4 ? "static" : "learned 5");
			model_enter(p, MODEL_FDB, text);
			snprintf(text, sizeof(text), "%s%d", format, 2 + rand() % 8);
			model_enter(p, MODEL_FLOOD, text);
			snprintf(text, sizeof(text), "10.10.0.%d 02:00:00:00:01:%02x",
				 2 + rand() % 8, 2 + rand() % 8);
			model_enter(p, MODEL_NEIGHBOUR, text);
		}
	}
}

static void random_desired(struct desired_world *w)
{
	int vni = 10 + rand() % 4;

	world_init(w);
	for (int i = 0; i < 4; i++, vni = 10 + (vni - 9) % 4) {
		const bool v6 = rand() % 2;
		char text[20];

		if (rand() % 2)
			continue;
		snprintf(text, sizeof(text), "ov%d", i);
		world_add_overlay(w, text, (uint32_t)vni, v6 ? "fd00::1" : "10.9.0.1")->csum = v6;
		w->overlay_configs[w->d.n_overlays - 1].flood = rand() % 4;
		for (uint8_t j = 2; j < 10; j++) {
			char vtep[20], address[20];

			if (rand() % 2)
				continue;
			snprintf(vtep, sizeof(vtep), "%s%d", v6 ? "fd00::" : "10.9.0.",
				 2 + rand() % 8);
			snprintf(address, sizeof(address), "10.10.0.%u", j);
			world_add_station(w, j, vtep, rand() % 4 ? address : NULL);
		}
	}
}

static void assert_like_desired(struct fixture *f)
{
	assert_int_equal(f->model.n_ports, f->w.d.n_overlays);
	for (size_t i = 0; i < f->w.d.n_overlays; i++) {
		const struct desired_overlay *o = &f->w.overlays[i];
		struct model_port *p = model_find(&f->model, o->config->name);
		size_t n_static = 0, n_neighbours = 0;
		char text[MODEL_TEXT], ip[2][IP_ADDR_TEXT_LEN], mac[LANE_MAC_TEXT_LEN];

		assert_non_null(p);
		assert_int_equal(strtoul(model_value(p, "vni"), NULL, 10), o->config->vni);
		assert_string_equal(model_value(p, "vtep"), ip_addr_format(&o->vtep, ip[0]));
		assert_string_equal(model_value(p, "checksum"), o->csum ? "true" : "false");
		for (size_t j = 0; j < o->n_stations; j++) {
			const struct desired_station *s = &o->stations[j];

			lane_value_format_mac(s->mac, mac);
			snprintf(text, sizeof(text), "%s %s static", mac,
				 ip_addr_format(&s->vtep, ip[0]));
			assert_non_null(model_entry(p, MODEL_FDB, text));
			assert_string_equal(model_entry(p, MODEL_FDB, text), text);
			assert_int_equal(model_entry(p, MODEL_FLOOD, ip[0]) != NULL,
					 o->config->flood);
			n_neighbours += s->n_addresses;
			if (!s->n_addresses)
				continue;
			snprintf(text, sizeof(text), "%s %s",
				 ip_addr_format(&s->addresses[0], ip[1]), mac);
			assert_non_null(model_entry(p, MODEL_NEIGHBOUR, text));
			assert_string_equal(model_entry(p, MODEL_NEIGHBOUR, text), text);
		}
		for (size_t j = 0; j < p->n[MODEL_FDB]; j++)
			n_static += strstr(p->entry[MODEL_FDB][j], " static") != NULL;
		assert_int_equal(n_static, o->n_stations);
		assert_int_equal(p->n[MODEL_NEIGHBOUR], n_neighbours);
	}
}

static void test_any_to_any(void **state)
{
	struct fixture *f = *state;

	srand(1);
	for (int i = 0; i < 200; i++) {
		random_ports(&f->model);
		random_desired(&f->w);
		add(f);
		assert_int_equal(f->w.report.failed, 0);
		removing(f);
		assert_like_desired(f);
		assert_right(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_any_to_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
