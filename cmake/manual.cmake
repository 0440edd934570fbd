# SPDX-License-Identifier: BSD-3-Clause
#
# Manual pages and completion, made by tools/manual/: pages of commands, and completion,
# out of what the built `teamster` says of itself; pages of functions out of teamster.h.
# Which files come out is known afterwards only, so a stamp stands for each set.
if(NOT TM_PYTHON OR NOT TARGET teamster)
    return()
endif()
set(tools ${PROJECT_SOURCE_DIR}/tools/manual)
set(manual ${PROJECT_BINARY_DIR}/manual)
set(scripts roff.py header.py reference.py help_text.py commands.py completion.py)
list(TRANSFORM scripts PREPEND ${tools}/)

# A script, with its arguments, writes into a folder of its own.
function(tm_manual name script)
    set(stamp ${manual}/${name}.stamp)
    add_custom_command(OUTPUT ${stamp}
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}/${name}
        COMMAND ${TM_PYTHON} -B ${tools}/${script} ${ARGN} ${manual}/${name}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS ${scripts} ${ARGN} VERBATIM
        COMMENT "Writing manual/${name}")
    set_property(GLOBAL APPEND PROPERTY TM_MANUAL ${stamp})
endfunction()

tm_manual(commands commands.py $<TARGET_FILE:teamster>)
tm_manual(functions reference.py ${PROJECT_SOURCE_DIR}/include/teamster.h)
tm_manual(completion completion.py $<TARGET_FILE:teamster>)
get_property(stamps GLOBAL PROPERTY TM_MANUAL)
add_custom_target(manual ALL DEPENDS ${stamps})
add_dependencies(programs manual)

install(DIRECTORY ${manual}/commands/man1 ${manual}/functions/man3 TYPE MAN)
install(FILES ${manual}/completion/teamster.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME teamster)
install(FILES ${manual}/completion/_teamster
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual}/completion/teamster.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
