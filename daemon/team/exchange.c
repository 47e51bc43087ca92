/* SPDX-License-Identifier: MIT */
#include "daemon/team/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/distribute.h"

int exchange_init(struct exchange *exchange, size_t domains)
{
	*exchange = (struct exchange){.domains = domains,
		.domain = calloc(domains, sizeof *exchange->domain),
		.team = calloc(domains, sizeof *exchange->team)};
	pthread_mutex_init(&exchange->turn, NULL);
	pthread_mutex_init(&exchange->lock, NULL);
	if (exchange->domain != NULL && exchange->team != NULL)
		return 0;
	exchange_deinit(exchange);
	return -ENOMEM;
}

void exchange_deinit(struct exchange *exchange)
{
	free(exchange->domain);
	free(exchange->team);
	pthread_mutex_destroy(&exchange->turn);
	pthread_mutex_destroy(&exchange->lock);
	*exchange = (struct exchange){0};
}

void exchange_open(struct exchange *exchange, bool open)
{
	pthread_mutex_lock(&exchange->turn);
	exchange->open = open;
	pthread_mutex_unlock(&exchange->turn);
}

size_t exchange_assign(struct exchange *exchange)
{
	pthread_mutex_lock(&exchange->lock);
	size_t domain = policy_pick_domain(exchange->domain, exchange->domains);
	exchange->domain[domain].threads++;
	pthread_mutex_unlock(&exchange->lock);
	return domain;
}

static bool take_turn(struct exchange *exchange)
{
	pthread_mutex_lock(&exchange->turn);
	if (exchange->open)
		return true;
	pthread_mutex_unlock(&exchange->turn);
	return false;
}

bool exchange_enter(struct exchange *exchange, bool wants, struct policy_domain *out)
{
	bool may = wants && take_turn(exchange);

	pthread_mutex_lock(&exchange->lock);
	memcpy(out, exchange->domain, exchange->domains * sizeof *out);
	pthread_mutex_unlock(&exchange->lock);
	return may;
}

void exchange_leave(struct exchange *exchange, bool may, const struct policy_domain *before,
	const struct policy_domain *after)
{
	pthread_mutex_lock(&exchange->lock);
	/* Unsigned differences: others may have changed the counts meanwhile. */
	for (size_t d = 0; d < exchange->domains; d++)
		exchange->domain[d].threads += after[d].threads - before[d].threads;
	pthread_mutex_unlock(&exchange->lock);
	if (may)
		pthread_mutex_unlock(&exchange->turn);
}
