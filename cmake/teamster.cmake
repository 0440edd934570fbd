# SPDX-License-Identifier: BSD-3-Clause
#
# What the folders' CMakeLists.txt are written with:
#
#   tm_sources(mem page.c diff.c)          files of a layer of the library
#   tm_interposers(runtime libc.c)         the same, for files that replace
#                                          functions of the C library: in the
#                                          libraries that programs link, but
#                                          not in tests nor in `teamster`
#   tm_unit_test(diff_test.c [LIB...])     a test beside the code: internals of
#                                          the library and cmocka
#   tm_app(jacobi jacobi.c [LIB...])       a program that uses teamster.h only
#   tm_command(main.c run.c)               the program `teamster`
#   tm_test_defaults(NAME... [TIMEOUT s] [WEIGHT n] [SHARED_PAGES])
#                                          for tests added with add_test(): exit
#                                          77 skips, deadline, sanitizers, and
#                                          how much of the machine it takes:
#                                          WEIGHT 2, half of two processors, or
#                                          1, it mostly waits. The presets run
#                                          tests of weight 5 at a time. At its
#                                          end a process with SHARED_PAGES is not
#                                          searched for leaks: that reads all
#                                          its memory, also pages that are not
#                                          here

#   tm_tsan_runs([REGEX])                  of this folder's tests, added before,
#                                          ThreadSanitizer runs those that match,
#                                          or none: the others get the label
#                                          `no-tsan`, which its preset leaves out

# Everything that is compiled here.
add_library(tm_flags INTERFACE)
target_compile_features(tm_flags INTERFACE c_std_17)
target_compile_definitions(tm_flags INTERFACE
    _GNU_SOURCE $<$<CONFIG:Debug>:TM_DEBUG>)
target_compile_options(tm_flags INTERFACE
    -std=gnu17 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -fno-omit-frame-pointer $<$<BOOL:${TM_WERROR}>:-Werror>)
if(TM_SANITIZE)
    target_compile_options(tm_flags INTERFACE
        -fsanitize=${TM_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(tm_flags INTERFACE -fsanitize=${TM_SANITIZE})
endif()

# What the library and what uses its internals is compiled with.
add_library(tm_internals INTERFACE)
target_link_libraries(tm_internals INTERFACE tm_flags)
target_include_directories(tm_internals INTERFACE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# All programs and libraries, without the tests.
add_custom_target(programs)

# A folder of the tree, if it is there.
function(tm_folder folder)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
        add_subdirectory(${PROJECT_SOURCE_DIR}/${folder})
    elseif(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
        message(STATUS "Not built: ${folder}, it has no CMakeLists.txt")
    endif()
endfunction()

function(tm_objects property layer)
    if(NOT TARGET tm_${layer})
        add_library(tm_${layer} OBJECT)
        set_target_properties(tm_${layer} PROPERTIES
            POSITION_INDEPENDENT_CODE ON
            C_VISIBILITY_PRESET hidden)
        # The library is there from the start, never dlopen()ed late, so that a
        # thread-local variable is one load.
        target_compile_options(tm_${layer} PRIVATE -ftls-model=initial-exec)
        target_link_libraries(tm_${layer} PRIVATE tm_internals)
        set_property(GLOBAL APPEND PROPERTY ${property} tm_${layer})
    endif()
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    target_sources(tm_${layer} PRIVATE ${ARGN})
endfunction()

function(tm_sources layer)
    tm_objects(TM_OBJECTS ${layer} ${ARGN})
endfunction()

function(tm_interposers layer)
    tm_objects(TM_INTERPOSERS ${layer}_interposers ${ARGN})
endfunction()

# A program: files and libraries, the first of these given by name.
function(tm_program name library)
    set(sources ${ARGN})
    set(libraries ${ARGN})
    list(FILTER sources INCLUDE REGEX "[.][chsS]$")
    list(FILTER libraries EXCLUDE REGEX "[.][chsS]$")
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE tm_flags ${library} ${libraries})
    add_dependencies(programs ${name})
endfunction()

function(tm_app name)
    tm_program(${name} teamster_static ${ARGN})
endfunction()

function(tm_command)
    tm_program(teamster teamster_internal ${ARGN})
endfunction()

function(tm_tsan_runs)
    get_property(tests DIRECTORY PROPERTY TESTS)
    if(ARGC GREATER 0)
        list(FILTER tests EXCLUDE REGEX ${ARGV0})
    endif()
    set_property(TEST ${tests} APPEND PROPERTY LABELS no-tsan)
endfunction()

set(TM_TEST_WEIGHT 2) # of tests that do not say theirs; a folder may set it

# Which tests are started first: those of a folder that sets more. Tests that wait
# now and then go with those that wait most of the time; when they are through,
# those that only compute can use both processors by themselves.
set(TM_TEST_COST 0)

function(tm_test_defaults)
    cmake_parse_arguments(PARSE_ARGV 0 arg "SHARED_PAGES"
        "TIMEOUT;WEIGHT" "")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(NOT arg_WEIGHT)
        set(arg_WEIGHT ${TM_TEST_WEIGHT})
    endif()
    math(EXPR timeout "${arg_TIMEOUT} * ${TM_TEST_SLOWDOWN}")
    set(find_leaks 1)
    if(arg_SHARED_PAGES)
        set(find_leaks 0)
    endif()
    # Ours come first, so that what the user has set wins.
    set_tests_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES
        SKIP_RETURN_CODE 77
        PROCESSORS ${arg_WEIGHT}
        COST ${TM_TEST_COST}
        TIMEOUT ${timeout}
        ENVIRONMENT "TM_TEST_SLOWDOWN=${TM_TEST_SLOWDOWN}"
        ENVIRONMENT_MODIFICATION
        "ASAN_OPTIONS=path_list_prepend:detect_leaks=${find_leaks};\
${TM_SANITIZER_ENVIRONMENT}")
    foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
        if(name IN_LIST TM_LONG_TESTS)
            # When the folder has set its own labels.
            cmake_language(EVAL CODE "cmake_language(DEFER CALL set_property
                TEST [[${name}]] APPEND PROPERTY LABELS long)")
            set_property(GLOBAL APPEND PROPERTY TM_LONG_FOUND ${name})
        endif()
    endforeach()
endfunction()

# Those that `make check` leaves out.
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/long.list TM_LONG_TESTS REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/tests/long.list)

# Once all tests have been added.
function(tm_check_long_tests)
    get_property(found GLOBAL PROPERTY TM_LONG_FOUND)
    set(missing ${TM_LONG_TESTS})
    list(REMOVE_ITEM missing ${found})
    if(missing)
        message(FATAL_ERROR "tests/long.list names tests that there are not: "
                            "${missing}")
    endif()
endfunction()

# The first race ends the process: a node that is not the root would pass
# unnoticed with it, since a run's exit code is the root's.
set(TM_SANITIZER_ENVIRONMENT
    UBSAN_OPTIONS=path_list_prepend:print_stacktrace=1
    TSAN_OPTIONS=path_list_prepend:second_deadlock_stack=1:halt_on_error=1)

# Tests of these folders have the label `valgrind`, but for those that map shared
# pages or start nodes. With TM_VALGRIND, those with the label run under it.
set(TM_MEMCHECK_FOLDERS
    base model place net mem cluster pages protocol sync observe reconfig cli planner simulate)
set(TM_NO_MEMCHECK net/transport_ucx_test net/ucx_test mem/space_test)

function(tm_memcheck test target)
    cmake_path(GET test PARENT_PATH folder)
    set(prefix)
    set(labels unit)
    set(kind)
    if(test STREQUAL mem/space_test)
        set(kind SHARED_PAGES)
    endif()
    if(folder IN_LIST TM_MEMCHECK_FOLDERS AND NOT test IN_LIST TM_NO_MEMCHECK)
        list(APPEND labels valgrind)
        set(prefix ${TM_MEMCHECK})
    endif()
    if(folder IN_LIST TM_ONE_THREAD_FOLDERS)
        list(APPEND labels no-tsan)
    endif()
    add_test(NAME ${test} COMMAND ${prefix} $<TARGET_FILE:${target}> ${ARGN})
    tm_test_defaults(${test} ${kind})
    set_tests_properties(${test} PROPERTIES LABELS "${labels}")
endfunction()

# Unit tests of these folders compute with one kernel thread, which races with
# nobody: they have the label `no-tsan`, and the preset `tsan` leaves them out.
set(TM_ONE_THREAD_FOLDERS model place planner simulate)

set(TM_MEMCHECK)
if(TM_VALGRIND)
    set(TM_MEMCHECK ${TM_VALGRIND_PROGRAM} --quiet --leak-check=full
        --show-leak-kinds=definite,possible
        --errors-for-leak-kinds=definite,possible --error-exitcode=9)
endif()

function(tm_unit_test source)
    if(NOT TM_BUILD_TESTS)
        return()
    endif()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    cmake_path(GET source STEM stem)
    set(name ${folder}_${stem})
    add_executable(${name} ${source})
    target_include_directories(${name} SYSTEM PRIVATE ${TM_CMOCKA_INCLUDE})
    target_link_libraries(${name} PRIVATE
        teamster_internal ${TM_CMOCKA} ${ARGN})
    tm_memcheck(${folder}/${stem} ${name})
endfunction()
