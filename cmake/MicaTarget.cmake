# What all targets of this project have in common.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Compiler and linker options of an instrumented build; what is linked with its libraries needs them too.
set(MICA_INSTRUMENTATION "")
if(MICA_SANITIZE)
    list(APPEND MICA_INSTRUMENTATION
        -fsanitize=${MICA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(MICA_FUZZ)
    list(APPEND MICA_INSTRUMENTATION -fsanitize=fuzzer-no-link)
endif()
if(MICA_COVERAGE)
    list(APPEND MICA_INSTRUMENTATION --coverage)
endif()

# Gives a target the language level, warnings, visibility and instrumentation of this build.
function(mica_target_defaults target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
        BUILD_RPATH_USE_ORIGIN ON)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
        $<$<BOOL:${MICA_WERROR}>:-Werror> -ffp-contract=off ${MICA_INSTRUMENTATION})
    target_link_options(${target} PRIVATE ${MICA_INSTRUMENTATION})
    # POSIX is asked for by name because the strict C dialect hides it.
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    if(MICA_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
        target_compile_definitions(${target} PRIVATE MI_DEBUG=1)
    endif()
    if(MICA_DEFAULT_STORAGE STREQUAL "pool")
        target_compile_definitions(${target} PRIVATE MI_DEFAULT_STORAGE=1)
    elseif(MICA_DEFAULT_STORAGE STREQUAL "mixed")
        target_compile_definitions(${target} PRIVATE MI_DEFAULT_STORAGE=2)
    endif()
    if(MICA_MOVE_ALWAYS)
        target_compile_definitions(${target} PRIVATE MI_MOVE_ALWAYS=1)
    endif()
endfunction()

# A shared object, or a module, that leaves nothing undefined. Sanitizers leave their runtime to the program.
function(mica_target_no_undefined target)
    if(NOT MICA_SANITIZE)
        target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
endfunction()

# mica_add_plugin(<name> <source>...): a shared object for `mica run --plugin`, at plugins/<name>.so in the build directory.
function(mica_add_plugin name)
    add_library(${name} MODULE ${ARGN})
    mica_target_defaults(${name})
    mica_target_no_undefined(${name})
    target_link_libraries(${name} PRIVATE mica_shared)
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins)
endfunction()
