// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Text from drivers, files and the bus may be hostile, so the page uses such text only in text nodes
// and in attribute values that no browser executes.

const _ = cockpit.gettext;

const NEWS_MS = 8000;

// The same categories as in base/text.h for terminals: controls, formats that reorder or hide text, tags, private and
// unassigned characters, line and paragraph separators.
const UNPRINTABLE = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const MANY_MARKS = /(\p{M}{4})\p{M}+/gu;

/** The text with U+FFFD instead of characters that reorder or hide text. */
export function printable(text) {
    return text.replace(UNPRINTABLE, "\uFFFD").replace(MANY_MARKS, "$1\uFFFD");
}

/**
 * An element.
 *
 * @param {string} tag
 * @param {Object<string, any>} attributes - `class`, `id`, ARIA …; true makes an empty attribute; null, undefined and
 *   false make none; a function becomes a listener of the event that the key names ("click")
 * @param {...(Node|string|number|null|undefined|Array<any>)} children - strings and numbers become text
 */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function")
            element.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? "" : printable(String(value)));
    }
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== "")
        .map(child => child instanceof Node ? child : printable(String(child))));
    return element;
}

/** A sentence in which elements replace $0, $1 …; a translation can contain the placeholders in any order. */
export function sentence(text, ...parts) {
    return text.split(/(\$\d)/).map(piece => /^\$\d$/.test(piece) ? parts[Number(piece.slice(1))] : piece);
}

/** The inputs from which each container was last drawn, as text. */
const drawn = new WeakMap();

/** Finds the successor of `element` after a redraw: by its id, or by its position among its kind below an id. */
function finder(element) {
    const home = element.closest("[id]");
    if (home === element)
        return () => document.getElementById(home.id);
    const place = [...home.querySelectorAll(element.localName)].indexOf(element);
    return () => document.getElementById(home.id)?.querySelectorAll(element.localName)[place];
}

/**
 * Draws `build()` into the element `id` if `inputs` changed since the last time; null hides the element. The element with
 * the focus keeps the focus, and details with an id stay open or closed. Does nothing if the element does not exist.
 */
export function draw(id, inputs, build) {
    const key = JSON.stringify(inputs);
    const container = document.getElementById(id);
    if (!container || drawn.get(container) === key)
        return;
    drawn.set(container, key);
    const content = build();
    const focused = container.contains(document.activeElement) ? finder(document.activeElement) : null;
    const folds = [...container.querySelectorAll("details[id]")].map(({ id: details, open }) => [details, open]);
    container.replaceChildren(...(content === null ? [] : [content].flat(Infinity).filter(Boolean)));
    container.hidden = content === null;
    for (const [details, isOpen] of folds)
        document.getElementById(details)?.toggleAttribute("open", isOpen);
    focused?.()?.focus();
}

/** Whether the page is wide enough to show long sections unfolded. */
export function isWide() {
    return window.matchMedia("(min-width: 48.01rem)").matches;
}

/** The heading of a section, with the id SECTION-title, to which the label of the section refers. */
export function title(section, text) {
    return h("h2", { id: `${section}-title` }, text);
}

let silence = 0;

/** Shows a message for some seconds, and reports it to screen readers. */
export function announce(text) {
    document.getElementById("news").textContent = printable(text);
    window.clearTimeout(silence);
    silence = window.setTimeout(() => { document.getElementById("news").textContent = "" }, NEWS_MS);
}

/** Copies text to the clipboard. Without a secure context, as in Cockpit over HTTP, browsers support only document.execCommand(). */
async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
        return;
    } catch {
        // The clipboard is not available, or the browser denied access to it.
    }
    const area = h("textarea", { class: "off-screen", readonly: true, "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done)
        throw new Error("copy");
}

/** A button that copies `text`; `what` describes the text to screen readers. */
export function copyButton(text, what) {
    const button = h("button", { type: "button", class: "copy", "aria-label": cockpit.format(_("Copy $0"), what) }, _("Copy"));
    button.addEventListener("click", async () => {
        try {
            await copy(text);
            button.textContent = _("Copied");
            announce(cockpit.format(_("Copied: $0"), text));
        } catch {
            button.textContent = _("Select the text and press Ctrl+C");
        }
        window.setTimeout(() => { button.textContent = _("Copy") }, 3000);
    });
    return button;
}

/** A command or a value on a separate line, with a button that copies it. */
export function copyable(text, what) {
    return h("div", { class: "copyable" }, h("code", { tabindex: 0 }, text), copyButton(text, what));
}

/**
 * A bar for the share `part` of `whole`, both in the same unit; `label` describes the share in words.
 * `tone`: "", "good", "unsure" or "bad".
 */
export function bar(part, whole, label, tone = "") {
    const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
    const fill = h("div", { class: `fill ${tone}` });
    fill.style.width = `${(100 * share).toFixed(2)}%`;
    return h("div", {
        class: "bar", role: "meter", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(100 * share),
        "aria-valuetext": label, "aria-label": label,
    }, fill);
}

/** A table; on a narrow page, each row becomes a block. `rows`: arrays of cells. null if there are no rows. */
export function table(caption, columns, rows) {
    if (!rows.length)
        return null;
    const cells = row => row.map((cell, at) => at === 0
        ? h("th", { scope: "row", role: "rowheader" }, cell)
        : h("td", { role: "cell", "data-label": columns[at] }, cell));
    // On narrow pages, rows are drawn as blocks. Without the roles, browsers would then not treat the element as a table.
    const heads = columns.map(column => h("th", { scope: "col", role: "columnheader" }, column));
    return h("table", { role: "table" },
        h("caption", { class: "off-screen" }, caption),
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
        h("tbody", { role: "rowgroup" }, rows.map(row => h("tr", { role: "row" }, cells(row)))));
}

/** A list of terms with their values, without the terms that have no value. */
export function facts(pairs) {
    return h("dl", {}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/**
 * A mark with an explanation. `tone`: "good", "unsure", "warning", "bad" or "plain". `words`: the explanation, as text
 * or elements.
 */
export function mark(tone, words) {
    const sign = { good: "✓", bad: "✗", unsure: "?", warning: "!" }[tone];
    return h("span", { class: `mark ${tone}` }, sign ? h("span", { "aria-hidden": "true" }, `${sign} `) : null, words);
}
