/* SPDX-License-Identifier: MIT */
/* Which libraries a program is linked to directly. */
#ifndef DOCTOR_LIBRARIES_H
#define DOCTOR_LIBRARIES_H

#include "tools/doctor/system.h"

/* Fill in elf, fixed and the libraries from an open file. Returns 0; -ENOEXEC when it is not a
 * program for this kind of machine (word size, byte order); -EBADMSG when it is damaged; or an
 * error of reading it. Allocates nothing. */
int doctor_read_libraries(int fd, struct doctor_program *out);

#endif
