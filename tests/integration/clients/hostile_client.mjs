// SPDX-License-Identifier: Apache-2.0
// Makes a call with the Node package on each socket in a file, which is a JSON array of paths, and prints each result.
import { readFileSync } from "node:fs";

const [module, how, file] = process.argv.slice(2);
const { Client, Failure, Refused, TimedOut } = await import(module);

async function ask(socket) {
  const answer = await new Client({ socket, daemonOnly: true, timeout: socket.includes("/late-") ? 300 : 60000 }).describe();
  const text = JSON.stringify(answer);
  return `answers ${text.length < 4096 ? text : "long"}`;
}

async function follow(socket) {
  let left = 1000;
  for await (const _ of new Client({ socket, daemonOnly: true }).watch()) if (--left === 0) break;
  return "answers";
}

/** Checks that each answer belongs to its call. */
async function repeat(socket) {
  const client = new Client({ socket, daemonOnly: true, timeout: 60000 });
  const gate = new Client({ socket: socket.replace("/echo", "/gate"), daemonOnly: true, timeout: 60000 });
  for (let number = 0; number < 20; ++number) {
    const method = `x.Method${number}`;
    const answer = await client.call(method).catch((problem) => {
      if (problem instanceof Failure) return { method };
      throw problem;
    });
    await gate.describe();
    if (answer.method !== method) throw new Error(`${method} is answered with ${answer.method}`);
  }
  return "answers";
}

const ways = { ask, follow, repeat };
for (const socket of JSON.parse(readFileSync(file, "utf8"))) {
  const outcome = await ways[how](socket).catch((problem) => {
    if (problem instanceof Refused) return String(problem.message) ? "refused" : "LEAKED nothing";
    if (problem instanceof TimedOut) return "late";
    return problem instanceof Failure ? "fails" : `LEAKED ${problem}`;
  });
  process.stdout.write(outcome.replaceAll("\n", " ") + "\n");
}
