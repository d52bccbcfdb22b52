#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build of an application that fits this machine, from local archives, and prints why this build was
# chosen.
#
# Usage: install-what-fits.sh MANIFEST ARCHIVES PREFIX
#
# MANIFEST  the available builds, with their hashes and requirements (docs/data-files.md)
# ARCHIVES  a folder with the builds' tar archives, each named like the last part of its URL
# PREFIX    the folder for the installed build, and for the link `current` to it
#
# An archive contains bin/self-test, which exits with 0 if the build works. If bin/self-test fails, the script reports the
# failure, so that no user of this machine gets this build again until the machine changes, and tries the next build.
#
# Exit status: 0 (installed), 1 (failure: nothing is installed) or 3 (no build fits).
# Needs jq. GPUPROBECTL may contain the command and its options, as in GPUPROBECTL="gpuprobectl --direct". If gpuprobectl is
# not installed, the script runs gpuprobe-linux-x86_64, which must be in the same folder (docs/packaging.md).
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

# Passes the application's name, so that reported failures are considered.
recommend() {
    gpuprobectl recommend "$application" --manifest "$manifest" ${failed:+"--exclude=$failed"} "$@"
}

# Prints a value in the answer.
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
    # This prints the reasons. If no build fits, it also prints possible fixes, and the exit status is 3.
    recommend --explain >&2 || exit $?
    answer=$(recommend -j)
    variant=$(field .variant)
    archive=$archives/$(field '.artifact.urls[0]' | sed 's:.*/::')

    # If the file does not match the manifest, the script stops and does not try another build.
    gpuprobectl verify "$archive" --manifest "$manifest" --variant "$variant" >&2 || exit 1
    mkdir "$work/$variant"
    case $archive in
    *gz) tar -xzf "$archive" -C "$work/$variant" ;; # tar of busybox considers only the option
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
