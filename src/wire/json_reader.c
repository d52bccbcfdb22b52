// SPDX-License-Identifier: Apache-2.0 OR MIT
#define _GNU_SOURCE
#include "wire/json_reader.h"

#include <assert.h>
#include <gpuprobe/gpuprobe.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    kMaxDepth = 64,
};

// Characters ----------------------------------------------------------------------------------

// A character of a string. Its UTF-8 form is never longer than its form in the document, so the
// text of a string always fits into the space of the string:
//   in the document           bytes   in UTF-8
//   itself                    n       n
//   \n and the like           2       1
//   \u0000 to \uffff          6       1 to 3
//   a pair, \ud800\udc00 ...  12      4
// read_character() reads all characters, and asserts these sizes.
struct character {
    size_t written;  // bytes in the document
    size_t size;     // bytes in UTF-8, at most `written`
    char bytes[4];
};

static int is_surrogate(uint32_t code) {
    return code >= 0xd800 && code < 0xe000;
}

// Returns the value of the four hexadecimal digits at `at`, or -1 if there are fewer digits.
static int32_t code_unit(const char* at) {
    int32_t number = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = at[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        number = 16 * number + digit;
    }
    return number;
}

static void put_utf8(uint32_t code, struct character* character) {
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    character->bytes[0] = (char)(first[more] | (code >> (6 * more)));
    for (unsigned i = 1; i <= more; ++i)
        character->bytes[i] = (char)(0x80 | ((code >> (6 * (more - i))) & 0x3f));
    character->size = more + 1;
}

// Reads an escaped UTF-16 code unit, or a pair of code units.
static int read_unicode_escape(const char* at, struct character* character) {
    const int32_t partition = code_unit(at + 2);
    // The second half of a surrogate pair must not come first.
    if (partition < 0 || (partition >= 0xdc00 && is_surrogate((uint32_t)partition)))
        return 0;
    uint32_t code = (uint32_t)partition;
    character->written = 6;
    if (is_surrogate(code)) {
        const int32_t low = at[6] == '\\' && at[7] == 'u' ? code_unit(at + 8) : -1;
        if (low < 0xdc00 || !is_surrogate((uint32_t)low))
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        character->written = 12;
    }
    put_utf8(code, character);
    return 1;
}

// Reads an escape. The table lists each letter that may follow a backslash, followed by the
// character that it represents.
static int read_escape(const char* at, struct character* character) {
    static const char plain[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (at[1] == 'u')
        return read_unicode_escape(at, character);
    for (const char* escape = plain; *escape; escape += 2) {
        if (at[1] == *escape) {
            *character = (struct character){.written = 2, .size = 1, .bytes = {escape[1]}};
            return 1;
        }
    }
    return 0;
}

// Reads an unescaped character, and checks that it is well-formed. Source: RFC 3629, section 3.
static int read_utf8(const char* at, struct character* character) {
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char lead = (unsigned char)*at;
    const unsigned more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead < 0x20 || (lead >= 0x80 && lead < 0xc0) || lead >= 0xf8)
        return 0;
    uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);
    for (unsigned i = 1; i <= more; ++i) {
        const unsigned char byte = (unsigned char)at[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte & 0x3f);
    }
    if (code < smallest[more] || code > 0x10ffff || is_surrogate(code))
        return 0;
    put_utf8(code, character);
    character->written = more + 1;
    return 1;
}

// Reads the character at `at` inside a string. Returns 0 at the end of the string and for malformed
// text. Reading stops at the first byte that does not fit, and therefore at a NUL.
static int read_character(const char* at, struct character* character) {
    const int has = *at == '\\' ? read_escape(at, character) : read_utf8(at, character);
    assert(!has || character->size <= character->written);
    return has;
}

// Values --------------------------------------------------------------------------------------

const char* gpuprobe_json_start(const char* at) {
    while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
        ++at;
    return at;
}

// Skips characters that stand for themselves and need no check: ASCII without control characters,
// quotes and backslashes. Nearly all characters are of this kind.
static const char* after_plain(const char* at) {
    while ((signed char)*at >= ' ' && *at != '"' && *at != '\\')
        ++at;
    return at;
}

// The functions below return the end of a value, or NULL if the value is malformed.
static const char* end_of_string(const char* at) {
    struct character character;
    if (*at++ != '"')
        return NULL;
    for (at = after_plain(at); *at != '"'; at = after_plain(at)) {
        if (!read_character(at, &character))
            return NULL;
        at += character.written;
    }
    return at + 1;
}

static const char* end_of_digits(const char* at) {
    const size_t count = strspn(at, "0123456789");
    return count > 0 ? at + count : NULL;
}

static const char* end_of_number(const char* at) {
    at += *at == '-';
    at = *at == '0' ? at + 1 : end_of_digits(at);
    if (at && *at == '.')
        at = end_of_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        ++at;
        at = end_of_digits(at + (*at == '+' || *at == '-'));
    }
    return at;
}

static const char* end_of_scalar(const char* at) {
    static const char* const words[] = {"true", "false", "null"};
    if (*at == '"')
        return end_of_string(at);
    const char* end = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words && !end; ++i)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            end = at + strlen(words[i]);
    end = end ? end : end_of_number(at);
    // strchr() also finds the NUL at the end
    return end && strchr(",]} \t\r\n", *end) ? end : NULL;
}

// Returns the value of the member whose key starts at `at`.
static const char* value_of_member(const char* at) {
    at = end_of_string(at);
    if (!at)
        return NULL;
    at = gpuprobe_json_start(at);
    return *at == ':' ? gpuprobe_json_start(at + 1) : NULL;
}

// The same as gpuprobe_json_end(), for a value at this level of nesting. Adds the number of nested
// values to *values.
static const char* end_of_value(const char* at, int level, size_t* values) {
    if (*at != '{' && *at != '[')
        return end_of_scalar(at);
    const char close = *at == '{' ? '}' : ']';
    // The limit keeps the recursion from exhausting the stack.
    if (level == kMaxDepth)
        return NULL;
    at = gpuprobe_json_start(at + 1);
    if (*at == close)
        return at + 1;
    for (;;) {
        ++*values;
        at = close == '}' ? value_of_member(at) : at;
        at = at ? end_of_value(at, level + 1, values) : NULL;
        if (!at)
            return NULL;
        at = gpuprobe_json_start(at);
        if (*at == close)
            return at + 1;
        if (*at != ',')
            return NULL;
        at = gpuprobe_json_start(at + 1);
    }
}

const char* gpuprobe_json_end(const char* at) {
    size_t values = 0;
    return end_of_value(at, 0, &values);
}

const char* gpuprobe_json_object(const char* text, size_t* values) {
    const char* at = gpuprobe_json_start(text);
    *values = 0;
    const char* end = *at == '{' ? end_of_value(at, 0, values) : NULL;
    return end && *gpuprobe_json_start(end) == '\0' ? end : NULL;
}

char* gpuprobe_json_copy(const char* at, const char* end) {
    return strndup(at, (size_t)(end - at));
}

char* gpuprobe_json_string(const char* at) {
    const char* end = end_of_string(at);
    if (!end)
        return NULL;
    // There are end - at - 2 bytes between the quotes, which is enough for the decoded string (see
    // struct character). One more byte is for the NUL.
    char* text = malloc((size_t)(end - at) - 1);
    char* out = text;
    struct character character = {0};
    for (++at; out && *at != '"'; at += character.written) {
        if (!read_character(at, &character) || *character.bytes == '\0') {
            free(text);
            return NULL;
        }
        memcpy(out, character.bytes, character.size);
        out += character.size;
    }
    if (out)
        *out = '\0';
    return text;
}

// Members and items ---------------------------------------------------------------------------

int gpuprobe_json_step(struct gpuprobe_json_walk* walk, const char* container) {
    const char* at = container ? container : gpuprobe_json_start(walk->end);
    const int is_object = container ? *at == '{' : walk->key != NULL;
    if (container ? *at != '{' && *at != '[' : *at != ',')
        return 0;
    at = gpuprobe_json_start(at + 1);
    walk->key = is_object ? at : NULL;
    walk->value = is_object ? value_of_member(at) : at;
    walk->end = walk->value ? gpuprobe_json_end(walk->value) : NULL;
    return walk->end != NULL;
}

// Returns whether the member's key equals the `size` bytes at `name`. With `is_part`, `name` is a
// part of a JSON pointer, in which ~1 means a slash and ~0 a tilde. Source: RFC 6901, section 4.
static int key_is(const struct gpuprobe_json_walk* walk,
                  const char* name,
                  size_t size,
                  int is_part) {
    struct character character;
    const char* at = walk->key + 1;
    const char* const end = name + size;
    for (; *at != '"'; at += character.written) {
        if (!read_character(at, &character))
            return 0;
        if (is_part && name < end && *name == '~') {
            const char escape = end - name > 1 ? name[1] : '\0';
            const char wanted = escape == '0' ? '~' : escape == '1' ? '/' : '\0';
            if (wanted == '\0' || character.size != 1 || *character.bytes != wanted)
                return 0;
            name += 2;
            continue;
        }
        if ((size_t)(end - name) < character.size || memcmp(name, character.bytes, character.size))
            return 0;
        name += character.size;
    }
    return name == end;
}

int gpuprobe_json_key_is(const struct gpuprobe_json_walk* walk, const char* name) {
    return key_is(walk, name, strlen(name), 0);
}

// Returns the index in a part of a pointer, or -1 if the part isn't an index. Leading zeros are
// not allowed.
static long index_of(const char* part, size_t size) {
    long index = 0;
    if (size == 0 || size > 9 || (*part == '0' && size > 1) || strspn(part, "0123456789") < size)
        return -1;
    for (size_t i = 0; i < size; ++i)
        index = 10 * index + (part[i] - '0');
    return index;
}

// Returns the item or member for a part of a pointer, or NULL.
static const char* member_of(const char* container, const char* part, size_t size) {
    struct gpuprobe_json_walk walk = {0};
    long left = index_of(part, size);
    for (int has = gpuprobe_json_step(&walk, container); has; has = gpuprobe_json_step(&walk, NULL))
        if (walk.key ? key_is(&walk, part, size, 1) : left-- == 0)
            return walk.value;
    return NULL;
}

// Returns the value at a pointer, or NULL. Earlier values are checked only as much as is needed to
// skip them.
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

// Returns the array or object at a pointer, or NULL. The value must be valid to its end.
static const char* find_container(const char* json, const char* pointer) {
    const char* at = find(json, pointer);
    return at && (*at == '{' || *at == '[') && gpuprobe_json_end(at) ? at : NULL;
}

char* gpuprobe_value(const char* json, const char* pointer) {
    const char* at = find(json, pointer);
    const char* end = at ? gpuprobe_json_end(at) : NULL;
    if (!end || *at == 'n')
        return NULL;
    return *at == '"' ? gpuprobe_json_string(at) : gpuprobe_json_copy(at, end);
}

long gpuprobe_count(const char* json, const char* pointer) {
    const char* at = find_container(json, pointer);
    if (!at)
        return -1;
    struct gpuprobe_json_walk walk = {0};
    long count = 0;
    for (int has = gpuprobe_json_step(&walk, at); has; has = gpuprobe_json_step(&walk, NULL))
        ++count;
    return count;
}

char* gpuprobe_key(const char* json, const char* pointer, long index) {
    const char* at = find_container(json, pointer);
    if (!at || *at != '{')
        return NULL;
    struct gpuprobe_json_walk walk = {0};
    for (int has = gpuprobe_json_step(&walk, at); has; has = gpuprobe_json_step(&walk, NULL))
        if (index-- == 0)
            return gpuprobe_json_string(walk.key);
    return NULL;
}

const char* gpuprobe_each(const char* json, const char* pointer, const char** at, char** key) {
    struct gpuprobe_json_walk walk = {0};
    const char* container = NULL;
    if (key)
        *key = NULL;
    if (!at)
        return NULL;
    // *at is the end of the previous value. The text after the comma shows whether the previous
    // value was a member.
    if (*at) {
        const char* comma = gpuprobe_json_start(*at);
        const int is_member = *comma == ',' && value_of_member(gpuprobe_json_start(comma + 1));
        walk = (struct gpuprobe_json_walk){.key = is_member ? comma : NULL, .end = *at};
    } else if (!(container = find_container(json, pointer))) {
        return NULL;
    }
    if (!gpuprobe_json_step(&walk, container))
        return NULL;
    *at = walk.end;
    if (key && walk.key)
        *key = gpuprobe_json_string(walk.key);
    return walk.value;
}

void gpuprobe_free(char* text) {
    free(text);
}
