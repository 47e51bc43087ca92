/* SPDX-License-Identifier: MIT */
/* The subcommands of jugglectl. argv[0] is the full name, such as "jugglectl simulate plb". Each
 * returns the exit status. */
#ifndef COMMAND_SUBCOMMANDS_H
#define COMMAND_SUBCOMMANDS_H

int list_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int top_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int plot_main(int argc, char **argv);
int clean_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int predict_main(int argc, char **argv);
int simulate_main(int argc, char **argv);
int simulate_juggle_main(int argc, char **argv);
int simulate_plb_main(int argc, char **argv);
int simulate_dplb_main(int argc, char **argv);
int replay_main(int argc, char **argv);

#endif
