/* SPDX-License-Identifier: MIT */
/*
 * Running gnuplot: script and picture go through descriptors, so that no name of a file has to be
 * quoted, and nothing is half-written.
 */
#ifndef PLOT_GNUPLOT_H
#define PLOT_GNUPLOT_H

/* Run the script, from its beginning, with the picture going to a descriptor. Returns 0; -ENOENT (no
 * gnuplot in PATH), -EIO (it failed; why, which holds 200 bytes, has its first words), or another
 * negative errno of starting it. */
int gnuplot_run(int script, int picture, char why[200]);

#endif
