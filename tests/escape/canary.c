// SPDX-License-Identifier: Apache-2.0
/// A process of the same user that is dumpable and unrelated to gpuprobe. It prints the address of
/// a page. For each line of input, it prints whether the page is unchanged and which signals
/// arrived.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kPage = 4096, kSignals = 65 };

static volatile char page[kPage] __attribute__((aligned(4096)));
static volatile sig_atomic_t seen[kSignals];

static void count(int signal) {
    seen[signal] = seen[signal] + 1;
}

static int page_is_whole(void) {
    for (int i = 0; i < kPage; ++i)
        if (page[i] != 'C')
            return 0;
    return 1;
}

static void tell(void) {
    printf("page=%s signals=", page_is_whole() ? "whole" : "changed");
    for (int signal = 1; signal < kSignals; ++signal)
        if (seen[signal])
            printf("%d,", signal);
    printf("\n");
    fflush(stdout);
}

int main(int count_of_arguments, char** arguments) {
    for (int i = 0; i < kPage; ++i)
        page[i] = 'C';
    struct sigaction action = {.sa_handler = count};
    for (int signal = 1; signal < kSignals; ++signal)
        sigaction(signal, &action, NULL);
    if (count_of_arguments > 1 && open(arguments[1], O_WRONLY | O_APPEND) < 0)
        return 1;
    printf("%lu\n", (unsigned long)page);
    fflush(stdout);
    for (;;) {
        char line[64];
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&input, 1, -1) <= 0)
            continue;
        if (read(STDIN_FILENO, line, sizeof line) <= 0)
            return 0;
        tell();
    }
}
