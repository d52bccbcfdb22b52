/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef GPUPROBE_GPUPROBE_H
#define GPUPROBE_GPUPROBE_H

/* A C client of gpuprobe, which finds out which GPUs this machine has and which backend an
 * application should use. Link with -lgpuprobe, which depends only on libc.
 *
 * Requests and replies are JSON. A reply is byte for byte what `gpuprobectl -j` prints for the same
 * request; docs/integrating.md, docs/applications.md and data/schema explain its members. Sizes are
 * in bytes, times in microseconds. null means that a value is unknown.
 *
 * The library calls the daemon through its socket. If there is no daemon, it runs `gpuprobectl
 * --direct`, which probes the machine in a process of its own. gpuprobectl must be in PATH, or be
 * named by the environment variable GPUPROBE_PROGRAM or by gpuprobe_set_program(). The one-file
 * programs of docs/packaging.md can take its place, so that an application can bundle one of them.
 *
 * Functions that can fail return 0 on success, or a negative errno value. The following mean that
 * the request was refused. Each function lists the ones that it returns.
 *   -ENODATA       nothing on this machine satisfies the request
 *   -EINVAL        a parameter, a key or a word of the request is invalid, or an argument is NULL
 *   -ENOENT        no application or GPU of that name
 *   -ENODEV        no such GPU
 *   -EBADMSG       the manifest is malformed
 *   -EACCES        only administrators may do this
 *   -EBUSY         a sleeping GPU would have to wake up
 *   -ECANCELED     the operation was cancelled
 * The following mean that there is no reply. Any call can return them.
 *   -ECONNREFUSED  neither the daemon nor gpuprobectl can be reached, or the program that was set
 *                  does not know the method
 *   -ECONNRESET    the daemon closed the connection before it replied
 *   -ETIMEDOUT     no reply within the time limit
 *   -EAGAIN        too many requests
 *   -E2BIG         the request or the reply is larger than 64 MiB, or the reply has more than
 *                  1,048,576 values
 *   -EOPNOTSUPP    the daemon does not have this method
 *   -EPROTO        the reply is malformed
 *   -ENOMEM        out of memory
 *   -EMFILE        this process has too many open files; -ENFILE: the system has
 *   -EIO           any other failure of the daemon or of gpuprobectl
 * A path that is not a usable socket, such as a loop of links (-ELOOP), causes the error of
 * connect(2).
 *
 * All functions are thread-safe, even with a shared client: calls with the same client wait for one
 * another. The library uses neither signals nor global state. */

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

/* Flag for gpuprobe_open(): never run gpuprobectl. Without a daemon, calls fail. */
#define GPUPROBE_DAEMON_ONLY 1u

typedef struct gpuprobe_client gpuprobe_client;

/* Creates a client. It connects on first use, and reconnects if the daemon was restarted. socket: a
 * path, or NULL to use the environment variable GPUPROBE_SOCKET or, if that is not set, the macro
 * GPUPROBE_SOCKET. With the flag GPUPROBE_DAEMON_ONLY, connects immediately. On success the caller
 * must close *client; on failure it is NULL. Errors: -EINVAL for an empty or too long path and for
 * unknown flags; -ENOMEM; with GPUPROBE_DAEMON_ONLY, -ECONNREFUSED for every failure to connect. */
GPUPROBE_PUBLIC int gpuprobe_open(gpuprobe_client** client, const char* socket, unsigned flags);
/* Closes a client; NULL is allowed. No other call with this client may be in progress. */
GPUPROBE_PUBLIC void gpuprobe_close(gpuprobe_client* client);
/* Sets the program to run if there is no daemon: the path of a gpuprobectl or of a one-file
 * program. NULL restores the default, which is the value of GPUPROBE_PROGRAM or, if that is not
 * set, gpuprobectl. A name without a slash is found through PATH. The path is copied; the program
 * is looked for at the next call without a daemon. Errors: -EINVAL if client is NULL or path is
 * empty; -ENOMEM. */
GPUPROBE_PUBLIC int gpuprobe_set_program(gpuprobe_client* client, const char* path);
/* The same for a one-file program that the application has in memory. The bytes are copied to a
 * file in memory, and /proc must be mounted when the program is run. Errors: -EINVAL if an argument
 * is NULL or size is 0; -ENOMEM; otherwise those of memfd_create(2), for instance -EACCES or -EPERM
 * if files in memory are forbidden: then use gpuprobe_set_program(). */
GPUPROBE_PUBLIC int gpuprobe_set_program_bytes(gpuprobe_client* client,
                                               const void* bytes,
                                               size_t size);
/* Sets the time limit of a call in milliseconds. The default is 25,000; a negative value means no
 * limit. Probes may take minutes. */
GPUPROBE_PUBLIC void gpuprobe_set_timeout(gpuprobe_client* client, int milliseconds);

/* The following functions set *json to a text, which the caller must free with gpuprobe_free(). On
 * failure it is {"error":…}, or NULL if there was no reply. json may be NULL. All return -EINVAL if
 * client is NULL.
 *
 * Gets the report on this machine (share/gpuprobe/schema/report.schema.json), as far as this user
 * may see it. */
GPUPROBE_PUBLIC int gpuprobe_describe(gpuprobe_client* client, char** json);
/* Selects the backend that an application should use on this machine. application: name of the
 * application, or NULL for "default". request: an object as in docs/applications.md
 * ({"built":["cuda","cpu"]}), or NULL. Errors: -ENODATA, -EINVAL, -ENOENT, and -ENODEV for a GPU in
 * the request. */
GPUPROBE_PUBLIC int gpuprobe_select(gpuprobe_client* client,
                                    const char* application,
                                    const char* request,
                                    char** json);
/* Recommends the variant of an application to install on this machine. request: an object as in
 * docs/data-files.md, or NULL. If no variant is suitable, the call succeeds and the reply's status
 * gives the reason. Errors: -EINVAL, -ENOENT, -EBADMSG if the application's installed manifest is
 * malformed. */
GPUPROBE_PUBLIC int gpuprobe_recommend(gpuprobe_client* client,
                                       const char* application,
                                       const char* request,
                                       char** json);
/* Finds out why GPUs are not used, and what helps, like `gpuprobectl doctor`. */
GPUPROBE_PUBLIC int gpuprobe_diagnose(gpuprobe_client* client, char** json);
/* Calls any method of the interface: "Query" or "org.gpuprobe.Query". parameters: an object, or
 * NULL. Errors: all listed above; -EINVAL also if the parameters are not an object. */
GPUPROBE_PUBLIC int gpuprobe_call(gpuprobe_client* client,
                                  const char* method,
                                  const char* parameters,
                                  char** json);

/* Receives a reply that is not the last one of its call. json is valid until the function returns.
 * The function must not use the client. */
typedef void (*gpuprobe_listener)(void* context, const char* json);
/* Like gpuprobe_call(), for a method that sends replies before the last one. Calls `hear` with
 * `context` and each of them; those of "Probe" have a member "progress" from 0 to 1. Sets *json to
 * the last one. The time limit applies to the whole call. Without a daemon there is only the last
 * reply. If hear is NULL, this is gpuprobe_call(). For "Subscribe", use gpuprobe_watch(). Errors:
 * as gpuprobe_call(). */
GPUPROBE_PUBLIC int gpuprobe_call_more(gpuprobe_client* client,
                                       const char* method,
                                       const char* parameters,
                                       gpuprobe_listener hear,
                                       void* context,
                                       char** json);

/* Starts to follow the report. Returns a descriptor to poll for reading, which the client owns, or
 * a negative errno value. Calling it again starts over. Errors: -EINVAL if client is NULL;
 * -ECONNREFUSED if neither the daemon nor gpuprobectl can be reached; -ECONNRESET, -ETIMEDOUT,
 * -ENOMEM, -EMFILE, -ENFILE. Without a daemon, gpuprobectl follows the machine until this is called
 * again or the client is closed; it probes the drivers first, so the current state takes some
 * seconds. */
GPUPROBE_PUBLIC int gpuprobe_watch(gpuprobe_client* client);
/* Gets the next change without waiting; the first call gets the current state. Returns 1 and sets
 * *json to {"generation":…,"state":…}, which the caller must free; returns 0 if nothing has
 * changed. Call it until it returns 0. Errors: -ECONNRESET if the daemon has left or
 * gpuprobe_watch() was not called; -EINVAL if an argument is NULL; -EAGAIN, -EOPNOTSUPP and -EIO if
 * the daemon refused, with its message in *json; -EPROTO, -E2BIG, -ENOMEM. */
GPUPROBE_PUBLIC int gpuprobe_watch_next(gpuprobe_client* client, char** json);

/* Frees a text that a function of this library returned; NULL is allowed. */
GPUPROBE_PUBLIC void gpuprobe_free(char* text);

/* The following functions read JSON, for programs without a JSON library. A pointer is a JSON
 * pointer (RFC 6901): "/candidates/0/backend"; "" means the whole text. A text is read only as far
 * as needed, and never beyond the value at its start. Malformed parts count as missing: text that
 * is not JSON in UTF-8, incomplete escapes, half of a surrogate pair, or more than 64 levels. The
 * reply of a call is always valid JSON.
 *
 * Returns the text of a string, or any other value as JSON. The caller must free it with
 * gpuprobe_free(). Returns NULL if the value is missing or null, if memory is short, and for a
 * string that contains U+0000, which would end the text. */
GPUPROBE_PUBLIC char* gpuprobe_value(const char* json, const char* pointer);
/* Returns the number of an array's items or an object's members, or -1 for other values. */
GPUPROBE_PUBLIC long gpuprobe_count(const char* json, const char* pointer);
/* Returns the key of an object's member; index counts from 0. The caller must free it with
 * gpuprobe_free(). Returns NULL if there are fewer members, if memory is short, and for a key that
 * contains U+0000. */
GPUPROBE_PUBLIC char* gpuprobe_key(const char* json, const char* pointer, long index);
/* Iterates over an array or object. Returns the next item of the array or the value of the next
 * member of the object, and NULL after the last one. The result points into `json` and can be
 * passed to the functions above: gpuprobe_value(item, "/backend"). Set *at to NULL before the first
 * call; after that, do not change it. *key is set as by gpuprobe_key(), and to NULL for an array;
 * key may be NULL. A complete iteration reads the text once, while access by index reads it again
 * for each item. */
GPUPROBE_PUBLIC const char* gpuprobe_each(const char* json,
                                          const char* pointer,
                                          const char** at,
                                          char** key);

#ifdef __cplusplus
}
#endif

#endif
