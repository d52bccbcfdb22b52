# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command gpuprobectl, in a wheel that contains the program."""
import os
import sys

from ._messages import PROGRAM, program


def main() -> None:
    os.execv(program(), [PROGRAM, *sys.argv[1:]])
