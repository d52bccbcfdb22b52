// SPDX-License-Identifier: Apache-2.0
// Finds the devices by their names, and prints the WebGPU level that Dawn supports on each device: core, compat or no.
// Usage: dawn_levels.mjs PACKAGE NAME...
const [package_, ...names] = process.argv.slice(2);
const {create, globals} = await import(`${package_}/index.js`);
Object.assign(globalThis, globals);

// Keeps the objects alive, because Dawn calls them later, and crashes or hangs if they were garbage-collected.
globalThis.kept = [];

async function offers(name, featureLevel) {
    try {
        kept.push(create([`adapter=${name}`]));
        return await kept.at(-1).requestAdapter({featureLevel}) !== null;
    } catch {
        return false;
    }
}

const found = {};
for (const name of names)
    found[name] = await offers(name, 'core') ? 'core' : await offers(name, 'compatibility') ? 'compat' : 'no';
console.log(JSON.stringify(found));
process.exit(0);
