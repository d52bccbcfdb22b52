# SPDX-License-Identifier: Apache-2.0
"""Reads the sources of a table: a git directory at a commit, a folder, or a file."""

import functools
import pathlib
import subprocess


class MissingSource(Exception):
    """Raised if a source, or a file in a source, cannot be read. The message contains the name of the source or file."""


class GitSource:
    """The files of one commit of a git directory."""

    def __init__(self, folder, commit="HEAD"):
        self.folder = folder
        self.commit = self._git("rev-parse", commit).strip()

    def _git(self, *words):
        done = subprocess.run(["git", "-C", str(self.folder), *words], capture_output=True, check=False)
        if done.returncode != 0:
            raise MissingSource(f"{self.folder}: git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode("utf-8", errors="replace")

    @functools.cache
    def read(self, path):
        return self._git("show", f"{self.commit}:{path}")

    @functools.cache
    def _all_files(self):
        return self._git("ls-tree", "-r", "--name-only", self.commit).splitlines()

    def files(self, folder, suffix):
        return [path for path in self._all_files() if path.startswith(folder) and path.endswith(suffix)]


class FolderSource:
    """The files of an unpacked release. The caller specifies the commit, which is usually a tag."""

    def __init__(self, folder, commit):
        self.folder = pathlib.Path(folder)
        self.commit = commit

    @functools.cache
    def read(self, path):
        try:
            return (self.folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError as problem:
            raise MissingSource(f"{self.folder}: {path}: {problem.strerror}") from problem

    def files(self, folder, suffix):
        found = (self.folder / folder).rglob(f"*{suffix}")
        return sorted(str(path.relative_to(self.folder)) for path in found)


def source_from(argument):
    """Returns the source for an argument PATH or PATH@COMMIT. If PATH is not a git directory, `@` is required."""
    path, _, commit = argument.partition("@")
    folder = pathlib.Path(path)
    if folder.is_file():
        return FolderSource(folder.parent, commit)
    if (folder / "HEAD").is_file() or (folder / ".git").exists():
        return GitSource(folder, commit or "HEAD")
    if not folder.is_dir():
        raise MissingSource(f"{path}: neither a folder nor a git directory")
    if not commit:
        raise MissingSource(f"{path}: a folder without git: say {path}@TAG")
    return FolderSource(folder, commit)
