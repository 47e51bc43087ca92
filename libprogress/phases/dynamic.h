/* SPDX-License-Identifier: MIT */
/* Loops whose iterations are handed out to threads as they ask for them: OpenMP's dynamic and guided schedules. */
#ifndef LIBPHASES_DYNAMIC_H
#define LIBPHASES_DYNAMIC_H

/* How many chunks there are, at most: of iterations from `begin` on, in steps, before `end`. At least 0. */
double dynamic_chunks(double begin, double end, double step, double chunk);

/* The calling thread begins such a loop of its team. Threads end it together only if there are many more chunks than
 * threads: else, or with a team of one, it is none that counts. */
void dynamic_loop(double chunks);

/* Look for the functions that begin such loops, as a caller at that address would reach them. To be called before other
 * threads of a team may need them, as for struct function, family. */
void dynamic_find(const void *address);

#endif
