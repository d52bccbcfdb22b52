// SPDX-License-Identifier: Apache-2.0
// Which backend an application should use, and which variant of an application to install: the daemon's decisions, with reasons.

import { copyable, draw, facts, h, mark, sentence, table, title } from "./dom.js";
import { doesNotApply, fixNode, gpuList, label, learn, settings, unique } from "./words.js";
import * as bus from "./bus.js";

const _ = cockpit.gettext;

const GIB = 1024 ** 3;
const VERDICTS = { accepted: ["good", _("can be used")], rejected: ["bad", _("rejected")], uncertain: ["unsure", _("uncertain")],
    unknown: ["unsure", _("unknown")] };

/** The mark of a verdict. The mark is gray if the candidate is for other hardware, because nothing is wrong then. */
function verdictMark(word, reasons) {
    if (word === "rejected" && doesNotApply(reasons))
        return mark("plain", _("does not apply"));
    const [tone, words] = VERDICTS[word] ?? ["plain", word];
    return mark(tone, words);
}

function texts(reasons) {
    return unique((reasons ?? []).map(reason => reason.Text)).join("; ");
}

/** A list of all fixes of the candidates, without duplicates. */
function fixesNode(candidates) {
    const reasons = candidates.flatMap(candidate => candidate.Reasons ?? []).filter(reason => reason.Fix);
    const fixes = new Map(reasons.map(reason => [reason.Fix, reason.Commands ?? []]));
    const nodes = [...fixes].map(([fix, commands]) => h("li", {}, fixNode(fix, commands)));
    return nodes.length ? h("ul", { class: "plain entries" }, nodes) : null;
}

/** A collapsed section with details that most users do not need; null if there are no details. */
function folded(id, summary, ...content) {
    return content.some(Boolean) ? h("details", { id }, h("summary", {}, summary), content) : null;
}

function environmentNode(id, environment) {
    const lines = settings(environment);
    return lines.length ? folded(id, _("Environment variables"), copyable(lines.join("\n"), _("the variables"))) : null;
}

function warningsNode(warnings) {
    return unique((warnings ?? []).map(warning => warning.Text)).map(text => h("p", {}, mark("warning", text)));
}

/** The rows of the table of candidates. Candidates with the same backend, verdict and reasons share a row. */
function candidateRows(candidates, machine) {
    const rows = new Map();
    for (const { Backend, Gpu, Also, Verdict, Reasons } of candidates) {
        const key = JSON.stringify([Backend, Verdict, texts(Reasons)]);
        const row = rows.get(key) ?? { Backend, Verdict, Reasons, ids: [] };
        for (const path of [Gpu, ...Also ?? []].filter(Boolean))
            row.ids.push(machine.ids[path] ?? path);
        rows.set(key, row);
    }
    return [...rows.values()].map(row => [label(row.Backend), row.ids.length ? gpuList(row.ids, machine.gpus) : "–",
        verdictMark(row.Verdict, row.Reasons), texts(row.Reasons)]);
}

/** Sentences about a choice: the first for a choice without GPUs, the second for a choice with GPUs. */
const CHOSEN = [_("$0"), _("$0 on $1")];
const UNCERTAIN = [_("$0, perhaps: some facts that this variant depends on are unknown"),
    _("$0 on $1, perhaps: some facts that this variant depends on are unknown")];
const BY_DEFAULT = [_("$0 by default: no variant is known to fit"), _("$0 on $1 by default: no variant is known to fit")];

/** A choice as text: "CUDA on 4 x NVIDIA H200". */
function onGpus([alone, withGpus], what, paths, machine) {
    const ids = (paths ?? []).map(path => machine.ids[path] ?? path);
    return cockpit.format(ids.length ? withGpus : alone, what, gpuList(ids, machine.gpus));
}

/** A sentence that names the published variant for which the answer is valid; nothing if the answer assumes no variant. */
function assumedNode(assumes) {
    if (!assumes?.Variant)
        return null;
    const words = assumes.Version ? _("for the published build $0 of version $1") : _("for the published build $0");
    return h("p", { class: "faint" }, cockpit.format(words, assumes.Variant, assumes.Version));
}

function choiceAnswer(answer, machine) {
    const rows = candidateRows(answer.Candidates, machine);
    const answers = Object.entries(answer.Answers ?? {});
    const headline = answer.Backend ? onGpus(CHOSEN, label(answer.Backend), answer.Gpus, machine) : _("Nothing matches.");
    return [
        h("p", { class: "answer" }, mark(answer.Backend ? "good" : "bad", headline)),
        assumedNode(answer.Assumes),
        warningsNode(answer.Warnings),
        environmentNode("choice-environment", answer.Environment),
        answers.length ? [h("h3", {}, _("Answers")), facts(answers)] : null,
        answer.Messages?.length
            ? [h("h3", {}, _("Messages from the application")), answer.Messages.map(message => h("p", {}, message))] : null,
        folded("choice-candidates", _("Candidates and reasons"),
            table(_("Every candidate, best first"), [_("Backend"), _("GPU"), _("Verdict"), _("Because")], rows),
            fixesNode(answer.Candidates)),
    ];
}

/** The addresses of an artifact or of a companion file, and the name of a package in an index. */
function addressNodes({ urls, ref, url }) {
    const isAddress = line => line.includes("/");
    const lines = [...(urls ?? []), ref, url].filter(Boolean);
    return [lines.filter(isAddress).map(line => copyable(line, _("the address"))),
        lines.filter(line => !isAddress(line)).map(line => h("p", {}, sentence(_("Package: $0"), h("code", {}, line))))].flat();
}

function artifactNode(artifact) {
    const lines = addressNodes(artifact ?? {});
    if (!lines.length)
        return null;
    const words = artifact.type ? cockpit.format(_("Where to get it ($0)"), artifact.type) : _("Where to get it");
    const companions = (artifact.companion_files ?? []).flatMap(addressNodes);
    return [h("h3", {}, words), lines, companions.length ? [h("h3", {}, _("Also required")), companions] : null];
}

/** Explains why no variant is recommended. */
function refusal(answer) {
    const closest = (answer.Warnings ?? []).find(warning => warning.Code === "closest-variant");
    if (answer.Status !== "no-platform")
        return mark("bad", closest ? cockpit.format(_("No variant fits; $0."), closest.Text) : _("No variant fits."));
    const isUnknown = (answer.Warnings ?? []).some(warning => warning.Code === "platform-unknown");
    return isUnknown ? mark("unsure", _("The platform of this machine is unknown, and builds differ between platforms."))
        : mark("bad", _("No variant supports this kind of machine."));
}

function installHeadline(answer, machine) {
    if (!answer.Variant)
        return refusal(answer);
    const sentences = answer.Status === "default-unverified" ? BY_DEFAULT : answer.Verdict === "uncertain" ? UNCERTAIN : CHOSEN;
    return mark(sentences === CHOSEN ? "good" : "unsure", onGpus(sentences, answer.Variant, answer.Gpus, machine));
}

/**
 * The rows of the table of variants. Consecutive variants with the same family, verdict and messages share a row. The
 * note of a variant for other hardware is left out, because the note does not help.
 */
function variantRows(candidates) {
    const rows = [];
    for (const { Variant, Family, Verdict, Reasons, Warnings, Note } of candidates) {
        const note = Verdict === "rejected" && doesNotApply(Reasons) ? "" : Note;
        const why = [texts(Reasons), texts(Warnings), note].filter(Boolean).join("; ");
        const before = rows[rows.length - 1];
        if (before?.Family === Family && before.Verdict === Verdict && before.why === why)
            before.names.push(Variant);
        else
            rows.push({ names: [Variant], Family, Verdict, Reasons, why });
    }
    return rows.map(({ names, Family, Verdict, Reasons, why }) => [names.join(", "), label(Family), verdictMark(Verdict, Reasons), why]);
}

function installAnswer(answer, machine) {
    return [
        h("p", { class: "answer" }, installHeadline(answer, machine)),
        h("p", { class: "faint" }, [answer.Application, answer.Version, answer.Platform].filter(Boolean).join(" · ")),
        answer.Hint ? h("p", {}, answer.Hint) : null,
        warningsNode(answer.Warnings),
        answer.Fallback?.length ? h("p", {}, cockpit.format(_("Then $0, if that fails."), answer.Fallback.join(", "))) : null,
        artifactNode(answer.Artifact),
        environmentNode("install-environment", answer.Environment),
        folded("install-candidates", _("Variants and reasons"),
            table(_("Every variant, best first"), [_("Variant"), _("Family"), _("Verdict"), _("Because")],
                variantRows(answer.Candidates)),
            fixesNode(answer.Candidates)),
    ];
}

/** Calls the daemon again when the user changes a control or the machine changes, and drops answers to earlier calls. */
class Question {
    constructor(id, ask, answerNode) {
        this.id = id;
        this.ask = ask;
        this.answerNode = answerNode;
        this.asked = 0;
    }

    /** `machine`: {gpus: [{id, name}], ids}, where `ids` maps object paths to ids; undefined if the machine has not changed. */
    async refresh(machine) {
        if (machine)
            this.machine = machine;
        const number = ++this.asked;
        let inputs, build;
        try {
            const answer = await this.ask();
            for (const candidate of answer.Candidates)
                learn(candidate.Reasons);
            inputs = [{ ...answer, Generation: 0 }, this.machine];
            build = () => this.answerNode(answer, this.machine);
        } catch (error) {
            inputs = error.message;
            build = () => h("p", { class: "why" }, error.message);
        }
        if (number === this.asked)
            draw(this.id, inputs, build);
    }
}

function picker(id, label, names, chosen, onChange) {
    const select = h("select", { id, change: onChange }, names.map(name => h("option", { value: name, selected: name === chosen }, name)));
    return h("label", {}, h("span", {}, label), select);
}

/** Draws the section about backends. Returns a function that requests the answer again. */
export function choiceSection(applications) {
    const read = id => document.getElementById(id);
    const question = new Question("choice-answer", () => {
        const need = Number(read("choice-memory").value);
        return bus.select(read("choice-application").value, need > 0 ? { "min-memory": Math.round(need * GIB) } : {});
    }, choiceAnswer);
    const refresh = () => question.refresh();
    draw("choice", applications, () => [
        title("choice", _("Which backend should an application use?")),
        h("div", { class: "controls" },
            picker("choice-application", _("Application"), applications, "default", refresh),
            h("label", {}, h("span", {}, _("Memory that the application needs on each GPU (GiB)")),
                h("input", {
                    id: "choice-memory", type: "number", min: 0, step: "any", inputmode: "decimal", placeholder: _("anything"),
                    input: refresh,
                }))),
        h("div", { id: "choice-answer", "aria-live": "polite" }),
    ]);
    return machine => question.refresh(machine);
}

/** Draws the section about variants. Returns a function that requests the answer again. */
export function installSection(applications) {
    if (!applications.length)
        return () => {};
    const first = applications.includes("torch") ? "torch" : applications[0];
    const chosen = () => document.getElementById("install-application").value;
    const question = new Question("install-answer", () => bus.recommend(chosen()), installAnswer);
    draw("install", applications, () => [
        title("install", _("What to install")),
        h("div", { class: "controls" }, picker("install-application", _("Application"), applications, first, () => question.refresh())),
        h("div", { id: "install-answer", "aria-live": "polite" }),
    ]);
    return machine => question.refresh(machine);
}
