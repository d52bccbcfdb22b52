# SPDX-License-Identifier: Apache-2.0
"""Readers for the files of other projects. The rule of a fact names the reader for the file that contains the fact."""
