/* SPDX-License-Identifier: MIT */
/*
 * The solution as .npy; see output.h. The format is that of NumPy Enhancement Proposal 1.
 */
#include "apps/jacobi/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 128 /* magic, version, length, and text padded with blanks to a line's end */
#define PREFIX_BYTES 10

static void write_header(FILE *stream, const struct grid *grid)
{
	char header[HEADER_BYTES + 1];
	int length;

	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = HEADER_BYTES - PREFIX_BYTES;
	header[9] = 0;
	length = snprintf(header + PREFIX_BYTES, HEADER_BYTES - PREFIX_BYTES,
		"{'descr': '%cf8', 'fortran_order': False, 'shape': (%" PRIu32 ", %" PRIu32 ")}",
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', grid->rows, grid->columns);
	memset(header + PREFIX_BYTES + length, ' ', HEADER_BYTES - PREFIX_BYTES - (size_t)length);
	header[HEADER_BYTES - 1] = '\n';
	fwrite(header, HEADER_BYTES, 1, stream);
}

/* The rows of a subdomain are not contiguous in the file, so each row of the grid is put together
 * before it is written. */
int output_write(FILE *stream, const struct grid *grid, const struct subdomain *subdomains)
{
	uint32_t n = grid_subdomains(grid);
	double *line = calloc(grid->columns, sizeof(*line));

	if (!line)
		return -ENOMEM;
	errno = 0;
	write_header(stream, grid);
	for (uint32_t row = 0; row < grid->rows && !ferror(stream); row++) {
		for (uint32_t s = 0; s < n; s++) {
			const struct grid_block *block = &subdomains[s].block;

			if (row - block->row < block->rows)
				memcpy(line + block->column,
					subdomain_row(&subdomains[s], row - block->row),
					block->columns * sizeof(*line));
		}
		fwrite(line, sizeof(*line), grid->columns, stream);
	}
	free(line);
	if (fflush(stream) != 0 || ferror(stream))
		return errno ? -errno : -EIO;
	return 0;
}
