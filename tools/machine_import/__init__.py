# SPDX-License-Identifier: Apache-2.0
"""Converters from public recordings of machines to capture folders (see tests/data/machines/README.md)."""
