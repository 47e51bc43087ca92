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
	pthread_mutex_destroy(&exchange->lock);
	*exchange = (struct exchange){0};
}

void exchange_open(struct exchange *exchange, bool open)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->open = open;
	pthread_mutex_unlock(&exchange->lock);
}

size_t exchange_assign(struct exchange *exchange)
{
	pthread_mutex_lock(&exchange->lock);
	size_t domain = policy_pick_domain(exchange->domain, exchange->domains);
	exchange->domain[domain].threads++;
	pthread_mutex_unlock(&exchange->lock);
	return domain;
}

bool exchange_enter(struct exchange *exchange, bool hold, struct policy_domain *out)
{
	pthread_mutex_lock(&exchange->lock);
	bool open = exchange->open;
	memcpy(out, exchange->domain, exchange->domains * sizeof *out);
	if (!hold)
		pthread_mutex_unlock(&exchange->lock);
	return open && hold;
}

void exchange_leave(struct exchange *exchange, bool hold, const struct policy_domain *before,
	const struct policy_domain *after)
{
	if (!hold)
		pthread_mutex_lock(&exchange->lock);
	/* Unsigned differences: others may have changed the counts meanwhile. */
	for (size_t d = 0; d < exchange->domains; d++)
		exchange->domain[d].threads += after[d].threads - before[d].threads;
	pthread_mutex_unlock(&exchange->lock);
}
