// SPDX-License-Identifier: Apache-2.0 OR MIT
// The client of the daemon's socket. This code needs only libc, and is both libgpuprobe and the
// client inside gpuprobectl. include/gpuprobe/gpuprobe.h documents the public functions.
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
    kMaxAnswer = 64 << 20,  // in bytes; a report has several hundred thousand bytes
    kMaxValues = 1 << 20,   // values in a reply
    kUsualTimeout = 25000,  // milliseconds
};

struct gpuprobe_client {
    pthread_mutex_t lock;
    struct sockaddr_un address;
    unsigned flags;
    char* program;     // path of the program that the caller set, or NULL
    int program_file;  // descriptor of the program's memory file, or -1
    int timeout;       // milliseconds
    int call;          // descriptor of the connection for calls, or -1
    // descriptor of the connection that follows the report, or -1
    int watch;
    pid_t watch_child;    // the program at the other end of `watch`; 0 for the daemon
    struct text* events;  // data received on `watch` and not returned yet
};

// Growing buffers -----------------------------------------------------------------------------

// A growing buffer. `size` is always less than `room`, so that there is always a NUL after the
// bytes. All members are 0 while the buffer is empty. Call grow() before writing.
struct text {
    char* bytes;
    size_t size;  // at most kMaxAnswer
    size_t room;
    size_t searched;  // bytes before this position contain no NUL
};

// Ensures that there is space for `more` bytes and a NUL. Errors: -E2BIG, -ENOMEM.
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

// Returns the NUL at the end of the first message, or NULL if the NUL has not arrived yet.
static const char* end_of_message(struct text* text) {
    const size_t left = text->size - text->searched;
    const char* end = left > 0 ? memchr(text->bytes + text->searched, '\0', left) : NULL;
    text->searched = end ? (size_t)(end - text->bytes) : text->size;
    return end;
}

static void drop(struct text* text) {
    free(text->bytes);
    *text = (struct text){0};
}

// Appends `plain` as a JSON string.
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

// Milliseconds of the monotonic clock.
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int64_t deadline_of(const gpuprobe_client* client) {
    return client->timeout < 0 ? INT64_MAX : now() + client->timeout;
}

// Waits until one of `events` occurs. Errors: -ETIMEDOUT.
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

// Returns a connected descriptor. If the daemon's queue of connections is full, tries again until
// the deadline. Errors: as connect(2).
static int connect_to(const gpuprobe_client* client, int64_t deadline) {
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -errno;
    while (connect(descriptor, (const struct sockaddr*)&client->address, sizeof client->address) !=
           0) {
        const int problem = errno;
        if (problem == EINTR || (problem == EAGAIN && now() < deadline)) {
            // Wait a millisecond, because poll(2) cannot wait for space in a full queue.
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

// Reads a block. Returns 1 if there was data and 0 if there was none. Errors: -ECONNRESET at the
// end of the stream.
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

// Reads until the first message is complete, and sets *end to its end.
static int receive(int descriptor, struct text* into, int64_t deadline, const char** end) {
    for (;;) {
        *end = end_of_message(into);
        if (*end)
            return 0;
        int got = await(descriptor, POLLIN, deadline);
        if (got == 0)
            got = read_block(descriptor, into);
        if (got < 0)
            return got;
    }
}

// Removes the first message, which ends at `end`. Other messages may follow.
static void remove_first(struct text* text, const char* end) {
    const size_t used = (size_t)(end - text->bytes) + 1;
    memmove(text->bytes, text->bytes + used, text->size - used);
    text->size -= used;
    text->searched = 0;
}

// Answers -------------------------------------------------------------------------------------

// Errors of the daemon and of Varlink, and their errno codes. All other errors become -EIO.
static const struct {
    const char* name;  // the error's name after its last dot
    int code;
} kCodes[] = {
    {"NoMatch", -ENODATA},
    {"InvalidRequest", -EINVAL},
    {"InvalidParameter", -EINVAL},
    {"UnknownApplication", -ENOENT},
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

// Sets *json to {"error":{…}}, as gpuprobectl prints it. If the document does not contain the name
// of the error, adds the name as the first member.
static int put_failure(const char* name, const char* document, char** json) {
    struct text text = {0};
    struct gpuprobe_json_walk walk = {0};
    int has_name = 0;
    for (int has = gpuprobe_json_step(&walk, document); has; has = gpuprobe_json_step(&walk, NULL))
        if (gpuprobe_json_key_is(&walk, "name")) {
            if (*walk.value != '"' || has_name)
                return -EPROTO;
            has_name = 1;
        }
    int done = append_text(&text, "{\"error\":{");
    if (done == 0 && !has_name) {
        done = append_text(&text, "\"name\":");
        done = done < 0 ? done : append_quoted(&text, name);
        if (done == 0 && gpuprobe_count(document, "") > 0)
            done = append_text(&text, ",");
    }
    done = done < 0 ? done : append_text(&text, document + 1);
    done = done < 0 ? done : append_text(&text, "}");
    if (done < 0)
        drop(&text);
    *json = text.bytes;
    return done;
}

// The members of a reply, as pointers to their values; NULL for missing members.
struct reply {
    const char* error;
    const char* parameters;
    const char* parameters_end;
    const char* continues;
};

// Parses a reply. Errors: -EPROTO if the reply is malformed, -E2BIG if the reply has too many
// values.
static int reply_from(const char* text, struct reply* reply) {
    size_t values = 0;
    struct gpuprobe_json_walk walk = {0};
    *reply = (struct reply){0};
    if (!gpuprobe_json_object(text, &values))
        return -EPROTO;
    if (values > kMaxValues)
        return -E2BIG;
    const char* at = gpuprobe_json_start(text);
    for (int has = gpuprobe_json_step(&walk, at); has; has = gpuprobe_json_step(&walk, NULL)) {
        const int is_parameters = gpuprobe_json_key_is(&walk, "parameters");
        const char** member = is_parameters                              ? &reply->parameters
                              : gpuprobe_json_key_is(&walk, "error")     ? &reply->error
                              : gpuprobe_json_key_is(&walk, "continues") ? &reply->continues
                                                                         : NULL;
        if (member && *member)
            return -EPROTO;  // a duplicate member
        if (member && *walk.value != 'n')
            *member = walk.value;
        if (is_parameters)
            reply->parameters_end = walk.end;
    }
    const int is_right = (!reply->parameters || *reply->parameters == '{') &&
                         (!reply->error || (reply->error[0] == '"' && reply->error[1] != '"')) &&
                         (reply->error || reply->parameters) &&
                         (!reply->continues || strchr("tf", *reply->continues));
    return is_right ? 0 : -EPROTO;
}

// Extracts the result of a reply. Returns 0 and stores the result in *json, or returns the code of
// an error and stores the document of the error in *json. Sets *continues to whether another reply
// follows; if `continues` is NULL, a reply that another reply follows is malformed. Errors: those
// of reply_from(), and -ENOMEM.
static int unpack(const char* text, int* continues, char** json) {
    struct reply reply;
    const int problem = reply_from(text, &reply);
    if (problem < 0)
        return problem;
    const int has_next = reply.continues && *reply.continues == 't';
    if (continues)
        *continues = has_next;
    else if (has_next)
        return -EPROTO;
    char* document = reply.parameters ? gpuprobe_json_copy(reply.parameters, reply.parameters_end)
                                      : strdup("{}");
    if (!reply.error || !document) {
        *json = document;
        return document ? 0 : -ENOMEM;
    }
    char* name = gpuprobe_json_string(reply.error);
    const int put = name ? put_failure(name, document, json) : -EPROTO;
    const int code = put < 0 ? put : code_of_error(name);
    free(document);
    free(name);
    return code;
}

// Without a daemon ----------------------------------------------------------------------------

// Returns a memory file with `content`, positioned at its start. `flags`: flags of memfd_create(2).
static int file_with(const char* content, size_t size, unsigned flags) {
    const int low = memfd_create("gpuprobe", MFD_CLOEXEC | flags);
    // Use a number above the standard descriptors, because a child replaces the standard
    // descriptors.
    const int file = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int problem = errno;
    if (low >= 0)
        close(low);
    if (file < 0)
        return -problem;
    while (size > 0) {
        const ssize_t done = write(file, content, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            close(file);
            return -EIO;
        }
        content += done;
        size -= (size_t)done;
    }
    if (lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -EIO;
    }
    return file;
}

// Returns the path of the program to run. A name without a slash is found through PATH.
static const char* program_of(const gpuprobe_client* client) {
    const char* named = client->program ? client->program : secure_getenv("GPUPROBE_PROGRAM");
    return named && *named ? named : "gpuprobectl";
}

// Runs gpuprobectl in direct mode, in which it does the same work as the daemon. gpuprobectl reads
// the parameters from `input`. `option`: an additional word for the command line, or NULL.
static int start_program(const gpuprobe_client* client,
                         const char* method,
                         const char* option,
                         int input,
                         int output,
                         pid_t* child) {
    const char* words[] = {
        program_of(client), "--direct", "-j", "-q", "call", method, "-", option, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int problem =
        posix_spawnp(child, words[0], &actions, NULL, (char**)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return problem == 0 ? 0 : -ECONNREFUSED;
}

// Reads until the end of the stream.
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

// Reads the reply that gpuprobectl prints, and waits until gpuprobectl has ended. Kills gpuprobectl
// at the deadline.
static int take_output(pid_t child, int output, int64_t deadline, char** json) {
    struct text text = {0};
    int done = read_to_end(output, &text, deadline);
    if (done < 0)
        kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    size_t values = 0;
    const char* end = done == 0 && text.size > 0 ? gpuprobe_json_object(text.bytes, &values) : NULL;
    if (done == 0 && (!end || values > kMaxValues))
        done = -ECONNREFUSED;  // gpuprobectl is missing, or does not know this method
    if (done < 0) {
        drop(&text);
        return done;
    }
    text.bytes[end - text.bytes] = '\0';  // replaces the newline at the end
    *json = text.bytes;
    char* name = gpuprobe_value(text.bytes, "/error/name");
    const int code = name ? code_of_error(name) : 0;
    free(name);
    return code;
}

// Makes a call through gpuprobectl.
static int call_program(const gpuprobe_client* client,
                        const char* method,
                        const char* parameters,
                        char** json) {
    int ends[2];
    pid_t child;
    const int input = file_with(parameters, strlen(parameters), 0);
    if (input < 0)
        return input;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(input);
        return -errno;
    }
    const int started = start_program(client, method, NULL, input, ends[1], &child);
    close(input);
    close(ends[1]);
    const int code = started < 0 ? started : take_output(child, ends[0], deadline_of(client), json);
    close(ends[0]);
    return code;
}

// Calls ---------------------------------------------------------------------------------------

// Whether an error of connect(2) means that this user cannot reach a daemon.
static int is_absence(int code) {
    return code == -ENOENT || code == -ECONNREFUSED || code == -EACCES || code == -ENOTDIR;
}

// Whether calls may run gpuprobectl.
static int may_run(const gpuprobe_client* client) {
    return (client->flags & GPUPROBE_DAEMON_ONLY) == 0;
}

// The member of a call that requests several replies.
static const char kMore[] = ",\"more\":true";

// Writes a call as a Varlink message. `flags`: additional members, or "".
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

// The function that gets intermediate replies, and its context.
struct listener {
    gpuprobe_listener hear;  // NULL if there may be only one reply
    void* context;
    int has_heard;  // whether a reply was passed on
};

// Reads the replies of one call. Passes on intermediate replies, and extracts the last reply as
// unpack() does. Errors: -EPROTO if data follows the last reply, because there was only one call.
static int take_replies(const gpuprobe_client* client,
                        struct listener* listener,
                        int64_t deadline,
                        char** json) {
    struct text replies = {0};
    const char* end = NULL;
    int continues = 0;
    int code = 0;
    do {
        if (continues) {
            listener->has_heard = 1;
            listener->hear(listener->context, *json);
            free(*json);
            *json = NULL;
            remove_first(&replies, end);
        }
        code = receive(client->call, &replies, deadline, &end);
        if (code == 0)
            code = unpack(replies.bytes, listener->hear ? &continues : NULL, json);
    } while (code == 0 && continues);
    // An error is always the last reply.
    if (*json && (continues || end != replies.bytes + replies.size - 1)) {
        free(*json);
        *json = NULL;
        code = -EPROTO;
    }
    drop(&replies);
    return code;
}

// Makes one attempt on the current connection.
static int exchange(gpuprobe_client* client,
                    const struct text* question,
                    struct listener* listener,
                    int64_t deadline,
                    char** json) {
    int code = send_all(client->call, question->bytes, question->size, deadline);
    // If the daemon refuses a message, it replies before it has read the whole message. Sending
    // then fails, but the reply has arrived.
    if (code == 0 || code == -EPIPE)
        code = take_replies(client, listener, deadline, json);
    // Keep the connection only after a complete, valid reply.
    if (code < 0 && !*json)
        close_at(&client->call);
    return code;
}

// Closes the connection if it has ended, or if it contains unexpected data, which would be mistaken
// for the next reply.
static void drop_unfit(gpuprobe_client* client) {
    char byte;
    if (client->call < 0)
        return;
    const ssize_t got = recv(client->call, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        close_at(&client->call);
}

static int call_daemon(gpuprobe_client* client,
                       const struct text* question,
                       struct listener* listener,
                       char** json) {
    const int64_t deadline = deadline_of(client);
    drop_unfit(client);
    // If the connection was open before, the daemon may have restarted in the meantime: try once
    // more, unless this daemon has already sent a reply to the listener.
    const int tries = client->call >= 0 ? 2 : 1;
    int code = -ECONNRESET;
    for (int i = 0; i < tries && !listener->has_heard && (code == -ECONNRESET || code == -EPIPE);
         ++i) {
        if (client->call < 0)
            client->call = connect_to(client, deadline);
        if (client->call < 0) {
            code = client->call;
            client->call = -1;
            return is_absence(code) ? -ECONNREFUSED : code;
        }
        code = exchange(client, question, listener, deadline, json);
    }
    return code == -EPIPE ? -ECONNRESET : code;
}

// Calls the daemon. Without a daemon, calls gpuprobectl if the caller allows it.
static int call_locked(gpuprobe_client* client,
                       const char* method,
                       const char* parameters,
                       struct listener* listener,
                       char** json) {
    struct text question = {0};
    int code = put_call(&question, method, parameters, listener->hear ? kMore : "");
    if (code == 0)
        code = call_daemon(client, &question, listener, json);
    drop(&question);
    if (code == -ECONNREFUSED && !*json && may_run(client))
        code = call_program(client, method, parameters, json);
    return code;
}

int gpuprobe_call_more(gpuprobe_client* client,
                       const char* method,
                       const char* parameters,
                       gpuprobe_listener hear,
                       void* context,
                       char** json) {
    struct listener listener = {.hear = hear, .context = context};
    char* answer = NULL;
    char name[128];
    if (json)
        *json = NULL;
    if (!client || !method)
        return -EINVAL;
    const int size =
        snprintf(name, sizeof name, "%s%s", strchr(method, '.') ? "" : "org.gpuprobe.", method);
    if (size >= (int)sizeof name || *method == '-')  // gpuprobectl would treat it as an option
        return -EINVAL;
    const char* given = parameters ? parameters : "{}";
    size_t values = 0;
    if (!gpuprobe_json_object(given, &values))
        return -EINVAL;
    pthread_mutex_lock(&client->lock);
    const int code = call_locked(client, name, given, &listener, &answer);
    pthread_mutex_unlock(&client->lock);
    if (json)
        *json = answer;
    else
        free(answer);
    return code;
}

int gpuprobe_call(gpuprobe_client* client,
                  const char* method,
                  const char* parameters,
                  char** json) {
    return gpuprobe_call_more(client, method, parameters, NULL, NULL, json);
}

// Makes a call with a name (if given) and a request (if given).
static int call_with(gpuprobe_client* client,
                     const char* method,
                     const char* key,
                     const char* name,
                     const char* request,
                     char** json) {
    struct text parameters = {0};
    size_t values = 0;
    if (json)
        *json = NULL;
    if (request && !gpuprobe_json_object(request, &values))
        return -EINVAL;
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
    if (code == 0)
        code = gpuprobe_call(client, method, parameters.bytes, json);
    drop(&parameters);
    return code;
}

int gpuprobe_describe(gpuprobe_client* client, char** json) {
    return gpuprobe_call(client, "Describe", NULL, json);
}

int gpuprobe_select(gpuprobe_client* client,
                    const char* application,
                    const char* request,
                    char** json) {
    return call_with(client, "Select", "application", application, request, json);
}

int gpuprobe_recommend(gpuprobe_client* client,
                       const char* application,
                       const char* request,
                       char** json) {
    return call_with(client, "Recommend", "application", application ? application : "", request,
                     json);
}

int gpuprobe_diagnose(gpuprobe_client* client, char** json) {
    return gpuprobe_call(client, "Diagnose", NULL, json);
}

// Following -----------------------------------------------------------------------------------

static void close_watch(gpuprobe_client* client) {
    close_at(&client->watch);
    if (client->watch_child <= 0)
        return;
    kill(client->watch_child, SIGKILL);
    while (waitpid(client->watch_child, NULL, 0) < 0 && errno == EINTR)
        continue;
    client->watch_child = 0;
}

// Runs gpuprobectl to follow the report. gpuprobectl prints a line for the current state and for
// each change.
static int watch_program(gpuprobe_client* client) {
    int ends[2];
    const int input = file_with("{}", 2, 0);
    if (input < 0)
        return input;
    int code = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : -errno;
    if (code == 0) {
        code = start_program(client, "org.gpuprobe.Subscribe", "--more", input, ends[1],
                             &client->watch_child);
        close(ends[1]);
        if (code < 0) {
            client->watch_child = 0;
            close(ends[0]);
        }
    }
    close(input);
    return code < 0 ? code : (client->watch = ends[0]);
}

// Opens a second connection. The daemon sends a reply over this connection for each change.
static int watch_locked(gpuprobe_client* client) {
    struct text question = {0};
    const int64_t deadline = deadline_of(client);
    close_watch(client);
    client->events->size = client->events->searched = 0;
    const int descriptor = connect_to(client, deadline);
    if (descriptor < 0 && is_absence(descriptor))
        return may_run(client) ? watch_program(client) : -ECONNREFUSED;
    if (descriptor < 0)
        return descriptor;
    int code = put_call(&question, "org.gpuprobe.Subscribe", "{}", kMore);
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

// Converts the next line of gpuprobectl's output, which is a document without the members of a
// Varlink reply. Returns the document's code.
static int unpack_line(const char* line, char** json) {
    size_t values = 0;
    if (!gpuprobe_json_object(line, &values))
        return -EPROTO;
    *json = strdup(line);
    if (!*json)
        return -ENOMEM;
    char* name = gpuprobe_value(line, "/error/name");
    const int code = name ? code_of_error(name) : 0;
    free(name);
    return code;
}

// Reads more data from `watch`. The lines of gpuprobectl become messages.
static int read_events(gpuprobe_client* client) {
    struct text* events = client->events;
    const size_t before = events->size;
    const int got = read_block(client->watch, events);
    if (got > 0 && client->watch_child > 0)
        for (size_t i = before; i < events->size; ++i)
            if (events->bytes[i] == '\n')
                events->bytes[i] = '\0';
    return got;
}

static int next_locked(gpuprobe_client* client, char** json) {
    struct text* events = client->events;
    if (client->watch < 0)
        return -ECONNRESET;
    int got = 1;
    const char* end = end_of_message(events);
    // If the buffer already contains a message, return that message before reading more.
    for (; got > 0 && !end; end = end_of_message(events))
        got = read_events(client);
    if (!end) {
        if (got < 0)
            close_watch(client);
        return got;
    }
    int continues = client->watch_child > 0;
    const int code =
        continues ? unpack_line(events->bytes, json) : unpack(events->bytes, &continues, json);
    remove_first(events, end);
    // The daemon has ended the subscription.
    if (!continues)
        close_watch(client);
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
    made->call = made->watch = made->program_file = -1;
    if ((flags & GPUPROBE_DAEMON_ONLY) != 0) {
        made->call = connect_to(made, deadline_of(made));
        if (made->call < 0) {
            const int problem = -made->call;
            gpuprobe_close(made);
            errno = problem;
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
    close_watch(client);
    close_at(&client->program_file);
    free(client->program);
    drop(client->events);
    free(client->events);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

// Replaces the program, and takes ownership of both arguments.
static void replace_program(gpuprobe_client* client, char* path, int file) {
    pthread_mutex_lock(&client->lock);
    close_at(&client->program_file);
    free(client->program);
    client->program = path;
    client->program_file = file;
    pthread_mutex_unlock(&client->lock);
}

int gpuprobe_set_program(gpuprobe_client* client, const char* path) {
    if (!client || (path && !*path))
        return -EINVAL;
    char* copy = path ? strdup(path) : NULL;
    if (path && !copy)
        return -ENOMEM;
    replace_program(client, copy, -1);
    return 0;
}

int gpuprobe_set_program_bytes(gpuprobe_client* client, const void* bytes, size_t size) {
    if (!client || !bytes || size == 0)
        return -EINVAL;
    // MFD_EXEC. Kernels before 6.3 don't support the flag and make all memory files executable.
    int file = file_with(bytes, size, 0x10);
    if (file == -EINVAL)
        file = file_with(bytes, size, 0);
    if (file < 0)
        return file;
    char* path = NULL;
    if (asprintf(&path, "/proc/self/fd/%d", file) < 0) {
        close(file);
        return -ENOMEM;
    }
    replace_program(client, path, file);
    return 0;
}

void gpuprobe_set_timeout(gpuprobe_client* client, int milliseconds) {
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    client->timeout = milliseconds;
    pthread_mutex_unlock(&client->lock);
}
