// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

// What the client library shares of its JSON reader; the rest is in gpuprobe.h.

const char* gpuprobe_json_start(const char* at);
const char* gpuprobe_json_end(const char* at);
char* gpuprobe_json_copy(const char* at, const char* end);

// Walks over an object or an array.
struct gpuprobe_json_walk {
    const char* at;   // of the item, or of the key of the member
    const char* end;  // behind the key
    const char* value;
    const char* behind;
    int is_object;
};

int gpuprobe_json_step(struct gpuprobe_json_walk* walk, const char* container);
int gpuprobe_json_key_is(const struct gpuprobe_json_walk* walk, const char* part, size_t size);
