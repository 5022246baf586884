// The program's commands. Each takes what follows its name and returns the program's exit code.
#pragma once

int command_run(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_replay(int argc, char **argv);
