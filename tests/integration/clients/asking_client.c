// SPDX-License-Identifier: Apache-2.0
// Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the
// argument, and prints a line with the answer, or "refused", for each.
#include <gpuprobe/gpuprobe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
    gpuprobe_client* client = NULL;
    static char line[1 << 16];
    if (count != 2 || gpuprobe_open(&client, words[1], GPUPROBE_DAEMON_ONLY) < 0)
        return EXIT_FAILURE;
    while (fgets(line, sizeof line, stdin)) {
        char* json = NULL;
        line[strcspn(line, "\n")] = '\0';
        char* parameters = strchr(line, '\t');
        *parameters++ = '\0';
        const int code = gpuprobe_call(client, line, parameters, &json);
        puts(code == 0 && json ? json : json ? "refused" : "fails");
        gpuprobe_free(json);
    }
    gpuprobe_close(client);
    return EXIT_SUCCESS;
}
