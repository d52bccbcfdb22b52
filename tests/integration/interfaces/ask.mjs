// SPDX-License-Identifier: Apache-2.0
// Asks each question of a file, [[method, parameters], …], by the Node package; one line of JSON for each.
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
