# This script runs when a test program is built. It writes the file OUTPUT, with one CTest for each suite of the program,
# named `PREFIX` and the suite's name. A process for each test would take longer than most tests.
#
#   cmake -DPROGRAM=... -DEMULATOR=... -DPREFIX=... -DLABEL=... -DLEAVE=PATTERN:... -DOUTPUT=... -P suites.cmake
#
# LEAVE: patterns of --gtest_filter for tests that are not run. A suite of more than MOST tests becomes several CTests,
# NAME-0 and so on.
set(MOST 60)
execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests --gtest_filter=*-${LEAVE} OUTPUT_VARIABLE listed RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${failed}\n${listed}")
endif()
# The text of a parameter may contain the separators of CMake's lists.
string(REGEX REPLACE " *# [^\n]*" "" listed "${listed}")
string(REPLACE ";" "," listed "${listed}")
string(REPLACE "[" "(" listed "${listed}")
string(REPLACE "]" ")" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
string(REPLACE ";" " " command "${EMULATOR};${PROGRAM}")
separate_arguments(command UNIX_COMMAND "${command}")

set(written "")
function(write_suite suite count)
  if(count EQUAL 0)
    return()
  endif()
  math(EXPR shares "(${count} + ${MOST} - 1) / ${MOST}")
  math(EXPR last "${shares} - 1")
  foreach(share RANGE ${last})
    set(name "${PREFIX}${suite}")
    set(environment "")
    if(shares GREATER 1)
      string(APPEND name "-${share}")
      set(environment " ENVIRONMENT \"GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${share}\"")
    endif()
    list(JOIN command "\" \"" words)
    string(APPEND written "add_test([=[${name}]=] \"${words}\" \"--gtest_filter=${suite}.*-${LEAVE}\")\n"
                          "set_tests_properties([=[${name}]=] PROPERTIES TIMEOUT 900 PROCESSORS 2 LABELS ${LABEL}${environment})\n")
  endforeach()
  set(written "${written}" PARENT_SCOPE)
endfunction()

set(suite "")
set(count 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.$")
    write_suite("${suite}" ${count})
    set(suite ${CMAKE_MATCH_1})
    set(count 0)
  elseif(line MATCHES "^  [^ ]" AND NOT line MATCHES "DISABLED_")
    math(EXPR count "${count} + 1")
  endif()
endforeach()
write_suite("${suite}" ${count})
file(WRITE ${OUTPUT} "${written}")
