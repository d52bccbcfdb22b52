#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if clang-format would change a tracked C or C++ file.
cd "$1" || exit 1
if ! command -v clang-format >/dev/null; then
    echo "clang-format is not installed"
    exit 77
fi
# Compare the output instead of using --dry-run, because clang-format 14 --dry-run rejects a closing comment of an inline
# namespace that clang-format itself wrote.
git ls-files -- '*.cpp' '*.h' '*.c' 2>/dev/null | xargs -r -P 2 -n 1 sh -c 'clang-format "$0" | diff -u --label "$0" --label formatted "$0" - || exit 1'
