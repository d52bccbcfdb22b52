# SPDX-License-Identifier: Apache-2.0
"""Makes manifests (docs/data-files.md) from other projects' lists of builds; one module for each project's format."""
