#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build of an application that fits this machine, from archives that are here, and says why that one.
#
# Usage: install-what-fits.sh MANIFEST ARCHIVES PREFIX
#
# MANIFEST  the builds that there are, with hashes and what each needs (docs/data-files.md)
# ARCHIVES  a folder with the builds' tar archives, each named like the end of its URL
# PREFIX    gets a folder for the build, and the link `current` to it
#
# An archive has bin/self-test, which ends with 0 where the build works. One that does not is reported, so that nobody
# here gets it again while the machine stays the same, and the next one is tried.
#
# Ends with 0 (installed), 1 (something is wrong: nothing is installed) or 3 (no build fits).
# Needs jq. GPUPROBECTL may name the command and its options, as in GPUPROBECTL="gpuprobectl --direct". Where none is
# installed, gpuprobe-linux-x86_64 beside this script does as well (docs/packaging.md).
set -eu

manifest=$1 archives=$2 prefix=$3
application=$(jq -r '.name' "$manifest")
failed=

say() {
    echo "$application: $*" >&2
}

portable=
if [ -z "${GPUPROBECTL:-}" ] && ! command -v gpuprobectl >/dev/null; then
    portable=$(dirname "$0")/gpuprobe-linux-$(uname -m)
fi

gpuprobectl() {
    if [ -n "$portable" ]; then
        "$portable" "$@"
    else
        # shellcheck disable=SC2086  # a command and its options
        command ${GPUPROBECTL:-gpuprobectl} "$@"
    fi
}

# The application's name, so that what was reported about it counts.
recommend() {
    gpuprobectl recommend "$application" --manifest "$manifest" ${failed:+"--exclude=$failed"} "$@"
}

# Of the answer.
field() {
    printf '%s\n' "$answer" | jq -r "$1"
}

report() {
    gpuprobectl --quiet report-outcome "$application" "$@" || say "that was not noted"
}

mkdir -p "$prefix"
work=$(mktemp -d "$prefix/.new.XXXXXX")
trap 'rm -rf "$work"' EXIT

while :; do
    # What it prints says why; with nothing that fits, also what would help, and it ends with 3.
    recommend --explain >&2 || exit $?
    answer=$(recommend -j)
    variant=$(field .variant)
    archive=$archives/$(field '.artifact.urls[0]' | sed 's:.*/::')

    # A file that is not what the manifest says is no reason to try another build.
    gpuprobectl verify "$archive" --manifest "$manifest" --variant "$variant" >&2 || exit 1
    mkdir "$work/$variant"
    case $archive in
    *gz) tar -xzf "$archive" -C "$work/$variant" ;; # busybox looks at the option alone
    *) tar -xf "$archive" -C "$work/$variant" ;;
    esac
    if problem=$("$work/$variant/bin/self-test" 2>&1); then
        break
    fi
    say "$variant does not work here: $problem"
    report failed --variant "$variant" --detail "$problem"
    failed=${failed:+$failed,}$variant
done

report ok --variant "$variant"
rm -rf "${prefix:?}/$variant"
mv "$work/$variant" "$prefix/$variant"
ln -s "$variant" "$work/current"
mv -T "$work/current" "$prefix/current"
say "installed $variant in $prefix/$variant"
