/* SPDX-License-Identifier: MIT */
/*
 * A small, distrustful reader of ELF files: how a program is linked.
 *
 * We don't use libelf, since only four tables are followed: program headers, the interpreter, the
 * dynamic section, and its strings. Any number in them may be nonsense. So each is only used as a
 * place in the file to read from, which fails when nothing is there. Nothing is mapped, or a file
 * that shrinks would be a signal.
 */
#ifndef BASE_ELF_FILE_H
#define BASE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_LIBRARIES_MAX = 64, ELF_NAME_BYTES = 64 };

struct elf {
	uint16_t machine;
	bool fixed; /* linked statically: neither libraries nor an interpreter */
	char interpreter[128]; /* "": none */
	char run_path[512]; /* where its libraries are, besides the usual folders; "": nowhere */
	size_t libraries; /* the direct ones, not theirs */
	char library[ELF_LIBRARIES_MAX][ELF_NAME_BYTES]; /* names that are longer are cut */
	uint64_t strings_offset, strings_bytes; /* names of libraries and symbols, in the file */
};

/* Read how a program or library is linked. Returns 0; -ENOEXEC when the file is none for this kind
 * of machine (word size, byte order); -EBADMSG when it is damaged; or another negative errno. Does
 * at most some hundred reads, and allocates nothing. */
int elf_read(int fd, struct elf *out);

/* Which of these words (at most 64 bytes each, ended by NULL) are contained in the names of its
 * symbols? Bit i is set for word i. Reads at most 1 MB of them. */
unsigned elf_mentions(int fd, const struct elf *elf, const char *const *words);

#endif
