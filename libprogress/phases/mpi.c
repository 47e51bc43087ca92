/* SPDX-License-Identifier: MIT */
/*
 * MPI: Open MPI, MPICH and their kin, whatever their types are.
 *
 * Functions of C and of Fortran are interposed, each by name, as Fortran's may or may not call those of
 * C; of the two, the outer one counts. What the function behind is called is left to the loader, so
 * that another tool, loaded after us, has its turn.
 */
#include <stdbool.h>
#include <stddef.h>

#include "libprogress/phases/export.h"
#include "libprogress/phases/forward.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/wait.h"

#define FUNCTION(words, symbol_, name, number_, kind)                                              \
	EXPORT words##_FUNCTION(symbol_);                                                          \
	words##_FUNCTION(symbol_)                                                                  \
	{                                                                                          \
		static struct function function = {.number = SITE_MPI + (number_),                 \
			.source = PHASES_MPI,                                                      \
			.said = "MPI_" #name,                                                      \
			.symbol = #symbol_};                                                       \
		const void *address = __builtin_return_address(0);                                 \
		struct site *site = site_at(&function, address);                                   \
		union {                                                                            \
			void *found;                                                               \
			long (*call)(words##_WORDS);                                               \
		} next = {site_next(site, &function, address)};                                    \
                                                                                                   \
		if (!next.found)                                                                   \
			return 0;                                                                  \
		bool counts = wait_arrive(kind, site, __builtin_frame_address(0));                 \
		long result = next.call(words##_PASSED);                                           \
		if (counts)                                                                        \
			wait_depart(kind);                                                         \
		return result;                                                                     \
	}

/* In C and in Fortran, whose modules have names of their own. Fortran has one more argument, the
 * error. */
#define MPI_ANY(words, name, fortran, number, kind)                                                \
	FUNCTION(words, MPI_##name, name, number, kind)                                            \
	FUNCTION(LONG, mpi_##fortran##_, name, (number) + 1, kind)                                 \
	FUNCTION(LONG, mpi_##fortran##_f08_, name, (number) + 2, kind)                             \
	FUNCTION(LONG, mpi_##fortran##_f08ts_, name, (number) + 3, kind)
#define MPI(name, fortran, number) MPI_ANY(SHORT, name, fortran, 5 * (number), WAIT_CALL)
/* Those that have more arguments, or take counts beyond int by another name. */
#define MPI_LARGE_ANY(name, fortran, number, kind)                                                 \
	MPI_ANY(LONG, name, fortran, 5 * (number), kind)                                           \
	FUNCTION(LONG, MPI_##name##_c, name, 5 * (number) + 4, kind)
#define MPI_LARGE(name, fortran, number) MPI_LARGE_ANY(name, fortran, number, WAIT_CALL)

MPI(Barrier, barrier, 0)
MPI_LARGE(Bcast, bcast, 1)
MPI_LARGE(Reduce, reduce, 2)
MPI_LARGE(Allreduce, allreduce, 3)
MPI_LARGE(Reduce_scatter, reduce_scatter, 4)
MPI_LARGE(Reduce_scatter_block, reduce_scatter_block, 5)
MPI_LARGE(Scan, scan, 6)
MPI_LARGE(Exscan, exscan, 7)
MPI_LARGE(Gather, gather, 8)
MPI_LARGE(Gatherv, gatherv, 9)
MPI_LARGE(Scatter, scatter, 10)
MPI_LARGE(Scatterv, scatterv, 11)
MPI_LARGE(Allgather, allgather, 12)
MPI_LARGE(Allgatherv, allgatherv, 13)
MPI_LARGE(Alltoall, alltoall, 14)
MPI_LARGE(Alltoallv, alltoallv, 15)
MPI_LARGE(Alltoallw, alltoallw, 16)
MPI_LARGE(Neighbor_allgather, neighbor_allgather, 17)
MPI_LARGE(Neighbor_allgatherv, neighbor_allgatherv, 18)
MPI_LARGE(Neighbor_alltoall, neighbor_alltoall, 19)
MPI_LARGE(Neighbor_alltoallv, neighbor_alltoallv, 20)
MPI_LARGE(Neighbor_alltoallw, neighbor_alltoallw, 21)
MPI_LARGE(Recv, recv, 22)
MPI_LARGE(Mrecv, mrecv, 23)
MPI_LARGE(Sendrecv, sendrecv, 24)
MPI_LARGE(Sendrecv_replace, sendrecv_replace, 25)
MPI_LARGE(Ssend, ssend, 26)
MPI(Probe, probe, 27)
MPI(Mprobe, mprobe, 28)
MPI(Wait, wait, 29)
MPI(Waitall, waitall, 30)
MPI(Waitany, waitany, 31)
MPI(Waitsome, waitsome, 32)
MPI(Win_fence, win_fence, 33)
MPI(Win_wait, win_wait, 34)
MPI(Win_complete, win_complete, 35)
MPI_LARGE_ANY(Send, send, 36, WAIT_SEND)
