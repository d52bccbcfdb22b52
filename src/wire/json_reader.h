// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <stddef.h>

// The functions of the JSON reader that only the client library uses; gpuprobe.h declares the
// others. A JSON text ends with a NUL byte and isn't read beyond this byte. Returned pointers
// point into the JSON text.

// Returns the first character at or after `at` that isn't white space.
const char* gpuprobe_json_start(const char* at);

// Returns the end of the value that starts at `at`. Returns NULL if the value is not JSON in UTF-8
// (RFC 8259), if it has more than 64 levels, or if an escape does not represent a character, such
// as half of a surrogate pair. An object may contain the same key twice.
const char* gpuprobe_json_end(const char* at);

// Like gpuprobe_json_end(), but for an object that may only be followed by white space; returns
// NULL for any other text. Sets *values to the number of items and members on all levels of the
// object.
const char* gpuprobe_json_object(const char* text, size_t* values);

// Returns a copy of the text from `at` to `end`, or NULL if there isn't enough memory. The caller
// frees the copy.
char* gpuprobe_json_copy(const char* at, const char* end);

// Returns the decoded string that starts at `at`, which must be valid for gpuprobe_json_end().
// Returns NULL if the string contains U+0000 or if there isn't enough memory. The caller frees the
// result.
char* gpuprobe_json_string(const char* at);

// A position in an array or an object.
struct gpuprobe_json_walk {
    const char* key;  // start of the member's key, at its quote; NULL in an array
    const char* value;
    const char* end;  // end of the value
};

// Moves to the first item or member of `container`, or to the next item or member if `container` is
// NULL. Returns 0 after the last item or member, and also if malformed JSON follows.
int gpuprobe_json_step(struct gpuprobe_json_walk* walk, const char* container);

// Returns whether the member's key is `name`.
int gpuprobe_json_key_is(const struct gpuprobe_json_walk* walk, const char* name);
