// SPDX-License-Identifier: Apache-2.0
// Adds four numbers with ONNX Runtime: ort_run.mjs PACKAGE MODEL PROVIDERS
import {createRequire} from 'node:module';
const [package_, model, providers] = process.argv.slice(2);
const ort = createRequire(import.meta.url)(package_);
const session = await ort.InferenceSession.create(model, {executionProviders: providers.split(',')});
const answer = await session.run({x: new ort.Tensor('float32', [1, 2, 3, 4], [4])});
console.log(JSON.stringify([...answer.y.data]));
process.exit(0);
