# SPDX-License-Identifier: BSD-3-Clause
#
#   tm_npm(VARIABLE NAME VERSION SHA512 WITHOUT)
#
# A package of npm, unpacked in the build folder: VARIABLE is its folder, or empty, and then
# it is said what is so WITHOUT it. Who builds without a network unpacks it himself and sets
# VARIABLE. Only what has this checksum is used; nothing of it is run. It is tried once in a
# build folder: cmake -U "TM_*_TRIED" tries again.
find_program(TM_NPM npm)
mark_as_advanced(TM_NPM)

function(tm_npm_fetch folder name version sha512)
    set(into ${PROJECT_BINARY_DIR}/npm)
    set(archive ${into}/${name}-${version}.tgz)
    file(MAKE_DIRECTORY ${into})
    execute_process(
        COMMAND ${TM_NPM} pack ${name}@${version} --pack-destination ${into}
                --ignore-scripts --fetch-retries=1 --fetch-timeout=20000
        WORKING_DIRECTORY ${into} TIMEOUT 60 OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
    if(failed OR NOT EXISTS ${archive})
        return()
    endif()
    file(SHA512 ${archive} found)
    if(NOT found STREQUAL sha512)
        message(WARNING "${name} ${version} is not what it was: it is left out")
        return()
    endif()
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${into}/unpacked-${name})
    file(RENAME ${into}/unpacked-${name}/package ${folder})
endfunction()

function(tm_npm variable name version sha512 without)
    set(folder ${PROJECT_BINARY_DIR}/npm/${name}-${version})
    if(NOT ${variable} AND NOT EXISTS ${folder} AND TM_NPM AND NOT ${variable}_TRIED)
        set(${variable}_TRIED 1 CACHE INTERNAL "Each configuration would wait for it again")
        tm_npm_fetch(${folder} ${name} ${version} ${sha512})
    endif()
    if(NOT ${variable} AND EXISTS ${folder})
        set(${variable} ${folder} CACHE PATH "Folder of npm's ${name} ${version}" FORCE)
    elseif(NOT ${variable})
        message(STATUS "No ${name} ${version}: ${without}. It comes by npm (on Debian: apt-get "
                       "install npm), once: cmake -U TM_*_TRIED tries again; or set "
                       "${variable} to a folder of it")
    endif()
    mark_as_advanced(${variable})
endfunction()
