# SPDX-License-Identifier: MIT
"""Not TensileLite: a package of our own with the few names that the driver uses, to test the driver's logic. Its problem
types are names, and two of them do harm."""
__version__ = "4.33.0"
