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

	if (!len && !train_avx512_supported())
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
static bool may_start(const void *mem, size_t len, bool allow_simd, char reason[TRAIN_REASON_LEN])
{
	if (!allow_simd) {
		train_reason_add(reason, "switched off");
		return false;
	}
	if (!train_engine_size()) {
		train_reason_add(reason, "built without ipsec-mb");
		return false;
	}
	if (!mem || len < train_engine_size() || (uintptr_t)mem % TRAIN_ENGINE_ALIGN) {
		train_reason_add(reason, "no memory for an engine");
		return false;
	}
	return true;
}

static bool add_avx512(struct train_engine *engine, char reason[TRAIN_REASON_LEN])
{
	struct train_engine wrapped = *engine;

	if (!train_avx512_supported())
		return false;
	train_reason_add(reason, ", avx512 trains");
	train_avx512_wrap(&wrapped);
	if (!train_engine_accept(&wrapped, reason))
		return false;
	*engine = wrapped;
	return true;
}

/* False: libsodium alone. */
static bool start(void *mem, struct train_engine *engine, char ret_reason[TRAIN_REASON_LEN])
{
	char reason[TRAIN_REASON_LEN] = "";
	bool has_ipsecmb = train_ipsecmb_init((uint8_t *)mem + ENGINE_HEAD_LEN, engine, reason) &&
			   train_engine_accept(engine, reason);

	if (!has_ipsecmb) {
		*engine = train_sodium;
		train_reason_add(ret_reason, "libsodium: ");
	}
	train_reason_add(ret_reason, reason);
	return add_avx512(engine, ret_reason) || has_ipsecmb;
}

const struct train_engine *train_engine_init(void *mem, size_t len, bool allow_simd,
					     char ret_reason[TRAIN_REASON_LEN])
{
	char reason[TRAIN_REASON_LEN] = "";
	struct train_engine engine = {0};

	ret_reason[0] = '\0';
	if (!may_start(mem, len, allow_simd, reason)) {
		train_reason_add(ret_reason, "libsodium: ");
		train_reason_add(ret_reason, reason);
		return NULL;
	}
	if (!start(mem, &engine, ret_reason))
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
