/* SPDX-License-Identifier: MIT */
/* Numbers as lengths in the drawings of jugglectl top. Pure. */
#ifndef TOP_NUMBER_H
#define TOP_NUMBER_H

/* The smallest 1, 2 or 5 times a power of ten that is not less than `most`; 1 if `most` is not
 * positive or not finite. */
double number_scale(double most);

/* A share of `steps`, rounded, from 0 to steps; 0 when it is not a number. */
int number_steps(double share, int steps);

#endif
