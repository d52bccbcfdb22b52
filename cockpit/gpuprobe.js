// SPDX-License-Identifier: Apache-2.0
// The page: reads the report of the daemon and draws it, and repeats both after each signal about a change.

import { announce, draw, h } from "./dom.js";
import { gpuList, label, learn, learnFindings, list } from "./words.js";
import { acceleratorsNode, gpusNode, machineNode } from "./gpus.js";
import { absenceNode } from "./absence.js";
import { choiceSection, installSection } from "./choice.js";
import { fitSection } from "./fit.js";
import { helpsNode } from "./helps.js";
import { measuredNode, measurements } from "./measured.js";
import * as bus from "./bus.js";

const _ = cockpit.gettext;

/** A change of hardware causes several signals, which the page handles together after this time. */
const SETTLE_MS = 100;
/** The interval at which the page reads the free memory while the page is visible. */
const MEMORY_MS = 15000;
const RETRY_MS = 5000;
const SECTIONS = ["helps", "gpus", "accelerators", "choice", "install", "fit", "measured", "machine"];

/** The latest answers of the daemon; null before the first answer. */
const state = { report: null, told: null, objects: {}, manager: {}, choice: null, findings: null, now: {}, isBusy: false };
let isLoading = false;
let isStale = false;
let isPainted = false;
let settling = 0;
let retrying = 0;
let refreshChoice = null;
let refreshInstall = null;
let refreshFit = null;

let idOf = {};

/** GPUs and partitions by the object paths in answers. Partitions have paths, but are not objects on the bus. */
function machine() {
    const gpus = state.report.gpus.map(({ id, name }) => ({ id, name }));
    const ids = { ...idOf };
    for (const object of Object.values(state.objects))
        for (const [path, partition] of Object.entries(object.Partitions ?? {})) {
            ids[path] = partition.Id;
            const words = [object.Title || object.Name, partition.Profile ?? partition.Name];
            gpus.push({ id: partition.Id, name: words.filter(Boolean).join(" ") });
        }
    return { gpus, ids };
}

function keepObjects(objects) {
    idOf = Object.fromEntries(Object.entries(objects).map(([path, object]) => [path, object.Id]));
    state.objects = Object.fromEntries(Object.values(objects).map(object => [object.Id, object]));
    // Older daemons do not have the property Apis.
    for (const object of Object.values(objects))
        for (const view of [...Object.values(object.Backends), ...Object.values(object.Apis ?? {})])
            learn(view.Reasons);
}

/** The report with marketing names of GPUs. */
function titled(report) {
    return { ...report, gpus: report.gpus.map(gpu => ({ ...gpu, name: state.objects[gpu.id]?.Title || gpu.name })) };
}

function headline() {
    const { gpus } = state.report;
    const count = gpus.length ? cockpit.format(cockpit.ngettext("$0 GPU", "$0 GPUs", gpus.length), gpus.length) : _("No GPUs");
    const works = gpus.some(gpu => Object.values(gpu.backends).some(view => view.usable));
    const doubt = cockpit.ngettext("no backend is known to work on it", "no backend is known to work on them", gpus.length);
    return [count, gpus.length && !works ? doubt : "", choiceWords()].filter(Boolean).join(" · ");
}

/** The default choice as text: "default: CUDA on 4 x NVIDIA H200"; "" before the daemon has chosen. */
function choiceWords() {
    if (!state.choice)
        return "";
    if (!state.choice.Backend)
        return _("no default: no backend can be used");
    const { gpus: all, ids } = machine();
    const names = gpuList((state.choice.Gpus ?? []).map(path => ids[path] ?? path), all);
    return cockpit.format(names ? _("default: $0 on $1") : _("default: $0"), label(state.choice.Backend), names);
}

async function act(words, stage) {
    state.isBusy = true;
    drawSummary();
    announce(words);
    try {
        await bus.probe(stage);
        announce(_("Done."));
    } catch (error) {
        announce(error.message);
    }
    state.isBusy = false;
    drawSummary();
}

function actionButton(id, words, news, stage) {
    return h("button", { id, type: "button", disabled: state.isBusy, click: () => act(news, stage) }, words);
}

function drawSummary() {
    const isReplay = state.report?.source === "replay";
    const text = state.report ? headline() : "";
    draw("summary", [text, isReplay, state.isBusy], () => [
        h("div", {}, h("h1", { id: "page-title" }, _("GPUs")), h("p", { id: "headline" }, text)),
        state.report && !isReplay ? h("div", { class: "buttons" },
            actionButton("ask", _("Query drivers again"), _("Querying the drivers"), "query"),
            actionButton("measure", _("Measure"), _("Measuring the GPUs"), "measure")) : null,
    ]);
}

function save(content, type, name) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    h("a", { href: address, download: name }).click();
    window.setTimeout(() => URL.revokeObjectURL(address), 60000);
}

async function saveCapture(event) {
    const button = event.target;
    button.disabled = true;
    announce(_("Capturing the machine"));
    try {
        save(await bus.capture(), "application/gzip", "gpuprobe-capture.tar.gz");
        announce(_("The capture is ready."));
    } catch (error) {
        announce(cockpit.format(_("The capture failed: $0"), error.message));
    }
    button.disabled = false;
}

function downloads() {
    return [
        h("button", { id: "capture", type: "button", click: saveCapture }, _("Download a capture")),
        h("button", { id: "save-report", type: "button", click: () =>
            save(JSON.stringify(state.told, null, 2), "application/json", "gpuprobe-report.json") }, _("Download the report")),
    ];
}

/** A GPU without the ages of its data, which differ in each report and would cause a redraw. */
function steady(gpu) {
    return { ...gpu, apis: Object.entries(gpu.apis).map(([name, view]) => [name, { ...view, age_usec: 0 }]) };
}

function drawMachine() {
    const { report, objects, now, findings } = state;
    drawSummary();
    const gpus = report.gpus.map(steady);
    const isInWords = [state.choice !== null, findings];
    draw("helps", [gpus, isInWords], () => helpsNode(report, findings));
    draw("gpus", [gpus, objects, now, isInWords], () => gpusNode(report, objects, now));
    draw("accelerators", [report.accelerators, isInWords], () => acceleratorsNode(report.accelerators));
    draw("measured", measurements(report), () => measuredNode(report));
    draw("machine", [report.host, report.software, report.quarantine, state.manager.Version], () =>
        machineNode(report, state.manager.Version, downloads()));
}

function tellChanges(before) {
    if (!before)
        return;
    const name = gpu => gpu.name ?? gpu.id;
    const added = state.report.gpus.filter(gpu => !before.gpus.some(one => one.id === gpu.id)).map(name);
    const gone = before.gpus.filter(gpu => !state.report.gpus.some(one => one.id === gpu.id)).map(name);
    if (added.length)
        announce(cockpit.format(_("Added: $0"), list(added)));
    else if (gone.length)
        announce(cockpit.format(_("Removed: $0"), list(gone)));
}

/** Draws the sections that contain a list of applications, once for each start of the daemon. */
async function drawQuestions() {
    const applications = await bus.applications().catch(() => [{ Name: "default", Backends: ["cpu"], Variants: [] }]);
    const namesWith = part => applications.filter(application => application[part].length).map(application => application.Name);
    refreshChoice = choiceSection(namesWith("Backends"));
    refreshInstall = installSection(namesWith("Variants"));
    refreshFit = fitSection();
}

async function readMoment() {
    const read = {};
    await Promise.all(Object.entries(idOf).map(async ([path, id]) => {
        const [memory, power] = await Promise.all([bus.memory(path).catch(() => null), bus.powerState(path).catch(() => "")]);
        read[id] = { Free: memory?.Free ?? null, power };
    }));
    state.now = read;
    if (state.report)
        drawMachine();
}

/** Marks the time of the first frame with data. */
function markPaint() {
    if (isPainted)
        return;
    isPainted = true;
    window.requestAnimationFrame(() => window.setTimeout(() => performance.mark("gpuprobe-data"), 0));
}

/** Draws the report first, and then the answers that take longer. */
async function load() {
    const before = state.report;
    const [report, objects, manager] = await Promise.all([bus.report(), bus.objects(), bus.manager()]);
    keepObjects(objects);
    Object.assign(state, { report: titled(report), told: report, manager });
    draw("trouble", "", () => null);
    drawMachine();
    tellChanges(before);
    markPaint();
    const [choice, findings] = await Promise.all([bus.select("default").catch(() => null), bus.findings().catch(() => null)]);
    Object.assign(state, { choice, findings });
    learnFindings(findings);
    for (const candidate of choice?.Candidates ?? [])
        learn(candidate.Reasons);
    drawMachine();
    if (!refreshChoice)
        await drawQuestions();
    await Promise.all([refreshChoice(machine()), refreshInstall(machine()), refreshFit(), readMoment()]);
}

async function reload() {
    if (isLoading) {
        isStale = true;
        return;
    }
    isLoading = true;
    markBusy();
    try {
        do {
            isStale = false;
            await load();
        } while (isStale);
    } catch (error) {
        absent(error);
    }
    isLoading = false;
    markBusy();
}

/** Tells screen readers whether more of the page is still to come. */
function markBusy() {
    document.querySelector("main").setAttribute("aria-busy", isLoading);
}

/** Explains why the daemon does not answer, and calls it again after some time. */
async function absent(error) {
    state.report = null;
    refreshChoice = null;
    for (const id of SECTIONS)
        draw(id, null, () => null);
    drawSummary();
    window.clearTimeout(retrying);
    retrying = window.setTimeout(start, RETRY_MS);
    const service = await bus.serviceState();
    if (!state.report)
        drawAbsence(service, !error || bus.isAbsence(error) ? "" : error.message);
}

function drawAbsence(service, message) {
    draw("trouble", [service, message], () => absenceNode(service, message));
}

function changed() {
    window.clearTimeout(settling);
    settling = window.setTimeout(reload, SETTLE_MS);
}

function start() {
    window.clearTimeout(retrying);
    bus.connect(changed, isThere => isThere ? changed() : absent(null));
    reload();
}

window.setInterval(() => {
    if (state.report && document.visibilityState === "visible")
        readMoment();
}, MEMORY_MS);
document.documentElement.lang = cockpit.language || "en";
document.title = _("GPUs");
cockpit.transport.wait(start);
