# SPDX-License-Identifier: BSD-3-Clause
#
# Files become a C file, web_files[] of cli/web_files.h:
#
#   cmake -D OUT=FILE.c -D "FILES=PATH=FILE;..." -P embed.cmake
#
# PATH is how a browser asks for it; "/" is the page. ";" stands between them.
set(types .html "text/html" .css "text/css" .js "text/javascript" .txt "text/plain"
          .svg "image/svg+xml")
set(arrays)
set(rows)
set(number 0)
foreach(pair IN LISTS FILES)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched "${pair}")
    set(path ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    if(extension STREQUAL "")
        set(extension .txt)
    endif()
    list(FIND types "${extension}" at)
    math(EXPR at "${at} + 1")
    list(GET types ${at} type)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))"
           "\\1\n" bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}};\n")
    string(APPEND rows "    {\"${path}\", \"${type}; charset=utf-8\", file_${number}, "
                       "sizeof file_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed.cmake.\n#include \"web_files.h\"\n\n${arrays}\n"
     "const struct web_file web_files[] = {\n${rows}    {0},\n};\n")
