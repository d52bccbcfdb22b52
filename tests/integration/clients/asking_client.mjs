// SPDX-License-Identifier: Apache-2.0
// Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the second argument, and prints a line with the answer,
// or "refused", for each. The first argument is the path of the package.
import { readFileSync } from "node:fs";

const [module, socket] = process.argv.slice(2);
const { Client, Refused } = await import(module);
const client = new Client({ socket, daemonOnly: true });
for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const [method, parameters] = line.split("\t");
  const answer = await client.call(method, JSON.parse(parameters)).then(
    (found) => JSON.stringify(found),
    (problem) => (problem instanceof Refused ? "refused" : `fails ${problem}`),
  );
  process.stdout.write(answer + "\n");
}
client.close?.();
