# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of the documentation: links must have a target, and installed pages must not refer to files that the packages lack.

Usage: links.py SOURCE       prints what is wrong; fails if there is a fault
       links.py --self-test  shows that each rule can fail

The project has not registered a domain or an organization, so no text and no packaging file may name one.
The package gpuprobe installs docs/*.md, docs/pictures and docs/examples in one folder (debian/gpuprobe.docs). Commands in
fenced blocks may use files of the source tree, because tests run them there; so may the pages in ABOUT_THE_SOURCE.
"""
import pathlib
import re
import sys

INSTALLED = ("docs/*.md", "docs/pictures", "docs/examples")
ABOUT_THE_SOURCE = ("getting-started.md", "packaging.md", "figures.md")
ADDRESS = re.compile(r"https?://(?:\w+\.)*gpuprobe\.\w+|\w@gpuprobe\.(?!invalid\b)\w+|github\.com/gpuprobe\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE_PATH = re.compile(r"`(?:\./)?((?:tests|tools|src|docs|bench|data|debian|cmake)/[^`\s]*)")


def prose(text):
    """Returns the text without the content of fenced blocks. Line numbers stay the same."""
    return re.sub(r"(?ms)^```.*?^```", lambda found: "\n" * found.group().count("\n"), text)


def anchors(text):
    titles = re.findall(r"(?m)^#+ (.*)$", prose(text))
    names, count = set(), {}
    for title in titles:
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count[name] = count.get(name, -1) + 1
        names.add(f"{name}-{count[name]}" if count[name] else name)
    return names


def link_faults(path, text, exists, page_at, is_installed):
    """Finds broken links in the page at `path`. `exists` and `page_at` look up paths in the source tree."""
    for number, line in enumerate(prose(text).splitlines(), 1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = str((pathlib.PurePosixPath("/") / path).parent / file) if file else f"/{path}"
            parts = []
            for part in place.split("/")[1:]:
                parts = parts[:-1] if part == ".." else [*parts, part]
            place = "/".join(parts)
            if not exists(place):
                yield f"{path}:{number}: {target}: no such file"
            elif anchor and anchor not in anchors(page_at(place)):
                yield f"{path}:{number}: {target}: no such section"
            elif is_installed(path) and not is_installed(place):
                yield f"{path}:{number}: {target}: the package does not have it"


def path_faults(path, text):
    """Finds references to files of the source tree in the prose of an installed page."""
    if pathlib.PurePosixPath(path).name in ABOUT_THE_SOURCE:
        return
    for number, line in enumerate(prose(text).splitlines(), 1):
        for found in SOURCE_PATH.findall(line):
            yield f"{path}:{number}: {found}: the package does not have it"


def address_faults(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for found in ADDRESS.findall(line):
            yield f"{path}:{number}: {found}: there is no such address"


def is_installed(path):
    return bool(re.fullmatch(r"docs/[^/]+\.md|docs/(?:pictures|examples)/.+", path))


def check(source):
    recipe = (source / "debian/gpuprobe.docs").read_text(encoding="utf-8").split()
    if recipe != list(INSTALLED):
        yield f"debian/gpuprobe.docs: {recipe}, and not {list(INSTALLED)}"
    pages = [*source.glob("*.md"), *source.glob("docs/*.md"), *source.glob("docs/internals/*.md"), *source.glob("docs/examples/*.md")]
    for page in sorted(pages):
        path, text = str(page.relative_to(source)), page.read_text(encoding="utf-8")
        yield from link_faults(path, text, lambda place: (source / place).exists(),
                               lambda place: (source / place).read_text(encoding="utf-8"), is_installed)
        if is_installed(path):
            yield from path_faults(path, text)
    for folder in ("*.md", "docs/**/*.md", "man/*", "debian/*", "systemd/**/*", "dbus/*", "cockpit/*", "tools/packaging/*", "data/schema/*"):
        for file in sorted(path for path in source.glob(folder) if path.is_file()):
            yield from address_faults(str(file.relative_to(source)), file.read_text(encoding="utf-8"))


def self_test():
    """Checks that the rules reject all bad samples and accept all good samples."""
    pages = {"docs/a.md": "# A\n## One, two\n", "docs/internals/b.md": "# B\n", "docs/pictures/c.svg": ""}

    def faults(text, path="docs/a.md"):
        return [*link_faults(path, text, pages.__contains__, pages.__getitem__, is_installed), *path_faults(path, text),
                *address_faults(path, text)]
    bad = ("[x](missing.md)", "[x](a.md#three)", "[x](#three)", "[x](internals/b.md)", "[x](../README.md)", "![x](pictures/d.svg)",
           "see `tests/data`", "run `./tools/test`", "<security@gpuprobe.org>", "https://gpuprobe.org/schema", "https://www.gpuprobe.dev",
           "https://github.com/gpuprobe/gpuprobe")
    good = ("[x](a.md)", "[x](#one-two)", "[x](a.md#one-two)", "![x](pictures/c.svg)", "[x](https://example.org/a)", "```\n[x](missing.md)\n```",
            "```\n`tests/data`\n```", "`/usr/share/doc`", "`[x](y)`", "org.gpuprobe.GpuProbe1", "<maintainers@gpuprobe.invalid>")
    return [f"bad sample passes: {text}" for text in bad if not faults(text)] + \
           [f"good sample: {faults(text)}" for text in good if faults(text)] + \
           [f"good sample: {each}" for each in faults("[x](../a.md)", "docs/internals/b.md")]


def main(argument):
    found = self_test() if argument == "--self-test" else list(check(pathlib.Path(argument)))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
