# Installs headers, libraries and the program, with a CMake package and pkg-config files.
#
# The width of an entity handle is part of the libraries' interface. Both packages carry it to whoever uses them.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mica)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
get_property(modules GLOBAL PROPERTY MICA_MODULES)

# The pkg-config files find their prefix from where they lie, so that an installation can be moved.
file(RELATIVE_PATH MICA_PREFIX_FROM_PKGCONFIG
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MICA_PREFIX_FROM_PKGCONFIG ${MICA_PREFIX_FROM_PKGCONFIG})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mica DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS mica_headers mica_static mica_shared EXPORT mica-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT mica-targets NAMESPACE mica:: DESTINATION ${package_dir})
list(TRANSFORM MICA_WIDTH_DEFINITIONS PREPEND -D OUTPUT_VARIABLE MICA_WIDTH_FLAGS)
list(JOIN MICA_WIDTH_FLAGS " " MICA_WIDTH_FLAGS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/mica.pc.in mica.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mica.pc DESTINATION ${pkgconfig_dir})

foreach(module IN LISTS modules)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/modules/${module}/include/mica DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
    install(TARGETS mica_${module}_static mica_${module}_shared EXPORT mica-${module}-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT mica-${module}-targets NAMESPACE mica:: DESTINATION ${package_dir})
    set(MICA_MODULE ${module})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/mica-module.pc.in mica-${module}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/mica-${module}.pc DESTINATION ${pkgconfig_dir})
endforeach()

configure_package_config_file(cmake/mica-config.cmake.in mica-config.cmake INSTALL_DESTINATION ${package_dir}
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 every minor version may break the interface.
write_basic_package_version_file(mica-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mica-config.cmake ${PROJECT_BINARY_DIR}/mica-config-version.cmake
    DESTINATION ${package_dir})

if(TARGET mica_program)
    install(TARGETS mica_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
