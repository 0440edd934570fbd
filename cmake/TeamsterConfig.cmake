# SPDX-License-Identifier: BSD-3-Clause
#
# find_package(Teamster) gives Teamster::teamster (shared) and
# Teamster::teamster_static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/TeamsterTargets.cmake)
