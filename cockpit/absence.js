// SPDX-License-Identifier: Apache-2.0
// The page while gpuprobed does not answer: explains why, and has a button that starts gpuprobed.

import { announce, h } from "./dom.js";
import * as bus from "./bus.js";

const _ = cockpit.gettext;

/** Heading and explanation for each state of the service; a state that is not listed is "inactive". */
const STATES = {
    missing: [_("gpuprobed is not installed"),
        _("The service gpuprobed finds the GPUs of this machine. Install the package gpuprobe; this page then updates automatically.")],
    masked: [_("gpuprobed is masked"),
        _("An administrator has masked gpuprobed.service, so it cannot be started. Unmask the service to see the GPUs of this machine.")],
    active: [_("gpuprobed does not answer"),
        _("The service is running but does not answer on the system bus. The service's log may contain the reason.")],
    failed: [_("gpuprobed has failed"),
        _("The service finds the GPUs of this machine. The service ended with an error; its log may contain the reason.")],
    inactive: [_("gpuprobed is not running"),
        _("The service finds the GPUs of this machine and checks which backends work on them. Start the service to see the GPUs here.")],
};

/** Whether a button is shown in this state. */
const CAN_START = { missing: false, masked: false };

async function startService(event) {
    const button = event.target;
    const failure = document.getElementById("start-failure");
    const atBoot = document.getElementById("start-at-boot").checked;
    button.disabled = true;
    failure.textContent = "";
    announce(_("Starting gpuprobed"));
    try {
        await bus.startService(atBoot);
    } catch (error) {
        failure.textContent = cockpit.format(_("gpuprobed could not be started: $0"), error.message);
        announce("");
    }
    button.disabled = false;
}

function startNode(state) {
    return [
        h("label", {}, h("input", { id: "start-at-boot", type: "checkbox", checked: true }),
            _("Start the service automatically when the machine boots")),
        h("p", { id: "start-failure", role: "alert", class: "mark bad" }),
        h("button", { id: "start", type: "button", class: "primary", click: startService },
            state === "active" ? _("Restart gpuprobed") : _("Start gpuprobed")),
    ];
}

function logButton() {
    return h("button", { id: "log", type: "button", class: "link", click: () => cockpit.jump("/system/services#/gpuprobed.service") },
        _("View the service's log"));
}

/** `state`: the state of the service. `message`: the message of the daemon's error; "" if the daemon did not answer. */
export function absenceNode(state, message) {
    const [heading, words] = message ? [_("gpuprobed answers with an error"), message] : STATES[state] ?? STATES.inactive;
    return h("div", { class: "empty-state" },
        h("div", { class: "sign", "aria-hidden": "true" }),
        h("h2", {}, heading),
        h("p", {}, words),
        CAN_START[state] === false ? null : startNode(message ? "active" : state),
        state === "missing" ? null : logButton());
}
