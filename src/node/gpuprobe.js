// SPDX-License-Identifier: Apache-2.0 OR MIT
// A client that gets the GPUs of this machine, and the backend to use, from gpuprobe. An answer is the same JSON
// document that `gpuprobectl -j` prints. The client calls the daemon through the daemon's socket. If no daemon answers,
// the client runs `gpuprobectl --direct`, unless daemonOnly is set.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createConnection } from "node:net";

export const SOCKET = "/run/gpuprobe/org.gpuprobe";
const PROGRAM = "gpuprobectl";
const MAX_ANSWER = 64 << 20; // bytes; a usual report has several hundred thousand bytes
const MAX_VALUES = 1 << 20; // values in an answer
const MAX_LEVELS = 64;
const USUAL_TIMEOUT = 25_000; // milliseconds
const LONGEST_TIMER = 2 ** 31 - 1; // milliseconds; a timer with a longer delay fires at once

// Failures -----------------------------------------------------------------------------------------------------

/** The base class of all errors of this package. */
export class Failure extends Error {}

/** Neither the daemon nor gpuprobectl answers. */
export class Unavailable extends Failure {}

/** There was no answer within the timeout. */
export class TimedOut extends Failure {}

/** The daemon answered the call with an error. */
export class Refused extends Failure {
  constructor(name, details) {
    const { message } = details;
    super(typeof message === "string" && message ? message : `${name}: ${JSON.stringify(details)}`);
    this.refusal = name;
    this.details = details;
  }
}

/** Nothing on this machine satisfies the request. The message names the candidate that comes closest; `candidates` has all
 *  candidates, with the reasons against each candidate. */
export class NoMatch extends Refused {
  constructor(name, details) {
    super(name, details);
    this.candidates = Object.hasOwn(details, "candidates") ? details.candidates : [];
    if (!Array.isArray(this.candidates) || !this.candidates.every(isObject))
      throw new Failure("the answer is not valid: its candidates have the wrong type");
  }
}

/** There is no application or GPU with the given name. */
export class UnknownName extends Refused {}

/** A key or value of the request is invalid. */
export class InvalidRequest extends Refused {}

/** The call needs the permission of an administrator. */
export class NotAuthorized extends Refused {}

for (const kind of [Failure, Unavailable, TimedOut, Refused, NoMatch, UnknownName, InvalidRequest, NotAuthorized])
  Object.defineProperty(kind.prototype, "name", { value: kind.name });

const KINDS = {
  NoMatch,
  UnknownApplication: UnknownName,
  NotFound: UnknownName,
  NoSuchGpu: UnknownName,
  InvalidRequest,
  InvalidParameter: InvalidRequest,
  NotAuthorized,
};

function refusal(name, details) {
  const kind = name.split(".").pop();
  return new (Object.hasOwn(KINDS, kind) ? KINDS[kind] : Refused)(name, details);
}

/** The connection ended before the end of the answer. */
class Ended extends Error {}

// Messages of the socket ---------------------------------------------------------------------------------------

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const fullName = (method) => (method.includes(".") ? method : `org.gpuprobe.${method}`);

function callText(method, parameters, more) {
  const call = { method: fullName(method), parameters: parameters ?? {} };
  return JSON.stringify(more ? { ...call, more } : call) + "\0";
}

/** Throws if parsing would take more memory than any answer needs. Does not detect invalid JSON. */
function checkSize(bytes) {
  const [QUOTE, BACKSLASH] = [0x22, 0x5c];
  let [levels, values, isText] = [0, 0, false];
  for (let at = 0; at < bytes.length; ++at) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === 0x5b || byte === 0x7b) [levels, values] = [levels + 1, values + 1];
    else if (byte === 0x5d || byte === 0x7d) --levels;
    else if (byte === 0x2c) ++values;
    if (levels > MAX_LEVELS) throw new RangeError(`more than ${MAX_LEVELS} levels`);
    if (values > MAX_VALUES) throw new RangeError(`more than ${MAX_VALUES} values`);
  }
}

/** Whether a document contains an unpaired surrogate, which JSON.stringify() writes as an escape. */
const hasHalfPair = (document) => /(?<!\\)(\\\\)*\\ud[89a-f]/.test(JSON.stringify(document));

/** Parses one JSON object. The client parses every answer with this function. Throws Failure if the data is not a JSON
 *  object or is too large. */
function documentFrom(bytes) {
  let document;
  try {
    checkSize(bytes);
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    document = JSON.parse(text);
    if (/\\u[dD][89a-fA-F]/.test(text) && hasHalfPair(document)) throw new SyntaxError("half of a pair of surrogates");
  } catch (problem) {
    throw new Failure(`the answer is not valid: ${problem.message}`, { cause: problem });
  }
  if (!isObject(document)) throw new Failure("the answer is not valid: it is not an object");
  return document;
}

/** Returns the answer, and whether another answer follows. Throws Refused for an error,
 *  Failure for an invalid answer. */
function answerFrom(bytes, takesMore) {
  const reply = documentFrom(bytes);
  const error = reply.error ?? null;
  const parameters = reply.parameters ?? (error === null ? null : {});
  const continues = reply.continues ?? false;
  if (!isObject(parameters) || typeof continues !== "boolean")
    throw new Failure("the answer is not valid: a member has the wrong type");
  if (error !== null) {
    const name = Object.hasOwn(parameters, "name") ? parameters.name : error;
    if (!error || typeof error !== "string" || typeof name !== "string")
      throw new Failure("the answer is not valid: its error has no name");
    throw refusal(name, parameters);
  }
  if (continues && !takesMore) throw new Failure("the answer is not valid: it announces another one");
  return { answer: parameters, continues };
}

/** The progress of a probe. Throws Failure for an invalid answer. */
function progressIn({ progress }) {
  if (typeof progress !== "number" || progress < 0 || progress > 1)
    throw new Failure("the answer is not valid: its progress is not a number from 0 to 1");
  return progress;
}

/** Splits a stream of blocks into messages that end with a NUL. */
class Messages {
  #blocks = [];
  #size = 0;
  whole = [];

  /** Adds a block. Throws Failure if a message is longer than an answer can be. */
  add(block) {
    for (let end = block.indexOf(0); end >= 0; end = block.indexOf(0)) {
      this.#keep(block.subarray(0, end));
      this.whole.push(Buffer.concat(this.#blocks));
      this.#blocks = [];
      this.#size = 0;
      block = block.subarray(end + 1);
    }
    this.#keep(block);
  }

  isEmpty() {
    return this.whole.length === 0 && this.#size === 0;
  }

  #keep(block) {
    this.#size += block.length;
    if (this.#size > MAX_ANSWER) throw new Failure(`the answer is larger than ${MAX_ANSWER >> 20} MiB`);
    if (block.length > 0) this.#blocks.push(block);
  }
}

/** A connection to the daemon. The connection keeps the process alive only while a call waits for a message. */
class Connection {
  #socket;
  #messages = new Messages();
  #problem = null;
  #waiting = null;

  static open(path) {
    return new Promise((done, failed) => {
      const socket = createConnection({ path });
      const refuse = (problem) => failed(new Unavailable(`${path}: ${problem.message}`, { cause: problem }));
      socket.once("error", refuse);
      socket.once("connect", () => {
        socket.off("error", refuse);
        done(new Connection(socket));
      });
    });
  }

  constructor(socket) {
    this.#socket = socket;
    socket.unref();
    socket.on("data", (block) => this.#take(block));
    socket.on("error", (problem) => this.close(new Ended(problem.message, { cause: problem })));
    socket.on("close", () => this.close(new Ended("the daemon ended the connection")));
  }

  send(text) {
    this.#socket.write(text);
  }

  /** The next message. */
  receive() {
    return new Promise((done, failed) => {
      this.#waiting = { done, failed };
      this.#socket.ref();
      this.#wake();
    });
  }

  /** Whether no unexpected data has arrived. */
  isEmpty() {
    return this.#messages.isEmpty();
  }

  /** Whether the connection can be used for another call. */
  isFit() {
    return !this.#problem && this.isEmpty();
  }

  /** Closes the connection. The waiting call and all later calls fail with `problem`. */
  close(problem = new Failure("the client was closed")) {
    this.#problem ??= problem;
    this.#socket.destroy();
    this.#wake();
  }

  #take(block) {
    try {
      this.#messages.add(block);
    } catch (problem) {
      return this.close(problem);
    }
    this.#wake();
    if (this.#messages.whole.length > 0) this.#socket.pause(); // until the messages are read
  }

  #wake() {
    const waiting = this.#waiting;
    const isThere = this.#messages.whole.length > 0;
    if (!waiting || (!isThere && !this.#problem)) return;
    this.#waiting = null;
    this.#socket.unref();
    if (!isThere) return waiting.failed(this.#problem);
    waiting.done(this.#messages.whole.shift());
    if (this.#messages.whole.length === 0) this.#socket.resume();
  }
}

// gpuprobectl, if no daemon answers ----------------------------------------------------------------------------

/** Returns the gpuprobectl that clients run if no daemon answers: the value of the environment variable GPUPROBE_PROGRAM,
 *  else the path of the program in the optional package for this architecture, or the name "gpuprobectl" if that package
 *  is not installed. */
export function program() {
  if (process.env.GPUPROBE_PROGRAM) return process.env.GPUPROBE_PROGRAM;
  try {
    return createRequire(import.meta.url).resolve(`gpuprobe-linux-${process.arch}/${PROGRAM}`);
  } catch {
    return PROGRAM;
  }
}

function answerOfProgram(text) {
  let answer;
  try {
    answer = documentFrom(text);
  } catch (problem) {
    throw new Unavailable(`no daemon answers, and ${PROGRAM} neither`, { cause: problem });
  }
  if (isObject(answer.error)) throw refusal(String(answer.error.name ?? ""), answer.error);
  return answer;
}

function answerFromProgram(method, parameters, signal) {
  return new Promise((done, failed) => {
    const words = ["--direct", "-j", "-q", "call", fullName(method), "-"];
    const child = spawn(program(), words, { stdio: ["pipe", "pipe", "ignore"] });
    const output = new Messages();
    const end = (problem) => {
      child.kill("SIGKILL");
      failed(problem);
    };
    const attempt = (work) => {
      try {
        work();
      } catch (problem) {
        end(problem);
      }
    };
    signal?.addEventListener("abort", () => end(signal.reason), { once: true });
    child.on("error", (problem) =>
      end(
        new Unavailable(
          `no daemon answers, and ${program()} cannot be run: ${problem.message}; install gpuprobe, ` +
            "or set GPUPROBE_PROGRAM to the path of gpuprobectl",
          { cause: problem },
        ),
      ),
    );
    child.stdout.on("data", (block) => attempt(() => output.add(block)));
    child.on("close", () =>
      attempt(() => {
        output.add(Buffer.from("\0"));
        done(answerOfProgram(output.whole[0]));
      }),
    );
    child.stdin.on("error", () => {}); // the program ended before it read all input: its answer has the reason
    child.stdin.end(JSON.stringify(parameters ?? {}));
  });
}

// The client ---------------------------------------------------------------------------------------------------

/** A client with one connection, which is opened at the first call and again after a restart of the daemon. Calls run
 *  one after the other. */
export class Client {
  #path;
  #timeout;
  #daemonOnly;
  #connection = null;
  #turn = Promise.resolve();

  /** timeout: the time limit for each call in milliseconds; null means no limit. */
  constructor({ socket, timeout = USUAL_TIMEOUT, daemonOnly = false } = {}) {
    this.#path = socket || process.env.GPUPROBE_SOCKET || SOCKET;
    this.#timeout = timeout;
    this.#daemonOnly = daemonOnly;
  }

  close() {
    this.#connection?.close();
    this.#connection = null;
  }

  /** Calls any method of org.gpuprobe, such as "Query". Rejects with Refused, Unavailable, TimedOut. */
  async call(method, parameters) {
    const answer = this.#turn.then(() => this.#answer(method, parameters));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  /** Yields all answers of a method that answers several times, on a separate connection. Rejects with Unavailable if
   *  no daemon answers. */
  async *stream(method, parameters) {
    for await (const reply of this.#replies(await Connection.open(this.#path), method, parameters)) yield reply.answer;
  }

  /** Yields each answer to a call, and whether another answer follows. Closes the connection at the end. */
  async *#replies(connection, method, parameters) {
    try {
      connection.send(callText(method, parameters, true));
      for (let continues = true; continues; ) {
        const reply = answerFrom(await connection.receive(), true);
        continues = reply.continues;
        yield reply;
      }
    } catch (problem) {
      throw problem instanceof Ended ? new Unavailable("the daemon has left", { cause: problem }) : problem;
    } finally {
      connection.close();
    }
  }

  /** Yields {"generation", "state"} of the report: first the current values, then the new values after each change.
   *  Rejects with Unavailable when the daemon ends. */
  watch() {
    return this.stream("Subscribe");
  }

  /** Probes the drivers again, and returns {"generation", "probes"}. Calls onProgress with the progress, from 0 to 1,
   *  each time it changes; without a daemon, onProgress is not called. There is no time limit, because a probe may take
   *  minutes. Rejects with Refused, such as NotAuthorized. */
  async probe(request = {}, { onProgress } = {}) {
    let connection;
    try {
      connection = await Connection.open(this.#path);
    } catch (problem) {
      if (!(problem instanceof Unavailable) || this.#daemonOnly) throw problem;
      return answerFromProgram("Probe", request);
    }
    let last;
    for await (const { answer, continues } of this.#replies(connection, "Probe", request)) {
      last = answer;
      if (!continues) break;
      const progress = progressIn(answer);
      onProgress?.(progress);
    }
    return last;
  }

  /** Returns the report about the machine. */
  describe() {
    return this.call("Describe");
  }

  /** Returns {"generation", "gpus"}: all GPUs, the default GPU first. */
  gpus() {
    return this.call("ListGpus");
  }

  /** Selects the backend that the application should use on this machine. Rejects with NoMatch, UnknownName,
   *  InvalidRequest. */
  select(application = "default", request = {}) {
    return this.call("Select", { application, request });
  }

  /** Recommends the variant of an application to install on this machine. If no variant fits, the status and the
   *  candidates of the answer contain the reasons. Rejects with UnknownName, InvalidRequest. */
  recommend(application, { manifest = null, ...request } = {}) {
    return this.call("Recommend", { application, manifest, request });
  }

  /** Estimates whether a number of bytes fits on each GPU and on several GPUs together or, if need is null, whether a
   *  model fits. Rejects with UnknownName, InvalidRequest. */
  plan(need, more = {}) {
    return this.call("Plan", { need, ...more });
  }

  /** Finds out why GPUs are not used, and how to fix the problems. By default, environment is the environment of this
   *  process. */
  doctor(environment = process.env) {
    return this.call("Diagnose", { environment });
  }

  /** Returns for each term, such as "driver>=550", whether the term is true for each GPU. */
  query(terms, { gpus = null } = {}) {
    return this.call("Query", { terms, gpus });
  }

  /** Returns the memory of the GPU with that id in bytes, read at the time of the call. */
  memory(gpu) {
    return this.call("GetMemory", { gpu });
  }

  /** Reports whether an application worked with a choice. outcome: "ok" or "failed". choice: an object with the members
   *  backend, variant or family, gpu and detail. */
  reportOutcome(application, outcome, choice = {}) {
    return this.call("ReportOutcome", { application, outcome, ...choice });
  }

  async #answer(method, parameters) {
    try {
      return await this.#inTime((signal) => this.#askDaemon(callText(method, parameters), signal));
    } catch (problem) {
      if (!(problem instanceof Unavailable) || this.#daemonOnly) throw problem;
    }
    return this.#inTime((signal) => answerFromProgram(method, parameters, signal));
  }

  async #askDaemon(text, signal) {
    if (this.#connection && !this.#connection.isFit()) this.close();
    const wasConnected = this.#connection !== null;
    try {
      return await this.#exchange(text, signal);
    } catch (problem) {
      if (!(problem instanceof Ended)) throw problem;
      if (!wasConnected) throw new Unavailable(problem.message, { cause: problem });
    }
    return this.#askDaemon(text, signal); // the daemon was restarted: connect again
  }

  async #exchange(text, signal) {
    const connection = (this.#connection ??= await Connection.open(this.#path));
    const giveUp = () => connection.close(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      signal.throwIfAborted();
      connection.send(text);
      const reply = await connection.receive();
      if (!connection.isEmpty()) throw new Failure("the answer is not valid: something follows it");
      return answerFrom(reply, false).answer;
    } catch (problem) {
      if (!(problem instanceof Refused)) this.close(); // a late reply would be mistaken for the next answer
      throw problem;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Runs `work` with a signal that aborts it at the timeout. */
  async #inTime(work) {
    const controller = new AbortController();
    const late = () => controller.abort(new TimedOut(`no answer in ${this.#timeout} ms`));
    const timer = this.#timeout === null ? null : setTimeout(late, Math.min(this.#timeout, LONGEST_TIMER));
    try {
      return await work(controller.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
