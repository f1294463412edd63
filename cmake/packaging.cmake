# `./dev package`: Debian packages of what `cmake --install` installs; what belongs to Wireshark is one of its own, which
# only that version of Wireshark can load.
include(GNUInstallDirs)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rdmascope RENAME copyright)
set(CPACK_PACKAGE_NAME rdmascope)
set(CPACK_PACKAGE_VENDOR "the rdmascope developers")
set(CPACK_PACKAGE_CONTACT "the rdmascope developers <developers@rdmascope.invalid>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
# By DESTDIR, since the unit and the place of its configuration depend on the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # cpack would ask the host's dpkg for both.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
# Each package has its own; the project's would stand before both.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(summary "sees RDMA traffic, RoCE, InfiniBand and iWARP, and understands every message")

# The program and the headers of its iWARP stack are one package, as they always were.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL Unspecified development wireshark)
set(CPACK_COMPONENT_UNSPECIFIED_GROUP rdmascope)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP rdmascope)
set(CPACK_COMPONENT_WIRESHARK_GROUP rdmascope-wireshark)
set(CPACK_DEBIAN_RDMASCOPE_PACKAGE_NAME rdmascope)
set(CPACK_DEBIAN_RDMASCOPE_DESCRIPTION ${summary})
# Libraries that are loaded when they are first needed (base/shared_library.h). dpkg-shlibdeps finds all others.
# CURLOPT_PROTOCOLS_STR came with curl 7.85.
set(CPACK_DEBIAN_RDMASCOPE_PACKAGE_DEPENDS "libcurl4 (>= 7.85), libmicrohttpd12 (>= 0.9.75)")
set(CPACK_DEBIAN_RDMASCOPE_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/conffiles
    ${PROJECT_SOURCE_DIR}/cmake/debian/postinst)

set(CPACK_DEBIAN_RDMASCOPE-WIRESHARK_PACKAGE_NAME rdmascope-wireshark)
set(CPACK_DEBIAN_RDMASCOPE-WIRESHARK_DESCRIPTION
    "RDMA in Wireshark: analysis, statistics, capture interfaces and a profile")
set(CPACK_DEBIAN_RDMASCOPE-WIRESHARK_PACKAGE_SUGGESTS rdmascope)
get_property(wireshark GLOBAL PROPERTY rdmascope_wireshark_version)
if(wireshark MATCHES "^([0-9]+)\\.([0-9]+)")
  math(EXPR next "${CMAKE_MATCH_2} + 1")
  set(CPACK_DEBIAN_RDMASCOPE-WIRESHARK_PACKAGE_DEPENDS
      "wireshark-common (>= ${CMAKE_MATCH_0}~), wireshark-common (<< ${CMAKE_MATCH_1}.${next}~)")
endif()
get_property(folder GLOBAL PROPERTY rdmascope_extcap_folder)
set(RDMASCOPE_EXTCAP_PROGRAM ${CPACK_INSTALL_PREFIX}/${folder}/rdmascope-extcap)
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/wireshark/postinst.in ${PROJECT_BINARY_DIR}/debian-wireshark/postinst
               @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                      WORLD_EXECUTE)
set(CPACK_DEBIAN_RDMASCOPE-WIRESHARK_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian-wireshark/postinst)
include(CPack)
