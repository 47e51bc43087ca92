/* SPDX-License-Identifier: MIT */
/*
 * Reads the dynamic section of ELF files; see libraries.h.
 *
 * We don't use libelf, since only three tables are followed: program headers, the dynamic section,
 * and its strings. Any number in them may be nonsense. So each is only used as a place in the file
 * to read from, which fails when nothing is there.
 */
#include "tools/doctor/libraries.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 256, ENTRIES_MAX = 2048 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

static int read_at(int fd, uint64_t offset, void *out, size_t bytes)
{
	if (offset > INT64_MAX / 2)
		return -EBADMSG;
	ssize_t r = pread(fd, out, bytes, (off_t)offset);
	if (r < 0)
		return -errno;
	return (size_t)r == bytes ? 0 : -EBADMSG;
}

static int read_header(int fd, const ElfW(Ehdr) * file, unsigned i, ElfW(Phdr) * out)
{
	return read_at(fd, (uint64_t)file->e_phoff + (uint64_t)i * sizeof(*out), out, sizeof(*out));
}

/* Convert an address in the program to an offset in the file. */
static int find_address(int fd, const ElfW(Ehdr) * file, uint64_t address, uint64_t *out)
{
	for (unsigned i = 0; i < file->e_phnum && i < HEADERS_MAX; i++) {
		ElfW(Phdr) header;
		int error = read_header(fd, file, i, &header);
		if (error != 0)
			return error;
		if (header.p_type == PT_LOAD && address >= header.p_vaddr &&
			address - header.p_vaddr < header.p_filesz) {
			*out = header.p_offset + (address - header.p_vaddr);
			return 0;
		}
	}
	return -EBADMSG;
}

/* A name may be cut by the end of the file: read what there is of it. */
static int read_library(int fd, uint64_t offset, struct doctor_program *out)
{
	char *name = out->library[out->libraries];

	if (offset > INT64_MAX / 2)
		return -EBADMSG;
	ssize_t r = pread(fd, name, DOCTOR_LIBRARY_BYTES - 1, (off_t)offset);
	if (r < 0)
		return -errno;
	name[r] = '\0';
	out->libraries++;
	return 0;
}

/* One pass over the dynamic section: to find the strings (libraries false), or to read
 * libraries. */
static int read_dynamic(int fd, const ElfW(Phdr) * dynamic, bool libraries, uint64_t *strings,
	struct doctor_program *out)
{
	for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(ElfW(Dyn)) && i < ENTRIES_MAX; i++) {
		ElfW(Dyn) entry;
		int error =
			read_at(fd, dynamic->p_offset + i * sizeof(entry), &entry, sizeof(entry));
		if (error != 0)
			return error;
		if (entry.d_tag == DT_NULL)
			break;
		if (!libraries && entry.d_tag == DT_STRTAB)
			*strings = entry.d_un.d_ptr;
		if (libraries && entry.d_tag == DT_NEEDED && out->libraries < DOCTOR_LIBRARIES_MAX)
			error = read_library(fd, *strings + entry.d_un.d_val, out);
		if (error != 0)
			return error;
	}
	return 0;
}

int doctor_read_libraries(int fd, struct doctor_program *out)
{
	ElfW(Ehdr) file;
	ElfW(Phdr) header = {0};
	uint64_t address = 0, strings;
	unsigned i;

	out->libraries = 0;
	if (read_at(fd, 0, &file, sizeof(file)) != 0 ||
		memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != OWN_CLASS ||
		file.e_ident[EI_DATA] != OWN_ORDER || file.e_phentsize != sizeof(header))
		return -ENOEXEC;
	for (i = 0; i < file.e_phnum && i < HEADERS_MAX; i++) {
		int error = read_header(fd, &file, i, &header);
		if (error != 0)
			return error;
		if (header.p_type == PT_DYNAMIC)
			break;
	}
	out->fixed = i == file.e_phnum;
	out->elf = true;
	if (header.p_type != PT_DYNAMIC)
		return 0;
	int error = read_dynamic(fd, &header, false, &address, out);
	if (error == 0 && address != 0)
		error = find_address(fd, &file, address, &strings);
	if (error == 0 && address != 0)
		error = read_dynamic(fd, &header, true, &strings, out);
	/* A static position-independent program has a dynamic section, but no libraries. */
	out->fixed = error == 0 && out->libraries == 0;
	out->elf = error == 0;
	return error;
}
