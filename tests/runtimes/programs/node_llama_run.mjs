// SPDX-License-Identifier: Apache-2.0
// Loads a model with node-llama-cpp, which chooses the backend itself: node_llama_run.mjs PACKAGE MODEL
const [package_, modelPath] = process.argv.slice(2);
const {getLlama} = await import(`${package_}/dist/index.js`);
const llama = await getLlama({gpu: 'auto', build: 'never', logLevel: 'disabled'});
await llama.loadModel({modelPath, gpuLayers: llama.gpu ? 'max' : 0, ignoreMemorySafetyChecks: true});
console.log(JSON.stringify([llama.gpu, await llama.getGpuDeviceNames()]));
process.exit(0);
