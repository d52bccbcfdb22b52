// SPDX-License-Identifier: Apache-2.0
// Makes the page light or dark, like Cockpit's own pages: according to the choice in Cockpit's menu or, without a choice,
// to the browser's preference. This script runs before the page is drawn. Cockpit stores the choice in localStorage, so
// the storage event reports changes; the event "cockpit-style" informs pages that do not receive the storage event.
// Sources: cockpit 287.1, pkg/lib/cockpit-dark-theme.js ("shell:style", "cockpit-style"); cockpit 337 has PatternFly 6.
(function () {
    const preference = window.matchMedia("(prefers-color-scheme: dark)");

    function apply(told) {
        const style = told || window.localStorage.getItem("shell:style") || "auto";
        const isDark = style === "dark" || (style === "auto" && preference.matches);
        document.documentElement.classList.toggle("dark", isDark);
    }

    /** Uses round corners if the shell around the page uses them. Without a shell, the page is its own parent. */
    function hasRoundCorners() {
        const shell = window.getComputedStyle(window.parent.document.documentElement);
        return shell.getPropertyValue("--pf-t--global--border--radius--large") !== "";
    }

    window.addEventListener("storage", event => {
        if (event.key === "shell:style")
            apply();
    });
    window.addEventListener("cockpit-style", event => apply(event.detail.style));
    preference.addEventListener("change", () => apply());
    document.documentElement.classList.toggle("round", hasRoundCorners());
    apply();
}());
