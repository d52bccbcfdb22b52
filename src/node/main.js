#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0 OR MIT
// npx gpuprobe: prints one answer as JSON.
import { parseArgs } from "node:util";

import { Client, Failure, NoMatch, Refused } from "./gpuprobe.js";

const USAGE = `Usage: gpuprobe [--socket PATH] [QUESTION [WORD]]

Prints what gpuprobe answers, as JSON. QUESTION: select, recommend, doctor, describe, gpus, or a method,
org.gpuprobe.Query. WORD: an application, or the parameters of a method. Exit status 3: nothing fits.
`;
const QUESTIONS = ["select", "recommend", "doctor", "describe", "gpus"];

function wrong(problem) {
  process.stderr.write(`${USAGE}gpuprobe: ${problem}\n`);
  process.exit(2);
}

function wordsGiven() {
  const options = { socket: { type: "string" }, help: { type: "boolean", short: "h" } };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (problem) {
    return wrong(problem.message);
  }
}

function parametersFrom(word) {
  try {
    return JSON.parse(word ?? "{}");
  } catch (problem) {
    return wrong(problem.message);
  }
}

function ask(client, question, word) {
  if (question.includes(".")) return client.call(question, parametersFrom(word));
  if (!QUESTIONS.includes(question)) wrong(`no question '${question}'`);
  if (question === "recommend" && !word) wrong("recommend: which application?");
  return question === "select" || question === "recommend" ? client[question](word) : client[question]();
}

const { values, positionals } = wordsGiven();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (positionals.length > 2) wrong(`too many words: ${positionals[2]}`);
const client = new Client({ socket: values.socket });
try {
  const answer = await ask(client, positionals[0] ?? "select", positionals[1]);
  process.stdout.write(JSON.stringify(answer) + "\n");
} catch (problem) {
  if (!(problem instanceof Failure)) throw problem;
  if (problem instanceof Refused)
    process.stdout.write(JSON.stringify({ error: { name: problem.refusal, ...problem.details } }) + "\n");
  else process.stderr.write(`gpuprobe: ${problem.message}\n`);
  process.exitCode = problem instanceof NoMatch ? 3 : 1;
} finally {
  client.close();
}
