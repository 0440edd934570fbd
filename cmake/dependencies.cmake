# SPDX-License-Identifier: BSD-3-Clause
#
# What is needed from outside. tools/setup.sh installs all of it on Debian.
include(CheckIncludeFile)
include(npm)
find_package(Threads REQUIRED)

function(need what found package)
    if(NOT ${found})
        message(FATAL_ERROR "${what} is missing. On Debian: apt-get install "
                            "${package}; or run tools/setup.sh.")
    endif()
endfunction()

# UCX is loaded at run time, by dlopen(): only its headers are needed here.
check_include_file(ucp/api/ucp.h TM_HAVE_UCP_H)
need("ucp/api/ucp.h, the header of UCX," TM_HAVE_UCP_H libucx-dev)

# libsodium too, when a run has several hosts.
check_include_file(sodium.h TM_HAVE_SODIUM_H)
need("sodium.h, the header of libsodium," TM_HAVE_SODIUM_H libsodium-dev)

# PMIx too, where mpirun or srun starts the nodes. Without its header programs are
# started by `teamster run` only.
find_path(TM_PMIX_INCLUDE pmix.h PATH_SUFFIXES pmix2/include pmix/include
          HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
mark_as_advanced(TM_PMIX_INCLUDE)
if(NOT TM_PMIX_INCLUDE)
    message(STATUS "No pmix.h: programs will not run under mpirun or srun. On "
                   "Debian: apt-get install libpmix-dev")
endif()

# zstd too, where checkpoints are written or read. Without its header they are not compressed.
find_path(TM_ZSTD_INCLUDE zstd.h)
mark_as_advanced(TM_ZSTD_INCLUDE)
if(NOT TM_ZSTD_INCLUDE)
    message(STATUS "No zstd.h: checkpoints are not compressed. On Debian: apt-get install "
                   "libzstd-dev")
endif()

# The C functions make_fcontext() and jump_fcontext(); no C++ is used.
find_library(TM_BOOST_CONTEXT boost_context)
need("libboost_context" TM_BOOST_CONTEXT libboost-context-dev)
mark_as_advanced(TM_BOOST_CONTEXT)

# Transfers to swap files; asked at run time whether the kernel has io_uring.
find_path(TM_URING_INCLUDE liburing.h)
find_library(TM_URING uring)
need("liburing.h" TM_URING_INCLUDE liburing-dev)
need("liburing" TM_URING liburing-dev)
mark_as_advanced(TM_URING_INCLUDE TM_URING)

# For `teamster plan` alone; libteamster writes its JSON by hand.
find_path(TM_JANSSON_INCLUDE jansson.h)
find_library(TM_JANSSON jansson)
need("jansson.h" TM_JANSSON_INCLUDE libjansson-dev)
need("libjansson" TM_JANSSON libjansson-dev)
mark_as_advanced(TM_JANSSON_INCLUDE TM_JANSSON)

# For `teamster top` on a terminal. Not needed to build.
find_path(TM_NCURSES_INCLUDE curses.h)
find_library(TM_NCURSES ncursesw)
find_library(TM_TINFO tinfo)
if(TM_NCURSES AND TM_TINFO)
    list(APPEND TM_NCURSES ${TM_TINFO})
endif()
mark_as_advanced(TM_NCURSES_INCLUDE TM_NCURSES TM_TINFO)
if(NOT TM_NCURSES OR NOT TM_NCURSES_INCLUDE)
    message(STATUS "No ncurses: teamster top prints tables. On Debian: "
                   "apt-get install libncurses-dev")
endif()

# For --web and `teamster attach`. Not needed to build.
find_path(TM_MICROHTTPD_INCLUDE microhttpd.h)
find_library(TM_MICROHTTPD microhttpd)
mark_as_advanced(TM_MICROHTTPD_INCLUDE TM_MICROHTTPD)
if(NOT TM_MICROHTTPD OR NOT TM_MICROHTTPD_INCLUDE)
    message(STATUS "No libmicrohttpd: there is no live page (--web, teamster attach). On "
                   "Debian: apt-get install libmicrohttpd-dev")
endif()

# Its charts. Nothing of it is in the tree; without it the page shows tables only.
set(TM_UPLOT_VERSION 1.6.32)
set(TM_UPLOT_SHA512
    2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023)
if(TM_MICROHTTPD AND TM_MICROHTTPD_INCLUDE)
    tm_npm(TM_UPLOT uplot ${TM_UPLOT_VERSION} ${TM_UPLOT_SHA512}
           "the live page has no charts")
endif()

# For manual pages and completion. Not needed to build.
find_program(TM_PYTHON python3)
mark_as_advanced(TM_PYTHON)
if(NOT TM_PYTHON)
    message(STATUS "No python3: manual pages and completion are left out. On "
                   "Debian: apt-get install python3")
endif()

set(TM_BUILD_TESTS OFF)
if(TM_VALGRIND)
    find_program(TM_VALGRIND_PROGRAM valgrind)
    mark_as_advanced(TM_VALGRIND_PROGRAM)
    need("valgrind" TM_VALGRIND_PROGRAM valgrind)
endif()
if(TM_TESTS)
    find_path(TM_CMOCKA_INCLUDE cmocka.h)
    find_library(TM_CMOCKA cmocka)
    mark_as_advanced(TM_CMOCKA_INCLUDE TM_CMOCKA)
    if(TM_CMOCKA AND TM_CMOCKA_INCLUDE AND TM_PYTHON)
        set(TM_BUILD_TESTS ON)
    elseif(TM_TESTS STREQUAL AUTO)
        message(STATUS "No cmocka or no python3: the tests are not built")
    else()
        need("cmocka" TM_CMOCKA libcmocka-dev)
        need("cmocka.h" TM_CMOCKA_INCLUDE libcmocka-dev)
        need("python3" TM_PYTHON python3)
    endif()
endif()
