/* SPDX-License-Identifier: Apache-2.0 */
#include "deadlines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void set_at(struct deadline *e, uint64_t at_ns)
{
	__atomic_store_n(&e->at_ns, at_ns, __ATOMIC_RELAXED);
}

uint64_t deadline_at_ns(const struct deadline *e)
{
	return __atomic_load_n(&e->at_ns, __ATOMIC_RELAXED);
}

/* Positions count from 0 here; the one kept in an entry is one more. */
static void place(struct deadlines *d, size_t pos, struct deadline *e)
{
	d->heap[pos] = e;
	e->pos = pos + 1;
}

static void move_up(struct deadlines *d, size_t pos, struct deadline *e)
{
	while (pos > 0) {
		const size_t parent = (pos - 1) / 2;

		if (d->heap[parent]->at_ns <= e->at_ns)
			break;
		place(d, pos, d->heap[parent]);
		pos = parent;
	}
	place(d, pos, e);
}

static void move_down(struct deadlines *d, size_t pos, struct deadline *e)
{
	for (;;) {
		size_t child = 2 * pos + 1;

		if (child >= d->n)
			break;
		if (child + 1 < d->n && d->heap[child + 1]->at_ns < d->heap[child]->at_ns)
			child++;
		if (d->heap[child]->at_ns >= e->at_ns)
			break;
		place(d, pos, d->heap[child]);
		pos = child;
	}
	place(d, pos, e);
}

/* Puts @e where it belongs, starting from the free place @pos. */
static void settle(struct deadlines *d, size_t pos, struct deadline *e)
{
	if (pos > 0 && d->heap[(pos - 1) / 2]->at_ns > e->at_ns)
		move_up(d, pos, e);
	else
		move_down(d, pos, e);
}

static void take_out(struct deadlines *d, struct deadline *e)
{
	const size_t pos = e->pos - 1;
	struct deadline *last = d->heap[--d->n];

	e->pos = 0;
	set_at(e, 0);
	if (last != e)
		settle(d, pos, last);
}

void deadlines_done(struct deadlines *d)
{
	free(d->heap);
	*d = (struct deadlines){0};
}

int deadlines_reserve(struct deadlines *d, size_t n)
{
	size_t capacity = d->capacity ? d->capacity : 16;
	struct deadline **heap;

	if (n <= d->capacity)
		return 0;
	/* Doubling, so that adding owners one by one stays linear. */
	while (capacity < n) {
		if (capacity > SIZE_MAX / 2)
			return -ENOMEM;
		capacity *= 2;
	}
	heap = reallocarray(d->heap, capacity, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	d->heap = heap;
	d->capacity = capacity;
	return 0;
}

void deadlines_set(struct deadlines *d, struct deadline *e, uint64_t at_ns)
{
	if (at_ns == UINT64_MAX) {
		if (e->pos)
			take_out(d, e);
		return;
	}
	set_at(e, at_ns);
	if (e->pos) {
		settle(d, e->pos - 1, e);
		return;
	}
	assert(d->n < d->capacity);
	move_up(d, d->n++, e);
}

uint64_t deadlines_next(const struct deadlines *d)
{
	return d->n ? d->heap[0]->at_ns : UINT64_MAX;
}

struct deadline *deadlines_pop(struct deadlines *d, uint64_t now_ns)
{
	struct deadline *e;

	if (!d->n || d->heap[0]->at_ns > now_ns)
		return NULL;
	e = d->heap[0];
	take_out(d, e);
	return e;
}
