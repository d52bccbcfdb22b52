// SPDX-License-Identifier: Apache-2.0
// Problems that keep a GPU from being used, with fixes: the doctor's findings, and reasons of unused backends that no
// finding covers.

import { h, mark, title } from "./dom.js";
import { fixNode, gpuList, inWords, label, unique } from "./words.js";

const _ = cockpit.gettext;

const isUsed = gpu => Object.values(gpu.backends).some(view => view.usable);

const TONES = { error: "bad", warning: "warning", notice: "plain", info: "plain" };

/** The entries of the section, one for each sentence and fix: {text, fix, tone, about: ids of GPUs, backends}. */
function together(entries) {
    const all = new Map();
    for (const entry of entries) {
        const key = `${entry.text}\n${entry.fix}`;
        const one = all.get(key) ?? { ...entry, about: [] };
        one.about = unique([...one.about, ...entry.about]);
        one.backends = unique([...one.backends, ...entry.backends]);
        all.set(key, one);
    }
    return [...all.values()];
}

/** An unknown backend is not a problem if the GPU works with another backend. */
function needsHelp(gpu, view) {
    return view.usable === false || (view.usable === null && !isUsed(gpu));
}

/** `told` contains the codes of the reasons that a finding already explains. */
function ofReasons(report, told) {
    const entries = [];
    for (const gpu of report.gpus)
        for (const [backend, view] of Object.entries(gpu.backends))
            for (const reason of needsHelp(gpu, view) ? view.reasons : []) {
                const { text, fix, commands } = inWords(reason);
                const tone = view.usable === false ? "warning" : "plain";
                if (fix && !told.has(reason.code))
                    entries.push({ text, fix, commands, tone, about: [gpu.id], backends: [label(backend)] });
            }
    return together(entries);
}

function ofFindings(findings) {
    return together(findings.map(finding => ({
        text: finding.text, fix: finding.fix, commands: finding.commands, tone: TONES[finding.severity] ?? "plain",
        about: finding.gpus, backends: [],
    })));
}

function entryNode({ text, fix, commands, tone, about, backends }, gpus) {
    const subject = [backends.join(", "), gpuList(about, gpus)].filter(Boolean).join(" · ");
    const words = [subject ? h("strong", {}, `${subject}: `) : null, text];
    return h("li", {}, h("p", {}, mark(tone, words)), fix ? fixNode(fix, commands) : null);
}

/** `findings`: the findings of the doctor, or null if they are not known. */
export function helpsNode(report, findings) {
    const found = ofFindings((findings ?? []).filter(finding => finding.fix || finding.severity === "error"));
    const entries = [...found, ...ofReasons(report, new Set((findings ?? []).map(finding => finding.id)))];
    if (!entries.length)
        return null;
    return [title("helps", _("What helps")), h("ul", { class: "plain entries" }, entries.map(entry => entryNode(entry, report.gpus)))];
}
