// SPDX-License-Identifier: Apache-2.0
// The hardware: a card for each kind of GPU, the accelerators, and the machine itself.

import { bar, copyable, facts, h, isWide, mark, table, title } from "./dom.js";
import { doesNotApply, fixNode, inWords, isPlain, label, list, settings, size, times, unique, utc } from "./words.js";

const _ = cockpit.gettext;

const safeId = text => text.replace(/[^A-Za-z0-9]/g, "-");

/**
 * Total and free memory, computed as in offered_memory() of report/report.cpp. `now`: the answer of GetMemory, or
 * undefined.
 */
function memoryOf(gpu, now) {
    const { kind, physical, allocatable, free } = gpu.memory;
    const total = (kind === "carveout" ? null : physical) ?? allocatable ?? null;
    return { kind, total, free: now?.Free ?? free ?? null };
}

/** Memory of one GPU, or of all GPUs of a card together; unknown if the memory of any GPU is unknown. */
function memoryTogether(gpus, now) {
    const all = gpus.map(gpu => memoryOf(gpu, now[gpu.id]));
    const sum = key => all.reduce((before, one) => before === null || one[key] === null ? null : before + one[key], 0);
    return { kind: all[0].kind, total: sum("total"), free: sum("free") };
}

const isShared = kind => kind === "unified" || kind === "carveout";

function memoryNode({ kind, total, free }) {
    if (total === null)
        return h("p", { class: "faint" }, _("The GPU's memory size is unknown."));
    if (free === null)
        return h("p", {}, cockpit.format(isShared(kind) ? _("Memory: $0 of the machine's memory") : _("Memory: $0"), size(total)));
    const used = Math.max(0, total - free);
    const sentence = isShared(kind) ? _("$0 of $1 of the machine's memory in use") : _("$0 of $1 in use");
    const words = cockpit.format(sentence, size(used), size(total));
    const share = used / total;
    return h("div", { class: "memory" },
        h("div", { class: "line" }, h("span", {}, _("Memory")), h("span", {}, words)),
        bar(used, total, cockpit.format(_("$0, $1 free"), words, size(free)), share > 0.9 ? "bad" : share > 0.75 ? "unsure" : ""));
}

const OTHER_VENDOR = "vendor-mismatch";
const isForOthers = view => view.usable === false && view.reasons.length > 0 && view.reasons.every(reason => reason.code === OTHER_VENDOR);

/**
 * The color of a backend: green if it is usable, red if it is not usable, gray if it cannot apply to this GPU, yellow if
 * its state is not known.
 */
function tone(view) {
    if (view.usable === null)
        return "unsure";
    if (view.usable)
        return "good";
    return doesNotApply(view.reasons) ? "plain" : "bad";
}

function backendWords(view) {
    if (view.usable === null)
        return _("not known");
    if (!view.usable)
        return _("not usable");
    return view.verified ? _("usable, verified") : _("usable");
}

function backendNode([name, view]) {
    return h("li", { class: "chip", title: backendWords(view) }, mark(tone(view), label(name)),
        h("span", { class: "off-screen" }, `: ${backendWords(view)}`));
}

/**
 * A collapsed list: `summary` names the backends, and each sentence below names the backends to which it applies; null
 * without backends.
 */
function reasonsNode(id, summary, views, isOpen) {
    const said = new Map();
    for (const [name, view] of views)
        for (const reason of view.reasons) {
            const { text } = inWords(reason);
            said.set(text, unique([...said.get(text) ?? [], label(name)]));
        }
    return said.size ? h("details", { id, open: isOpen },
        h("summary", {}, cockpit.format(summary, list(views.map(([name]) => label(name))))),
        h("ul", { class: "plain" }, [...said].map(([text, names]) => h("li", {}, h("strong", {}, `${list(names)}: `), text)))) : null;
}

/** The reasons why backends are not usable, or why their state is not known. */
function whyNotNode(gpu, own) {
    const isUnused = !Object.values(gpu.backends).some(view => view.usable);
    const place = safeId(gpu.id);
    return [
        reasonsNode(`not-usable-${place}`, _("Not usable: $0"), own.filter(([, view]) => view.usable === false), isUnused),
        reasonsNode(`not-known-${place}`, _("Not known: $0"), own.filter(([, view]) => view.usable === null), isUnused),
    ];
}

/** The usable, unusable and unknown backends, in this order; a gray line lists the backends that do not apply. */
function backendsNode(gpu) {
    const entries = Object.entries(gpu.backends);
    const rank = view => view.usable ? 0 : view.usable === false ? 1 : 2;
    const own = entries.filter(([, view]) => !isForOthers(view)).sort(([, a], [, b]) => rank(a) - rank(b));
    const others = entries.filter(([, view]) => isForOthers(view)).map(([name]) => label(name));
    return [
        own.length ? h("ul", { class: "chips", "aria-label": _("Backends") }, own.map(backendNode)) : null,
        own.some(([, view]) => view.usable !== false) ? null : h("p", {}, _("No backend is known to work on it.")),
        others.length ? h("p", { class: "faint" }, cockpit.format(_("$0: not for GPUs from this vendor"), list(others))) : null,
        whyNotNode(gpu, own),
    ];
}

const driverText = driver => [driver?.name, driver?.version, driver?.flavour ? `(${driver.flavour})` : ""].filter(Boolean).join(" ");

function apiRow([name, view]) {
    const device = view.device ?? {};
    const why = unique(view.reasons.map(reason => inWords(reason).text)).join("; ");
    const tone = view.outcome === "answered" ? "good" : view.outcome === "absent" ? "plain" : "bad";
    return [label(name), mark(tone, view.outcome), view.version ?? "", device.name ?? device.device_name ?? "",
        Number.isFinite(device.memory?.total) ? size(device.memory.total) : "", view.driver ?? "", why];
}

function apisNode(gpu) {
    const answered = view => view.outcome === "answered" ? 0 : 1;
    const rows = Object.entries(gpu.apis).sort(([, a], [, b]) => answered(a) - answered(b)).map(apiRow);
    if (!rows.length)
        return null;
    const caption = cockpit.format(_("Report of each API about $0"), gpu.id);
    return h("details", { id: `apis-${safeId(gpu.id)}` },
        h("summary", {}, _("Report of each API")),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
            table(caption, [_("API"), _("Outcome"), _("Version"), _("Name"), _("Memory"), _("Driver"), _("Because")], rows)));
}

// The order in which gpuprobectl shows the main codecs (kMainCodecs in report/video.h). Other codecs are shown only if these are missing.
const MAIN_CODECS = ["h264", "hevc", "vp9", "av1"];

/** The codecs of these formats: "decode h264 hevc · encode none"; null without formats. `lacks` has directions without any codec. */
function codecText(entries, lacks) {
    const codecs = direction => {
        const all = unique(entries.filter(entry => entry.direction === direction && entry.codec).map(entry => entry.codec)).sort();
        const main = MAIN_CODECS.filter(codec => all.includes(codec));
        return (main.length ? main : all).join(" ");
    };
    const known = direction => codecs(direction) || (lacks.includes(direction) ? _("none") : "");
    const parts = [[_("decode $0"), known("decode")], [_("encode $0"), known("encode")]].filter(([, names]) => names);
    return entries.length ? parts.map(([sentence, names]) => cockpit.format(sentence, names)).join(" · ") : null;
}

const formatsIn = video => Array.isArray(video) ? video : [];

function videoText(gpu) {
    return codecText(Object.values(gpu.apis).flatMap(view => formatsIn(view.device?.video)), gpu.lacks_video ?? []);
}

function partitionNode(partition) {
    const total = partition.memory?.total ?? partition.memory;
    const free = partition.memory?.free ?? null;
    const name = [partition.name, partition.profile, partition.state].filter(Boolean).join(" · ");
    const known = Number.isFinite(total);
    const words = !known ? "" : free === null ? size(total) : cockpit.format(_("$0, $1 free"), size(total), size(free));
    return h("li", {},
        h("div", { class: "line" }, h("strong", {}, name), h("span", {}, words)),
        known && free !== null ? bar(total - free, total, `${name}: ${words}`) : null,
        partition.uuid ?? partition.node ? h("code", { class: "faint" }, partition.uuid ?? partition.node) : null);
}

/** The number of partitions that programs use instead of the GPU; if there are none, the number of unusable partitions. */
function partitionsSummary(partitions) {
    const usable = partitions.filter(partition => !partition.state).length;
    const number = usable || partitions.length;
    return cockpit.format(usable ? cockpit.ngettext("Divided into $0 partition", "Divided into $0 partitions", number)
        : cockpit.ngettext("$0 partition that programs cannot use", "$0 partitions that programs cannot use", number), number);
}

/** A list of MIG instances, other partitions and virtual functions. */
function partitionsNode(gpu) {
    const partitions = gpu.partitions;
    if (!partitions.length)
        return null;
    return h("details", { id: `partitions-${safeId(gpu.id)}`, open: partitions.length <= 8 },
        h("summary", {}, partitionsSummary(partitions)),
        h("ul", { class: "plain" }, partitions.map(partitionNode)));
}

function environmentNode(gpu, object) {
    const lines = settings(object?.Environment);
    if (!lines.length)
        return null;
    return h("details", { id: `environment-${safeId(gpu.id)}` },
        h("summary", {}, _("Variables that restrict programs to this GPU")),
        copyable(lines.join("\n"), _("the variables")));
}

function findingsNode(gpu) {
    const words = unique(gpu.findings.map(finding => inWords(finding, gpu.id).text));
    return words.length ? h("p", {}, mark("warning", words.join("; "))) : null;
}

/** The data that the page shows about a GPU, except its id, memory in use, power and variables. */
function looks(gpu) {
    const views = Object.entries(gpu.backends).map(([name, { usable, verified, reasons }]) => [name, usable, Boolean(verified), reasons]);
    const { kind, total } = memoryOf(gpu);
    return JSON.stringify([gpu.name ?? gpu.id, gpu.kind, gpu.driver, gpu.architecture, kind, total, gpu.findings, views,
        videoText(gpu), gpu.partitions.length || isShared(kind) ? gpu.id : ""]);
}

/** Groups of devices that look alike: [[device, …], …]. Partitioned GPUs, and GPUs that share memory, are never grouped. */
function groups(devices, look) {
    const all = new Map();
    for (const device of devices)
        all.set(look(device), [...all.get(look(device)) ?? [], device]);
    return [...all.values()];
}

const powerOf = (gpu, objects, now) => now[gpu.id]?.power || objects[gpu.id]?.PowerState || gpu.power.runtime_status || "";

/** The details of one of several identical GPUs. */
function memberNode(gpu, objects, now) {
    return h("li", { class: "gpu" },
        h("div", { class: "line" }, h("strong", {}, gpu.id), h("span", { class: "faint" }, powerOf(gpu, objects, now))),
        memoryNode(memoryOf(gpu, now[gpu.id])),
        apisNode(gpu),
        environmentNode(gpu, objects[gpu.id]));
}

function membersNode(gpus, objects, now) {
    return h("details", { id: `members-${safeId(gpus[0].id)}` },
        h("summary", {}, _("Details of each of these GPUs")),
        h("ul", { class: "plain entries" }, gpus.map(gpu => memberNode(gpu, objects, now))));
}

function gpuCard(gpus, objects, now) {
    const [gpu] = gpus;
    const id = safeId(gpu.id);
    const isOne = gpus.length === 1;
    return h("article", { class: isOne ? "card gpu" : "card", "aria-labelledby": `name-${id}` },
        h("h2", { id: `name-${id}` }, times(gpus.length, gpu.name ?? gpu.id)),
        facts([
            [_("Id"), isOne && gpu.name ? gpu.id : null],
            [_("Kind"), gpu.kind],
            [_("Kernel driver"), driverText(gpu.driver) || _("none")],
            [_("Compute capability"), gpu.architecture.cuda_compute_capability],
            [_("Gfx target"), gpu.architecture.gfx_target],
            [_("Intel IP"), gpu.architecture.intel_ip],
            [_("Video"), videoText(gpu)],
            [_("Power"), list(unique(gpus.map(one => powerOf(one, objects, now))))],
        ]),
        findingsNode(gpu),
        memoryNode(memoryTogether(gpus, now)),
        partitionsNode(gpu),
        backendsNode(gpu),
        isOne ? [apisNode(gpu), environmentNode(gpu, objects[gpu.id])] : membersNode(gpus, objects, now));
}

/** `objects` and `now` are maps whose keys are ids of GPUs. `now` contains the free memory and the power state that were read last. */
export function gpusNode(report, objects, now) {
    if (!report.gpus.length)
        return h("p", { class: "card empty" },
            _("This machine has no GPU that the kernel lists. Programs compute on the CPU."));
    return h("div", { class: "cards" }, groups(report.gpus, looks).map(gpus => gpuCard(gpus, objects, now)));
}

const ACCELERATORS = { npu: _("NPU"), tpu: _("TPU"), training: _("training accelerator"), inference: _("inference accelerator"),
    vector: _("vector processor"), video: _("video codec") };

/** The name of a vendor: "AMD" for "amd", "Rockchip" for "rockchip". */
const makerOf = vendor => vendor.length <= 3 ? vendor.toUpperCase() : vendor[0].toUpperCase() + vendor.slice(1);

/** The name, or "AMD NPU" if the only known name is a number such as 1022:17f0. */
export function acceleratorName({ name, vendor, kind }) {
    if (name && !/^[0-9a-f]{4}:[0-9a-f]{4}$/i.test(name))
        return name;
    return [vendor ? makerOf(vendor) : "", ACCELERATORS[kind] ?? _("accelerator")].filter(Boolean).join(" ");
}

function acceleratorCard(accelerators) {
    const [accelerator] = accelerators;
    const id = `name-${safeId(accelerator.id)}`;
    const name = acceleratorName(accelerator);
    const words = unique((accelerator.findings ?? []).map(finding => inWords(finding, accelerator.id).text));
    return h("article", { class: "card", "aria-labelledby": id },
        h("h3", { id }, times(accelerators.length, name)),
        facts([
            [_("Id"), list(accelerators.map(one => one.id))],
            [_("Kind"), ACCELERATORS[accelerator.kind] ?? accelerator.kind],
            [_("Model number"), accelerator.name === name ? null : accelerator.name],
            [_("Kernel driver"), driverText(accelerator.driver) || _("none")],
            [_("Firmware"), accelerator.firmware],
            [_("Memory"), Number.isFinite(accelerator.memory) ? size(accelerator.memory) : null],
            [_("Video"), codecText(formatsIn(accelerator.video), [])],
            [_("Power"), accelerator.power?.runtime_status],
            [_("Health"), accelerator.health === "ok" ? mark("good", accelerator.health) : words.length ? null : accelerator.health],
        ]),
        words.length ? h("p", {}, mark("warning", words.join("; "))) : null);
}

const acceleratorLooks = ({ name, vendor, kind, driver, firmware, memory, video, power, health, findings }) =>
    JSON.stringify([name, vendor, kind, driver, firmware, memory, video, power?.runtime_status, health, findings]);

export function acceleratorsNode(accelerators) {
    if (!accelerators.length)
        return null;
    return [title("accelerators", _("Accelerators")),
        h("div", { class: "cards" }, groups(accelerators, acceleratorLooks).map(acceleratorCard))];
}

function softwareNode(software) {
    return software.length ? [
        h("h3", {}, _("Software implementations, never chosen as a GPU")),
        h("ul", {}, software.map(one => h("li", {}, h("strong", {}, label(one.api)), " ", one.name ?? _("unnamed")))),
    ] : null;
}

const HARM = {
    crashed: times => cockpit.ngettext("it crashed", "it crashed $0 times", times),
    "timed-out": times => cockpit.ngettext("it hung", "it hung $0 times", times),
    "machine-went-down": () => _("the machine went down while the driver was probed"),
    "daemon-went-down": times => cockpit.ngettext("the daemon went down while the driver was probed",
        "the daemon went down while the driver was probed $0 times", times),
};

/** The same text as in gpuprobectl status (explain/report_text.cpp). */
function quarantineWords({ api, driver, why, times, until_usec: until }) {
    const words = cockpit.format(HARM[why]?.(times) ?? why, times);
    return driver ? cockpit.format(_("$0: $1 is in quarantine until $2: $3"), label(api), driver, utc(until), words)
        : cockpit.format(_("$0: the driver is in quarantine until $1: $2"), label(api), utc(until), words);
}

function quarantineNode(quarantine) {
    return quarantine.length ? [
        h("h3", {}, _("Drivers in quarantine")),
        h("ul", { class: "plain entries" }, quarantine.map(entry => h("li", {}, h("p", {}, quarantineWords(entry)),
            isPlain(entry.api) ? fixNode(_("have gpuprobe probe the driver again"),
                [`gpuprobectl quarantine clear ${entry.api}`]) : null))),
    ] : null;
}

/** The machine as text: "linux 6.18.44 x86_64 · glibc 2.39 · kvm guest · docker container". */
function hostWords(host) {
    const libc = [host.libc?.name, host.libc?.version].filter(Boolean).join(" ");
    return [[host.os ?? "linux", host.kernel, host.arch].filter(Boolean).join(" "), libc,
        host.virtualization && !host.wsl ? cockpit.format(_("$0 guest"), host.virtualization) : "",
        host.container ? cockpit.format(_("$0 container"), host.container) : "",
        host.wsl ? "WSL" : ""].filter(Boolean).join(" · ");
}

/** The section about the machine. `downloads`: the buttons for downloads. */
export function machineNode(report, version, downloads) {
    const { host } = report;
    return [
        title("machine", _("This machine")),
        facts([
            [_("System"), hostWords(host)],
            [_("CPU"), host.cpu?.model],
            [_("Memory"), Number.isFinite(host.memory?.total) ? size(host.memory.total) : null],
            [_("Daemon"), version ? `gpuprobed ${version}` : null],
            [_("Report"), report.source === "replay" ? _("from a replay of a recorded machine, not from this machine") : null],
        ]),
        softwareNode(report.software),
        quarantineNode(report.quarantine),
        h("details", { id: "bug-report", open: isWide() },
            h("summary", {}, _("For a bug report")),
            h("p", {}, _("A capture contains everything that gpuprobe reads about this machine, without UUIDs and serial numbers.")),
            h("div", { class: "buttons" }, downloads)),
    ];
}
