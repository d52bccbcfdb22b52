// SPDX-License-Identifier: Apache-2.0
// Prints which WebGPU level Dawn finds in each device by its name: core, compat or no.
// dawn_levels.mjs PACKAGE NAME...
const [package_, ...names] = process.argv.slice(2);
const {create, globals} = await import(`${package_}/index.js`);
Object.assign(globalThis, globals);

// Dawn calls itself through them, and crashes or hangs once they were collected.
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
