// SPDX-License-Identifier: Apache-2.0
// Formats numbers and reasons as text. The sentences of reasons come from the daemon.

import { copyable, h, printable } from "./dom.js";

const _ = cockpit.gettext;

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];

/**
 * A size: 150754820096 is "140.4 GiB", 644939776 is "615 MiB". Sizes are rounded down, as by gpuprobectl: "8.0 GiB" is never less.
 */
export function size(bytes) {
    if (!Number.isFinite(bytes))
        return _("not known");
    let at = 0;
    while (at < BINARY.length - 1 && bytes >= 1024 ** (at + 1))
        at += 1;
    const unit = 1024 ** at;
    const digit = at < 3 ? "" : `.${Math.floor(bytes % unit * 10 / unit)}`;
    return `${Math.floor(bytes / unit)}${digit} ${BINARY[at]}`;
}

/** A rate: 4277675221679 and "B/s" is "4.28 TB/s", rounded to three digits as by gpuprobectl. */
export function rate(number, unit) {
    let value = number;
    let at = 0;
    while (value >= 999.5 && at < DECIMAL.length - 1) {
        value /= 1000;
        at += 1;
    }
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${DECIMAL[at]}${unit}`;
}

/** A time in microseconds since the epoch, in the format of gpuprobectl: "2026-11-26 04:12 UTC". */
export function utc(usec) {
    return `${new Date(usec / 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Joins words: "a, b and c". */
export function list(words) {
    const all = words.filter(Boolean);
    return all.length < 2 ? all.join("") : cockpit.format(_("$0 and $1"), all.slice(0, -1).join(", "), all[all.length - 1]);
}

/** A name with its number: "NVIDIA H200", or "4 x NVIDIA H200". */
export function times(count, name) {
    return count === 1 ? name : cockpit.format(_("$0 x $1"), count, name);
}

/**
 * The names of GPUs, with equal names combined: "4 x NVIDIA H200". If only some GPUs with a name are meant, their ids follow.
 * `ids`: the GPUs that are meant. `all`: [{id, name}] of the machine.
 */
export function gpuList(ids, all) {
    const names = unique(ids.map(id => all.find(gpu => gpu.id === id)?.name ?? id));
    return list(names.map(name => {
        const alike = all.filter(gpu => (gpu.name ?? gpu.id) === name).map(gpu => gpu.id);
        const meant = alike.filter(id => ids.includes(id));
        return meant.length === alike.length ? times(alike.length || 1, name) : `${name} (${meant.join(", ")})`;
    }));
}

/**
 * Names of backends and APIs in their vendors' spelling (report/api_table.h). The names that an application uses are
 * not changed.
 */
const LABELS = { cuda: "CUDA", hip: "HIP", rocm: "ROCm", level_zero: "Level Zero", sycl: "SYCL", vulkan: "Vulkan", opencl: "OpenCL",
    webgpu: "WebGPU", nvml: "NVML", level_zero_sysman: "Level Zero Sysman", drm: "DRM", pci: "PCI", cpu: "CPU", vaapi: "VA-API" };

export function label(name) {
    return Object.hasOwn(LABELS, name) ? LABELS[name] : name;
}

/** Reasons which mean that a candidate is for other hardware, not that something is wrong (docs/reasons.md). */
const FOR_OTHERS = ["vendor-mismatch", "not-in-profile-for-vendor", "arch-not-in-build", "platform-not-in-profile",
    "mig-without-graphics", "display-only", "software-rasterizer"];

/** Reasons why the state of a backend is unknown. These reasons do not matter if the backend is for other hardware. */
const OPEN = ["requirement-unknown", "unknown-not-chosen"];

/** Whether these reasons, from the report or from the bus, only mean that a candidate is for other hardware. */
export function doesNotApply(reasons) {
    const codes = (reasons ?? []).map(reason => reason.code ?? reason.Code);
    // Without a GPU, other missing requirements do not matter.
    if (codes.includes("no-gpu"))
        return true;
    return codes.some(code => FOR_OTHERS.includes(code)) && codes.every(code => FOR_OTHERS.includes(code) || OPEN.includes(code));
}

/** The values without duplicates, in the original order. */
export function unique(values) {
    return [...new Set(values)];
}

/** Text without characters that a shell or systemd treats specially. zsh treats "=" specially at the start and after ":". */
const SAFE = /^(?![=])(?!.*:[=])[A-Za-z0-9_%+,./:=@-]*$/;

/** Replacements in a word between single quotes that a shell, systemd and fish all understand. */
const QUOTED = { "'": "'\"'\"'", "\\": "'\"\\\\\"'" };

/** Whether a string can be a word of a command without quotes. */
export function isPlain(text) {
    return text !== "" && SAFE.test(text) && !text.startsWith("-");
}

/** Variables as lines for a shell or an environment file of systemd, quoted as by gpuprobectl env (explain/phrase.h). */
export function settings(variables) {
    return Object.entries(variables ?? {}).filter(([, value]) => printable(value) === value)
        .map(([name, value]) => `${name}=${SAFE.test(value) ? value : `'${value.replace(/['\\]/g, quote => QUOTED[quote])}'`}`);
}

/** The sentences of findings. Each key consists of the id of a finding, which is also the code of a reason, and the id of a device. */
const sentences = new Map();

/** Stores the sentences of findings, because the reasons in the report have only a code. */
export function learnFindings(findings) {
    for (const { id, text, gpus } of findings ?? [])
        for (const gpu of gpus)
            sentences.set(`${id} ${gpu}`, text);
}

/** The text of a fix without the commands at its end. */
function wordsOf(fix, commands) {
    const end = commands.join(" && ");
    if (!end || !fix.endsWith(end))
        return fix;
    return fix.slice(0, -end.length).replace(/: $/, "");
}

/**
 * A fix with a button for each of its commands. The commands come from the daemon; the page does not extract commands
 * from sentences.
 */
export function fixNode(text, commands = []) {
    const words = wordsOf(text, commands);
    // Style sheets capitalize the first letter of a sentence, but not of a command: "docker run --gpus all … for NVIDIA".
    const isCommand = /^\S+ (\S+ )?-/.test(words);
    return h("div", { class: "fix" },
        words ? h("p", { class: isCommand ? "" : "words" }, words) : null,
        commands.map(one => copyable(one, cockpit.format(_("the command: $0"), one))));
}

/** A copy of a record with sorted keys at every depth, so that equal records have the same JSON. */
function ordered(value) {
    if (Array.isArray(value))
        return value.map(ordered);
    if (value && typeof value === "object")
        return Object.fromEntries(Object.keys(value).sort().map(key => [key, ordered(value[key])]));
    return value;
}

const known = new Map();
const name = (code, detail) => `${code} ${JSON.stringify(ordered(detail ?? {}))}`;

/** Stores the sentences of reasons from the bus, because the reasons in the report have only a code and a detail. */
export function learn(reasons) {
    for (const reason of reasons ?? [])
        known.set(name(reason.Code, reason.Detail), { text: reason.Text, fix: reason.Fix ?? "", commands: reason.Commands ?? [] });
}

/**
 * {text, fix, commands} for a reason in the report, about `device` if `device` is given. If no sentence is known, `text`
 * is the code.
 */
export function inWords(reason, device = "") {
    return known.get(name(reason.code, reason.detail)) ??
        { text: sentences.get(`${reason.code} ${device}`) ?? reason.code.replaceAll("-", " "), fix: "", commands: [] };
}
