#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when clang-format would change a tracked C++ file.
cd "$1" || exit 1
if ! command -v clang-format >/dev/null; then
    echo "clang-format is not installed"
    exit 77
fi
git ls-files -- '*.cpp' '*.h' 2>/dev/null | xargs -r clang-format --dry-run --Werror
