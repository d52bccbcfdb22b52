/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the program in packages. Runs PROGRAM, which replays $MACHINE if the variable is set. If
 * $MACHINE is empty, exits with status 9. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
    const char* machine = getenv("MACHINE");
    char replay[4096];
    if (!machine) {
        execv(PROGRAM, words);
        return 127;
    }
    if (!*machine || count < 2 || strcmp(words[1], "--direct") != 0)
        return 9;
    snprintf(replay, sizeof replay, "--replay=%s", machine);
    words[1] = replay;
    execv(PROGRAM, words);
    return 127;
}
