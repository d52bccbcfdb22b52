/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPROBE_GPUPROBE_H
#define GPUPROBE_GPUPROBE_H

/* Asks gpuprobe which GPUs this machine has and which backend to use. Link with -lgpuprobe, which
 * needs libc alone.
 *
 * Questions and answers are JSON. An answer has the bytes that `gpuprobectl -j` prints for the same
 * question: docs/integrating.md, docs/consumers.md and data/schema say what its members mean. Sizes
 * are in bytes, times in microseconds; null means that something is not known.
 *
 * The daemon is asked on its socket. Where none answers, `gpuprobectl --direct` is run, which asks
 * the machine in a process of its own; it is looked up in PATH.
 *
 * Functions that may fail return 0, or the negative of an errno. These say why an answer was
 * refused; each function names those that it may return:
 *   -ENODATA       nothing on this machine satisfies the request
 *   -EINVAL        a parameter, a key or a word of the request is wrong; or an argument is NULL
 *   -ENOENT        no consumer or product of that name
 *   -ENODEV        no such GPU
 *   -EBADMSG       the manifest is malformed
 *   -EACCES        only administrators may do that
 *   -EBUSY         a sleeping GPU would have to wake
 *   -ECANCELED     given up
 * These say why there is none, and may come of whatever is asked:
 *   -ECONNREFUSED  nobody answers: neither the daemon nor gpuprobectl
 *   -ECONNRESET    the daemon ended the connection before it had answered
 *   -ETIMEDOUT     no answer in time
 *   -EAGAIN        too many requests
 *   -E2BIG         the question or the answer is too large: over 64 MiB, or an answer of over
 *                  1,048,576 values
 *   -EOPNOTSUPP    the daemon has no such method
 *   -EPROTO        what came is no answer
 *   -ENOMEM        no memory
 *   -EMFILE        this process has no descriptor left; -ENFILE: the machine has none
 *   -EIO           anything else that the daemon, or gpuprobectl, could not do
 * A socket that is none, such as a loop of links (-ELOOP), gives the error of connect(2).
 *
 * All functions may be called by several threads at once, with the same client too; calls with one
 * client wait for one another. None uses signals or global state. */

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define GPUPROBE_PUBLIC __attribute__((visibility("default")))
#else
#define GPUPROBE_PUBLIC
#endif

#define GPUPROBE_SOCKET "/run/gpuprobe/org.gpuprobe"

/* Of gpuprobe_open(): gpuprobectl is not run; without a daemon calls fail. */
#define GPUPROBE_DAEMON_ONLY 1u

typedef struct gpuprobe_client gpuprobe_client;

/* Makes a client, which connects when it is first used and again when the daemon was restarted.
 * socket: a path, or NULL for that in the variable GPUPROBE_SOCKET of the environment, and
 * GPUPROBE_SOCKET without one. With GPUPROBE_DAEMON_ONLY it connects at once. *client is to be
 * closed by the caller, and NULL on failure. Errors: -EINVAL for a path that is empty or too long,
 * and for other flags; -ENOMEM; with GPUPROBE_DAEMON_ONLY -ECONNREFUSED, whatever the reason. */
GPUPROBE_PUBLIC int gpuprobe_open(gpuprobe_client** client, const char* socket, unsigned flags);
/* NULL is allowed. No other call with this client may be running. */
GPUPROBE_PUBLIC void gpuprobe_close(gpuprobe_client* client);
/* How long a call may take, in milliseconds: 25,000 at first; negative: for ever. Probes may take
 * minutes. */
GPUPROBE_PUBLIC void gpuprobe_set_timeout(gpuprobe_client* client, int milliseconds);

/* Each sets *json to text that the caller frees with gpuprobe_free(), on failure too: then it is
 * {"error":…}, or NULL where nothing was answered. json may be NULL. -EINVAL where client is NULL.
 *
 * The report on the machine (data/schema/report.schema.json), as this user may see it. */
GPUPROBE_PUBLIC int gpuprobe_describe(gpuprobe_client* client, char** json);
/* The backend that a consumer should use here. consumer: NULL for "default". request: an object as
 * docs/consumers.md has it ({"built":["cuda","cpu"]}), or NULL. Errors: -ENODATA, -EINVAL, -ENOENT,
 * -ENODEV for a GPU that the request names. */
GPUPROBE_PUBLIC int gpuprobe_select(gpuprobe_client* client,
                                    const char* consumer,
                                    const char* request,
                                    char** json);
/* Which of a product's variants to install here. request: as docs/variants.md has it, or NULL. An
 * answer without a variant is an answer: its status says why. Errors: -EINVAL, -ENOENT, -EBADMSG
 * for a product whose installed manifest is malformed. */
GPUPROBE_PUBLIC int gpuprobe_recommend(gpuprobe_client* client,
                                       const char* product,
                                       const char* request,
                                       char** json);
/* Why a GPU is not used, and what helps, as `gpuprobectl doctor`. */
GPUPROBE_PUBLIC int gpuprobe_diagnose(gpuprobe_client* client, char** json);
/* Any method of the interface: "Query" or "org.gpuprobe.Query". parameters: an object, or NULL.
 * Errors: all of the list; -EINVAL also where the parameters are no object. */
GPUPROBE_PUBLIC int gpuprobe_call(gpuprobe_client* client,
                                  const char* method,
                                  const char* parameters,
                                  char** json);

/* Follows the report. Returns a descriptor to poll for reading, or a negative errno; it stays the
 * client's. Called again, it begins anew. Errors: -EINVAL for NULL; without a daemon there is
 * nothing to follow: -ECONNREFUSED; -ECONNRESET, -ETIMEDOUT, -ENOMEM, -EMFILE, -ENFILE. */
GPUPROBE_PUBLIC int gpuprobe_watch(gpuprobe_client* client);
/* What has happened since, without waiting: 1 with *json set to {"generation":…,"state":…}, which
 * the caller frees; 0 when there is nothing. Call it until it returns 0. The first is the present
 * state. Errors: -ECONNRESET when the daemon has left, or was not followed; -EINVAL for NULL; what
 * the daemon refused, with its text in *json: -EAGAIN, -EOPNOTSUPP, -EIO; -EPROTO, -E2BIG,
 * -ENOMEM. */
GPUPROBE_PUBLIC int gpuprobe_watch_next(gpuprobe_client* client, char** json);

GPUPROBE_PUBLIC void gpuprobe_free(char* text);

/* Reads JSON, for programs without a library for it. A pointer is one of RFC 6901:
 * "/candidates/0/backend"; "" is the whole. A text is read as far as its answer needs, and nothing
 * behind the value that it starts with. What is not JSON in UTF-8 is not there: a cut escape, half
 * of a pair of surrogates, or more than 64 levels. The answer of a call is all JSON.
 *
 * The text of a string, or anything else as JSON; to be freed with gpuprobe_free(). NULL when there
 * is nothing, or null, or no memory, and for a string that holds U+0000, which would end it. */
GPUPROBE_PUBLIC char* gpuprobe_value(const char* json, const char* pointer);
/* How many items an array has, or members an object; -1 for anything else. */
GPUPROBE_PUBLIC long gpuprobe_count(const char* json, const char* pointer);
/* The key of an object's member, counted from 0; to be freed with gpuprobe_free(). NULL when there
 * is none, or no memory, and for a key that holds U+0000. */
GPUPROBE_PUBLIC char* gpuprobe_key(const char* json, const char* pointer, long index);
/* Returns each item of an array, or the value of each member of an object, in turn, and NULL after
 * the last. It is a part of `json`, for the functions above: gpuprobe_value(item, "/backend"). *at
 * is NULL for the first, and belongs to this function from then on. *key: as of gpuprobe_key(), and
 * NULL for an item; key may be NULL. All together take as long as one reading of the whole, which
 * indices do not. */
GPUPROBE_PUBLIC const char* gpuprobe_each(const char* json,
                                          const char* pointer,
                                          const char** at,
                                          char** key);

#ifdef __cplusplus
}
#endif

#endif
