# SPDX-License-Identifier: Apache-2.0
"""Builds programs with the Go and Rust clients offline. The distribution's compilers are preferred."""
import functools
import os
import pathlib
import shutil
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent
PACKAGES = BUILD / "generated/packages"
PATH = f"/usr/bin:/bin:{os.environ['PATH']}"
REGISTRY = pathlib.Path("/usr/share/cargo/registry")  # from Debian's packages librust-*-dev
CRATES = ("serde-1", "serde_derive-1", "serde_json-1")
KEPT = BUILD / "clients"  # build caches
RUST_TARGET = KEPT / "rust"
BY_HAND = "tools/install-dependencies --engines"


def go_problem():
    """Returns the reason why no Go program can be built; None if Go is installed."""
    return None if shutil.which("go", path=PATH) else f"go is not installed: {BY_HAND}"


def rust_problem():
    for program in ("rustc", "cargo"):
        if not shutil.which(program, path=PATH):
            return f"{program} is not installed: {BY_HAND}"
    for crate in CRATES:
        if not list(REGISTRY.glob(f"{crate}.*")):
            return f"{REGISTRY} has no {crate}: {BY_HAND}"
    return None


needs_go = unittest.skipIf(go_problem(), go_problem())
needs_rust = unittest.skipIf(rust_problem(), rust_problem())


def go_environment():
    """Returns the environment for Go without cgo. A workspace file makes gpuprobe's module available in every folder."""
    workspace = KEPT / "go.work"
    KEPT.mkdir(exist_ok=True)
    workspace.write_text(f"go 1.19\n\nuse {PACKAGES / 'go'}\n", encoding="utf-8")
    return {"PATH": PATH, "CGO_ENABLED": "0", "GOWORK": str(workspace), "GOPROXY": "off", "GOFLAGS": "-p=1", "GOCACHE": str(KEPT / "go-cache")}


def cargo_environment(home, more=""):
    """Returns the environment for cargo. cargo's configuration uses the distribution's registry and contains the additional lines `more`."""
    home.mkdir(parents=True, exist_ok=True)
    text = f'[source.crates-io]\nreplace-with = "distribution"\n[source.distribution]\ndirectory = "{REGISTRY}"\n{more}'
    (home / "config.toml").write_text(text, encoding="utf-8")
    return {"PATH": PATH, "CARGO_HOME": str(home), "CARGO_NET_OFFLINE": "true", "CARGO_PROFILE_DEV_DEBUG": "0", "RUSTFLAGS": "-Dwarnings"}


def rust_environment():
    """Returns the environment for cargo in which gpuprobe's crate is also available."""
    more = (f'[patch.crates-io]\ngpuprobe-client = {{ path = "{PACKAGES / "rust"}" }}\n[build]\njobs = 1\n'
            '[profile.dev.package.serde_json]\nopt-level = 1\n[profile.dev.package.gpuprobe-client]\nopt-level = 1\n')
    return cargo_environment(KEPT / "cargo", more)


def run(command, environment, folder):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}")
    return done.stdout


@functools.cache
def go_program(source):
    """Builds a program from one source file. Returns the path of the program."""
    program = KEPT / f"{source.stem}_go"
    environment = go_environment()
    run(["go", "vet", str(source)], environment, KEPT)
    run(["go", "build", "-o", str(program), str(source)], environment, KEPT)
    return program


@functools.cache
def rust_program(source):
    crate = KEPT / f"{source.stem}_rs"
    crate.mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(f'[package]\nname = "{source.stem}_rs"\nversion = "0.0.0"\nedition = "2021"\n'
                                      f'[[bin]]\nname = "{source.stem}_rs"\npath = "{source}"\n'
                                      '[dependencies]\ngpuprobe-client = "0.1"\nserde = "1"\nserde_json = "1"\n', encoding="utf-8")
    run(["cargo", "build", "--quiet", "--offline"], {**rust_environment(), "CARGO_TARGET_DIR": str(RUST_TARGET)}, crate)
    return RUST_TARGET / f"debug/{source.stem}_rs"
