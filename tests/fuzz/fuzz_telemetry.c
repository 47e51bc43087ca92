/* SPDX-License-Identifier: MIT */
/*
 * Reads damaged telemetry of a juggle: what the reader returns has to keep within its bounds. The first
 * byte determines whether the rest is a whole file or writes to one, and whether the header is made
 * acceptable; the second, how much is left of the file
 * afterwards, in 256ths; 0: all.
 */
#undef NDEBUG
#include "daemon/team/neighbours.h"
#include "daemon/telemetry/reader_fd.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "tests/fuzz/telemetry_file.h"

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

/* As another juggle counts its threads, an older or a younger one. */
static void count(struct telemetry_reader *reader)
{
	const struct telemetry own = {.pid = PID + 1, .start_ns = 1};
	struct neighbours_counts *counts = calloc(1, sizeof *counts);
	uint32_t older = 0, all = 0;

	assert(counts != NULL);
	bool count = neighbours_count(reader, &own, 1, counts);
	for (size_t i = 0; i < CPUSET_CPUS_MAX; i++) {
		older += counts->older[i];
		all += counts->all[i];
	}
	const uint32_t most = count ? TELEMETRY_THREADS : 0;
	assert(older <= most && all <= most);
	free(counts);
}

/* Returns the size of the file. */
static size_t write_telemetry(int fd, struct input *input, bool accepted)
{
	struct telemetry_file file;

	telemetry_file_init(&file, PID);
	while (input->left > 0)
		telemetry_file_damage(&file, input);
	if (accepted)
		telemetry_make_acceptable(&file.t, PID);
	telemetry_file_write(fd, &file);
	return TELEMETRY_FILE_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct telemetry_reader *reader = NULL;
	struct input input = {data, bytes};
	uint8_t how = input_byte(&input), cut = input_byte(&input);
	bool accepted = how % 4 >= 2;
	size_t total = input.left;
	uint32_t version;

	if (fd < 0)
		fd = segment_file_new();
	if (how % 4 == 0)
		segment_file_write(fd, input.at, input.left, 0);
	else
		total = write_telemetry(fd, &input, accepted);
	memory_file_resize(fd, total);
	int error =
		telemetry_reader_open_fd(memory_file_dup(fd), PID, geteuid(), &reader, &version);
	assert((error == 0) == (reader != NULL));
	assert(error == 0 || (!accepted && (error == -EAGAIN || error == -EPROTO ||
						   error == -EBADMSG || error == -EPERM)));
	if (error == 0) {
		read_all(reader);
		count(reader);
		if (cut > 0) {
			memory_file_resize(fd, total / 256 * cut);
			read_all(reader);
		}
		assert(telemetry_reader_closed(reader)); /* it has no name */
	}
	telemetry_reader_close(reader);
	return 0;
}
