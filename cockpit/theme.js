// SPDX-License-Identifier: Apache-2.0
// Light or dark, as Cockpit's own pages: the choice in its menu or, if there is none, the browser's preference. Runs
// before the page is drawn. The shell keeps the choice in localStorage, so the storage event follows changes; the
// event "cockpit-style" reports changes to pages that do not receive the storage event.
// Sources: cockpit 287.1, pkg/lib/cockpit-dark-theme.js ("shell:style", "cockpit-style"); cockpit 337 has PatternFly 6.
(function () {
    const preference = window.matchMedia("(prefers-color-scheme: dark)");

    function apply(told) {
        const style = told || window.localStorage.getItem("shell:style") || "auto";
        const isDark = style === "dark" || (style === "auto" && preference.matches);
        document.documentElement.classList.toggle("dark", isDark);
    }

    /** Corners are round if they are in the shell around the page. A page without a shell is its own parent. */
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
