// SPDX-License-Identifier: Apache-2.0
// Reads JSON in place, with pointers into the text.
#define _GNU_SOURCE
#include "wire/json_reader.h"

#include <gpuprobe/gpuprobe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    kMaxDepth = 64,
};

const char* gpuprobe_json_start(const char* at) {
    return at + strspn(at, " \t\r\n");
}

// Behind the string that begins at `at`; NULL when it does not end.
static const char* behind_string(const char* at) {
    for (++at; *at != '"'; ++at) {
        if (*at == '\\')
            ++at;
        if (*at == '\0')
            return NULL;
    }
    return at + 1;
}

// Behind the value that begins at `at`; NULL for what is none. Brackets are counted and not
// matched: what came from the daemon is JSON, and anything else is read without harm.
const char* gpuprobe_json_end(const char* at) {
    int depth = 0;
    do {
        at = gpuprobe_json_start(at);
        if (*at == '"') {
            at = behind_string(at);
            if (!at)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            if (++depth > kMaxDepth)
                return NULL;
            ++at;
        } else if (*at == '}' || *at == ']') {
            --depth;
            ++at;
        } else if (depth > 0 && (*at == ',' || *at == ':')) {
            ++at;
        } else {
            const size_t size = strcspn(at, ",:{}[]\" \t\r\n");
            if (size == 0)
                return NULL;
            at += size;
        }
    } while (depth > 0);
    return depth == 0 ? at : NULL;
}

static unsigned hex_of(const char* at) {
    unsigned number = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = at[i];
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                      : 0x10000;
        if (digit > 15)
            return 0xfffd;
        number = 16 * number + digit;
    }
    return number;
}

static size_t put_utf8(unsigned code, char* out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | (code >> (6 * more)));
    for (int i = 1; i <= more; ++i)
        out[i] = (char)(0x80 | ((code >> (6 * (more - i))) & 0x3f));
    return (size_t)more + 1;
}

// The character that an escape stands for, at its `u`; moves `at` to its last byte.
static unsigned code_of(const char** at, const char* end) {
    if (end - *at < 5)
        return 0xfffd;
    unsigned code = hex_of(*at + 1);
    *at += 4;
    const int has_other =
        code >= 0xd800 && code < 0xdc00 && end - *at >= 7 && (*at)[1] == '\\' && (*at)[2] == 'u';
    if (has_other) {
        const unsigned low = hex_of(*at + 3);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

// The text of the string from `at` to `end`, both with their quotes. No escape is shorter than what
// it stands for.
static char* decoded(const char* at, const char* end) {
    char* text = malloc((size_t)(end - at));
    if (!text)
        return NULL;
    char* out = text;
    --end;
    for (++at; at < end; ++at) {
        if (*at != '\\') {
            *out++ = *at;
            continue;
        }
        ++at;
        const char* plain = strchr("\"\"\\\\//b\bf\fn\nr\rt\t", *at);
        if (*at == 'u')
            out += put_utf8(code_of(&at, end), out);
        else if (plain)
            *out++ = plain[1];
    }
    *out = '\0';
    return text;
}

char* gpuprobe_json_copy(const char* at, const char* end) {
    return strndup(at, (size_t)(end - at));
}

// The first, with `walk` at the container; or the next. 0: there is none.
int gpuprobe_json_step(struct gpuprobe_json_walk* walk, const char* container) {
    const char* at = container ? container : walk->behind;
    if (container) {
        if (*at != '{' && *at != '[')
            return 0;
        walk->is_object = *at++ == '{';
    } else {
        at = gpuprobe_json_start(at);
        if (*at++ != ',')
            return 0;
    }
    at = gpuprobe_json_start(at);
    if (*at == '}' || *at == ']' || *at == '\0')
        return 0;
    walk->at = walk->value = at;
    if (walk->is_object) {
        walk->end = *at == '"' ? behind_string(at) : NULL;
        if (!walk->end)
            return 0;
        at = gpuprobe_json_start(walk->end);
        if (*at != ':')
            return 0;
        walk->value = gpuprobe_json_start(at + 1);
    }
    walk->behind = gpuprobe_json_end(walk->value);
    return walk->behind != NULL;
}

// Whether the key is that part of a pointer.
int gpuprobe_json_key_is(const struct gpuprobe_json_walk* walk, const char* part, size_t size) {
    char* key = decoded(walk->at, walk->end);
    if (!key)
        return 0;
    const char* left = key;
    size_t i = 0;
    for (; i < size && *left; ++i, ++left) {
        char wanted = part[i];
        if (wanted == '~' && i + 1 < size)
            wanted = part[++i] == '1' ? '/' : '~';
        if (wanted != *left)
            break;
    }
    const int is_same = i == size && *left == '\0';
    free(key);
    return is_same;
}

// The item or member of that name; NULL when there is none.
static const char* member_of(const char* container, const char* part, size_t size) {
    struct gpuprobe_json_walk walk = {0};
    long index = 0;
    for (int has = gpuprobe_json_step(&walk, container); has;
         has = gpuprobe_json_step(&walk, NULL), ++index) {
        char number[24];
        snprintf(number, sizeof number, "%ld", index);
        if (walk.is_object ? gpuprobe_json_key_is(&walk, part, size)
                           : strlen(number) == size && !memcmp(number, part, size))
            return walk.value;
    }
    return NULL;
}

static const char* find(const char* json, const char* pointer) {
    if (!json || !pointer)
        return NULL;
    const char* at = gpuprobe_json_start(json);
    while (at && *pointer == '/') {
        const size_t size = strcspn(++pointer, "/");
        at = member_of(at, pointer, size);
        pointer += size;
    }
    return *pointer == '\0' ? at : NULL;
}

char* gpuprobe_value(const char* json, const char* pointer) {
    const char* at = find(json, pointer);
    const char* end = at ? gpuprobe_json_end(at) : NULL;
    if (!end || strncmp(at, "null", 4) == 0)
        return NULL;
    return *at == '"' ? decoded(at, end) : gpuprobe_json_copy(at, end);
}

long gpuprobe_count(const char* json, const char* pointer) {
    const char* at = find(json, pointer);
    if (!at || (*at != '{' && *at != '['))
        return -1;
    struct gpuprobe_json_walk walk = {0};
    long count = 0;
    for (int has = gpuprobe_json_step(&walk, at); has; has = gpuprobe_json_step(&walk, NULL))
        ++count;
    return count;
}

char* gpuprobe_key(const char* json, const char* pointer, long index) {
    const char* at = find(json, pointer);
    if (!at || *at != '{')
        return NULL;
    struct gpuprobe_json_walk walk = {0};
    for (int has = gpuprobe_json_step(&walk, at); has; has = gpuprobe_json_step(&walk, NULL))
        if (index-- == 0)
            return decoded(walk.at, walk.end);
    return NULL;
}

void gpuprobe_free(char* text) {
    free(text);
}
