/* SPDX-License-Identifier: MIT */
/*
 * Files that are read and written without the kernel, which otherwise takes most of the time of readers
 * that look at a segment piece by piece. They are files all the same: others see what is in them.
 * pread(), pwrite() and close() of the whole program come here (see meson.build). In other programs, which
 * do not define FUZZ_IN_MEMORY, they are as always.
 */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FUZZ_IN_MEMORY

#define MEMORY_FILE_ROOM (64u << 20) /* of addresses */
#define MEMORY_FILE_FDS 64

struct memory_file {
	char *content;
	size_t bytes;
};

/* By descriptor. */
static struct memory_file *memory_file_of[MEMORY_FILE_FDS];

ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __real_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);
int __real_close(int fd);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);
int __wrap_close(int fd);

static inline struct memory_file *memory_file_find(int fd)
{
	return fd >= 0 && fd < MEMORY_FILE_FDS ? memory_file_of[fd] : NULL;
}

/* From now on this is such a file. Returns fd. */
static inline int memory_file_init(int fd)
{
	struct memory_file *file = calloc(1, sizeof *file);
	struct stat st;

	if (file == NULL || fd < 0 || fd >= MEMORY_FILE_FDS || fstat(fd, &st) < 0)
		abort();
	file->content = mmap(NULL, MEMORY_FILE_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file->content == MAP_FAILED)
		abort();
	file->bytes = (size_t)st.st_size;
	memory_file_of[fd] = file;
	return fd;
}

/* Another descriptor of it, to be closed by somebody else. */
static inline int memory_file_dup(int fd)
{
	int other = dup(fd);

	if (other >= 0 && other < MEMORY_FILE_FDS)
		memory_file_of[other] = memory_file_of[fd];
	return other;
}

static inline void memory_file_resize(int fd, size_t bytes)
{
	struct memory_file *file = memory_file_find(fd);

	if (bytes == file->bytes)
		return;
	if (bytes > MEMORY_FILE_ROOM || ftruncate(fd, (off_t)bytes) < 0)
		abort();
	file->bytes = bytes;
}

/* How much of so many bytes at a place is in the file. */
static inline size_t memory_file_clip(const struct memory_file *file, size_t bytes, off_t offset)
{
	size_t left =
		offset >= 0 && (size_t)offset < file->bytes ? file->bytes - (size_t)offset : 0;

	return bytes < left ? bytes : left;
}

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	const struct memory_file *file = memory_file_find(fd);

	if (file == NULL)
		return __real_pread(fd, buffer, bytes, offset);
	bytes = memory_file_clip(file, bytes, offset);
	if (bytes > 0)
		memcpy(buffer, file->content + offset, bytes);
	return (ssize_t)bytes;
}

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	struct memory_file *file = memory_file_find(fd);

	if (file == NULL)
		return __real_pwrite(fd, buffer, bytes, offset);
	if (memory_file_clip(file, bytes, offset) < bytes)
		memory_file_resize(fd, (size_t)offset + bytes);
	memcpy(file->content + offset, buffer, bytes);
	return (ssize_t)bytes;
}

int __wrap_close(int fd)
{
	if (memory_file_find(fd) != NULL)
		memory_file_of[fd] = NULL;
	return __real_close(fd);
}

#else

static inline int memory_file_init(int fd)
{
	if (fd < 0)
		abort();
	return fd;
}

static inline int memory_file_dup(int fd)
{
	return dup(fd);
}

static inline void memory_file_resize(int fd, size_t bytes)
{
	if (ftruncate(fd, (off_t)bytes) < 0)
		abort();
}

#endif

#endif
