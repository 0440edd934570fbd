# SPDX-License-Identifier: BSD-3-Clause
#
# What `make install` puts where. Everything can be moved afterwards: paths in
# teamster.pc and in the CMake package are relative to these files.
# Manual pages and completion: manual.cmake.
include(CMakePackageConfigHelpers)

install(FILES include/teamster.h bindings/cxx/teamster.hpp TYPE INCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/bindings/fortran/teamster.f90
        DESTINATION ${CMAKE_INSTALL_DATADIR}/teamster/fortran)
install(FILES bindings/python/teamster.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/teamster/python)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md TYPE DOC)
install(DIRECTORY docs TYPE DOC PATTERN results EXCLUDE)
install(FILES apps/hello.c apps/guide/rod_pthreads.c apps/guide/rod_teamster.c apps/guide/pi_rounds.c
        bindings/cxx/jacobi.cc bindings/fortran/jacobi.f90
        bindings/python/jacobi.py bindings/python/jacobi_kernel.c
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(TARGETS teamster_shared teamster_static EXPORT teamster_targets)
if(TARGET teamster)
    install(TARGETS teamster)
endif()

set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_folder}
    OUTPUT_VARIABLE TM_PREFIX_FROM_PC)
configure_file(teamster.pc.in teamster.pc @ONLY)
configure_file(teamster-static.pc.in teamster-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/teamster.pc ${PROJECT_BINARY_DIR}/teamster-static.pc
        DESTINATION ${pkgconfig_folder})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Teamster)
install(EXPORT teamster_targets NAMESPACE Teamster::
        FILE TeamsterTargets.cmake DESTINATION ${package_folder})
write_basic_package_version_file(TeamsterConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES cmake/TeamsterConfig.cmake
              ${PROJECT_BINARY_DIR}/TeamsterConfigVersion.cmake
        DESTINATION ${package_folder})
