/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lane.h"

enum { EVENTS_MAX = 32 };

TAILQ_HEAD(source_list, crew_source);

struct crew_thread {
	struct crew *crew;
	struct worker worker;
	pthread_mutex_t lock; /* held while it is within walks */
	pthread_t id;
	bool running;
	int epoll;
	struct source_list sources;
	unsigned n_changes; /* of the list */
};

struct crew {
	struct lane *lane;
	unsigned n;
	pthread_mutex_t gate; /* held by who pauses */
	bool pausing;	      /* atomic: stop at the gate */
	unsigned depth;	      /* of pauses */
	bool stop;	      /* under every thread's lock */
	int wake;	      /* eventfd that all watch, to be told to stop */
	struct crew_thread thread[];
};

/* A thread's life */

/* One that is always busy could take its lock again and again before anybody who waits
 * for it is awake; the gate lets those be first. */
static void begin_walks(struct crew_thread *t)
{
	struct crew *c = t->crew;

	if (__atomic_load_n(&c->pausing, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&c->gate);
		pthread_mutex_unlock(&c->gate);
	}
	pthread_mutex_lock(&t->lock);
}

static void end_walks(struct crew_thread *t)
{
	pthread_mutex_unlock(&t->lock);
}

static void run_source(struct crew_thread *t, struct crew_source *s, uint32_t events)
{
	s->more = s->run(s, &t->worker, events);
}

/* Those that had more to do. True: one still has. */
static bool run_pending(struct crew_thread *t)
{
	struct crew_source *s;
	bool more = false;

	TAILQ_FOREACH (s, &t->sources, entry) {
		if (s->more)
			run_source(t, s, 0);
		more |= s->more;
	}
	return more;
}

/* True: there is more to do. */
static bool take_turn(struct crew_thread *t, const struct epoll_event *events, int n)
{
	for (int i = 0; i < n; i++) {
		struct crew_source *s = events[i].data.ptr;

		if (s && !s->more)
			run_source(t, s, events[i].events);
	}
	return run_pending(t);
}

static void *work(void *arg)
{
	struct epoll_event events[EVENTS_MAX];
	struct crew_thread *t = arg;
	unsigned n_changes = 0;
	bool more = false;

	for (;;) {
		int n = epoll_wait(t->epoll, events, EVENTS_MAX, more ? 0 : -1);

		begin_walks(t);
		if (t->crew->stop)
			break;
		/* What was told may be of a source that has gone since; those that are
		 * still there tell again. */
		if (n_changes != t->n_changes)
			n = 0;
		n_changes = t->n_changes;
		more = take_turn(t, events, n);
		end_walks(t);
	}
	end_walks(t);
	return NULL;
}

/* Making and ending */

static int thread_init(struct crew *c, struct crew_thread *t, unsigned i)
{
	struct epoll_event stop = {.events = EPOLLIN};
	int err;

	t->crew = c;
	TAILQ_INIT(&t->sources);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0 || epoll_ctl(t->epoll, EPOLL_CTL_ADD, c->wake, &stop))
		return -errno;
	err = worker_init(&t->worker, c->lane, &c->lane->self.device, &c->lane->self.udp);
	t->worker.id = i;
	return err;
}

int crew_new(struct lane *lane, unsigned n, struct crew **ret)
{
	struct crew *c = calloc(1, sizeof(*c) + n * sizeof(c->thread[0]));
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->lane = lane;
	c->n = n;
	pthread_mutex_init(&c->gate, NULL);
	for (unsigned i = 0; i < n; i++) {
		c->thread[i].epoll = -1;
		pthread_mutex_init(&c->thread[i].lock, NULL);
	}
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake < 0)
		err = -errno;
	for (unsigned i = 0; i < n && !err; i++)
		err = thread_init(c, &c->thread[i], i);
	if (err) {
		crew_free(c);
		return err;
	}
	lane->n_workers = n;
	lane->crew = c;
	*ret = c;
	return 0;
}

static void stop_threads(struct crew *c)
{
	crew_pause(c);
	c->stop = true;
	crew_resume(c);
	(void)eventfd_write(c->wake, 1);
	for (unsigned i = 0; i < c->n; i++) {
		if (c->thread[i].running)
			pthread_join(c->thread[i].id, NULL);
		c->thread[i].running = false;
	}
}

void crew_free(struct crew *c)
{
	if (!c)
		return;
	stop_threads(c);
	for (unsigned i = 0; i < c->n; i++) {
		struct crew_thread *t = &c->thread[i];

		if (t->epoll >= 0)
			close(t->epoll);
		worker_done(&t->worker);
		pthread_mutex_destroy(&t->lock);
	}
	if (c->wake >= 0)
		close(c->wake);
	pthread_mutex_destroy(&c->gate);
	if (c->lane->crew == c)
		c->lane->crew = NULL;
	free(c);
}

/* Signals are for the lane's own thread. */
static int start_thread(struct crew_thread *t)
{
	sigset_t all, before;
	char name[16];
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&t->id, NULL, work, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	t->running = !err;
	if (err)
		return -err;
	snprintf(name, sizeof(name), "worker %u", t->worker.id);
	pthread_setname_np(t->id, name);
	return 0;
}

int crew_start(struct crew *c)
{
	int err = 0;

	for (unsigned i = 0; i < c->n && !err; i++)
		err = start_thread(&c->thread[i]);
	if (err)
		stop_threads(c);
	return err;
}

unsigned crew_len(const struct crew *c)
{
	return c ? c->n : 0;
}

struct worker *crew_worker(struct crew *c, unsigned i)
{
	return &c->thread[i].worker;
}

/* Descriptors */

int crew_watch(struct crew *c, unsigned i, struct crew_source *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	struct crew_thread *t = &c->thread[i];

	if (s->fd < 0)
		return 0;
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, s->fd, &ev))
		return -errno;
	s->more = false;
	TAILQ_INSERT_TAIL(&t->sources, s, entry);
	t->n_changes++;
	return 0;
}

void crew_unwatch(struct crew *c, unsigned i, struct crew_source *s)
{
	struct crew_thread *t = &c->thread[i];
	struct crew_source *there;

	TAILQ_FOREACH (there, &t->sources, entry) {
		if (there == s)
			break;
	}
	if (!there)
		return;
	TAILQ_REMOVE(&t->sources, s, entry);
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	t->n_changes++;
}

/* Pauses */

void crew_pause(struct crew *c)
{
	if (!c || c->depth++)
		return;
	__atomic_store_n(&c->pausing, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&c->gate);
	for (unsigned i = 0; i < c->n; i++)
		pthread_mutex_lock(&c->thread[i].lock);
}

void crew_resume(struct crew *c)
{
	if (!c || --c->depth)
		return;
	for (unsigned i = 0; i < c->n; i++)
		pthread_mutex_unlock(&c->thread[i].lock);
	__atomic_store_n(&c->pausing, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&c->gate);
}
