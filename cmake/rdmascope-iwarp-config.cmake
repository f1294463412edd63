# What the installed iWARP stack stands on: fmt and ISA-L.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(PkgConfig)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
include(${CMAKE_CURRENT_LIST_DIR}/rdmascope-iwarp-targets.cmake)
