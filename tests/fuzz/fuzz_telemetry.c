/* SPDX-License-Identifier: MIT */
/*
 * Reads arbitrary bytes as the segment of a juggle: what the reader returns has to keep within its
 * bounds. The first byte determines whether the header is made acceptable; the second, how much is
 * cut off afterwards.
 */
#undef NDEBUG
#include "daemon/telemetry/reader_fd.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "tests/fuzz/segment_file.h"

#define PID 4711
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define ENDS(text) assert(memchr(text, '\0', sizeof(text)) != NULL)

static void check_header(const struct telemetry *t)
{
	ENDS(t->command);
	ENDS(t->policy);
	ENDS(t->sampler);
	ENDS(t->balancers);
	ENDS(t->domains);
	assert(telemetry_get32(&t->cpus) <= TELEMETRY_CPUS);
	assert(telemetry_get32(&t->slots) <= TELEMETRY_THREADS);
	assert(telemetry_get32(&t->progress_slots) <= TELEMETRY_PROGRESS);
	assert(telemetry_get32(&t->state) <= TELEMETRY_LOST);
	(void)telemetry_quantile_ns(t, 0.5);
}

/* Copies to memory that ends where the records end. */
static void read_all(struct telemetry_reader *reader)
{
	struct telemetry t;
	int error = telemetry_reader_header(reader, &t);

	assert(error == 0 || error == -EBADMSG);
	if (error != 0)
		return;
	check_header(&t);
	uint32_t cpus = telemetry_get32(&t.cpus), slots = telemetry_get32(&t.slots);
	uint32_t progress = telemetry_get32(&t.progress_slots);
	struct telemetry_cpu *cpu = calloc(cpus + 1, sizeof *cpu);
	struct telemetry_thread *thread = calloc(slots + 1, sizeof *thread);
	struct telemetry_progress *segment = calloc(progress + 1, sizeof *segment);
	assert(cpu != NULL && thread != NULL && segment != NULL);
	error = telemetry_reader_cpus(reader, cpu, cpus);
	assert(error == 0 || error == -EBADMSG);
	error = telemetry_reader_threads(reader, thread, slots);
	assert(error == 0 || error == -EBADMSG);
	for (uint32_t i = 0; i < slots && error == 0; i++)
		ENDS(thread[i].comm);
	error = telemetry_reader_progress(reader, segment, progress);
	assert(error == 0 || error == -EBADMSG);
	free(cpu);
	free(thread);
	free(segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct telemetry_reader *reader = NULL;
	uint32_t version;

	if (bytes < 2)
		return 0;
	bool accepted = data[0] % 4 != 0;
	size_t rest = bytes - 2,
	       room = rest > sizeof(struct telemetry) ? rest : sizeof(struct telemetry);
	size_t total = accepted ? sizeof(struct telemetry) + TELEMETRY_ARRAYS_BYTES : rest;
	char *content = calloc(1, room);
	assert(content != NULL);
	memcpy(content, data + 2, rest);
	if (accepted)
		telemetry_make_acceptable((struct telemetry *)content, PID);
	int fd = segment_file(content, accepted ? room : rest, total);
	int other = dup(fd);
	free(content);
	int error = telemetry_reader_open_fd(fd, PID, geteuid(), &reader, &version);
	assert((error == 0) == (reader != NULL));
	assert(error == 0 || (!accepted && (error == -EAGAIN || error == -EPROTO ||
						   error == -EBADMSG || error == -EPERM)));
	if (error == 0) {
		read_all(reader);
		if (ftruncate(other, (off_t)(total / 256 * data[1])) == 0)
			read_all(reader);
		assert(telemetry_reader_closed(reader)); /* it has no name */
	}
	telemetry_reader_close(reader);
	close(other);
	return 0;
}
