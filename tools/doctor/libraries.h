/* SPDX-License-Identifier: MIT */
/* Which libraries a program names that it is linked to: a small, distrustful reader of ELF files. */
#ifndef DOCTOR_LIBRARIES_H
#define DOCTOR_LIBRARIES_H

#include "tools/doctor/system.h"

/* Fill in elf, fixed and the libraries from an open file. Returns 0; -ENOEXEC when it is no program for
 * this kind of machine (word size, byte order); -EBADMSG when it is damaged; or what reading failed
 * with. Nothing is allocated, and no more than some thousand small reads are done. */
int doctor_read_libraries(int fd, struct doctor_program *out);

#endif
