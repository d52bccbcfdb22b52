// SPDX-License-Identifier: Apache-2.0
// The methods by name, with what each takes and answers, are in interface.d.ts, which is made from the daemon's own
// description of them.
import type { Methods, RecommendRequest, SelectRequest } from "./interface.js";

export * from "./interface.js";

/** Where the daemon listens. */
export const SOCKET: string;

/** There is no answer. */
export class Failure extends Error {}
/** Nobody answers: neither the daemon nor gpuprobectl. */
export class Unavailable extends Failure {}
/** No answer in time. */
export class TimedOut extends Failure {}
/** The question was understood and is not answered. */
export class Refused extends Failure {
  constructor(name: string, details: { [member: string]: unknown; message?: string });
  /** As on D-Bus, "org.gpuprobe.GpuProbe1.Error.NoMatch". */
  readonly refusal: string;
  /** All that was said, with the candidates of a selection. */
  readonly details: { [member: string]: unknown; message?: string };
}
/** Nothing on this machine satisfies the request. */
export class NoMatch extends Refused {}
/** No consumer, product or GPU of that name. */
export class UnknownName extends Refused {}
/** A key or a word of the request is wrong. */
export class InvalidRequest extends Refused {}
/** Only administrators may do that. */
export class NotAuthorized extends Refused {}

type Taken<Name extends keyof Methods> = Methods[Name]["parameters"];
type Answered<Name extends keyof Methods> = Promise<Methods[Name]["answer"]>;
type Stream<Name extends keyof Methods> = AsyncGenerator<Methods[Name]["answer"], void, void>;

export interface ClientOptions {
  /** Where the daemon listens; else $GPUPROBE_SOCKET, else SOCKET. */
  socket?: string;
  /** Milliseconds that a call may take, 25000 unless told; null: for ever. */
  timeout?: number | null;
  /** Never run gpuprobectl. */
  daemonOnly?: boolean;
}

/** One connection, made when it is first needed and again when the daemon was restarted. Calls wait for one another.
 *  Every answer may be rejected with Refused, Unavailable, TimedOut, and Failure for what is no answer. */
export class Client {
  constructor(options?: ClientOptions);
  close(): void;
  /** Any method of org.gpuprobe, or of another interface by its full name. */
  call<Name extends keyof Methods>(method: Name, parameters?: Taken<Name>): Answered<Name>;
  call(method: `${string}.${string}`, parameters?: object): Promise<{ [member: string]: unknown }>;
  /** All answers of a method that has several, on a connection of its own. */
  stream<Name extends keyof Methods>(method: Name, parameters?: Taken<Name>): Stream<Name>;
  /** Now and after each change of the report, until the daemon leaves: Unavailable. */
  changes(): Stream<"Subscribe">;
  /** Asks the drivers again: the progress from 0 to 1, then the rest. gpuprobectl tells the rest alone. */
  probe(request?: Taken<"Probe">): Stream<"Probe">;
  describe(): Answered<"Describe">;
  gpus(): Answered<"ListGpus">;
  select(consumer?: string, request?: SelectRequest): Answered<"Select">;
  recommend(product: string, request?: RecommendRequest & { manifest?: string | null }): Answered<"Recommend">;
  /** need, margin: bytes; model: the text of a gpuprobe.model/1. */
  plan(need: number | null, more?: Omit<Taken<"Plan">, "need">): Answered<"Plan">;
  /** Without an environment: that of this process. */
  diagnose(environment?: { [variable: string]: string | undefined }): Answered<"Diagnose">;
  query(terms: string[], more?: { gpus?: string[] | null }): Answered<"Query">;
  memory(gpu: string): Answered<"GetMemory">;
  reportOutcome(
    consumer: string,
    outcome: "ok" | "failed",
    choice?: Omit<Taken<"ReportOutcome">, "consumer" | "outcome">,
  ): Answered<"ReportOutcome">;
}
