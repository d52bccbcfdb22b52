// SPDX-License-Identifier: Apache-2.0
// The daemon on the system bus: org.gpuprobe.GpuProbe1 (dbus/*.xml), called with the rights of the logged-in user.

const NAME = "org.gpuprobe.GpuProbe1";
const ROOT = "/org/gpuprobe/GpuProbe1";
const MANAGER = `${NAME}.Manager`;
const GPU = `${NAME}.Gpu`;
const OBJECTS = "org.freedesktop.DBus.ObjectManager";
const PROPERTIES = "org.freedesktop.DBus.Properties";

let client = null;

/** A value without the variants that surround it or that it contains: {t: "s", v: "x"} becomes "x". */
export function plain(value) {
    if (Array.isArray(value))
        return value.map(plain);
    if (value === null || typeof value !== "object")
        return value;
    if (typeof value.t === "string" && "v" in value)
        return plain(value.v);
    return Object.fromEntries(Object.entries(value).map(([key, content]) => [key, plain(content)]));
}

/** Whether an error means that the daemon does not answer; false if the daemon itself returned the error. */
export function isAbsence(error) {
    return ["not-found", "disconnected", "terminated", "access-denied", "no-cockpit"].includes(error.problem) ||
        /\.(ServiceUnknown|NameHasNoOwner|NoReply|Disconnected|TimedOut)$|\.Spawn\.|systemd1\.(NoSuchUnit|UnitMasked|ShuttingDown)/
            .test(error.name ?? "");
}

async function call(path, face, method, type, args, options = {}) {
    const [answer] = await client.call(path, face, method, args, { type, ...options });
    return plain(answer);
}

/**
 * Connects to the daemon, and closes an earlier connection. Calls `onChange` for each signal of the daemon, and `onOwner`
 * when the daemon starts (true) or ends (false).
 */
export function connect(onChange, onOwner) {
    client?.close();
    const opened = cockpit.dbus(NAME, { bus: "system" });
    client = opened;
    opened.addEventListener("owner", (_event, owner) => {
        if (opened === client)
            onOwner(Boolean(owner));
    });
    opened.addEventListener("close", () => {
        if (opened === client)
            onOwner(false);
    });
    for (const face of [OBJECTS, PROPERTIES])
        opened.subscribe({ interface: face, path_namespace: ROOT }, () => {
            if (opened === client)
                onChange();
        });
}

/** Every version of cockpit-bridge accepts messages up to this size. */
const BLOCK = 64 * 1024;

/** The exit statuses with which gpuprobectl also prints an answer: nothing matches, or the doctor found an error. */
const ANSWERS = [3, 6];

/** The JSON answer of gpuprobectl, which calls the same daemon. */
function ctl(words, input = new Uint8Array(0)) {
    return new Promise((resolve, reject) => {
        const process = cockpit.spawn(["gpuprobectl", ...words, "--json=short"], { binary: true, err: "message" });
        const parse = bytes => JSON.parse(new TextDecoder().decode(bytes));
        process.then(bytes => resolve(parse(bytes)), (error, bytes) => {
            try {
                const answer = parse(bytes);
                if (ANSWERS.includes(error.exit_status))
                    resolve(answer);
                else
                    reject(new Error(answer.error.message));
            } catch {
                reject(error);
            }
        });
        for (let at = 0; at < input.length; at += BLOCK)
            process.input(input.subarray(at, at + BLOCK), true);
        process.input();
    });
}

/** The report for this user. If the report is too large for a message, gpuprobectl reads it. */
export async function report() {
    try {
        return JSON.parse(await call(ROOT, MANAGER, "Describe", "", []));
    } catch (error) {
        if (!error.name?.endsWith(".Error.TooLarge"))
            throw error;
        return ctl(["describe"]);
    }
}

/** A map from object paths to the properties of GPUs. */
export async function objects() {
    const all = await call(ROOT, OBJECTS, "GetManagedObjects", "", []);
    return Object.fromEntries(Object.entries(all).filter(([, faces]) => GPU in faces).map(([path, faces]) => [path, faces[GPU]]));
}

export function manager() {
    return call(ROOT, PROPERTIES, "GetAll", "s", [MANAGER]);
}

export function memory(path) {
    return call(path, GPU, "GetMemory", "a{sv}", [{}]);
}

export function powerState(path) {
    return call(path, PROPERTIES, "Get", "ss", [GPU, "PowerState"]);
}

function request(members) {
    const type = { boolean: "b", number: "t", object: "as" };
    return Object.fromEntries(Object.entries(members).map(([key, value]) => [key, cockpit.variant(type[typeof value], value)]));
}

/** The choice for an application, with every candidate. `members` are keys of the request. */
export function select(application, members = {}) {
    return call(ROOT, MANAGER, "SelectBackend", "sa{sv}", [application, request({ ...members, explain: true })]);
}

export function recommend(application) {
    return call(ROOT, MANAGER, "RecommendVariant", "ssa{sv}", [application, "", request({ explain: true })]);
}

/** The applications, each with Name, Backends and Variants. */
export function applications() {
    return call(ROOT, MANAGER, "ListApplications", "", []);
}

/**
 * Probes the drivers again (stage "query"), or measures the GPUs ("measure"). Returns when the probes have ended. polkit may
 * ask the user for a password.
 */
export function probe(stage) {
    const options = { stage: cockpit.variant("s", stage) };
    return call(ROOT, MANAGER, "Probe", "aoasa{sv}", [[], [], options], { timeout: 600000, flags: "i" });
}

/** Whether the model with this header fits. `header` is GGUF without its weights. */
export function plan(header, { context, cache }) {
    return ctl(["plan", "--beginning", "--gguf=-", `--ctx=${context}`, `--cache-type-k=${cache}`, `--cache-type-v=${cache}`], header);
}

const UNIT = "gpuprobed.service";

/** The state of the daemon's service: "missing", "masked", or the ActiveState of systemd; "" if systemd does not answer. */
export async function serviceState() {
    try {
        const text = await cockpit.spawn(["systemctl", "show", UNIT, "--property=LoadState,ActiveState"], { err: "message" });
        const { LoadState, ActiveState } = Object.fromEntries(text.trim().split("\n").map(line => line.split("=")));
        return { "not-found": "missing", masked: "masked" }[LoadState] ?? ActiveState ?? "";
    } catch {
        return "";
    }
}

/** Starts the service, or restarts it if it is running, with administrative access if Cockpit has such access. */
export async function startService(atBoot) {
    const systemctl = words => cockpit.spawn(["systemctl", ...words, UNIT], { superuser: "try", err: "message" });
    if (atBoot)
        await systemctl(["enable"]);
    await systemctl(["restart"]);
}

const CAPTURE = `folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT &&
gpuprobectl capture "$folder/gpuprobe-capture" --redact >&2 && tar -C "$folder" -cz gpuprobe-capture`;

/**
 * A capture of this machine for `gpuprobectl --replay`, without UUIDs and serial numbers, as the bytes of a .tar.gz
 * file.
 */
export function capture() {
    return cockpit.spawn(["/bin/sh", "-c", CAPTURE], { binary: true, err: "message" });
}

/** The doctor's findings: [{id, text, fix, commands, severity, gpus}]. */
export async function findings() {
    let answer;
    try {
        answer = JSON.parse(await call(ROOT, MANAGER, "Diagnose", "", []));
    } catch (error) {
        if (!error.name?.endsWith(".UnknownMethod"))
            throw error;
        answer = await ctl(["doctor"]);
    }
    return answer.findings.map(({ id, sentence, fix, commands, severity, gpu, gpus }) => ({
        id, text: sentence, fix: fix ?? "", commands: commands ?? [], severity, gpus: gpus ?? [gpu].filter(Boolean),
    }));
}
