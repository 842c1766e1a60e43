# SPDX-License-Identifier: MIT
"""The driver of toolchain tensilelite: an installed TensileLite behind the verbs of docs/drivers.md."""
