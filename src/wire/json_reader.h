// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

// The part of the JSON reader that only the client library uses; gpuprobe.h has the rest. Texts end
// with a NUL, nothing behind it is read, and pointers lead into the text.

// The end of the blanks at `at`.
const char* gpuprobe_json_start(const char* at);

// The end of the value that starts at `at`; NULL if it is not JSON in UTF-8 (RFC 8259), has more
// than 64 levels, or has an escape that is not a character, such as half of a pair of surrogates.
// A key may appear twice.
const char* gpuprobe_json_end(const char* at);

// The same for an object with nothing behind it but blanks; NULL for any other text.
// *values: the number of its items and members, on all levels.
const char* gpuprobe_json_object(const char* text, size_t* values);

// The text from `at` to `end`; NULL if there is no memory. The caller frees it.
char* gpuprobe_json_copy(const char* at, const char* end);

// The text of the string that starts at `at`; NULL if it holds U+0000 or if there is no memory. The
// string is one that gpuprobe_json_end() accepts. The caller frees the text.
char* gpuprobe_json_string(const char* at);

// A step through an array or an object.
struct gpuprobe_json_walk {
    const char* key;  // of the member, at its quote; NULL in an array
    const char* value;
    const char* end;  // of the value
};

// Moves to the first item or member of `container`, or to the next one if that is NULL. Returns 0
// after the last, and in front of what is not JSON.
int gpuprobe_json_step(struct gpuprobe_json_walk* walk, const char* container);

// Whether the member's key is `name`.
int gpuprobe_json_key_is(const struct gpuprobe_json_walk* walk, const char* name);
