# cmake -DFOLDER=dissect -DUSES=wire,... -DROOT=. -P check_layer.cmake
#
# Fails where a file of FOLDER includes another folder of the house than those in USES, or a header of the outside
# world that the house keeps to one place.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" allowed "${FOLDER},${USES}")
file(GLOB_RECURSE files ${ROOT}/${FOLDER}/*.h ${ROOT}/${FOLDER}/*.cpp)
file(GLOB folders RELATIVE ${ROOT} ${ROOT}/*)

# A header's prefix | the only folders that may include it.
set(kept_apart
  "pcap\\.h|pcap/|capture/"
  "ncurses|curses\\.h|tui/terminal/"
  "epan/|wireshark/|plugins/wireshark/"
  "sys/socket\\.h|iwarp/transport/,iwarp/preload/,exporters/,daemon/,capture/,replay/sockets/"
  "infiniband/|rdma/|iwarp/preload/,capture/")

foreach(file IN LISTS files)
  file(RELATIVE_PATH shown ${ROOT} ${file})
  file(STRINGS ${file} lines REGEX "^ *# *include *[\"<]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *# *include *[\"<]([^\">]*).*" "\\1" header "${line}")
    string(REGEX REPLACE "/.*" "" folder "${header}")
    if(line MATCHES "\"" AND folder IN_LIST folders AND NOT folder IN_LIST allowed)
      message(SEND_ERROR "${shown}: ${FOLDER}/ may not include ${header} (its rdma_layer USES: ${USES})")
    endif()
    foreach(rule IN LISTS kept_apart)
      string(REPLACE "|" ";" parts "${rule}")
      list(POP_BACK parts places)
      string(REPLACE "," ";" places "${places}")
      foreach(prefix IN LISTS parts)
        if(header MATCHES "^${prefix}")
          set(at_home FALSE)
          foreach(place IN LISTS places)
            string(FIND "${shown}" "${place}" at)
            if(at EQUAL 0)
              set(at_home TRUE)
            endif()
          endforeach()
          if(NOT at_home)
            message(SEND_ERROR "${shown}: <${header}> belongs to ${places} alone")
          endif()
        endif()
      endforeach()
    endforeach()
  endforeach()
endforeach()
