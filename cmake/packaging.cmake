# `./dev package`: a Debian package of what `cmake --install` installs.
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
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/conffiles
    ${PROJECT_SOURCE_DIR}/cmake/debian/postinst)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "sees RDMA traffic, RoCE, InfiniBand and iWARP, and understands every message")
include(CPack)
