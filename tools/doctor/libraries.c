/* SPDX-License-Identifier: MIT */
#include "tools/doctor/libraries.h"

#include "daemon/base/elf_file.h"

#include <string.h>

_Static_assert((int)DOCTOR_LIBRARIES_MAX == (int)ELF_LIBRARIES_MAX &&
		       (int)DOCTOR_LIBRARY_BYTES == (int)ELF_NAME_BYTES,
	"as many as are read");

int doctor_read_libraries(int fd, struct doctor_program *out)
{
	struct elf elf;
	int error = elf_read(fd, &elf);

	out->libraries = elf.libraries;
	memcpy(out->library, elf.library, sizeof(out->library));
	out->fixed = elf.fixed;
	out->elf = error == 0;
	return error;
}
