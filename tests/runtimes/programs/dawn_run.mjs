// SPDX-License-Identifier: Apache-2.0
// Opens the default adapter of Dawn, and computes on it: dawn_run.mjs PACKAGE
const {create, globals} = await import(`${process.argv[2]}/index.js`);
Object.assign(globalThis, globals);
// Keeps the object alive, because Dawn calls it later, and crashes or hangs if it was garbage-collected.
globalThis.gpu = create([]);
const adapter = await gpu.requestAdapter({featureLevel: 'compatibility'});
if (adapter) {
    const device = await adapter.requestDevice();
    const size = 16;
    const from = device.createBuffer({size, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST});
    const to = device.createBuffer({size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
    device.queue.writeBuffer(from, 0, new Float32Array([1, 2, 3, 4]));
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, 0, to, 0, size);
    device.queue.submit([encoder.finish()]);
    await to.mapAsync(GPUMapMode.READ);
    console.log(JSON.stringify([...new Float32Array(to.getMappedRange())]));
    to.unmap();
    device.destroy();
} else {
    console.log('null');
}
process.exit(0);
