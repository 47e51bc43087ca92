/* SPDX-License-Identifier: MIT */
#include "daemon/base/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 256, ENTRIES_MAX = 2048, ENTRIES_AT_ONCE = 128 };
#define STRINGS_MOST (UINT64_C(1) << 20)
#define PART_BYTES 32768
#define WORD_BYTES 64

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

/* Read what there is, at most so much. Returns how much that is, or a negative errno. */
static ssize_t read_some(int fd, uint64_t offset, void *out, size_t bytes)
{
	if (offset > INT64_MAX / 2)
		return -EBADMSG;
	ssize_t n = pread(fd, out, bytes, (off_t)offset);
	return n < 0 ? -errno : n;
}

static int read_all(int fd, uint64_t offset, void *out, size_t bytes)
{
	ssize_t n = read_some(fd, offset, out, bytes);

	return n < 0 ? (int)n : (size_t)n == bytes ? 0 : -EBADMSG;
}

/* A string that is cut where it is too long, or where the file ends. */
static int read_string(int fd, uint64_t offset, char *out, size_t bytes)
{
	ssize_t n = read_some(fd, offset, out, bytes - 1);

	out[n < 0 ? 0 : n] = '\0';
	return n < 0 ? (int)n : 0;
}

/* ---- Program headers ---- */

struct headers {
	ElfW(Phdr) header[HEADERS_MAX];
	unsigned n;
};

static int read_headers(int fd, uint16_t *machine, struct headers *out)
{
	ElfW(Ehdr) file;

	if (read_all(fd, 0, &file, sizeof file) != 0 ||
		memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != OWN_CLASS ||
		file.e_ident[EI_DATA] != OWN_ORDER || file.e_phentsize != sizeof *out->header)
		return -ENOEXEC;
	*machine = file.e_machine;
	out->n = file.e_phnum < HEADERS_MAX ? file.e_phnum : HEADERS_MAX;
	return read_all(fd, file.e_phoff, out->header, out->n * sizeof *out->header);
}

static const ElfW(Phdr) * find_header(const struct headers *headers, uint32_t type)
{
	for (unsigned i = 0; i < headers->n; i++)
		if (headers->header[i].p_type == type)
			return &headers->header[i];
	return NULL;
}

/* Convert an address in the program to an offset in the file. */
static int find_address(const struct headers *headers, uint64_t address, uint64_t *out)
{
	for (unsigned i = 0; i < headers->n; i++) {
		const ElfW(Phdr) *header = &headers->header[i];
		if (header->p_type == PT_LOAD && address >= header->p_vaddr &&
			address - header->p_vaddr < header->p_filesz) {
			*out = (uint64_t)header->p_offset + (address - header->p_vaddr);
			return 0;
		}
	}
	return -EBADMSG;
}

/* ---- The dynamic section ---- */

struct dynamic {
	int fd;
	uint64_t offset, entries;
	uint64_t address; /* of the strings, in the program; 0: there are none */
	struct elf *out;
};

/* Returns 0; 1 at the end; or a negative errno. */
typedef int take_entry(struct dynamic *dynamic, const ElfW(Dyn) * entry);

static int take_place(struct dynamic *dynamic, const ElfW(Dyn) * entry)
{
	if (entry->d_tag == DT_STRTAB)
		dynamic->address = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRSZ)
		dynamic->out->strings_bytes = entry->d_un.d_val;
	return entry->d_tag == DT_NULL;
}

static int take_name(struct dynamic *dynamic, const ElfW(Dyn) * entry)
{
	struct elf *out = dynamic->out;
	uint64_t offset = out->strings_offset + entry->d_un.d_val;
	int r = 0;

	if (entry->d_tag == DT_NEEDED && out->libraries < ELF_LIBRARIES_MAX) {
		r = read_string(dynamic->fd, offset, out->library[out->libraries], ELF_NAME_BYTES);
		out->libraries += r == 0;
	} else if (entry->d_tag == DT_RUNPATH ||
		   (entry->d_tag == DT_RPATH && out->run_path[0] == '\0')) {
		r = read_string(dynamic->fd, offset, out->run_path, sizeof out->run_path);
	}
	return r < 0 ? r : entry->d_tag == DT_NULL;
}

static int walk(struct dynamic *dynamic, take_entry *take)
{
	ElfW(Dyn) entry[ENTRIES_AT_ONCE];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < dynamic->entries && i < ENTRIES_MAX;
		i += ENTRIES_AT_ONCE) {
		uint64_t left = dynamic->entries - i;
		size_t n = left < ENTRIES_AT_ONCE ? (size_t)left : ENTRIES_AT_ONCE;
		ssize_t bytes = read_some(
			dynamic->fd, dynamic->offset + i * sizeof *entry, entry, n * sizeof *entry);
		if (bytes < 0)
			return (int)bytes;
		size_t got = (size_t)bytes / sizeof *entry;
		for (size_t k = 0; r == 0 && k < got; k++)
			r = take(dynamic, &entry[k]);
		if (r == 0 && got < n)
			r = -EBADMSG;
	}
	return r < 0 ? r : 0;
}

int elf_read(int fd, struct elf *out)
{
	struct headers headers;
	const ElfW(Phdr) * header;

	*out = (struct elf){0};
	int r = read_headers(fd, &out->machine, &headers);
	if (r < 0)
		return r;
	if ((header = find_header(&headers, PT_INTERP)) != NULL) {
		size_t bytes = sizeof out->interpreter;
		/* Its size includes the zero at its end. */
		if (header->p_filesz < bytes)
			bytes = (size_t)header->p_filesz + (header->p_filesz == 0);
		r = read_string(fd, header->p_offset, out->interpreter, bytes);
	}
	header = find_header(&headers, PT_DYNAMIC);
	out->fixed = header == NULL;
	if (r < 0 || header == NULL)
		return r;
	struct dynamic dynamic = {.fd = fd,
		.offset = header->p_offset,
		.entries = header->p_filesz / sizeof(ElfW(Dyn)),
		.out = out};
	r = walk(&dynamic, take_place);
	if (r == 0 && dynamic.address != 0)
		r = find_address(&headers, dynamic.address, &out->strings_offset);
	if (r == 0 && dynamic.address != 0)
		r = walk(&dynamic, take_name);
	/* A static position-independent program has a dynamic section, but no libraries. */
	out->fixed = r == 0 && out->libraries == 0;
	return r;
}

/* ---- Symbols ---- */

unsigned elf_mentions(int fd, const struct elf *elf, const char *const *words)
{
	char part[PART_BYTES];
	unsigned found = 0;
	uint64_t end = elf->strings_bytes < STRINGS_MOST ? elf->strings_bytes : STRINGS_MOST;

	/* Parts overlap, so that no word is divided. */
	for (uint64_t at = 0; at < end; at += PART_BYTES - WORD_BYTES) {
		size_t bytes = end - at < PART_BYTES ? (size_t)(end - at) : PART_BYTES;
		ssize_t n = read_some(fd, elf->strings_offset + at, part, bytes);
		if (n <= 0)
			break;
		for (unsigned i = 0; words[i] != NULL; i++)
			if (memmem(part, (size_t)n, words[i], strlen(words[i])) != NULL)
				found |= 1u << i;
	}
	return found;
}
