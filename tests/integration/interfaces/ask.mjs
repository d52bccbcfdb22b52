// SPDX-License-Identifier: Apache-2.0
// Makes each call in a file, [[method, parameters], …], with the Node package. Prints each answer as a line of JSON.
import { readFileSync } from "node:fs";

const [module, socket, file] = process.argv.slice(2);
const { Client, Refused } = await import(module);
const client = new Client({ socket, daemonOnly: true });
for (const [method, parameters] of JSON.parse(readFileSync(file, "utf8"))) {
  const answer = await client.call(method, parameters).catch((problem) => {
    if (!(problem instanceof Refused)) throw problem;
    return problem.details;
  });
  process.stdout.write(JSON.stringify(answer) + "\n");
}
