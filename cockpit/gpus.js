// SPDX-License-Identifier: Apache-2.0
// What there is: a card for each GPU, accelerators, and what the machine itself is.

import { bar, copyable, facts, h, mark, table, title } from "./dom.js";
import { fixNode, inWords, isPlain, list, settings, size, unique, utc } from "./words.js";

const _ = cockpit.gettext;

const safeId = text => text.replace(/[^A-Za-z0-9]/g, "-");

/** How much of it there is (as report/report.cpp, offered_memory), and how much is used. `now`: what GetMemory said, or null. */
function memoryOf(gpu, now) {
    const { kind, physical, allocatable, free } = gpu.memory;
    const total = (kind === "carveout" ? null : physical) ?? allocatable ?? null;
    return { kind, total, free: now?.Free ?? free ?? null };
}

function memoryNode(gpu, now) {
    const { kind, total, free } = memoryOf(gpu, now);
    if (total === null)
        return h("p", { class: "faint" }, _("The size of its memory is not known."));
    const isShared = kind === "unified" || kind === "carveout";
    if (free === null)
        return h("p", {}, cockpit.format(isShared ? _("Memory: $0 of the machine's memory") : _("Memory: $0"), size(total)));
    const used = Math.max(0, total - free);
    const words = cockpit.format(isShared ? _("$0 of $1 of the machine's memory in use") : _("$0 of $1 in use"), size(used), size(total));
    const share = used / total;
    return h("div", { class: "memory" },
        h("div", { class: "line" }, h("span", {}, _("Memory")), h("span", {}, words)),
        bar(used, total, cockpit.format(_("$0, $1 free"), words, size(free)), share > 0.9 ? "bad" : share > 0.75 ? "unsure" : ""));
}

const OTHER_VENDOR = "vendor-mismatch";
const isForOthers = view => view.usable === false && view.reasons.length > 0 && view.reasons.every(reason => reason.code === OTHER_VENDOR);

const TONES = { true: "good", false: "bad", null: "unsure" };

function backendWords(view) {
    if (view.usable === null)
        return _("not known");
    if (!view.usable)
        return _("not usable");
    return view.verified ? _("usable, verified") : _("usable");
}

function backendNode([name, view]) {
    return h("li", { class: "chip", title: backendWords(view) }, mark(TONES[view.usable], name),
        h("span", { class: "off-screen" }, `: ${backendWords(view)}`));
}

/** `summary` with the backends, and below it each sentence with those that it is said of; null without any. */
function reasonsNode(id, summary, views, isOpen) {
    const said = new Map();
    for (const [name, view] of views)
        for (const reason of view.reasons) {
            const { text } = inWords(reason);
            said.set(text, unique([...said.get(text) ?? [], name]));
        }
    return said.size ? h("details", { id, open: isOpen },
        h("summary", {}, cockpit.format(summary, list(views.map(([name]) => name)))),
        h("ul", { class: "plain" }, [...said].map(([text, names]) => h("li", {}, h("strong", {}, `${list(names)}: `), text)))) : null;
}

/** Why not, and apart from it what nobody could say. */
function whyNotNode(gpu, own) {
    const isUnused = !Object.values(gpu.backends).some(view => view.usable);
    const place = safeId(gpu.id);
    return [
        reasonsNode(`not-usable-${place}`, _("Not usable: $0"), own.filter(([, view]) => view.usable === false), isUnused),
        reasonsNode(`not-known-${place}`, _("Not known: $0"), own.filter(([, view]) => view.usable === null), isUnused),
    ];
}

/** Backends that it has, cannot have now, and might have, in this order; those of other vendors in one line. */
function backendsNode(gpu) {
    const entries = Object.entries(gpu.backends);
    const rank = view => view.usable ? 0 : view.usable === false ? 1 : 2;
    const own = entries.filter(([, view]) => !isForOthers(view)).sort(([, a], [, b]) => rank(a) - rank(b));
    const others = entries.filter(([, view]) => isForOthers(view)).map(([name]) => name);
    return [
        own.length ? h("ul", { class: "chips", "aria-label": _("Backends") }, own.map(backendNode)) : null,
        own.length ? null : h("p", {}, _("Nothing is known to work on it.")),
        others.length && own.length
            ? h("p", { class: "faint" }, cockpit.format(_("$0: not for GPUs from this vendor"), list(others))) : null,
        whyNotNode(gpu, own),
    ];
}

const driverText = driver => [driver?.name, driver?.version, driver?.flavour ? `(${driver.flavour})` : ""].filter(Boolean).join(" ");

function apiRow([name, view]) {
    const device = view.device ?? {};
    const why = unique(view.reasons.map(reason => inWords(reason).text)).join("; ");
    const tone = view.outcome === "answered" ? "good" : view.outcome === "absent" ? "plain" : "bad";
    return [name, mark(tone, view.outcome), view.version ?? "", device.name ?? device.device_name ?? "",
        Number.isFinite(device.memory?.total) ? size(device.memory.total) : "", view.driver ?? "", why];
}

function apisNode(gpu) {
    const answered = view => view.outcome === "answered" ? 0 : 1;
    const rows = Object.entries(gpu.apis).sort(([, a], [, b]) => answered(a) - answered(b)).map(apiRow);
    if (!rows.length)
        return null;
    const caption = cockpit.format(_("What each API says about $0"), gpu.name ?? gpu.id);
    return h("details", { id: `apis-${safeId(gpu.id)}` },
        h("summary", {}, _("What each API says")),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
            table(caption, [_("API"), _("Outcome"), _("Version"), _("Name"), _("Memory"), _("Driver"), _("Because")], rows)));
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

/** MIG instances, partitions and virtual functions. */
function partitionsNode(gpu) {
    const partitions = gpu.partitions;
    if (!partitions.length)
        return null;
    return h("details", { id: `partitions-${safeId(gpu.id)}`, open: partitions.length <= 8 },
        h("summary", {}, cockpit.format(
            cockpit.ngettext("Divided into $0 partition", "Divided into $0 partitions", partitions.length), partitions.length)),
        h("ul", { class: "plain" }, partitions.map(partitionNode)));
}

function environmentNode(gpu, object) {
    const lines = settings(object?.Environment);
    if (!lines.length)
        return null;
    return h("details", { id: `environment-${safeId(gpu.id)}` },
        h("summary", {}, _("Variables that make programs use only this GPU")),
        copyable(lines.join("\n"), _("the variables")));
}

function findingsNode(gpu) {
    const words = unique(gpu.findings.map(finding => inWords(finding, gpu.id).text));
    return words.length ? h("p", {}, mark("warning", words.join("; "))) : null;
}

function gpuCard(gpu, object, now) {
    const id = safeId(gpu.id);
    const power = now?.power || object?.PowerState || gpu.power.runtime_status;
    return h("article", { class: "card", "aria-labelledby": `name-${id}` },
        h("h3", { id: `name-${id}` }, gpu.name ?? gpu.id),
        facts([
            [_("Id"), gpu.id],
            [_("Kind"), gpu.kind],
            [_("Kernel driver"), driverText(gpu.driver) || _("none")],
            [_("Compute capability"), gpu.architecture.cuda_compute_capability],
            [_("Gfx target"), gpu.architecture.gfx_target],
            [_("Intel IP"), gpu.architecture.intel_ip],
            [_("Power"), power],
        ]),
        findingsNode(gpu),
        memoryNode(gpu, now),
        partitionsNode(gpu),
        backendsNode(gpu),
        apisNode(gpu),
        environmentNode(gpu, object));
}

/** `objects` by GPU id; `now` by GPU id: what was read last of memory and power. */
export function gpusNode(report, objects, now) {
    if (!report.gpus.length)
        return [title("gpus", _("GPUs")), h("p", { class: "empty" },
            _("This machine has no GPU, or none that the kernel shows. Programs compute on the CPU."))];
    return [title("gpus", _("GPUs")),
        h("div", { class: "cards" }, report.gpus.map(gpu => gpuCard(gpu, objects[gpu.id], now[gpu.id])))];
}

function acceleratorCard(accelerator) {
    const name = `name-${safeId(accelerator.id)}`;
    const words = unique((accelerator.findings ?? []).map(finding => inWords(finding, accelerator.id).text));
    return h("article", { class: "card", "aria-labelledby": name },
        h("h3", { id: name }, accelerator.name ?? accelerator.id),
        facts([
            [_("Id"), accelerator.id],
            [_("Kind"), accelerator.kind],
            [_("Kernel driver"), driverText(accelerator.driver) || _("none")],
            [_("Firmware"), accelerator.firmware],
            [_("Memory"), Number.isFinite(accelerator.memory) ? size(accelerator.memory) : null],
            [_("Power"), accelerator.power?.runtime_status],
            [_("Health"), accelerator.health === "ok" ? mark("good", accelerator.health) : words.length ? null : accelerator.health],
        ]),
        words.length ? h("p", {}, mark("warning", words.join("; "))) : null);
}

export function acceleratorsNode(accelerators) {
    if (!accelerators.length)
        return null;
    return [title("accelerators", _("Accelerators")), h("div", { class: "cards" }, accelerators.map(acceleratorCard))];
}

function softwareNode(software) {
    return software.length ? [
        h("h3", {}, _("Software implementations, never chosen as a GPU")),
        h("ul", {}, software.map(one => h("li", {}, h("strong", {}, one.api), " ", one.name ?? _("unnamed")))),
    ] : null;
}

const HARM = {
    crashed: times => cockpit.ngettext("it crashed", "it crashed $0 times", times),
    "timed-out": times => cockpit.ngettext("it hung", "it hung $0 times", times),
    "machine-went-down": () => _("the machine went down while it was asked"),
    "daemon-went-down": times => cockpit.ngettext("the daemon went down while it was asked",
        "the daemon went down while it was asked $0 times", times),
};

/** As gpuprobectl status has it (explain/report_text.cpp). */
function quarantineWords({ api, driver, why, times, until_usec: until }) {
    const words = cockpit.format(HARM[why]?.(times) ?? why, times);
    return driver ? cockpit.format(_("$0: $1 is in quarantine until $2: $3"), api, driver, utc(until), words)
        : cockpit.format(_("$0: the driver is in quarantine until $1: $2"), api, utc(until), words);
}

function quarantineNode(quarantine) {
    return quarantine.length ? [
        h("h3", {}, _("Drivers in quarantine")),
        h("ul", { class: "plain entries" }, quarantine.map(entry => h("li", {}, h("p", {}, quarantineWords(entry)),
            isPlain(entry.api) ? fixNode(cockpit.format(_("have it asked again: gpuprobectl quarantine clear $0"), entry.api)) : null))),
    ] : null;
}

/** "linux 6.18.44 x86_64 · glibc 2.39 · kvm guest · docker container". */
function hostWords(host) {
    const libc = [host.libc?.name, host.libc?.version].filter(Boolean).join(" ");
    return [[host.os ?? "linux", host.kernel, host.arch].filter(Boolean).join(" "), libc,
        host.virtualization && !host.wsl ? cockpit.format(_("$0 guest"), host.virtualization) : "",
        host.container ? cockpit.format(_("$0 container"), host.container) : "",
        host.wsl ? "WSL" : ""].filter(Boolean).join(" · ");
}

/** `downloads`: buttons. */
export function machineNode(report, version, downloads) {
    const { host } = report;
    return [
        title("machine", _("This machine")),
        facts([
            [_("System"), hostWords(host)],
            [_("CPU"), host.cpu?.model],
            [_("Memory"), Number.isFinite(host.memory?.total) ? size(host.memory.total) : null],
            [_("Daemon"), version ? `gpuprobed ${version}` : null],
            [_("Report"), report.source === "replay" ? _("from replay: a recorded machine, not this one") : null],
        ]),
        softwareNode(report.software),
        quarantineNode(report.quarantine),
        h("h3", {}, _("For a bug report")),
        h("p", {}, _("A capture is what the kernel and the drivers say about this machine, without UUIDs and serial numbers.")),
        h("div", { class: "buttons" }, downloads),
    ];
}
