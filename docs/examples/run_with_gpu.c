// SPDX-License-Identifier: Apache-2.0
// Runs a program on the GPU that gpuprobe chooses for it.
//
// Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
// Build: cc run_with_gpu.c -lgpuprobe -o run_with_gpu
#include <errno.h>
#include <gpuprobe/gpuprobe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Puts the variables of the choice into the environment.
static void set_environment(const char* json) {
    const char* at = NULL;
    const char* item;
    char* name;
    while ((item = gpuprobe_each(json, "/environment", &at, &name)) != NULL) {
        char* value = gpuprobe_value(item, "");
        if (name && value)
            setenv(name, value, 1);
        gpuprobe_free(value);
        gpuprobe_free(name);
    }
}

// Prints the reasons against each candidate, with fixes.
static void say_why(const char* json) {
    const char* at = NULL;
    const char* candidate;
    while ((candidate = gpuprobe_each(json, "/error/candidates", &at, NULL)) != NULL) {
        const char* at_reason = NULL;
        const char* reason;
        while ((reason = gpuprobe_each(candidate, "/reasons", &at_reason, NULL)) != NULL) {
            char* backend = gpuprobe_value(candidate, "/backend");
            char* text = gpuprobe_value(reason, "/text");
            char* fix = gpuprobe_value(reason, "/fix");
            if (backend && text)
                fprintf(stderr, "  %s: %s\n", backend, text);
            if (fix)
                fprintf(stderr, "    fix: %s\n", fix);
            gpuprobe_free(fix);
            gpuprobe_free(text);
            gpuprobe_free(backend);
        }
    }
}

static void say(const char* json, const char* pointer) {
    char* text = gpuprobe_value(json, pointer);
    if (text)
        fprintf(stderr, "%s\n", text);
    gpuprobe_free(text);
}

int main(int count, char** words) {
    gpuprobe_client* client;
    char* json;
    if (count < 3)
        return 2;
    if (gpuprobe_open(&client, NULL, 0) < 0)
        return 1;
    const int code =
        gpuprobe_select(client, words[1], "{\"built\":[\"cuda\",\"vulkan\",\"cpu\"]}", &json);
    gpuprobe_close(client);
    if (code == -ENODATA)
        fprintf(stderr, "no backend fits for %s: ", words[1]);
    if (code < 0) {
        if (!json)
            fprintf(stderr, "neither the gpuprobe daemon nor gpuprobectl has answered: %s\n",
                    strerror(-code));
        say(json, "/error/message");
        say_why(json);
        return code == -ENODATA ? 3 : 1;
    }
    say(json, "/messages/0");
    say(json, "/decision");
    char* backend = gpuprobe_value(json, "/backend");
    setenv("GPU_BACKEND", backend, 1);
    gpuprobe_free(backend);
    set_environment(json);
    gpuprobe_free(json);
    execvp(words[2], words + 2);
    perror(words[2]);
    return 127;
}
