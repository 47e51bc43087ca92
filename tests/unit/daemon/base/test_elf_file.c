/* SPDX-License-Identifier: MIT */
/* Reading ELF files: this program, made-up ones, and damaged ones. */
#undef NDEBUG
#include "daemon/base/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static bool has_library(const struct elf *elf, const char *begin)
{
	for (size_t i = 0; i < elf->libraries; i++)
		if (strncmp(elf->library[i], begin, strlen(begin)) == 0)
			return true;
	return false;
}

static void test_own(void **state)
{
	static const char *const words[] = {"no such symbol", "cmocka_run", NULL};
	struct elf elf;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_int_equal(elf_read(fd, &elf), 0);
	assert_false(elf.fixed);
	assert_true(has_library(&elf, "libcmocka.so") && has_library(&elf, "libc.so"));
	assert_int_equal(access(elf.interpreter, X_OK), 0);
	assert_int_equal(elf_mentions(fd, &elf, words), 2);
	close(fd);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(elf_read(fd, &elf), -ENOEXEC);
	close(fd);
}

/* A file with just what is read: addresses are offsets + 4096. */
struct image {
	ElfW(Ehdr) file;
	ElfW(Phdr) header[3];
	ElfW(Dyn) entry[8];
	char interpreter[16];
	char strings[65536];
};

#define AT(field) offsetof(struct image, field)

static struct image *image_new(void)
{
	struct image *image = calloc(1, sizeof *image);

	assert_non_null(image);
	memcpy(image->file.e_ident, ELFMAG, SELFMAG);
	image->file.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	image->file.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	image->file.e_machine = 62;
	image->file.e_phentsize = sizeof image->header[0];
	image->file.e_phnum = 3;
	image->file.e_phoff = AT(header);
	image->header[0] = (ElfW(Phdr)){
		.p_type = PT_INTERP, .p_offset = AT(interpreter), .p_filesz = sizeof "/lib/ld"};
	image->header[1] = (ElfW(Phdr)){
		.p_type = PT_DYNAMIC, .p_offset = AT(entry), .p_filesz = sizeof image->entry};
	image->header[2] =
		(ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 4096, .p_filesz = sizeof *image};
	image->entry[0] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = 1};
	image->entry[1] = (ElfW(Dyn)){.d_tag = DT_RUNPATH, .d_un.d_val = 8};
	image->entry[2] = (ElfW(Dyn)){.d_tag = DT_RPATH, .d_un.d_val = 1};
	image->entry[3] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = 4096 + AT(strings)};
	image->entry[4] = (ElfW(Dyn)){.d_tag = DT_STRSZ, .d_un.d_val = sizeof image->strings};
	memcpy(image->interpreter, "/lib/ld\0rubbish", 16);
	memcpy(image->strings + 1, "libx.so\0/opt/lib", 16);
	memmove(image->strings + 8, "\0/opt/lib", 10);
	image->entry[1].d_un.d_val = 9;
	return image;
}

static int put(const struct image *image, size_t bytes)
{
	int fd = memfd_create("program", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, bytes), bytes);
	return fd;
}

static void test_tables(void **state)
{
	struct image *image = image_new();
	struct elf elf;
	int fd = put(image, sizeof *image);

	(void)state;
	assert_int_equal(elf_read(fd, &elf), 0);
	assert_int_equal(elf.machine, 62);
	assert_string_equal(elf.interpreter, "/lib/ld");
	assert_int_equal(elf.libraries, 1);
	assert_string_equal(elf.library[0], "libx.so");
	assert_string_equal(elf.run_path, "/opt/lib"); /* the loader ignores DT_RPATH beside it */
	assert_true(elf.strings_offset == AT(strings) && elf.strings_bytes == 65536);
	close(fd);
	free(image);
}

/* Wherever they are, across parts of the file that are read at once, too. */
static void test_mentions(void **state)
{
	static const char *const words[] = {"wait_here", "nowhere", NULL};
	struct image *image = image_new();
	struct elf elf;
	int fd = put(image, sizeof *image);

	(void)state;
	assert_int_equal(elf_read(fd, &elf), 0);
	assert_int_equal(elf_mentions(fd, &elf, words), 0);
	for (size_t at = 32000; at <= 65536 - 9; at++) {
		if (at == 33000)
			at = 64800;
		assert_int_equal(pwrite(fd, "wait_here", 9, (off_t)(AT(strings) + at)), 9);
		assert_int_equal(elf_mentions(fd, &elf, words), 1);
		assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0\0", 9, (off_t)(AT(strings) + at)), 9);
	}
	close(fd);
	free(image);
}

static void test_static(void **state)
{
	struct image *image = image_new();
	struct elf elf;

	(void)state;
	image->file.e_phnum = 1;
	int fd = put(image, sizeof *image);
	assert_int_equal(elf_read(fd, &elf), 0);
	assert_true(elf.fixed);
	close(fd);
	image->file.e_phnum = 3;
	image->entry[0].d_tag = DT_DEBUG; /* position-independent */
	fd = put(image, sizeof *image);
	assert_int_equal(elf_read(fd, &elf), 0);
	assert_true(elf.fixed);
	close(fd);
	free(image);
}

/* Places that are nonsense. */
static void test_hostile(void **state)
{
	static const char *const words[] = {"libx", NULL};
	const uint64_t bad[] = {UINT64_MAX, UINT64_MAX / 2, (uint64_t)1 << 62, 1 << 30, 0};
	struct elf elf;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (int field = 0; field < 10; field++) {
			struct image *image = image_new();
			ElfW(Off) *const place[] = {&image->file.e_phoff,
				&image->header[0].p_offset, &image->header[1].p_offset,
				&image->header[2].p_offset, &image->header[0].p_filesz,
				&image->header[1].p_filesz, &image->header[2].p_filesz,
				(ElfW(Off) *)&image->entry[0].d_un.d_val,
				(ElfW(Off) *)&image->entry[3].d_un.d_ptr,
				(ElfW(Off) *)&image->entry[4].d_un.d_val};
			*place[field] = (ElfW(Off))bad[i];
			int fd = put(image, sizeof *image);
			if (elf_read(fd, &elf) == 0)
				(void)elf_mentions(fd, &elf, words);
			assert_true(elf.libraries <= ELF_LIBRARIES_MAX);
			close(fd);
			free(image);
		}
}

/* With any cut, and any corrupted bytes in the headers, it reads something or refuses. */
static void test_damaged(void **state)
{
	enum { HEAD = 4096, TRIES = 2000 };
	static const char *const words[] = {"cmocka", NULL};
	unsigned short random[3] = {7, 8, 9};
	unsigned char head[HEAD];
	struct elf elf;
	int own = open("/proc/self/exe", O_RDONLY), fd = memfd_create("program", MFD_CLOEXEC);
	int refused = 0;

	(void)state;
	assert_true(own >= 0 && fd >= 0);
	assert_int_equal(read(own, head, HEAD), HEAD);
	for (int i = 0; i < TRIES; i++) {
		unsigned char damaged[HEAD];
		memcpy(damaged, head, HEAD);
		for (int k = 0; k < 3; k++)
			damaged[nrand48(random) % 800] = (unsigned char)nrand48(random);
		assert_int_equal(pwrite(fd, damaged, HEAD, 0), HEAD);
		assert_int_equal(ftruncate(fd, i % 2 == 0 ? HEAD : nrand48(random) % HEAD), 0);
		refused += elf_read(fd, &elf) != 0;
		(void)elf_mentions(fd, &elf, words);
		assert_true(elf.libraries <= ELF_LIBRARIES_MAX);
	}
	assert_true(refused > TRIES / 4);
	close(fd);
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_mentions),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
