# SPDX-License-Identifier: Apache-2.0
"""Makes data/knowledge/chips.json from the id tables of the kernel, Mesa, pci.ids and the vendors' own lists."""
