/* SPDX-License-Identifier: MIT */
/*
 * Making and mapping tables of phases; see make.h.
 */
#include "libprogress/phases/make.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libprogress/phases/phases.h"

static int map(int fd, bool write, struct phases_table **table)
{
	void *memory =
		mmap(NULL, sizeof **table, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*table = memory;
	return 0;
}

/* Gives the new file its size. A larger file than the limit allows would be a signal. */
static int set_size(int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur < sizeof(struct phases_table))
		return -EFBIG;
	if (ftruncate(fd, sizeof(struct phases_table)) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int phases_make(int *fd, struct phases_table **table)
{
	int made = memfd_create(PHASES_MEMFD, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made < 0)
		return -errno;
	int error = set_size(made);
	if (error == 0)
		error = map(made, true, table);
	if (error < 0) {
		close(made);
		return error;
	}

	struct phases_header *header = &(*table)->header;
	header->version = PHASES_VERSION;
	header->header_bytes = sizeof *header;
	header->size_bytes = sizeof **table;
	header->rows = PHASES_ROWS;
	header->sites = PHASES_SITES;
	header->row_bytes = sizeof(struct phases_row);
	header->site_bytes = sizeof(struct phases_site);
	header->magic = PHASES_MAGIC;
	*fd = made;
	return 0;
}

static bool is_table(const struct phases_header *header)
{
	return header->magic == PHASES_MAGIC && header->version == PHASES_VERSION &&
	       header->header_bytes == sizeof *header &&
	       header->size_bytes == sizeof(struct phases_table) && header->rows == PHASES_ROWS &&
	       header->sites == PHASES_SITES && header->row_bytes == sizeof(struct phases_row) &&
	       header->site_bytes == sizeof(struct phases_site);
}

int phases_map(int fd, bool write, struct phases_table **table)
{
	struct stat file;
	if (fstat(fd, &file) < 0)
		return -errno;
	int seals = fcntl(fd, F_GET_SEALS);
	if (!S_ISREG(file.st_mode) || file.st_size != sizeof **table || seals < 0 ||
		!(seals & F_SEAL_SHRINK))
		return -EINVAL;
	int error = map(fd, write, table);
	if (error == 0 && !is_table(&(*table)->header)) {
		phases_unmap(*table);
		error = -EINVAL;
	}
	return error;
}

void phases_unmap(struct phases_table *table)
{
	if (table)
		munmap(table, sizeof *table);
}
