// SPDX-License-Identifier: Apache-2.0
// Reads the header of a GGUF file and makes a smaller header that describes a model of the same size, without tokens, merges,
// templates and weights. Because a file may be hostile, every count and length has a limit, and only the header is read.
// gpuprobe interprets the header.
// Source of the format: docs/gguf.md of ggml.

const _ = cockpit.gettext;
const words = cockpit.format;

/** The same limits as in src/plan/gguf.h. */
const MAX_HEADER = 128 * 1024 * 1024;
const MAX_KEYS = 4096;
const MAX_TENSORS = 65536;
const MAX_KEY = 65535;
const MAX_NAME = 256;
const MAX_DIMENSIONS = 4;
/** Maximum size of a value that is kept, in bytes. Longer values do not affect the size of the model. */
const MAX_VALUE = 16 * 1024;
/** Maximum size of the reduced header, in bytes. */
const MAX_REDUCED = 16 * 1024 * 1024;
const MAX_PARTS = 512;
/** The distance between the tensors of consecutive parts in a joined header. No part of a model can be larger. */
const PART_STRIDE = 2n ** 44n;

const CHUNK = 1024 * 1024;
const ALIGNMENT = 32;
const STRING = 8;
const ARRAY = 9;
/** The size of each type of value in bytes; 0 for a type without a fixed size. */
const WIDTHS = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** The error for a file that is not a GGUF file, or has an unsupported form. `message` is a message for users. */
export class GgufError extends Error {}

const decoder = new TextDecoder("utf-8", { fatal: false });

/** Reads a file from its beginning, in chunks. */
class Cursor {
    constructor(file) {
        this.file = file;
        this.start = 0;
        this.at = 0;
        this.bytes = new Uint8Array(0);
    }

    get position() {
        return this.start + this.at;
    }

    fail(reason) {
        throw new GgufError(words(_("byte $0: $1"), this.position, reason));
    }

    /** Whether the next `count` bytes are loaded. If not, call load(). */
    has(count) {
        return this.bytes.length - this.at >= count;
    }

    async load(count) {
        const position = this.position;
        if (position + count > this.file.size)
            this.fail(_("the file ends within its header"));
        if (position + count > MAX_HEADER)
            this.fail(_("the header is larger than 128 MiB"));
        const end = Math.min(this.file.size, position + Math.max(count, CHUNK));
        this.bytes = new Uint8Array(await this.file.slice(position, end).arrayBuffer());
        this.start = position;
        this.at = 0;
        if (!this.has(count))
            this.fail(_("the file shrank while it was read"));
    }

    async take(count) {
        if (!this.has(count))
            await this.load(count);
        const bytes = this.bytes.subarray(this.at, this.at + count);
        this.at += count;
        return bytes;
    }

    async u32() {
        const bytes = await this.take(4);
        return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    }

    /** A count or a length. A value that a JavaScript number cannot represent is above every limit. */
    async u64(limit, refusal) {
        const bytes = await this.take(8);
        const number = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
        if (number > BigInt(limit))
            this.fail(words(refusal, String(number), limit));
        return Number(number);
    }

    /** Skips bytes without reading them. */
    skip(count) {
        if (this.has(count)) {
            this.at += count;
            return;
        }
        const target = this.position + count;
        if (target > this.file.size)
            this.fail(_("the file ends within its header"));
        if (target > MAX_HEADER)
            this.fail(_("the header is larger than 128 MiB"));
        this.start = target;
        this.bytes = new Uint8Array(0);
        this.at = 0;
    }
}

/** Collects the bytes of a header. */
class Writer {
    constructor() {
        this.pieces = [];
        this.size = 0;
    }

    put(bytes) {
        this.size += bytes.length;
        if (this.size > MAX_REDUCED)
            throw new GgufError(_("the header has more tensors than are supported"));
        this.pieces.push(bytes.slice());
    }

    u32(number) {
        const view = new DataView(new ArrayBuffer(4));
        view.setUint32(0, number, true);
        this.put(new Uint8Array(view.buffer));
    }

    u64(number) {
        const view = new DataView(new ArrayBuffer(8));
        view.setBigUint64(0, BigInt(number), true);
        this.put(new Uint8Array(view.buffer));
    }

    text(bytes) {
        this.u64(bytes.length);
        this.put(bytes);
    }

    joined() {
        const all = new Uint8Array(this.size);
        let at = 0;
        for (const piece of this.pieces) {
            all.set(piece, at);
            at += piece.length;
        }
        return all;
    }
}

/**
 * Reads a list. Returns the bytes of its type, count and items if the list is short and all items have the same width;
 * otherwise skips the items and returns null.
 */
async function list(cursor) {
    const type = await cursor.u32();
    const count = await cursor.u64(MAX_HEADER, _("a list has $0 items, but at most $1 are supported"));
    if (type === ARRAY || !(type in WIDTHS))
        cursor.fail(_("a list has items of an unknown type"));
    if (type === STRING) {
        for (let item = 0; item < count; ++item) {
            if (!cursor.has(8))
                await cursor.load(8);
            cursor.skip(await cursor.u64(MAX_HEADER, _("a text has $0 bytes, but at most $1 are supported")));
        }
        return null;
    }
    const length = count * WIDTHS[type];
    if (length > MAX_VALUE) {
        cursor.skip(length);
        return null;
    }
    const writer = new Writer();
    writer.u32(type);
    writer.u64(count);
    writer.put(await cursor.take(length));
    return writer.joined();
}

/** The bytes of a value, without its type; null if the value is not kept. */
async function value(cursor, type) {
    if (type === ARRAY)
        return list(cursor);
    if (type === STRING) {
        const length = await cursor.u64(MAX_HEADER, _("a text has $0 bytes, but at most $1 are supported"));
        if (length > MAX_VALUE) {
            cursor.skip(length);
            return null;
        }
        const writer = new Writer();
        writer.text(await cursor.take(length));
        return writer.joined();
    }
    if (!(type in WIDTHS))
        cursor.fail(_("a value has an unknown type"));
    return (await cursor.take(WIDTHS[type])).slice();
}

async function magic(cursor) {
    const bytes = cursor.file.size < 4 ? new Uint8Array(4) : await cursor.take(4);
    if (decoder.decode(bytes) !== "GGUF")
        throw new GgufError(_("not a GGUF file"));
    const version = await cursor.u32();
    if (version !== 2 && version !== 3)
        cursor.fail((version & 0xffff) === 0 ? _("big-endian GGUF files are unsupported")
            : words(_("GGUF version $0 is not supported, only versions 2 and 3"), version));
    return version;
}

/** The kept values, as [{key, type, bytes}]. For a split model, also the number of this part and the total number of parts. */
async function values(cursor, count) {
    const kept = [];
    const split = { no: 0, count: 1 };
    for (let at = 0; at < count; ++at) {
        const key = (await cursor.take(await cursor.u64(MAX_KEY, _("a key has $0 bytes, but at most $1 are supported")))).slice();
        const type = await cursor.u32();
        const bytes = await value(cursor, type);
        const text = decoder.decode(key);
        if (!text.startsWith("split.") && bytes)
            kept.push({ key, type, bytes });
        else if (bytes && (text === "split.no" || text === "split.count") && bytes.length <= 8)
            split[text.slice(6)] = bytes.reduceRight((number, byte) => number * 256 + byte, 0);
    }
    return { kept, split };
}

/** All tensors, as described in the header, and the largest offset of a tensor from the end of the header. */
async function tensors(cursor, count) {
    const infos = [];
    let last = 0n;
    for (let at = 0; at < count; ++at) {
        const length = await cursor.u64(MAX_NAME, _("a tensor's name has $0 bytes, but at most $1 are supported"));
        const name = (await cursor.take(length)).slice();
        const dimensions = await cursor.u32();
        if (dimensions === 0 || dimensions > MAX_DIMENSIONS)
            cursor.fail(words(_("a tensor has $0 dimensions"), dimensions));
        const shape = (await cursor.take(8 * dimensions + 4)).slice();
        const rest = await cursor.take(8);
        const offset = new DataView(rest.buffer, rest.byteOffset).getBigUint64(0, true);
        last = offset > last ? offset : last;
        infos.push({ name, dimensions, shape, offset });
    }
    return { infos, last };
}

/** Reads the header of one file. Errors: GgufError. */
async function read(file) {
    const cursor = new Cursor(file);
    const version = await magic(cursor);
    const tensorCount = await cursor.u64(MAX_TENSORS, _("the file has $0 tensors, but at most $1 are supported"));
    const keyCount = await cursor.u64(MAX_KEYS, _("the file has $0 keys, but at most $1 are supported"));
    const { kept, split } = await values(cursor, keyCount);
    const { infos, last } = await tensors(cursor, tensorCount);
    const isWhole = BigInt(cursor.position) + last < BigInt(file.size) || infos.length === 0;
    return { version, kept, split, infos, isWhole };
}

/** Sorts the parts of one model. Errors: GgufError if a part is missing or belongs to another model. */
function inOrder(parts) {
    const count = parts[0].split.count;
    if (count > MAX_PARTS)
        throw new GgufError(words(_("the model has $0 parts, but at most $1 are supported"), count, MAX_PARTS));
    const sorted = [...parts].sort((a, b) => a.split.no - b.split.no);
    if (parts.length !== count || sorted.some((part, at) => part.split.no !== at || part.split.count !== count))
        throw new GgufError(count > 1 ? words(_("this model has $0 parts: drop all of them together"), count)
            : _("the files are not parts of one model: drop only one of them"));
    return sorted;
}

/**
 * The header of a model: {header: Uint8Array, isWhole}. `files` must contain all parts of a split model. isWhole is false
 * if a file ends before the end of its tensors.
 *
 * Errors: GgufError.
 */
export async function readHeader(files) {
    if (files.length > MAX_PARTS)
        throw new GgufError(words(_("you chose $0 files, but at most $1 are supported"), files.length, MAX_PARTS));
    const parts = [];
    for (const file of files)
        parts.push(await read(file));
    const ordered = inOrder(parts);
    const infos = ordered.flatMap((part, at) => part.infos.map(info => ({ ...info, offset: info.offset + BigInt(at) * PART_STRIDE })));
    const writer = new Writer();
    writer.put(new TextEncoder().encode("GGUF"));
    writer.u32(ordered[0].version);
    writer.u64(infos.length);
    writer.u64(ordered[0].kept.length);
    for (const { key, type, bytes } of ordered[0].kept) {
        writer.text(key);
        writer.u32(type);
        writer.put(bytes);
    }
    for (const { name, dimensions, shape, offset } of infos) {
        writer.text(name);
        writer.u32(dimensions);
        writer.put(shape);
        writer.u64(offset);
    }
    writer.put(new Uint8Array((ALIGNMENT - writer.size % ALIGNMENT) % ALIGNMENT));
    return { header: writer.joined(), isWhole: ordered.every(part => part.isWhole) };
}
