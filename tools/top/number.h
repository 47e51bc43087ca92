/* SPDX-License-Identifier: MIT */
/*
 * Numbers as jugglectl top shows them: short, and of any size, as nothing in a sample can be
 * trusted to be small. Pure.
 */
#ifndef TOP_NUMBER_H
#define TOP_NUMBER_H

#include <stdint.h>

enum { NUMBER_BYTES = 24 };

struct number {
	char text[NUMBER_BYTES];
};

/* "0", "1.23", "45.6", "789", "1.23k" ... ; "-" when it is not a number. */
struct number number_of(double value);
/* A time in seconds, as "12.3 us", "1.5 s", "12 min 03 s"; "-". */
struct number number_time(double seconds);
/* A share, as "12 %"; below 10 % with one decimal place; "-". */
struct number number_percent(double share);

/* The least 1, 2 or 5 times a power of ten that is not less; 1 when it is not above 0 or not
 * finite. */
double number_scale(double most);

/* A share of `steps`, rounded, from 0 to steps; 0 when it is not a number. */
int number_steps(double share, int steps);

#endif
