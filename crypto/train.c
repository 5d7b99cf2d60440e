/* SPDX-License-Identifier: Apache-2.0 */
#include "train.h"

#include <sodium.h>
#include <string.h>

#include "le.h"
#include "train_engine.h"

/* The engine's memory: struct train_engine, then what the implementation needs. */
enum { ENGINE_HEAD_LEN = TRAIN_ENGINE_ALIGN };
static_assert(sizeof(struct train_engine) <= ENGINE_HEAD_LEN, "head of the engine's memory");

void train_reason_add(char reason[TRAIN_REASON_LEN], const char *text)
{
	strncat(reason, text, TRAIN_REASON_LEN - 1 - strlen(reason));
}

size_t train_engine_size(void)
{
	size_t len = train_ipsecmb_size();

	if (!len)
		return 0;
	len += ENGINE_HEAD_LEN + TRAIN_ENGINE_ALIGN - 1;
	return len - len % TRAIN_ENGINE_ALIGN;
}

bool train_engine_accept(const struct train_engine *engine, char reason[TRAIN_REASON_LEN])
{
	const char *failed = train_selftest(engine);

	if (failed) {
		train_reason_add(reason, " failed its self-test: ");
		train_reason_add(reason, failed);
	}
	return !failed;
}

/* False: @reason tells why not. */
static bool start(void *mem, size_t len, bool allow_simd, struct train_engine *engine,
		  char reason[TRAIN_REASON_LEN])
{
	if (!allow_simd) {
		train_reason_add(reason, "switched off");
		return false;
	}
	if (!mem || len < train_engine_size() || (uintptr_t)mem % TRAIN_ENGINE_ALIGN) {
		train_reason_add(reason, train_engine_size() ? "no memory for ipsec-mb"
							     : "built without ipsec-mb");
		return false;
	}
	return train_ipsecmb_init((uint8_t *)mem + ENGINE_HEAD_LEN, engine, reason) &&
	       train_engine_accept(engine, reason);
}

const struct train_engine *train_engine_init(void *mem, size_t len, bool allow_simd,
					     char ret_reason[TRAIN_REASON_LEN])
{
	char reason[TRAIN_REASON_LEN] = "";
	struct train_engine engine = {0};
	bool started = start(mem, len, allow_simd, &engine, reason);

	ret_reason[0] = '\0';
	if (!started)
		train_reason_add(ret_reason, "libsodium: ");
	train_reason_add(ret_reason, reason);
	if (!started)
		return NULL;
	memcpy(mem, &engine, sizeof(engine));
	return mem;
}

void train_engine_wipe(void *mem, size_t len)
{
	if (mem)
		sodium_memzero(mem, len);
}

static void write_header(const struct keypair *kp, const struct train_car *car)
{
	struct message_data *header = (struct message_data *)car->msg;

	le32_store(header->type_le32, MESSAGE_DATA);
	le32_store(header->receiver_index_le32, kp->remote_index);
	le64_store(header->counter_le64, car->counter);
}

void train_seal(const struct train_engine *engine, const struct keypair *kp, uint64_t first,
		struct train_car *cars, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		cars[i].counter = first + i;
		write_header(kp, &cars[i]);
	}
	if (engine)
		engine->seal(engine, kp->send_key, cars, n);
	else
		train_sodium_seal(kp->send_key, cars, n);
}

unsigned train_open(const struct train_engine *engine, const struct keypair *kp,
		    struct train_car *cars, unsigned n)
{
	if (engine)
		return engine->open(engine, kp->recv_key, cars, n);
	return train_sodium_open(kp->recv_key, cars, n);
}
