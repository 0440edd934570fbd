// SPDX-License-Identifier: BSD-3-Clause
// In the place of uPlot, where it was not there when Teamster was built.
