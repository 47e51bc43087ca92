/* SPDX-License-Identifier: MIT */
#include "daemon/telemetry/reader_fd.h"

#include "libprogress/reader/segment_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_OFFSET (sizeof(struct telemetry) + TELEMETRY_CPUS * sizeof(struct telemetry_cpu))
#define PROGRESS_OFFSET (THREADS_OFFSET + TELEMETRY_THREADS * sizeof(struct telemetry_thread))
#define TOTAL_BYTES (PROGRESS_OFFSET + TELEMETRY_PROGRESS * sizeof(struct telemetry_progress))

const struct segment_file_kind telemetry_reader_files = {
	"juggle", TELEMETRY_MAGIC, offsetof(struct telemetry, pid)};

struct telemetry_reader {
	int fd;
};

static int check_header(const struct telemetry *t, uint64_t size_bytes, uint32_t *version)
{
	if (t->magic == 0)
		return -EAGAIN;
	if (t->magic != TELEMETRY_MAGIC)
		return -EBADMSG;
	if (version != NULL)
		*version = t->version;
	if (t->version != TELEMETRY_VERSION)
		return -EPROTO;
	if (t->header_bytes != sizeof *t || t->cpu_bytes != sizeof(struct telemetry_cpu) ||
		t->thread_bytes != sizeof(struct telemetry_thread) ||
		t->progress_bytes != sizeof(struct telemetry_progress) ||
		t->cpu_capacity != TELEMETRY_CPUS || t->thread_capacity != TELEMETRY_THREADS ||
		t->progress_capacity != TELEMETRY_PROGRESS || t->total_bytes != TOTAL_BYTES ||
		size_bytes < TOTAL_BYTES)
		return -EBADMSG;
	return 0;
}

/* A header that is not filled in yet is all zeros, and a file of another version may be shorter. */
static int check(int fd, pid_t pid, uid_t uid, uint32_t *version)
{
	struct telemetry t = {0};
	uint64_t size_bytes = 0;
	int error = segment_file_check(fd, uid, &size_bytes);

	if (error != 0)
		return error;
	if (size_bytes == 0)
		return -EAGAIN;
	error = segment_file_read(fd, &t, size_bytes < sizeof t ? (size_t)size_bytes : sizeof t, 0);
	if (error == 0)
		error = check_header(&t, size_bytes, version);
	return error == 0 && t.pid != pid ? -EPERM : error;
}

int telemetry_reader_open_fd(
	int fd, pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version)
{
	struct telemetry_reader *reader = malloc(sizeof *reader);

	if (reader == NULL) {
		close(fd);
		return -ENOMEM;
	}
	reader->fd = fd;
	int error = check(fd, pid, uid, version);
	if (error != 0) {
		telemetry_reader_close(reader);
		return error;
	}
	*out = reader;
	return 0;
}

int telemetry_reader_open(pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version)
{
	int fd = segment_file_open(&telemetry_reader_files, uid, pid, false);

	if (fd < 0)
		return fd;
	return telemetry_reader_open_fd(fd, pid, uid, out, version);
}

void telemetry_reader_close(struct telemetry_reader *reader)
{
	if (reader == NULL)
		return;
	close(reader->fd);
	free(reader);
}

bool telemetry_reader_closed(const struct telemetry_reader *reader)
{
	return segment_file_removed(reader->fd);
}

static void clip(_Atomic uint32_t *count, uint32_t most)
{
	if (telemetry_get32(count) > most)
		telemetry_set32(count, most);
}

static void end(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
}

int telemetry_reader_header(struct telemetry_reader *reader, struct telemetry *out)
{
	int error = segment_file_read(reader->fd, out, sizeof *out, 0);

	if (error != 0)
		return error;
	end(out->command, sizeof out->command);
	end(out->untold, sizeof out->untold);
	end(out->policy, sizeof out->policy);
	end(out->sampler, sizeof out->sampler);
	end(out->balancers, sizeof out->balancers);
	end(out->domains, sizeof out->domains);
	clip(&out->cpus, TELEMETRY_CPUS);
	clip(&out->slots, TELEMETRY_THREADS);
	clip(&out->progress_slots, TELEMETRY_PROGRESS);
	clip(&out->state, TELEMETRY_LOST);
	clip(&out->sites, TELEMETRY_SITES);
	for (uint32_t i = 0; i < TELEMETRY_SITES; i++)
		end(out->site[i].name, sizeof out->site[i].name);
	return 0;
}

int telemetry_reader_cpus(struct telemetry_reader *reader, struct telemetry_cpu *out, uint32_t n)
{
	return n > TELEMETRY_CPUS ? -EINVAL
				  : segment_file_read(reader->fd, out, n * sizeof *out,
					    sizeof(struct telemetry));
}

int telemetry_reader_threads(
	struct telemetry_reader *reader, struct telemetry_thread *out, uint32_t n)
{
	if (n > TELEMETRY_THREADS)
		return -EINVAL;
	int error = segment_file_read(reader->fd, out, n * sizeof *out, THREADS_OFFSET);
	for (uint32_t i = 0; i < n && error == 0; i++)
		end(out[i].comm, sizeof out[i].comm);
	return error;
}

int telemetry_reader_progress(
	struct telemetry_reader *reader, struct telemetry_progress *out, uint32_t n)
{
	return n > TELEMETRY_PROGRESS
		       ? -EINVAL
		       : segment_file_read(reader->fd, out, n * sizeof *out, PROGRESS_OFFSET);
}
