#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Runs a program on the GPU that gpuprobe chooses for it.
//
// Usage: run-with-gpu.mjs APPLICATION PROGRAM [ARGUMENT…]
//
// APPLICATION is a name of `gpuprobectl apps`. Debian has no module for D-Bus, so systemd's busctl
// makes the call and prints the answer as JSON.
import { spawnSync } from "node:child_process";

const NAME = "org.gpuprobe.GpuProbe1";
const ROOT = "/org/gpuprobe/GpuProbe1";

/** Converts busctl's {type, data} pairs to plain values. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  if ("type" in value && "data" in value) return plain(value.data);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

/** Returns the answer of SelectBackend, with all candidates. Backend is "" if no backend fits. */
function select(application, built) {
  const request = ["2", "built", "as", String(built.length), ...built, "explain", "b", "true"];
  const call = ["--system", "--json=short", "call", NAME, ROOT, `${NAME}.Manager`, "SelectBackend", "sa{sv}"];
  const told = spawnSync("busctl", [...call, application, ...request], { encoding: "utf8" });
  if (told.status === 0) return plain(JSON.parse(told.stdout).data[0]);
  process.stderr.write(told.stderr.split("\n")[0] + "\n");
  process.exit(1);
}

const [application, program, ...words] = process.argv.slice(2);
const answer = select(application, ["cuda", "vulkan", "cpu"]);
for (const message of answer.Messages ?? []) console.error(message);
if (!answer.Backend) {
  console.error(`no backend fits for ${application}`);
  for (const candidate of answer.Candidates)
    for (const reason of candidate.Reasons) {
      console.error(`  ${candidate.Backend}: ${reason.Text}`);
      if (reason.Fix) console.error(`    fix: ${reason.Fix}`);
    }
  process.exit(3);
}
console.error(`${program}: ${answer.Decision}`);
const env = { ...process.env, GPU_BACKEND: answer.Backend, ...answer.Environment };
process.exit(spawnSync(program, words, { env, stdio: "inherit" }).status ?? 1);
