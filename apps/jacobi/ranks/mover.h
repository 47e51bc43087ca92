/* SPDX-License-Identifier: MIT */
/*
 * Moving subdomains between ranks: DPLB, Section 3.2.
 *
 * A rank offers one subdomain at a time. The other rank answers with a slot, or refuses. Then,
 * while the giver's workers stand still, the subdomain is disconnected. It travels with its cells,
 * its counts, its newest halos and the places of its neighbours. It is connected while the taker's
 * workers stand still; then the giver and the subdomain's first rank get a message. In between
 * nobody updates it, and it is in no directory, but the giver still accounts for its part of the
 * residual. Only these two ranks take part, so any number of pairs may do this at once.
 *
 * Under the lock of ranks.h.
 */
#ifndef JACOBI_MOVER_H
#define JACOBI_MOVER_H

#include "apps/jacobi/ranks/halo.h"

/* Kinds of messages. */
enum {
	MESSAGE_OFFER,
	MESSAGE_ANSWER,
	MESSAGE_SUBDOMAIN,
	MESSAGE_ARRIVED,
	MESSAGE_HOME,
	MESSAGE_GATHER, /* for ranks.c */
};

struct mover_slot {
	bool reserved; /* for a subdomain that is coming */
	uint32_t moves; /* of the subdomain that is here */
	uint64_t freed; /* when it was freed, by the count of departures */
	struct transport_message package; /* the subdomain that came, until it is connected */
};

/* Calls to the solver, while its workers stand still. share: the subdomain's part of the norm of
 * the residual, or NAN. */
struct mover_calls {
	double (*leaves)(void *arg, uint32_t slot); /* returns the share */
	void (*arrives)(void *arg, uint32_t slot, double share);
};

struct mover {
	struct halos *halos;
	struct mover_slot *slots;
	uint32_t limit; /* the largest number of subdomains that it takes */
	uint32_t residents, reserved;
	uint64_t arrivals, departures;
	bool refuses; /* refuses all offers, and makes none */
	struct {
		enum {
			MOVER_IDLE,
			MOVER_OFFERED,
			MOVER_ACCEPTED,
			MOVER_DISCONNECTED,
			MOVER_SENT,
		} state;
		uint32_t slot;
		struct site_place to;
		void *package; /* owned */
		size_t bytes;
		double share; /* from when it is disconnected */
	} leaving;
	struct mover_calls calls;
	void *arg;
};

/* Start with the subdomains that the rank has. Returns 0 or -ENOMEM. Undone by mover_deinit(),
 * which accepts a zeroed object. */
int mover_init(struct mover *mover, struct halos *halos, uint32_t limit,
	const struct mover_calls *calls, void *arg);
void mover_deinit(struct mover *mover);

/* How many more subdomains it would take. */
uint32_t mover_room(const struct mover *mover);

/* Offer the subdomain in a slot to another rank, unless an offer is open, or the slot is empty. */
void mover_offer(struct mover *mover, uint32_t slot, uint32_t to);

/* Is a subdomain on its way from here, whose arrival the taker has not confirmed yet? Then its part
 * of the norm is leaving.share. */
bool mover_answers_for_one(const struct mover *mover);

/* Act on a message that came; takes its data. Ends the job when it makes no sense. */
void mover_take(struct mover *mover, struct transport_message *message);

/* Send what was disconnected. */
void mover_step(struct mover *mover);

/* Is there something to connect or disconnect, for which the workers must stand still? */
bool mover_waits(const struct mover *mover);
/* Connect and disconnect, while they stand still. */
void mover_rewire(struct mover *mover);

/* Is no move under way from or to this rank? That stays so while it refuses. */
bool mover_is_done(const struct mover *mover);

#endif
