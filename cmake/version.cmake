# SPDX-License-Identifier: BSD-3-Clause
#
# The version is written once, in teamster.h.
set(header ${CMAKE_CURRENT_LIST_DIR}/../include/teamster.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
set(parts)
foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${header} line REGEX "^#define TM_VERSION_${part} [0-9]+$")
    if(NOT line)
        message(FATAL_ERROR "TM_VERSION_${part} is not in ${header}")
    endif()
    string(REGEX REPLACE "^.* " "" number "${line}")
    list(APPEND parts ${number})
endforeach()
list(JOIN parts . TM_VERSION)
