/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef GPUPROBE_GPUPROBE_H
#define GPUPROBE_GPUPROBE_H

/* A C client of gpuprobe, which finds out which GPUs this machine has and which backend an
 * application should use. Link with -lgpuprobe, which depends only on libc.
 *
 * Requests and replies are JSON. A reply is byte for byte the output of `gpuprobectl -j` for the
 * same request; docs/integrating.md, docs/applications.md and data/schema explain the members.
 * Sizes are in bytes, and times are in microseconds. null means that a value is unknown.
 *
 * The library calls the daemon through the daemon's socket. If there is no daemon, the library runs
 * `gpuprobectl --direct`, which probes the machine in a separate process. gpuprobectl must be in
 * PATH, or the environment variable GPUPROBE_PROGRAM or a call of gpuprobe_set_program() must set
 * its path. The portable file (docs/packaging.md) works like gpuprobectl, so an application can
 * bundle the portable file.
 *
 * Functions that can fail return 0 on success, or a negative errno value. The following values mean
 * that the request was refused. The comment on each function lists the values that the function
 * returns.
 *   -ENODATA       nothing on this machine satisfies the request
 *   -EINVAL        a parameter, a key or a word of the request is invalid, or an argument is NULL
 *   -ENOENT        no application or GPU has the given name
 *   -ENODEV        no GPU has the given id
 *   -EBADMSG       the manifest is malformed
 *   -EACCES        only administrators may make this call
 *   -EBUSY         the call would wake a sleeping GPU
 *   -ECANCELED     the operation was cancelled
 * The following values mean that there is no reply. Any call can return these values.
 *   -ECONNREFUSED  neither the daemon nor gpuprobectl can be reached, or the program that the
 *                  client runs lacks the method
 *   -ECONNRESET    the daemon closed the connection before it replied
 *   -ETIMEDOUT     there was no reply within the time limit
 *   -EAGAIN        there were too many requests
 *   -E2BIG         the request or the reply is larger than 64 MiB, or the reply has more than
 *                  1,048,576 values
 *   -EOPNOTSUPP    the daemon does not have this method
 *   -EPROTO        the reply is malformed
 *   -ENOMEM        there is not enough memory
 *   -EMFILE        this process has too many open files
 *   -ENFILE        the system has too many open files
 *   -EIO           any other failure of the daemon or of gpuprobectl
 * If the path is not a usable socket, for example because it is a loop of symbolic links (-ELOOP),
 * calls return the error of connect(2).
 *
 * All functions are thread-safe, even if threads share a client: calls with the same client run one
 * after the other. The library uses neither signals nor global state. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define GPUPROBE_PUBLIC __attribute__((visibility("default")))
#else
#define GPUPROBE_PUBLIC
#endif

#define GPUPROBE_SOCKET "/run/gpuprobe/org.gpuprobe"

/* A flag for gpuprobe_open(): the client never runs gpuprobectl, so calls fail if there is no
 * daemon. */
#define GPUPROBE_DAEMON_ONLY 1u

typedef struct gpuprobe_client gpuprobe_client;

/* Creates a client. The client connects on first use, and reconnects if the daemon was restarted.
 * socket is the path of the daemon's socket. If socket is NULL, the client uses the environment
 * variable GPUPROBE_SOCKET or, if that variable is not set, the macro GPUPROBE_SOCKET. With the
 * flag GPUPROBE_DAEMON_ONLY, the client connects immediately. On success, the caller must close
 * *client; on failure, *client is NULL. Errors: -EINVAL for an empty or too long path and for
 * unknown flags; -ENOMEM; with GPUPROBE_DAEMON_ONLY, -ECONNREFUSED for every failure to connect,
 * and then errno contains the reason: the error of connect(2), such as ENOENT, or ETIMEDOUT. */
GPUPROBE_PUBLIC int gpuprobe_open(gpuprobe_client** client, const char* socket, unsigned flags);
/* Closes a client; NULL is allowed. No other call with this client may be in progress. */
GPUPROBE_PUBLIC void gpuprobe_close(gpuprobe_client* client);
/* Sets the program that the client runs if there is no daemon: the path of gpuprobectl or of a
 * portable file. NULL restores the default, which is the value of GPUPROBE_PROGRAM or, if that
 * variable is not set, gpuprobectl. A name without a slash is searched for in PATH. The function
 * copies the path. The client searches for the program when it next has to run the program. Errors:
 * -EINVAL if client is NULL or path is empty; -ENOMEM. */
GPUPROBE_PUBLIC int gpuprobe_set_program(gpuprobe_client* client, const char* path);
/* Like gpuprobe_set_program(), but for a portable file that the application has in memory. The
 * function copies the bytes to a file in memory. /proc must be mounted when the client runs the
 * program. Errors: -EINVAL if an argument is NULL or size is 0; -ENOMEM; the errors of
 * memfd_create(2), for example -EACCES or -EPERM if files in memory are forbidden. If such files
 * are forbidden, use gpuprobe_set_program(). */
GPUPROBE_PUBLIC int gpuprobe_set_program_bytes(gpuprobe_client* client,
                                               const void* bytes,
                                               size_t size);
/* Sets the time limit of a call in milliseconds. The default is 25,000; a negative value means no
 * limit. Probes may take minutes. */
GPUPROBE_PUBLIC void gpuprobe_set_timeout(gpuprobe_client* client, int milliseconds);

/* The following functions set *json to a string, which the caller must free with gpuprobe_free().
 * On failure, the string is {"error":…}, or *json is NULL if there was no reply. json may be NULL.
 * All of these functions return -EINVAL if client is NULL.
 *
 * Gets the report about this machine (share/gpuprobe/schema/report.schema.json), without the
 * members that this user has no permission to read. */
GPUPROBE_PUBLIC int gpuprobe_describe(gpuprobe_client* client, char** json);
/* Selects the backend that an application should use on this machine. application is the name of
 * the application, or NULL for "default". request is an object that docs/applications.md describes,
 * such as {"built":["cuda","cpu"]}, or NULL. Errors: -ENODATA, -EINVAL, -ENOENT, and -ENODEV for a
 * GPU in the request. */
GPUPROBE_PUBLIC int gpuprobe_select(gpuprobe_client* client,
                                    const char* application,
                                    const char* request,
                                    char** json);
/* Recommends the variant of an application to install on this machine. request is an object that
 * docs/applications.md describes, or NULL. If no variant is suitable, the call succeeds, and the
 * member "status" of the reply contains the reason. Errors: -EINVAL, -ENOENT, -EBADMSG if the
 * application's installed manifest is malformed. */
GPUPROBE_PUBLIC int gpuprobe_recommend(gpuprobe_client* client,
                                       const char* application,
                                       const char* request,
                                       char** json);
/* Finds out why GPUs are not used, and how to fix the problems, like `gpuprobectl doctor`. */
GPUPROBE_PUBLIC int gpuprobe_diagnose(gpuprobe_client* client, char** json);
/* Calls any method of the interface. method is a name such as "Query" or "org.gpuprobe.Query".
 * parameters is an object, or NULL. Errors: all values that are listed above; -EINVAL also if
 * parameters is not an object. */
GPUPROBE_PUBLIC int gpuprobe_call(gpuprobe_client* client,
                                  const char* method,
                                  const char* parameters,
                                  char** json);

/* A function that receives each reply of a call except the last reply. The string json is valid
 * until the function returns. The function must not use the client. */
typedef void (*gpuprobe_listener)(void* context, const char* json);
/* Like gpuprobe_call(), but for a method that sends several replies. Calls `hear` with `context`
 * and each reply except the last, and sets *json to the last reply. The replies of "Probe" have a
 * member "progress" from 0 to 1. The time limit applies to the whole call. Without a daemon, there
 * is only one reply. If hear is NULL, the function does the same as gpuprobe_call(). For
 * "Subscribe", use gpuprobe_watch(). Errors: the same as for gpuprobe_call(). */
GPUPROBE_PUBLIC int gpuprobe_call_more(gpuprobe_client* client,
                                       const char* method,
                                       const char* parameters,
                                       gpuprobe_listener hear,
                                       void* context,
                                       char** json);

/* Starts to watch the report for changes. Returns a descriptor to poll for reading, which the
 * client owns, or a negative errno value. A second call ends the current watch and starts a new
 * one. Errors: -EINVAL if client is NULL; -ECONNREFUSED if neither the daemon nor gpuprobectl can
 * be reached; -ECONNRESET, -ETIMEDOUT, -ENOMEM, -EMFILE, -ENFILE. Without a daemon, gpuprobectl
 * watches the machine until the next call of this function or until the client is closed; because
 * gpuprobectl first probes the drivers, the first state arrives after some seconds. */
GPUPROBE_PUBLIC int gpuprobe_watch(gpuprobe_client* client);
/* Gets the next change without waiting; the first call gets the current state. Returns 1 and sets
 * *json to {"generation":…,"state":…}, which the caller must free; returns 0 if nothing has
 * changed. Call this function until it returns 0. Errors: -ECONNRESET if the daemon has ended or
 * gpuprobe_watch() was not called; -EINVAL if an argument is NULL; -EAGAIN, -EOPNOTSUPP and -EIO if
 * the daemon refused the call (*json then contains the error); -EPROTO, -E2BIG, -ENOMEM. */
GPUPROBE_PUBLIC int gpuprobe_watch_next(gpuprobe_client* client, char** json);

/* Frees a string that a function of this library returned; NULL is allowed. */
GPUPROBE_PUBLIC void gpuprobe_free(char* text);

/* The following functions read JSON, for programs without a JSON library. A pointer is a JSON
 * pointer (RFC 6901): "/candidates/0/backend"; "" means the whole document. The functions read a
 * string only as far as necessary, and never beyond the value at the start of the string. Malformed
 * parts count as missing: text that is not JSON in UTF-8, incomplete escapes, half of a surrogate
 * pair, or more than 64 levels. The reply of a call is always valid JSON.
 *
 * Returns the content of a string, or any other value as JSON. The caller must free the result with
 * gpuprobe_free(). Returns NULL if the value is missing or null, if there is not enough memory, or
 * if the string contains U+0000, which would end the result early. */
GPUPROBE_PUBLIC char* gpuprobe_value(const char* json, const char* pointer);
/* Returns the number of items of an array or of members of an object, or -1 for any other value. */
GPUPROBE_PUBLIC long gpuprobe_count(const char* json, const char* pointer);
/* Returns the key of the member of an object at this index, which counts from 0. The caller must
 * free the key with gpuprobe_free(). Returns NULL if the object has fewer members, if there is not
 * enough memory, or if the key contains U+0000. */
GPUPROBE_PUBLIC char* gpuprobe_key(const char* json, const char* pointer, long index);
/* Iterates over an array or object. Returns the next item of the array or the value of the next
 * member of the object, or NULL at the end. The result points into `json` and can be passed to the
 * functions above: gpuprobe_value(item, "/backend"). Set *at to NULL before the first call; after
 * that, do not change *at. For an object, the function sets *key as gpuprobe_key() does; for an
 * array, it sets *key to NULL. key may be NULL. A complete iteration reads the JSON only once,
 * whereas access by index reads the JSON again for each item. */
GPUPROBE_PUBLIC const char* gpuprobe_each(const char* json,
                                          const char* pointer,
                                          const char** at,
                                          char** key);

#ifdef __cplusplus
}
#endif

#endif
