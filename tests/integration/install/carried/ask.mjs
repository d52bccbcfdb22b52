// SPDX-License-Identifier: Apache-2.0
// Makes each call in a file, [[machine, method, parameters], …], and prints each answer as one line of JSON.
import { readFileSync } from "node:fs";

import { Client, Refused } from "gpuprobe";

const client = new Client();
for (const [machine, method, parameters] of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  process.env.MACHINE = machine;
  const answer = await client.call(method, parameters).catch((problem) => {
    if (problem instanceof Refused) return problem.details;
    throw problem;
  });
  console.log(JSON.stringify(answer));
}
