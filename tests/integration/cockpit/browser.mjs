// SPDX-License-Identifier: Apache-2.0
// Runs Chromium and executes the commands on standard input. Each command is a line with a JSON object; its result is a
// line on standard output: {"ok": …} or {"error": "…"}. page_case.py sends the commands and checks the results.
// Usage: node browser.mjs MODULES CHROMIUM FOLDER. The folder MODULES contains puppeteer-core and axe-core.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import readline from "node:readline";

const [modules, chromium, folder] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const puppeteer = await import(require.resolve("puppeteer-core"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** In milliseconds. The time is long because other programs may use the machine, too. */
const PATIENCE = 60000;

const browser = await puppeteer.launch({
    executablePath: chromium, headless: true, userDataDir: `${folder}/profile`,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars"],
});
const page = await browser.newPage();
page.setDefaultNavigationTimeout(PATIENCE);
/** Errors of the page that must not occur: exceptions, violations of the content security policy, dialogs. */
const faults = [];
page.on("pageerror", error => faults.push(`error: ${error.message}`));
page.on("console", message => {
    const { url = "" } = message.location();
    // Cockpit's own shell may lack files, such as the fonts that Debian's package leaves out.
    if (message.type() === "error" && !url.includes("/@localhost/shell/"))
        faults.push(`console: ${message.text()} ${url}`);
});
page.on("dialog", dialog => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss() });
/** The main frame of the page, or the frame that Cockpit's shell shows. */
let frame = page.mainFrame();

/** Returns the text that a user sees in the elements that match `selector`, without hidden and collapsed parts. */
const seen = selector => frame.$$eval(selector, all => all.map(one => one.innerText).join("\n"));

/**
 * Compares two pictures; runs in a page. Compares blocks of pixels, so that font smoothing does not matter. If a part of
 * the second picture is missing in the first picture, the part counts as different.
 */
async function differing(urls) {
    const [taken, wanted] = await Promise.all(urls.map(async url => createImageBitmap(await (await fetch(url)).blob())));
    const [columns, rows] = [Math.ceil(wanted.width / 4), Math.ceil(wanted.height / 4)];
    const [first, second] = [taken, wanted].map(picture => {
        const context = new OffscreenCanvas(columns, rows).getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(picture, 0, 0, picture.width / 4, picture.height / 4);
        return context.getImageData(0, 0, columns, rows).data;
    });
    let count = 0;
    for (let at = 0; at < first.length; at += 4)
        count += [0, 1, 2, 3].some(channel => Math.abs(first[at + channel] - second[at + channel]) > 24);
    return count / (columns * rows);
}

const actions = {
    async open({ url }) {
        await page.goto(url, { waitUntil: "domcontentloaded" });
        frame = page.mainFrame();
    },
    async enter({ url }) {
        frame = await page.waitForFrame(one => one.url().includes(url), { timeout: PATIENCE });
    },
    leave() {
        frame = page.mainFrame();
    },
    text: ({ selector }) => seen(selector),
    count: ({ selector }) => frame.$$eval(selector, all => all.length),
    async wait({ selector, text, gone }) {
        const holds = (css, words, isGone) => {
            const content = [...document.querySelectorAll(css)].map(one => one.innerText).join("\n");
            return content.includes(words) !== isGone && (isGone || content !== "");
        };
        try {
            await frame.waitForFunction(holds, { timeout: PATIENCE, polling: 20 }, selector, text, gone);
        } catch (error) {
            throw new Error(`${error.message}: "${text}" in ${selector}:\n${await seen(selector)}\n${faults.join("\n")}`);
        }
    },
    async until({ script }) {
        await frame.waitForFunction(script, { timeout: PATIENCE, polling: 20 });
    },
    click: ({ selector }) => frame.locator(selector).setTimeout(PATIENCE).click(),
    press: ({ key }) => page.keyboard.press(key),
    choose: ({ selector, value }) => frame.select(selector, value),
    async type({ selector, text }) {
        await frame.click(selector, { count: 3 });
        await page.keyboard.type(text);
    },
    async files({ selector, paths }) {
        const input = await frame.$(selector);
        await input.uploadFile(...paths);
    },
    /** Drops a file on an element, as a file manager does. */
    drop: ({ selector, name, base64 }) => frame.$eval(selector, (target, title, content) => {
        const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([bytes], title));
        target.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }, name, base64),
    /** Sets the language as Cockpit's login page does: newer versions read only the cookie. */
    async language({ name }) {
        await page.setExtraHTTPHeaders({ "Accept-Language": name });
        await page.setCookie({ name: "CockpitLang", value: name, domain: "127.0.0.1", path: "/" });
    },
    size: ({ width, height }) => page.setViewport({ width, height }),
    theme: ({ name }) => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: name }]),
    picture: ({ path, whole, clip }) => page.screenshot({ path, fullPage: whole, ...(clip ? { clip } : {}) }),
    async section({ path, selector }) {
        const section = await frame.$(selector);
        await section.screenshot({ path });
    },
    /** Returns the share of blocks of 4 x 4 pixels that differ, in a part with the size of the second picture. */
    async compare({ taken, wanted }) {
        const blank = await browser.newPage();
        const urls = [taken, wanted].map(path => `data:image/png;base64,${readFileSync(path).toString("base64")}`);
        const share = await blank.evaluate(differing, urls);
        await blank.close();
        return share;
    },
    place: async ({ selector }) => (await frame.$(selector)).boundingBox(),
    run: ({ script }) => frame.evaluate(script),
    async axe() {
        // Inject axe through the debugger, because the page's content security policy forbids other scripts.
        await frame.evaluate(axe);
        const { violations } = await frame.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        return violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map(node => node.html) }));
    },
    async downloads({ path }) {
        const session = await browser.target().createCDPSession();
        await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: path });
    },
    clipboard: () => browser.defaultBrowserContext().overridePermissions(new URL(page.url()).origin,
        ["clipboard-read", "clipboard-sanitized-write"]),
    faults: () => faults.splice(0),
};

console.log(JSON.stringify({ ok: await browser.version() }));
for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: action, ...details } = JSON.parse(line);
    try {
        console.log(JSON.stringify({ ok: await actions[action](details) ?? null }));
    } catch (error) {
        console.log(JSON.stringify({ error: error.message }));
    }
}
await browser.close();
