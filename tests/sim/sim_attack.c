/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <string.h>

#include "crypto/le.h"
#include "crypto/train.h"

void sim_forge_initiation(struct sim *sim, unsigned to, struct message_initiation *ret)
{
	struct cookie_maker maker;
	uint8_t *p = (uint8_t *)ret;

	for (size_t i = 0; i < sizeof(*ret); i++)
		p[i] = (uint8_t)sim_random(sim);
	le32_store(ret->type_le32, MESSAGE_INITIATION);
	cookie_maker_init(&maker, sim->node[to].public_key);
	cookie_add_macs(&maker, sim->now_ns, p, sizeof(*ret));
	cookie_maker_wipe(&maker);
}

void sim_flood(struct sim *sim, unsigned to, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct message_initiation msg;
		struct endpoint src = sim_endpoint(AF_INET6, 1000 + i, 1);

		sim_forge_initiation(sim, to, &msg);
		sim_inject(sim, to, &src, &msg, sizeof(msg));
	}
}

size_t sim_seal(struct sim *sim, unsigned from, unsigned to, const void *text, size_t len,
		uint8_t *ret)
{
	struct keypair *kp = sim_peer(sim, from, to)->slots.current;
	struct train_car car = {.msg = ret, .text_len = len};
	uint64_t counter;

	assert_non_null(kp);
	assert_true(keypair_reserve(kp, 1, &counter));
	memcpy(ret + MESSAGE_DATA_HEADER_SIZE, text, len);
	train_seal(NULL, kp, counter, &car, 1);
	return len + MESSAGE_DATA_OVERHEAD;
}

uint64_t sim_drops(const struct sim_node *node)
{
	uint64_t sum = 0;

	for (unsigned i = DROP_NONE + 1; i < N_DROP_REASONS; i++)
		sum += node->lane.self.stats.drop[i];
	return sum;
}
