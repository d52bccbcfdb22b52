// SPDX-License-Identifier: Apache-2.0 OR MIT
// The methods with their parameters and answers are in interface.d.ts, which is generated from the daemon's interface
// description.
import type { Candidate, Methods, RecommendRequest, SelectRequest } from "./interface.js";

export * from "./interface.js";

/** The path of the socket on which the daemon listens. */
export const SOCKET: string;

/** Returns the gpuprobectl that clients run if no daemon answers: the path of the program in the optional package for
 *  this architecture, or the name "gpuprobectl" if that package is not installed. */
export function program(): string;

/** The base class of all errors of this package. */
export class Failure extends Error {}
/** Neither the daemon nor gpuprobectl answers. */
export class Unavailable extends Failure {}
/** There was no answer within the timeout. */
export class TimedOut extends Failure {}
/** The daemon answered the call with an error. */
export class Refused extends Failure {
  constructor(name: string, details: { [member: string]: unknown; message?: string });
  /** The D-Bus name, such as "org.gpuprobe.GpuProbe1.Error.NoMatch". */
  readonly refusal: string;
  /** All members of the error, including the candidates if a selection failed. */
  readonly details: { [member: string]: unknown; message?: string };
}
/** Nothing on this machine satisfies the request. The message names the candidate that comes closest. */
export class NoMatch extends Refused {
  /** All candidates, with the reasons against each candidate. Every reason has `text`, and `fix` if a fix is known. */
  readonly candidates: Candidate[];
}
/** There is no application or GPU with the given name. */
export class UnknownName extends Refused {}
/** A key or value of the request is invalid. */
export class InvalidRequest extends Refused {}
/** The call needs the permission of an administrator. */
export class NotAuthorized extends Refused {}

type Taken<Name extends keyof Methods> = Methods[Name]["parameters"];
type Answered<Name extends keyof Methods> = Promise<Methods[Name]["answer"]>;
type Stream<Name extends keyof Methods> = AsyncGenerator<Methods[Name]["answer"], void, void>;

export interface ClientOptions {
  /** The path of the daemon's socket. The default is the value of $GPUPROBE_SOCKET or, if that variable is not set,
   *  SOCKET. */
  socket?: string;
  /** The time limit for each call in milliseconds. The default is 25000; null means no limit. */
  timeout?: number | null;
  /** If true, the client never runs gpuprobectl. */
  daemonOnly?: boolean;
}

/** A client with one connection, which is opened at the first call and again after a restart of the daemon. Calls run
 *  one after the other. Every call may reject with Refused, Unavailable, TimedOut, or Failure for an invalid answer. */
export class Client {
  constructor(options?: ClientOptions);
  close(): void;
  /** Calls any method of org.gpuprobe, or of another interface by its full name. */
  call<Name extends keyof Methods>(method: Name, parameters?: Taken<Name>): Answered<Name>;
  call(method: `${string}.${string}`, parameters?: object): Promise<{ [member: string]: unknown }>;
  /** Yields all answers of a method that answers several times. Uses a separate connection, and needs a daemon. */
  stream<Name extends keyof Methods>(method: Name, parameters?: Taken<Name>): Stream<Name>;
  /** Yields the generation and the state of the report: first the current values, then the new values after each
   *  change. Rejects with Unavailable when the daemon ends. */
  watch(): Stream<"Subscribe">;
  /** Probes the drivers again, and returns the generation and the probes. Calls onProgress with the progress, from 0 to
   *  1, each time it changes; without a daemon, onProgress is not called. There is no time limit, because a probe may
   *  take minutes. */
  probe(request?: Taken<"Probe">, options?: { onProgress?: (progress: number) => void }): Answered<"Probe">;
  describe(): Answered<"Describe">;
  gpus(): Answered<"ListGpus">;
  /** Selects the backend that the application should use on this machine. min_memory is in bytes. Rejects with NoMatch
   *  if no backend satisfies the request. */
  select(application?: string, request?: SelectRequest): Answered<"Select">;
  /** Recommends the variant of an application to install on this machine. manifest: the text of a manifest to use
   *  instead of the installed manifest. need_mib is in MiB. If no variant fits, the status and the candidates of the
   *  answer contain the reasons. */
  recommend(application: string, request?: RecommendRequest & { manifest?: string | null }): Answered<"Recommend">;
  /** Estimates whether a number of bytes fits into GPU memory or, if need is null, whether a model fits. need and
   *  margin are in bytes; model is the text of a gpuprobe.model/1 document. */
  plan(need: number | null, more?: Omit<Taken<"Plan">, "need">): Answered<"Plan">;
  /** Finds out why GPUs are not used, and how to fix the problems. By default, environment is the environment of this
   *  process. */
  doctor(environment?: { [variable: string]: string | undefined }): Answered<"Diagnose">;
  query(terms: string[], more?: { gpus?: string[] | null }): Answered<"Query">;
  /** Returns the memory of one GPU in bytes, read at the time of the call. */
  memory(gpu: string): Answered<"GetMemory">;
  reportOutcome(
    application: string,
    outcome: "ok" | "failed",
    choice?: Omit<Taken<"ReportOutcome">, "application" | "outcome">,
  ): Answered<"ReportOutcome">;
}
