// SPDX-License-Identifier: Apache-2.0
// The measurements as bars: one block for each quantity, in which the fastest device is first.

import { bar, h, isWide, title } from "./dom.js";
import { label, rate, times, utc } from "./words.js";

const _ = cockpit.gettext;

/** Members of a measurement (docs/plan.md) with their names and units. */
const QUANTITIES = [
    ["memory_read", _("Memory read"), "B/s"],
    ["memory_copy", _("Memory copy"), "B/s"],
    ["host_to_device", _("Host to GPU"), "B/s"],
    ["device_to_host", _("GPU to host"), "B/s"],
    ["fp32", _("Arithmetic, fp32"), "FLOPS"],
    ["fp16", _("Arithmetic, fp16"), "FLOPS"],
    ["int8", _("Arithmetic, int8"), "OPS"],
];

/** [{name, backends, isUsable, measurement}] of all measurements. Backends that share an API share a measurement and a row. */
export function measurements(report) {
    const rows = [];
    const add = (name, backend, measurement, isUsable = true) => {
        if (measurement?.outcome === "answered")
            rows.push({ name, backends: [backend], isUsable, measurement });
    };
    for (const gpu of report.gpus) {
        const first = rows.length;
        for (const [backend, view] of Object.entries(gpu.backends)) {
            const same = rows.slice(first).find(row => JSON.stringify(row.measurement) === JSON.stringify(view.measurement));
            if (same)
                same.backends.push(backend);
            else
                add(gpu.name ?? gpu.id, backend, view.measurement, view.usable !== false);
        }
    }
    for (const one of report.software)
        add(one.name ?? _("software"), one.api, one.measurement);
    add(report.host.cpu?.model ?? _("the CPU"), "cpu", report.host.cpu?.measurement);
    return rows;
}

/**
 * The bars, the fastest first: [{words, least, most}]. GPUs with the same name share a bar from the slowest to the
 * fastest.
 */
function bars(rows, member) {
    const all = new Map();
    for (const { name, backends, isUsable, measurement } of rows) {
        const value = measurement[member];
        if (!Number.isFinite(value))
            continue;
        const key = JSON.stringify([name, backends]);
        const one = all.get(key) ?? { name, backends, isUsable, count: 0, least: value, most: value };
        all.set(key, { ...one, count: one.count + 1, least: Math.min(one.least, value), most: Math.max(one.most, value) });
    }
    return [...all.values()].sort((a, b) => b.most - a.most);
}

function barNode(one, best, unit) {
    const name = times(one.count, one.name);
    const least = rate(one.least, unit);
    const most = rate(one.most, unit);
    const value = least === most ? most : cockpit.format(_("$0 to $1"), least, most);
    const backends = one.backends.map(label).join(", ");
    const note = one.isUsable ? null : h("span", { class: "faint" }, " ", _("(programs cannot use this API yet)"));
    return h("li", {}, h("div", { class: "line" }, h("span", {}, h("strong", {}, backends), ` ${name}`, note), h("span", {}, value)),
        bar(one.most, best, `${name}, ${backends}: ${value}`));
}

function quantityNode([member, words, unit], rows) {
    const all = bars(rows, member);
    return all.length ? h("div", { class: "quantity" }, h("h3", {}, words),
        h("ul", { class: "plain bars" }, all.map(one => barNode(one, all[0].most, unit)))) : null;
}

export function measuredNode(report) {
    const rows = measurements(report);
    if (!rows.length)
        return null;
    const at = Math.max(...rows.map(row => row.measurement.at_usec ?? 0));
    return [title("measured", _("Measured")),
        at > 0 ? h("p", { class: "faint" }, cockpit.format(_("Last measured: $0"), utc(at))) : null,
        h("details", { id: "quantities", open: isWide() }, h("summary", {}, _("Bandwidth and arithmetic")),
            h("div", { class: "quantities" }, QUANTITIES.map(quantity => quantityNode(quantity, rows))))];
}
