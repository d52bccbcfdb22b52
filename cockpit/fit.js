// SPDX-License-Identifier: Apache-2.0
// The section "Does a model fit?": reads the header of a dropped model file. gpuprobe computes the memory that the model needs.

import { announce, bar, draw, facts, h, mark, sentence, table, title } from "./dom.js";
import { inWords, label, size, unique } from "./words.js";
import { GgufError, readHeader } from "./gguf.js";
import * as bus from "./bus.js";

const _ = cockpit.gettext;

/** For each answer: the tone of its mark, the word that is shown, and the meaning of the word. */
const FITS = { fits: ["good", _("fits")], tight: ["unsure", _("tight"), _("less than a tenth of the budget would stay free")],
    no: ["bad", _("no")], unknown: ["unsure", _("unknown"), _("the amount of available memory is not known")] };
const CACHES = ["f16", "q8_0", "q4_0", "bf16", "f32"];
const CONTEXTS = [4096, 8192, 16384, 32768, 65536, 131072];

/** The model that was dropped last: {names, header, isWhole}. */
let model = null;
let asked = 0;

function fitMark(word) {
    const [tone, words] = FITS[word] ?? ["plain", word];
    return mark(tone, words);
}

const meaning = word => FITS[word]?.[2] ?? "";

const layers = count => count ? `${count.offloaded}/${count.total}` : "";

function gpuRow(gpu, isAlone) {
    const budget = gpu.budget?.bytes;
    const label = Number.isFinite(budget) ? cockpit.format(_("$0 of $1"), size(gpu.need), size(budget)) : size(gpu.need);
    const reasons = unique([meaning(gpu.fit), ...gpu.reasons.map(reason => inWords(reason).text)]).filter(Boolean).join("; ");
    return [[gpu.name ?? gpu.gpu, isAlone || !gpu.name ? null : h("span", { class: "faint" }, ` ${gpu.gpu}`)],
        [fitMark(gpu.fit), reasons ? h("p", { class: "why" }, reasons) : null],
        h("div", { class: "need" }, label, Number.isFinite(budget) ? bar(gpu.need, budget, label, FITS[gpu.fit]?.[0]) : null),
        layers(gpu.layers), gpu.max_context ?? ""];
}

/** The GPUs that hold parts of the model: "2 GPUs", or "2 of 3 GPUs" if one GPU holds no part. */
function carriers(set) {
    const some = set.shares.filter(share => share.need > 0).length;
    const all = set.gpus.length;
    return some === 0 || some === all ? cockpit.format(cockpit.ngettext("$0 GPU", "$0 GPUs", all), all)
        : cockpit.format(cockpit.ngettext("$0 of $1 GPU", "$0 of $1 GPUs", all), some, all);
}

function shareWords(set) {
    return set.shares.filter(share => share.need > 0)
        .map(share => cockpit.format(cockpit.ngettext("$0 on $1 ($2 layer)", "$0 on $1 ($2 layers)", share.layers),
            size(share.need), share.gpu, share.layers)).join(", ");
}

function togetherNode(sets) {
    const text = set => shareWords(set) ? _("$0 on $1, layers $2, max context $3: $4") : _("$0 on $1, layers $2, max context $3");
    const words = set => sentence(text(set), fitMark(set.fit), carriers(set), layers(set.layers) || "–", set.max_context ?? "–",
        shareWords(set));
    return sets.length ? [h("h3", {}, _("Together")), h("ul", { class: "plain" }, sets.map(set => h("li", {},
        h("strong", {}, `${label(set.backend)} `), words(set))))] : null;
}

function gpusNode(gpus) {
    const columns = [_("GPU"), _("Answer"), _("Need and budget"), _("Layers"), _("Max context")];
    return table(_("Whether the model fits on each GPU"), columns, gpus.map(gpu => gpuRow(gpu, gpus.length === 1))) ??
        h("p", {}, _("No GPU that can compute."));
}

function hostNode({ fit, need, available }) {
    return h("p", {}, Number.isFinite(available)
        ? sentence(_("Without a GPU: $0, $1 of the $2 of available memory"), fitMark(fit), size(need), size(available))
        : sentence(_("Without a GPU: $0; $1 is needed"), fitMark(fit), size(need)));
}

/** How the model runs: "(llama, 32 layers) · context 4096 · cache f16 · batch 512 · trained for 131072 tokens". */
function runWords({ model: { architecture, layers: count, trained_context: trained }, run, flash_attention: flash }) {
    const cache = unique([run.key_type, run.value_type]).join(",");
    return [cockpit.format(cockpit.ngettext("($0, $1 layer)", "($0, $1 layers)", count), architecture, count),
        cockpit.format(_("context $0"), run.context),
        cockpit.format(_("cache $0"), cache), cockpit.format(_("batch $0"), run.batch),
        flash === false ? _("no flash attention") : "",
        trained ? cockpit.format(_("trained for $0 tokens"), trained) : ""].filter(Boolean).join(" · ");
}

/** The parts of the needed memory with their sizes. */
function partsNode(need, gpus) {
    const overhead = Math.max(0, ...gpus.map(gpu => gpu.overhead));
    return facts([
        [_("Weights of the layers"), size(need.layers)],
        [_("Weights of the output"), size(need.output)],
        [_("KV cache"), size(need.cache)],
        [_("Computation"), cockpit.format(_("$0 per GPU"), size(need.compute))],
        [_("Driver's context"), overhead > 0 ? cockpit.format(_("$0 per GPU, at most"), size(overhead)) : null],
        [_("Embedding"), cockpit.format(_("$0 in the machine's memory"), size(need.embedding))],
    ]);
}

function planNode(plan, isWhole) {
    const { need } = plan;
    return [
        h("p", { class: "answer" }, plan.model.name ?? model.names, " ", h("span", { class: "faint" }, runWords(plan))),
        isWhole ? null : h("p", { class: "why" },
            _("The file ends before the end of the model's weights: the download may be incomplete.")),
        need ? partsNode(need, plan.gpus) : null,
        gpusNode(plan.gpus),
        togetherNode(plan.together),
        hostNode(plan.host),
        h("p", { class: "faint" }, cockpit.format(
            _("This is an estimate that leaves $0 free on each GPU. The exact need depends on the program that loads the model."),
            size(plan.margin))),
    ];
}

function show(inputs, build) {
    draw("fit-answer", inputs, build);
}

async function ask() {
    if (!model)
        return;
    const number = ++asked;
    const read = id => document.getElementById(id).value;
    const run = { context: Number(read("fit-context")) || CONTEXTS[0], cache: read("fit-cache") };
    try {
        const plan = await bus.plan(model.header, run);
        if (number === asked)
            show([plan, model.isWhole], () => planNode(plan, model.isWhole));
    } catch (error) {
        if (number === asked)
            show(error.message, () => h("p", { class: "why" }, cockpit.format(_("$0: $1"), model.names, error.message)));
    }
}

async function take(files) {
    if (!files.length)
        return;
    const names = files.length === 1 ? files[0].name : cockpit.format(_("$0 and $1 more"), files[0].name, files.length - 1);
    model = null;
    announce(cockpit.format(_("Reading the header of $0"), names));
    try {
        model = { names, ...await readHeader(files) };
        announce("");
        await ask();
    } catch (error) {
        announce("");
        const words = error instanceof GgufError || error.name === "NotReadableError" ? error.message : String(error);
        show([names, words], () => h("p", { class: "why" }, mark("bad", `${names}: ${words}`)));
    }
}

function dropZone() {
    const input = h("input", { id: "fit-file", type: "file", multiple: true, accept: ".gguf", change: () => take([...input.files]) });
    const zone = h("div", {
        class: "drop",
        dragover: event => { event.preventDefault(); zone.classList.add("over") },
        dragleave: () => zone.classList.remove("over"),
        drop: event => { event.preventDefault(); zone.classList.remove("over"); take([...event.dataTransfer.files]) },
    }, h("label", { for: "fit-file" }, _("Drop a GGUF model here, or choose its file. For a split model, choose all of its files.")), input,
    h("p", { class: "faint" }, _("Your browser reads only the file's header, and sends only the sizes in that header.")));
    return zone;
}

/** Draws the section once. The returned function requests a new plan, because the free memory may have changed. */
export function fitSection() {
    draw("fit", "fit", () => [
        title("fit", _("Does a model fit?")),
        dropZone(),
        h("div", { class: "controls" },
            h("label", {}, h("span", {}, _("Tokens of context")),
                h("input", { id: "fit-context", type: "number", min: 1, max: 16777216, value: 4096, list: "fit-contexts", change: ask }),
                h("datalist", { id: "fit-contexts" }, CONTEXTS.map(tokens => h("option", { value: tokens })))),
            h("label", {}, h("span", {}, _("Type of the cache")),
                h("select", { id: "fit-cache", change: ask }, CACHES.map(cache => h("option", { value: cache }, cache))))),
        h("div", { id: "fit-answer", "aria-live": "polite" }),
    ]);
    return ask;
}
