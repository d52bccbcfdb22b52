// SPDX-License-Identifier: Apache-2.0
// The client of the daemon's socket, which links libc alone: libgpuprobe, and gpuprobectl's way to
// the daemon.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gpuprobe/gpuprobe.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/json_reader.h"

extern char** environ;

enum {
    kMaxAnswer = 64 << 20,  // bytes; a report has some hundred thousand
    kUsualTimeout = 25000,  // milliseconds
};

struct gpuprobe_client {
    pthread_mutex_t lock;
    struct sockaddr_un address;
    unsigned flags;
    int timeout;  // milliseconds
    int call;     // descriptors, or -1
    int watch;
    struct text* events;  // of watch, as far as they have come
};

// Text that grows -----------------------------------------------------------------------------

struct text {
    char* bytes;  // with a NUL behind them
    size_t size;
    size_t room;
};

static int grow(struct text* text, size_t more) {
    if (more > kMaxAnswer || text->size + more > kMaxAnswer)
        return -E2BIG;
    if (text->size + more < text->room)
        return 0;
    const size_t room = 2 * (text->size + more) + 64;
    char* bytes = realloc(text->bytes, room);
    if (!bytes)
        return -ENOMEM;
    text->bytes = bytes;
    text->room = room;
    return 0;
}

static int append(struct text* text, const char* bytes, size_t size) {
    const int grown = grow(text, size);
    if (grown < 0)
        return grown;
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return 0;
}

static int append_text(struct text* text, const char* more) {
    return append(text, more, strlen(more));
}

static void drop(struct text* text) {
    free(text->bytes);
    *text = (struct text){0};
}

// Appends the text as a JSON string.
static int append_quoted(struct text* text, const char* plain) {
    int done = append_text(text, "\"");
    for (; done == 0 && *plain; ++plain) {
        char escape[8];
        const unsigned char c = (unsigned char)*plain;
        if (c >= 0x20 && c != '"' && c != '\\') {
            done = append(text, plain, 1);
        } else {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            done = append_text(text, escape);
        }
    }
    return done < 0 ? done : append_text(text, "\"");
}

// Time ----------------------------------------------------------------------------------------

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int64_t deadline_of(const gpuprobe_client* client) {
    return client->timeout < 0 ? INT64_MAX : now() + client->timeout;
}

// Waits for `events`. Errors: -ETIMEDOUT.
static int await(int descriptor, short events, int64_t deadline) {
    for (;;) {
        const int64_t left = deadline == INT64_MAX ? -1 : deadline - now();
        if (deadline != INT64_MAX && left <= 0)
            return -ETIMEDOUT;
        struct pollfd wish = {.fd = descriptor, .events = events};
        const int ready = poll(&wish, 1, left < 0 ? -1 : left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

// The socket ----------------------------------------------------------------------------------

static void close_at(int* descriptor) {
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

// A descriptor. A full queue of the daemon's is waited for. Errors: as connect(2).
static int connect_to(const gpuprobe_client* client, int64_t deadline) {
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -errno;
    while (connect(descriptor, (const struct sockaddr*)&client->address, sizeof client->address) !=
           0) {
        const int problem = errno;
        if (problem == EINTR || (problem == EAGAIN && now() < deadline)) {
            (void)poll(NULL, 0, 1);
            continue;
        }
        close(descriptor);
        return problem == EAGAIN ? -ETIMEDOUT : -problem;
    }
    return descriptor;
}

static int send_all(int descriptor, const char* bytes, size_t size, int64_t deadline) {
    while (size > 0) {
        const ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN) {
            const int ready = await(descriptor, POLLOUT, deadline);
            if (ready < 0)
                return ready;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

// Reads a block. 1: there was one. 0: not yet. Errors: -ECONNRESET at the end.
static int read_block(int descriptor, struct text* into) {
    const int grown = grow(into, 16384);
    if (grown < 0)
        return grown;
    const ssize_t got = recv(descriptor, into->bytes + into->size, 16384, MSG_DONTWAIT);
    if (got == 0)
        return -ECONNRESET;
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    into->size += (size_t)got;
    into->bytes[into->size] = '\0';
    return 1;
}

// Reads until a message is whole. Nothing follows it: one call is made at a time.
static int receive(int descriptor, struct text* into, int64_t deadline) {
    for (;;) {
        const int got = read_block(descriptor, into);
        if (got < 0)
            return got;
        if (got > 0 && memchr(into->bytes, '\0', into->size))
            return 0;
        const int ready = got > 0 ? 0 : await(descriptor, POLLIN, deadline);
        if (ready < 0)
            return ready;
    }
}

// Answers -------------------------------------------------------------------------------------

static const struct {
    const char* name;  // the last part of an error's name
    int code;
} kCodes[] = {
    {"NoMatch", -ENODATA},
    {"InvalidRequest", -EINVAL},
    {"InvalidParameter", -EINVAL},
    {"UnknownConsumer", -ENOENT},
    {"NotFound", -ENOENT},
    {"NoSuchGpu", -ENODEV},
    {"MalformedManifest", -EBADMSG},
    {"NotAuthorized", -EACCES},
    {"PermissionDenied", -EACCES},
    {"TooManyRequests", -EAGAIN},
    {"WouldWake", -EBUSY},
    {"TooLarge", -E2BIG},
    {"Cancelled", -ECANCELED},
    {"Unavailable", -ECONNREFUSED},
    {"MethodNotFound", -EOPNOTSUPP},
    {"MethodNotImplemented", -EOPNOTSUPP},
    {"InterfaceNotFound", -EOPNOTSUPP},
    {"ExpectedMore", -EINVAL},
};

static int code_of_error(const char* name) {
    const char* dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof kCodes / sizeof *kCodes; ++i)
        if (strcmp(dot ? dot + 1 : name, kCodes[i].name) == 0)
            return kCodes[i].code;
    return -EIO;
}

// {"error":{…}}, as gpuprobectl prints it; the name goes first where the document has none.
static int put_failure(const char* name, const char* document, char** json) {
    struct text text = {0};
    char* own = gpuprobe_value(document, "/name");
    int done = append_text(&text, "{\"error\":{");
    if (done == 0 && !own) {
        done = append_text(&text, "\"name\":");
        done = done < 0 ? done : append_quoted(&text, name);
        if (done == 0 && gpuprobe_count(document, "") > 0)
            done = append_text(&text, ",");
    }
    free(own);
    done = done < 0 ? done : append_text(&text, document + 1);
    done = done < 0 ? done : append_text(&text, "}");
    if (done < 0)
        drop(&text);
    *json = text.bytes;
    return done;
}

// What a reply says: 0 and its document, or an error and that one's.
static int unpack(const char* reply, char** json) {
    char* error = NULL;
    char* document = NULL;
    struct gpuprobe_json_walk walk = {0};
    // One look at the whole: answers are long.
    for (int has = *reply == '{' && gpuprobe_json_step(&walk, reply); has;
         has = gpuprobe_json_step(&walk, NULL)) {
        if (!error && gpuprobe_json_key_is(&walk, "error", 5))
            error = gpuprobe_value(walk.value, "");
        else if (!document && gpuprobe_json_key_is(&walk, "parameters", 10))
            document = gpuprobe_json_copy(walk.value, walk.behind);
    }
    int code = -EPROTO;
    if (error) {
        const int put = put_failure(error, document && *document == '{' ? document : "{}", json);
        code = put < 0 ? put : code_of_error(error);
        free(document);
    } else if (document && *document == '{') {
        *json = document;
        code = 0;
    } else {
        free(document);
    }
    free(error);
    return code;
}

// Without a daemon ----------------------------------------------------------------------------

// A file in memory, at its start, to be read as standard input.
static int file_with(const char* content) {
    const int file = memfd_create("gpuprobe", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    for (size_t left = strlen(content); left > 0;) {
        const ssize_t done = write(file, content, left);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            close(file);
            return -EIO;
        }
        content += done;
        left -= (size_t)done;
    }
    if (lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -EIO;
    }
    return file;
}

static int start_program(const char* method, int input, int output, pid_t* child) {
    char* words[] = {"gpuprobectl", "--direct", "-j", "-q", "call", (char*)(uintptr_t)method,
                     "-",           NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int problem = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return problem == 0 ? 0 : -ECONNREFUSED;
}

// All that comes until the end.
static int read_to_end(int descriptor, struct text* into, int64_t deadline) {
    for (;;) {
        int done = await(descriptor, POLLIN, deadline);
        if (done == 0)
            done = grow(into, 16384);
        if (done < 0)
            return done;
        const ssize_t got = read(descriptor, into->bytes + into->size, 16384);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -errno;
        into->size += got > 0 ? (size_t)got : 0;
        into->bytes[into->size] = '\0';
    }
}

static int take_output(pid_t child, int output, int64_t deadline, char** json) {
    struct text text = {0};
    int done = read_to_end(output, &text, deadline);
    if (done < 0)
        kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (done == 0 && (text.size == 0 || text.bytes[0] != '{'))
        done = -ECONNREFUSED;  // gpuprobectl is not there, or is none that knows this
    if (done < 0) {
        drop(&text);
        return done;
    }
    text.bytes[text.size - 1] = '\0';  // the end of the line
    *json = text.bytes;
    char* name = gpuprobe_value(text.bytes, "/error/name");
    const int code = name ? code_of_error(name) : 0;
    free(name);
    return code;
}

static int call_program(const gpuprobe_client* client,
                        const char* method,
                        const char* parameters,
                        char** json) {
    int ends[2];
    pid_t child;
    const int input = file_with(parameters);
    if (input < 0)
        return input;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(input);
        return -errno;
    }
    const int started = start_program(method, input, ends[1], &child);
    close(input);
    close(ends[1]);
    const int code = started < 0 ? started : take_output(child, ends[0], deadline_of(client), json);
    close(ends[0]);
    return code;
}

// Calls ---------------------------------------------------------------------------------------

static int is_absence(int code) {
    return code == -ENOENT || code == -ECONNREFUSED || code == -EACCES || code == -ENOTDIR;
}

static int put_call(struct text* text,
                    const char* method,
                    const char* parameters,
                    const char* flags) {
    int done = append_text(text, "{\"method\":");
    done = done < 0 ? done : append_quoted(text, method);
    done = done < 0 ? done : append_text(text, flags);
    done = done < 0 ? done : append_text(text, ",\"parameters\":");
    done = done < 0 ? done : append_text(text, parameters);
    done = done < 0 ? done : append_text(text, "}");
    return done < 0 ? done : append(text, "", 1);
}

// One try on one connection.
static int exchange(gpuprobe_client* client,
                    const struct text* question,
                    int64_t deadline,
                    char** json) {
    struct text reply = {0};
    int code = send_all(client->call, question->bytes, question->size, deadline);
    // A daemon that refuses says why before it has read all.
    if (code == 0 || code == -EPIPE)
        code = receive(client->call, &reply, deadline);
    if (code == 0)
        code = unpack(reply.bytes, json);
    else
        close_at(&client->call);
    drop(&reply);
    return code;
}

static int call_daemon(gpuprobe_client* client, const struct text* question, char** json) {
    const int64_t deadline = deadline_of(client);
    // A connection of before may have ended with the daemon: then once more.
    const int tries = client->call >= 0 ? 2 : 1;
    int code = -ECONNRESET;
    for (int i = 0; i < tries && (code == -ECONNRESET || code == -EPIPE); ++i) {
        if (client->call < 0)
            client->call = connect_to(client, deadline);
        if (client->call < 0) {
            code = client->call;
            client->call = -1;
            return is_absence(code) ? -ECONNREFUSED : code;
        }
        code = exchange(client, question, deadline, json);
    }
    return code == -EPIPE ? -ECONNRESET : code;
}

static int call_locked(gpuprobe_client* client,
                       const char* method,
                       const char* parameters,
                       char** json) {
    struct text question = {0};
    int code = put_call(&question, method, parameters, "");
    if (code == 0)
        code = call_daemon(client, &question, json);
    drop(&question);
    const int may_run = (client->flags & GPUPROBE_DAEMON_ONLY) == 0;
    if (code == -ECONNREFUSED && !*json && may_run)
        code = call_program(client, method, parameters, json);
    return code;
}

int gpuprobe_call(gpuprobe_client* client,
                  const char* method,
                  const char* parameters,
                  char** json) {
    char* answer = NULL;
    char name[128];
    if (json)
        *json = NULL;
    if (!client || !method)
        return -EINVAL;
    const int size =
        snprintf(name, sizeof name, "%s%s", strchr(method, '.') ? "" : "org.gpuprobe.", method);
    if (size >= (int)sizeof name)
        return -EINVAL;
    const char* given = gpuprobe_json_start(parameters ? parameters : "{}");
    const char* end = *given == '{' ? gpuprobe_json_end(given) : NULL;
    if (!end || *gpuprobe_json_start(end) != '\0')
        return -EINVAL;
    pthread_mutex_lock(&client->lock);
    const int code = call_locked(client, name, given, &answer);
    pthread_mutex_unlock(&client->lock);
    if (json)
        *json = answer;
    else
        free(answer);
    return code;
}

// A call with a name and a request.
static int call_with(gpuprobe_client* client,
                     const char* method,
                     const char* key,
                     const char* name,
                     const char* request,
                     char** json) {
    struct text parameters = {0};
    int code = append_text(&parameters, "{");
    if (code == 0 && name) {
        code = append_quoted(&parameters, key);
        code = code < 0 ? code : append_text(&parameters, ":");
        code = code < 0 ? code : append_quoted(&parameters, name);
    }
    if (code == 0 && request) {
        code = append_text(&parameters, name ? ",\"request\":" : "\"request\":");
        code = code < 0 ? code : append_text(&parameters, request);
    }
    code = code < 0 ? code : append_text(&parameters, "}");
    if (json)
        *json = NULL;
    if (code == 0)
        code = gpuprobe_call(client, method, parameters.bytes, json);
    drop(&parameters);
    return code;
}

int gpuprobe_describe(gpuprobe_client* client, char** json) {
    return gpuprobe_call(client, "Describe", NULL, json);
}

int gpuprobe_select(gpuprobe_client* client,
                    const char* consumer,
                    const char* request,
                    char** json) {
    return call_with(client, "Select", "consumer", consumer, request, json);
}

int gpuprobe_recommend(gpuprobe_client* client,
                       const char* product,
                       const char* request,
                       char** json) {
    return call_with(client, "Recommend", "product", product ? product : "", request, json);
}

int gpuprobe_diagnose(gpuprobe_client* client, char** json) {
    return gpuprobe_call(client, "Diagnose", NULL, json);
}

// Following -----------------------------------------------------------------------------------

static int watch_locked(gpuprobe_client* client) {
    struct text question = {0};
    const int64_t deadline = deadline_of(client);
    close_at(&client->watch);
    client->events->size = 0;
    const int descriptor = connect_to(client, deadline);
    if (descriptor < 0)
        return is_absence(descriptor) ? -ECONNREFUSED : descriptor;
    int code = put_call(&question, "org.gpuprobe.Subscribe", "{}", ",\"more\":true");
    if (code == 0)
        code = send_all(descriptor, question.bytes, question.size, deadline);
    drop(&question);
    if (code < 0) {
        close(descriptor);
        return code == -EPIPE ? -ECONNRESET : code;
    }
    client->watch = descriptor;
    return descriptor;
}

int gpuprobe_watch(gpuprobe_client* client) {
    if (!client)
        return -EINVAL;
    pthread_mutex_lock(&client->lock);
    const int descriptor = watch_locked(client);
    pthread_mutex_unlock(&client->lock);
    return descriptor;
}

static int next_locked(gpuprobe_client* client, char** json) {
    struct text* events = client->events;
    if (client->watch < 0)
        return -ECONNRESET;
    int got = 1;
    while (got > 0 && !(events->size > 0 && memchr(events->bytes, '\0', events->size)))
        got = read_block(client->watch, events);
    const char* end = events->size > 0 ? memchr(events->bytes, '\0', events->size) : NULL;
    if (!end) {
        if (got < 0)
            close_at(&client->watch);
        return got < 0 ? -ECONNRESET : 0;
    }
    const int code = unpack(events->bytes, json);
    const size_t used = (size_t)(end - events->bytes) + 1;
    memmove(events->bytes, events->bytes + used, events->size - used);
    events->size -= used;
    return code < 0 ? code : 1;
}

int gpuprobe_watch_next(gpuprobe_client* client, char** json) {
    if (!client || !json)
        return -EINVAL;
    *json = NULL;
    pthread_mutex_lock(&client->lock);
    const int code = next_locked(client, json);
    pthread_mutex_unlock(&client->lock);
    return code;
}

// Clients -------------------------------------------------------------------------------------

int gpuprobe_open(gpuprobe_client** client, const char* socket, unsigned flags) {
    const char* path = socket ? socket : secure_getenv("GPUPROBE_SOCKET");
    if (!path)
        path = GPUPROBE_SOCKET;
    if (!client)
        return -EINVAL;
    *client = NULL;
    if (*path == '\0' || strlen(path) >= sizeof((struct sockaddr_un*)0)->sun_path ||
        (flags & ~GPUPROBE_DAEMON_ONLY) != 0)
        return -EINVAL;
    gpuprobe_client* made = calloc(1, sizeof *made);
    if (made)
        made->events = calloc(1, sizeof *made->events);
    if (!made || !made->events) {
        free(made);
        return -ENOMEM;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->address.sun_family = AF_UNIX;
    strcpy(made->address.sun_path, path);
    made->flags = flags;
    made->timeout = kUsualTimeout;
    made->call = made->watch = -1;
    if ((flags & GPUPROBE_DAEMON_ONLY) != 0) {
        made->call = connect_to(made, deadline_of(made));
        if (made->call < 0) {
            gpuprobe_close(made);
            return -ECONNREFUSED;
        }
    }
    *client = made;
    return 0;
}

void gpuprobe_close(gpuprobe_client* client) {
    if (!client)
        return;
    close_at(&client->call);
    close_at(&client->watch);
    drop(client->events);
    free(client->events);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

void gpuprobe_set_timeout(gpuprobe_client* client, int milliseconds) {
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    client->timeout = milliseconds;
    pthread_mutex_unlock(&client->lock);
}
