# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of [Liu06] and [Liang03] on emulated nodes."""
