/* SPDX-License-Identifier: MIT */
/*
 * Running gnuplot. Script and picture go through descriptors, so that no file name needs quotes,
 * and no file is left half-written.
 */
#ifndef PLOT_GNUPLOT_H
#define PLOT_GNUPLOT_H

/* Run the script from its beginning, and write the picture to a descriptor. Returns 0; -ENOENT (no
 * gnuplot in PATH); -EIO (it failed; `why`, of 200 bytes, has its first words); or another negative
 * errno of starting it. */
int gnuplot_run(int script, int picture, char why[200]);

#endif
