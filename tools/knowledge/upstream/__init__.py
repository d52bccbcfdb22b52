# SPDX-License-Identifier: Apache-2.0
"""Readers for the files of other projects, which the rules of facts name."""
