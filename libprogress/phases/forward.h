/* SPDX-License-Identifier: MIT */
/*
 * Functions that forward whatever they are called with. Where all arguments are whole numbers or
 * pointers, each is in a register or a word of the stack, and so is the result. Words beyond the
 * arguments are read from the caller's frame, and ignored by the function behind.
 */
#ifndef LIBPHASES_FORWARD_H
#define LIBPHASES_FORWARD_H

#define SHORT_WORDS long, long, long, long, long, long
#define SHORT_FUNCTION(symbol) long symbol(long a, long b, long c, long d, long e, long f)
#define SHORT_PASSED a, b, c, d, e, f

#define LONG_WORDS SHORT_WORDS, SHORT_WORDS, long, long
#define LONG_FUNCTION(symbol)                                                                      \
	long symbol(long a, long b, long c, long d, long e, long f, long g, long h, long i,        \
		long j, long k, long l, long m, long n)
#define LONG_PASSED a, b, c, d, e, f, g, h, i, j, k, l, m, n

#endif
