# SPDX-License-Identifier: BSD-3-Clause
#
# Three libraries out of the same objects:
#
#   teamster_shared    libteamster.so; exports what tools/exports.list says
#   teamster_static    libteamster.a; one object, in which all names but the
#                      exported ones are local: a program may have its own
#                      mutex_lock() without noticing ours
#   teamster_internal  all names; for unit tests and `teamster`, not installed
get_property(layers GLOBAL PROPERTY TM_OBJECTS)
get_property(interposers GLOBAL PROPERTY TM_INTERPOSERS)
list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>"
     OUTPUT_VARIABLE objects)
list(TRANSFORM interposers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>"
     OUTPUT_VARIABLE interposer_objects)

set(system_libraries boost_context uring Threads::Threads ${CMAKE_DL_LIBS} m)

# The version script. A name that nobody defines does no harm there.
set(exports_list ${PROJECT_SOURCE_DIR}/tools/exports.list)
set(version_script ${PROJECT_BINARY_DIR}/teamster.map)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exports_list})
file(STRINGS ${exports_list} exports REGEX "^[^#]")
list(JOIN exports ";\n    " exports)
file(CONFIGURE OUTPUT ${version_script}
     CONTENT "{\nglobal:\n    @exports@;\nlocal:\n    *;\n};\n" @ONLY)

add_library(teamster_shared SHARED ${objects} ${interposer_objects})
set_target_properties(teamster_shared PROPERTIES
    OUTPUT_NAME teamster
    EXPORT_NAME teamster
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${version_script})
# Names are bound at start: the resolver would run inside faults otherwise.
target_link_options(teamster_shared PRIVATE
    LINKER:--version-script=${version_script} LINKER:-z,now)
if(NOT TM_SANITIZE) # whose functions only a program brings along
    target_link_options(teamster_shared PRIVATE LINKER:-z,defs)
endif()
target_link_libraries(teamster_shared PRIVATE tm_flags ${system_libraries})

set(whole ${PROJECT_BINARY_DIR}/teamster.o)
add_custom_command(OUTPUT ${whole}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${whole}
            ${objects} ${interposer_objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
    DEPENDS ${objects} ${interposer_objects}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Joining the objects of libteamster.a")
set_source_files_properties(${whole} PROPERTIES
    EXTERNAL_OBJECT ON GENERATED ON)
add_library(teamster_static STATIC ${whole})
set_target_properties(teamster_static PROPERTIES
    OUTPUT_NAME teamster
    LINKER_LANGUAGE C)
target_link_libraries(teamster_static PUBLIC ${system_libraries})

foreach(library teamster_shared teamster_static)
    target_include_directories(${library} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # TM_SHARED where it would belong to a type, which g++ only warns of.
    target_compile_options(${library} INTERFACE
        $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Werror=attributes>)
endforeach()
add_library(Teamster::teamster ALIAS teamster_shared)
add_library(Teamster::teamster_static ALIAS teamster_static)
add_dependencies(programs teamster_shared teamster_static)

add_library(teamster_internal STATIC ${objects})
target_link_libraries(teamster_internal PUBLIC
    tm_internals ${system_libraries})
