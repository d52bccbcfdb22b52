// SPDX-License-Identifier: Apache-2.0
// Makes a call on each socket in the arguments, and prints a line with the code and the answer.
#include <gpuprobe/gpuprobe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_all(const char* json, int depth) {
    const char* at = NULL;
    const char* item = NULL;
    char* key = NULL;
    gpuprobe_free(gpuprobe_value(json, ""));
    gpuprobe_free(gpuprobe_value(json, "/x/0/a~1b"));
    gpuprobe_free(gpuprobe_key(json, "", 0));
    if (depth > 70 || gpuprobe_count(json, "") < 0)
        return;
    while ((item = gpuprobe_each(json, "", &at, &key)) != NULL) {
        gpuprobe_free(key);
        read_all(item, depth + 1);
    }
}

static void ask(const char* path) {
    gpuprobe_client* client = NULL;
    char* json = NULL;
    int code = gpuprobe_open(&client, path, GPUPROBE_DAEMON_ONLY);
    if (code == 0) {
        gpuprobe_set_timeout(client, strstr(path, "/late-") ? 300 : 60000);
        code = gpuprobe_describe(client, &json);
    }
    const int is_short = json && strlen(json) < 4096;
    printf("%d %s\n", code, is_short ? json : json ? "long" : "nothing");
    if (is_short)
        read_all(json, 0);
    gpuprobe_free(json);
    gpuprobe_close(client);
}

/* Follows the report until the server disconnects or an error occurs, and prints the last code. */
static void follow(const char* path) {
    gpuprobe_client* client = NULL;
    int code = gpuprobe_open(&client, path, 0);
    struct pollfd events = {.fd = code == 0 ? gpuprobe_watch(client) : -1, .events = POLLIN};
    for (int left = 1000; events.fd >= 0 && left > 0 && code >= 0; --left) {
        char* json = NULL;
        code = gpuprobe_watch_next(client, &json);
        const int is_refused = code < 0 && json;
        gpuprobe_free(json);
        if (is_refused)
            code = 1;
        if (code == 0)
            (void)poll(&events, 1, 20000);
    }
    printf("%d nothing\n", code);
    gpuprobe_close(client);
}

/* Checks that each answer belongs to its call. After each answer to `client`, the server sends
 * an answer that no call requested. The server answers the call of `gate` after that. */
static int repeat(gpuprobe_client* client, gpuprobe_client* gate) {
    int code = 0;
    for (int i = 0; i < 20 && code == 0; ++i) {
        char method[32];
        char* json = NULL;
        snprintf(method, sizeof method, "x.Method%d", i);
        if (gpuprobe_call(client, method, NULL, &json) == 0) {
            char* answered = gpuprobe_value(json, "/method");
            if (!answered || strcmp(answered, method) != 0)
                code = -1;
            gpuprobe_free(answered);
        }
        gpuprobe_free(json);
        if (code == 0)
            code = gpuprobe_describe(gate, NULL);
    }
    return code;
}

static void repeat_at(const char* path, const char* gate_path) {
    gpuprobe_client* client = NULL;
    gpuprobe_client* gate = NULL;
    int code = gpuprobe_open(&client, path, GPUPROBE_DAEMON_ONLY);
    if (code == 0)
        code = gpuprobe_open(&gate, gate_path, GPUPROBE_DAEMON_ONLY);
    if (code == 0)
        code = repeat(client, gate);
    printf("%d nothing\n", code);
    gpuprobe_close(gate);
    gpuprobe_close(client);
}

int main(int count, char** words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(words[1], "repeat") == 0) {
        repeat_at(words[2], words[3]);
        return EXIT_SUCCESS;
    }
    for (int i = 2; i < count; ++i)
        strcmp(words[1], "ask") == 0 ? ask(words[i]) : follow(words[i]);
    return EXIT_SUCCESS;
}
