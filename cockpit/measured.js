// SPDX-License-Identifier: Apache-2.0
// What was measured, as bars: one block for each quantity, the fastest first.

import { bar, h, title } from "./dom.js";
import { rate, utc } from "./words.js";

const _ = cockpit.gettext;

/** Members of a measurement (docs/plan.md) with their names and units. */
const QUANTITIES = [
    ["memory_read", _("Reads its memory"), "B/s"],
    ["memory_copy", _("Copies within its memory"), "B/s"],
    ["host_to_device", _("Up: from the machine's memory to the GPU's"), "B/s"],
    ["device_to_host", _("Down: from the GPU's memory to the machine's"), "B/s"],
    ["fp32", _("Computes in fp32"), "op/s"],
    ["fp16", _("Computes in fp16"), "op/s"],
    ["int8", _("Computes in int8"), "op/s"],
];

/** [{name, backends, measurement}] of everything that was measured; a backend that stands on another's API is beside it. */
export function measurements(report) {
    const rows = [];
    const add = (name, backend, measurement) => {
        if (measurement?.outcome === "answered")
            rows.push({ name, backends: [backend], measurement });
    };
    for (const gpu of report.gpus) {
        const first = rows.length;
        for (const [backend, view] of Object.entries(gpu.backends)) {
            const same = rows.slice(first).find(row => JSON.stringify(row.measurement) === JSON.stringify(view.measurement));
            if (same)
                same.backends.push(backend);
            else
                add(gpu.name ?? gpu.id, backend, view.measurement);
        }
    }
    for (const one of report.software)
        add(one.name ?? _("software"), one.api, one.measurement);
    add(report.host.cpu?.model ?? _("the CPU"), "cpu", report.host.cpu?.measurement);
    return rows;
}

/** GPUs of one name are one bar from the slowest to the fastest: [{words, least, most}], the fastest first. */
function bars(rows, member) {
    const all = new Map();
    for (const { name, backends, measurement } of rows) {
        const value = measurement[member];
        if (!Number.isFinite(value))
            continue;
        const key = JSON.stringify([name, backends]);
        const one = all.get(key) ?? { name, backends, count: 0, least: value, most: value };
        all.set(key, { ...one, count: one.count + 1, least: Math.min(one.least, value), most: Math.max(one.most, value) });
    }
    return [...all.values()].sort((a, b) => b.most - a.most);
}

function barNode(one, best, unit) {
    const name = one.count > 1 ? `${one.name} × ${one.count}` : one.name;
    const least = rate(one.least, unit);
    const most = rate(one.most, unit);
    const value = least === most ? most : cockpit.format(_("$0 to $1"), least, most);
    const backends = one.backends.join(", ");
    return h("li", {}, h("div", { class: "line" }, h("span", {}, h("strong", {}, backends), ` ${name}`), h("span", {}, value)),
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
        h("div", { class: "quantities" }, QUANTITIES.map(quantity => quantityNode(quantity, rows)))];
}
