# Completion of rdmascope for fish.

function __rdmascope_fields
    rdmascope dump -G fields 2>/dev/null | cut -f3
end

function __rdmascope_interfaces
    echo any
    command ls /sys/class/net 2>/dev/null
end

function __rdmascope_wants_fields
    string match -qr -- '-T *(fields|json|ek)' (commandline -opc | string join ' ')
end

# Whether the command is one of these; a file of that name, or a word after `run`, does not count.
function __rdmascope_is
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end

# What follows the options of `run`: another program's command, one word a line.
function __rdmascope_program
    set -l words (commandline -opc)
    set -e words[1..2]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                break
            case --trace --mads --attach --summary --address --crc --markers --mpa-revision --peer-to-peer --strict --max-ulpdu \
                --receive-patience --verbose
                set -e words[1]
                set -e words[1]
            case '-*'
                set -e words[1]
            case '*'
                break
        end
    end
    string join \n -- $words
end

function __rdmascope_runs
    __rdmascope_is run; and not count (__rdmascope_program) >/dev/null
end

function __rdmascope_complete_program
    complete -C (string join ' ' -- (string escape -- (__rdmascope_program)) (commandline -ct))
end

complete -c rdmascope -f
complete -c rdmascope -n __fish_use_subcommand -a dump -d 'print, filter, save and convert packets'
complete -c rdmascope -n __fish_use_subcommand -a flows -d 'one row a flow with all its figures'
complete -c rdmascope -n __fish_use_subcommand -a io -d 'commands of upper layers, and where their time went'
complete -c rdmascope -n __fish_use_subcommand -a paths -d 'which ports carry what between two hosts'
complete -c rdmascope -n __fish_use_subcommand -a why -d 'why it is slow'
complete -c rdmascope -n __fish_use_subcommand -a explain -d 'lines of logs and codes of errors'
complete -c rdmascope -n __fish_use_subcommand -a report -d 'one HTML page with answers, flows and plots'
complete -c rdmascope -n __fish_use_subcommand -a policy -d 'check the class of each flow'
complete -c rdmascope -n __fish_use_subcommand -a fabric -d 'the InfiniBand subnet'
complete -c rdmascope -n __fish_use_subcommand -a top -d 'the live screen'
complete -c rdmascope -n __fish_use_subcommand -a daemon -d 'capture for months: export figures, keep a history, record incidents'
complete -c rdmascope -n __fish_use_subcommand -a fleet -d 'ask ClickHouse about all hosts'
complete -c rdmascope -n __fish_use_subcommand -a endpoint -d 'an iWARP endpoint in software'
complete -c rdmascope -n __fish_use_subcommand -a replay -d 'make a capture happen again'
complete -c rdmascope -n __fish_use_subcommand -a run -d 'a verbs program, traced or on the software iWARP stack'
complete -c rdmascope -n __fish_use_subcommand -a doctor -d 'what is wrong with this machine\'s RDMA stack'
complete -c rdmascope -n __fish_use_subcommand -a demo -d 'real iWARP traffic, captured and explained'
complete -c rdmascope -n __fish_use_subcommand -a completion -d 'the script for a shell'
complete -c rdmascope -n __fish_use_subcommand -a help -d 'explain a command'
complete -c rdmascope -n __fish_use_subcommand -l help -d 'list the commands'
complete -c rdmascope -n __fish_use_subcommand -l version -d 'print the version'
complete -c rdmascope -n '__rdmascope_is dump flows io paths why report policy top' -a 'ip ip6 udp tcp host net port src dst and or not vlan ether'
complete -c rdmascope -n '__rdmascope_is help' -a 'dump flows io paths why explain report policy fabric top daemon fleet endpoint replay run doctor demo completion'

function __rdmascope_option
    complete -c rdmascope -n '__rdmascope_is dump' $argv
end

__rdmascope_option -s i -l interface -x -a '(__rdmascope_interfaces)' -d 'capture on an interface'
__rdmascope_option -s r -l read-file -r -F -d 'read a capture file'
__rdmascope_option -s D -l list-interfaces -d 'list the interfaces and exit'
__rdmascope_option -s L -l list-data-link-types -d 'list the link types of the interface and exit'
__rdmascope_option -s J -l list-time-stamp-types -d 'list the clocks of the interface and exit'
__rdmascope_option -s y -l linktype -x -a 'EN10MB LINUX_SLL LINUX_SLL2 RAW INFINIBAND' -d 'capture with this link type'
__rdmascope_option -s s -l snapshot-length -x -d 'capture at most BYTES of each frame'
__rdmascope_option -s B -l buffer-size -x -d 'capture buffer of the kernel in KiB'
__rdmascope_option -s j -l time-stamp-type -x -d 'the clock that stamps'
__rdmascope_option -s p -l no-promiscuous-mode -d 'no promiscuous mode'
__rdmascope_option -s Q -l direction -x -a 'in out inout' -d 'only frames received, or only those sent'
__rdmascope_option -l immediate-mode -d 'hand over every frame as it arrives'
__rdmascope_option -l kernel-events -f -a 'rdma_cma rdma_core ib_cma ib_mad rpcrdma' -d 'print the events of the kernel too'
__rdmascope_option -s c -x -d 'stop after N matching packets'
__rdmascope_option -s F -r -F -d 'take the expression from a file'
__rdmascope_option -l flow -x -d 'packets of this flow and its reverse'
__rdmascope_option -s Y -l display-filter -x -a '(__rdmascope_fields)' -d 'filter by fields'
__rdmascope_option -l all -d 'print packets without RDMA too'
__rdmascope_option -l io -d 'only lines of commands'
__rdmascope_option -l as -x -a '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds' -d 'the protocol of a port or a queue pair'
__rdmascope_option -s d -d 'print the compiled expression and exit'
__rdmascope_option -s O -l no-optimize -d 'do not optimise the compiled expression'
__rdmascope_option -s T -x -a 'text fields json ek' -d 'what to print'
complete -c rdmascope -n '__rdmascope_is dump; and __rdmascope_wants_fields' -s e -x -a '(__rdmascope_fields)' -d 'print this field'
complete -c rdmascope -n '__rdmascope_is dump; and not __rdmascope_wants_fields' -s e -d 'show the header of the link layer'
__rdmascope_option -s E -x -a 'header=y separator=/t separator=/s separator=, occurrence=f occurrence=l occurrence=a aggregator=/s quote=d quote=s quote=n bom=y' -d 'look of -T fields'
__rdmascope_option -s V -d 'every field as a tree'
__rdmascope_option -s v -d more
__rdmascope_option -s q -d less
__rdmascope_option -s '#' -l number -d 'begin lines with the number of the packet'
__rdmascope_option -s t -d 'how times are printed'
__rdmascope_option -l time-stamp-precision -x -a 'micro nano' -d 'digits of times'
__rdmascope_option -l micro -d 'times with six decimals'
__rdmascope_option -l nano -d 'times with nine decimals'
__rdmascope_option -s x -d 'add the bytes in hexadecimal'
__rdmascope_option -s X -d 'add the bytes in hexadecimal and ASCII'
__rdmascope_option -s A -d 'add the bytes in ASCII'
__rdmascope_option -s S -l absolute-tcp-sequence-numbers -d 'TCP sequence numbers as they are on the wire'
__rdmascope_option -s n -d 'numbers instead of names'
__rdmascope_option -l node-names -rF -d 'names for GUIDs and LIDs'
__rdmascope_option -s K -l dont-verify-checksums -d 'do not verify CRCs'
__rdmascope_option -l color -x -a 'auto never always' -d colour
__rdmascope_option -s l -d 'hand over every line as it is made'
__rdmascope_option -l count -d 'print only how many packets matched'
__rdmascope_option -s w -r -F -d 'save the packets'
__rdmascope_option -l format -x -a 'pcap pcapng' -d 'format of the saved file'
__rdmascope_option -l print -d 'print as well as save'
__rdmascope_option -s U -l packet-buffered -d 'hand over every packet as it is saved or printed'
__rdmascope_option -s C -x -d 'a new file after SIZE million bytes'
__rdmascope_option -s W -x -d 'how many files'
__rdmascope_option -s G -x -a fields -d 'a new file every N seconds, or list the fields'
__rdmascope_option -s z -x -a '(__fish_complete_command)' -d 'run a command on every complete file'
__rdmascope_option -s Z -l relinquish-privileges -x -a '(__fish_complete_users)' -d 'become a user once the source is open'
__rdmascope_option -s h -l help -d 'list the options and exit'
__rdmascope_option -l version -d 'print the version and exit'

# What flows, why and top share.
function __rdmascope_measuring_option
    complete -c rdmascope -n '__rdmascope_is flows paths why report policy top' $argv
end

function __rdmascope_flows_option
    complete -c rdmascope -n '__rdmascope_is flows' $argv
end

function __rdmascope_io_option
    complete -c rdmascope -n '__rdmascope_is io' $argv
end

function __rdmascope_paths_option
    complete -c rdmascope -n '__rdmascope_is paths' $argv
end

function __rdmascope_why_option
    complete -c rdmascope -n '__rdmascope_is why' $argv
end

function __rdmascope_report_option
    complete -c rdmascope -n '__rdmascope_is report' $argv
end

function __rdmascope_top_option
    complete -c rdmascope -n '__rdmascope_is top' $argv
end

function __rdmascope_columns
    rdmascope flows --columns names 2>/dev/null | cut -d' ' -f1
end

function __rdmascope_io_columns
    set -l each (string match -- --each (commandline -opc))[1]
    rdmascope io $each --columns names 2>/dev/null
end

__rdmascope_measuring_option -s i -l interface -x -a '(__rdmascope_interfaces)' -d 'capture on an interface'
__rdmascope_measuring_option -s r -l read-file -r -F -d 'read a capture file'
__rdmascope_measuring_option -l trace -rF -d 'what programs did meanwhile'
__rdmascope_measuring_option -l kernel-events -f -a 'rdma_cma rdma_core ib_cma ib_mad rpcrdma' -d 'the events of the kernel too'
__rdmascope_measuring_option -l connect -F -d 'ask a running daemon'
__rdmascope_measuring_option -l history -x -a '(__fish_complete_directories)' -d 'what a daemon recorded'
__rdmascope_measuring_option -l from -x -a '-1h -10m -1d' -d 'what was after a time'
__rdmascope_measuring_option -l to -x -a '-1h -10m now' -d 'what was before a time'
__rdmascope_measuring_option -s s -l snapshot-length -x -d 'capture at most BYTES of each frame'
__rdmascope_measuring_option -s B -l buffer-size -x -d 'capture buffer of the kernel in KiB'
__rdmascope_measuring_option -s p -l no-promiscuous-mode -d 'no promiscuous mode'
__rdmascope_measuring_option -s c -x -d 'stop after N packets'
__rdmascope_measuring_option -l seconds -x -d 'stop N seconds after the beginning'
__rdmascope_measuring_option -s a -l autostop -x -a 'duration: packets:' -d 'stop after a time or a count'
__rdmascope_measuring_option -s F -r -F -d 'take the expression from a file'
__rdmascope_measuring_option -s K -l no-crc -d 'do not verify CRCs'
__rdmascope_measuring_option -l crc -d 'verify CRCs'
__rdmascope_measuring_option -l as -x -a '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds' -d 'the protocol of a port or a queue pair'
__rdmascope_measuring_option -l threads -x -d workers
__rdmascope_measuring_option -l link-rate -x -a '10G 25G 40G 50G 100G 200G 400G' -d 'what links carry'
__rdmascope_measuring_option -l max-flows -x -d 'flows remembered'
__rdmascope_measuring_option -s n -d 'numbers instead of names'
__rdmascope_measuring_option -l node-names -rF -d 'names for GUIDs and LIDs'
__rdmascope_measuring_option -s h -l help -d 'list the options and exit'
__rdmascope_measuring_option -l version -d 'print the version and exit'
__rdmascope_flows_option -l counters -rF -d 'what devices counted meanwhile'
__rdmascope_flows_option -l filter -x -d 'only these flows'
__rdmascope_flows_option -l by -x -a 'host pair process' -d 'sums of flows'
__rdmascope_flows_option -l json -d 'one JSON object'
__rdmascope_flows_option -l csv -d 'comma-separated values'
__rdmascope_flows_option -l columns -x -a '(__fish_append , (__rdmascope_columns))' -d 'these columns'
__rdmascope_flows_option -l sort -x -a '(__rdmascope_columns)' -d 'order by a column'
__rdmascope_flows_option -l reverse -d 'the other way round'
__rdmascope_flows_option -l top -x -d 'the first flows alone'
__rdmascope_flows_option -l interval -x -a '1ms 10ms 100ms 1s' -d 'a row for every time'
__rdmascope_why_option -l counters -rF -d 'what devices counted meanwhile'
__rdmascope_paths_option -l counters -rF -d 'what devices counted meanwhile'
__rdmascope_paths_option -l json -d 'one JSON object'
__rdmascope_paths_option -l csv -d 'comma-separated values'
__rdmascope_paths_option -l paths -x -a '2 4 8 16 32 64' -d 'equal paths of the network'
__rdmascope_paths_option -l top -x -d 'the first pairs of hosts alone'
__rdmascope_paths_option -l interval -x -a '1ms 10ms 100ms 1s' -d 'the same for every time'
__rdmascope_io_option -s i -l interface -x -a '(__rdmascope_interfaces)' -d 'capture on an interface'
__rdmascope_io_option -s r -l read-file -r -F -d 'read a capture file'
__rdmascope_io_option -s s -l snapshot-length -x -d 'capture at most BYTES of each frame'
__rdmascope_io_option -s B -l buffer-size -x -d 'capture buffer of the kernel in KiB'
__rdmascope_io_option -s p -l no-promiscuous-mode -d 'no promiscuous mode'
__rdmascope_io_option -s c -x -d 'stop after N packets'
__rdmascope_io_option -l seconds -x -d 'stop N seconds after the beginning'
__rdmascope_io_option -s F -r -F -d 'take the expression from a file'
__rdmascope_io_option -l flow -x -d 'only the connection of this flow'
__rdmascope_io_option -l as -x -a '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds' -d 'the protocol of a port or a queue pair'
__rdmascope_io_option -s K -l no-crc -d 'do not verify CRCs'
__rdmascope_io_option -l each -d 'one row a command'
__rdmascope_io_option -l json -d 'one JSON object'
__rdmascope_io_option -l csv -d 'comma-separated values'
__rdmascope_io_option -l columns -x -a '(__fish_append , (__rdmascope_io_columns))' -d 'these columns'
__rdmascope_io_option -l filter -x -d 'only these kinds or commands'
__rdmascope_io_option -l sort -x -a '(__rdmascope_io_columns)' -d 'order by a column'
__rdmascope_io_option -l top -x -d 'the first rows alone'
__rdmascope_io_option -l by -x -a 'pair initiator target protocol all lba' -d 'what has a heading'
__rdmascope_io_option -l interval -x -a '1ms 10ms 100ms 1s' -d 'a row for every time'
__rdmascope_io_option -s n -d 'numbers instead of names'
__rdmascope_io_option -l node-names -rF -d 'names for GUIDs and LIDs'
__rdmascope_io_option -s h -l help -d 'list the options and exit'
__rdmascope_io_option -l version -d 'print the version and exit'
__rdmascope_why_option -l flow -x -d 'about one flow alone'
__rdmascope_why_option -l json -d 'one JSON object'
__rdmascope_why_option -l diff -d 'compare two captures'
__rdmascope_why_option -l policy -rF -d 'ask whether traffic keeps to these rules'
__rdmascope_why_option -l fabric -rF -d 'add what a reading of the subnet says'
__rdmascope_why_option -l fail-on -x -a 'wrong minor suspected' -d 'exit with 3 from this grade on'
function __rdmascope_explain_option
    complete -c rdmascope -n '__rdmascope_is explain' $argv
end
__rdmascope_explain_option -F
__rdmascope_explain_option -s r -l read-file -r -F -d 'find the packets in a capture file'
__rdmascope_explain_option -l connect -F -d 'find them in the figures of a daemon'
__rdmascope_explain_option -l history -x -a '(__fish_complete_directories)' -d 'find them in the history of a daemon'
__rdmascope_explain_option -l from -x -a '-1h -10m -1d' -d 'what was after a time'
__rdmascope_explain_option -l to -x -a '-1h -10m now' -d 'what was before a time'
__rdmascope_explain_option -s f -l follow -d 'read a log as it grows'
__rdmascope_explain_option -l json -d 'one JSON array'
__rdmascope_explain_option -s n -d 'numbers instead of names'
__rdmascope_explain_option -l node-names -rF -d 'names for GUIDs and LIDs'
__rdmascope_explain_option -s h -l help -d 'list the options and exit'
__rdmascope_explain_option -l version -d 'print the version and exit'
complete -c rdmascope -n '__rdmascope_is fleet' -a 'schema top flows hosts io paths pairs why'
complete -c rdmascope -n '__rdmascope_is fleet' -l url -x -d 'the HTTP interface of a ClickHouse server'
complete -c rdmascope -n '__rdmascope_is fleet' -l database -x -d 'the database'
complete -c rdmascope -n '__rdmascope_is fleet' -l user -x -d 'the account'
complete -c rdmascope -n '__rdmascope_is fleet' -l password-file -rF -d 'a file with the password'
complete -c rdmascope -n '__rdmascope_is fleet' -l ca-file -rF -d 'certificates that are trusted'
complete -c rdmascope -n '__rdmascope_is fleet' -l no-verify-tls -d 'do not verify the certificate'
complete -c rdmascope -n '__rdmascope_is fleet' -l from -x -a 'now -1h -10m -1d' -d 'what was after TIME'
complete -c rdmascope -n '__rdmascope_is fleet' -l to -x -a 'now -1h -10m -1d' -d 'what was before TIME'
complete -c rdmascope -n '__rdmascope_is fleet' -l resolution -x -a 'interval minute hour' -d 'which tables'
complete -c rdmascope -n '__rdmascope_is fleet' -l filter -x -d 'only these flows or connections'
complete -c rdmascope -n '__rdmascope_is fleet' -l racks -rF -d 'the racks of addresses'
complete -c rdmascope -n '__rdmascope_is fleet' -l by -x -a 'host pair initiator target protocol all' -d 'what a row of top or io is'
complete -c rdmascope -n '__rdmascope_is fleet' -l columns -x -d 'these columns'
complete -c rdmascope -n '__rdmascope_is fleet' -l sort -x -d 'begin with the greatest number'
complete -c rdmascope -n '__rdmascope_is fleet' -l paths -x -d 'the number of equal paths of the network'
complete -c rdmascope -n '__rdmascope_is fleet' -l top -x -d 'the first N rows alone'
complete -c rdmascope -n '__rdmascope_is fleet' -l json -d 'one JSON object'
complete -c rdmascope -n '__rdmascope_is fleet' -s n -d 'addresses as numbers'
complete -c rdmascope -n '__rdmascope_is fleet' -l cluster -x -d 'tables for the shards of this cluster'
complete -c rdmascope -n '__rdmascope_is fleet' -l replicated -d 'replicated tables'
complete -c rdmascope -n '__rdmascope_is fleet' -l ttl -x -d 'remove rows after DAYS days'
complete -c rdmascope -n '__rdmascope_is fleet' -l server -x -d 'for this version of ClickHouse'
complete -c rdmascope -n '__rdmascope_is fleet' -l grants -d 'print the accounts instead'
complete -c rdmascope -n '__rdmascope_is fleet' -l migrate -x -d 'from this version of the schema'
complete -c rdmascope -n '__rdmascope_is fleet' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is fleet' -l version -d 'print the version and exit'
complete -c rdmascope -n '__rdmascope_is policy' -a 'check learn'
complete -c rdmascope -n '__rdmascope_is policy' -l rules -rF -d 'the rules that traffic must keep to'
complete -c rdmascope -n '__rdmascope_is policy' -l json -d 'one JSON object'
complete -c rdmascope -n '__rdmascope_is policy' -l fail-on -x -a 'wrong minor unruled never' -d 'what to exit with 3 for'
complete -c rdmascope -n '__rdmascope_is fabric' -a 'why route'
complete -c rdmascope -n '__rdmascope_is fabric' -l ca -x -d 'ask through this adapter'
complete -c rdmascope -n '__rdmascope_is fabric' -l port -x -d 'ask through this port'
complete -c rdmascope -n '__rdmascope_is fabric' -s r -l read-file -rF -d 'read what was printed as JSON'
complete -c rdmascope -n '__rdmascope_is fabric' -l interval -x -a '1s 10s 1m' -d 'read the counters twice'
complete -c rdmascope -n '__rdmascope_is fabric' -l no-counters -d 'read no counters'
complete -c rdmascope -n '__rdmascope_is fabric' -l parallel -x -a '1 2 4 8 16' -d 'questions at a time'
complete -c rdmascope -n '__rdmascope_is fabric' -l timeout -x -a '100ms 500ms 2s' -d 'wait this long for an answer'
complete -c rdmascope -n '__rdmascope_is fabric' -l retries -x -d 'ask a question again up to this often'
complete -c rdmascope -n '__rdmascope_is fabric' -l diff -d 'compare two files, or one with now'
complete -c rdmascope -n '__rdmascope_is fabric' -l counters -d 'every counter that is not 0'
complete -c rdmascope -n '__rdmascope_is fabric' -l json -d 'one JSON object'
complete -c rdmascope -n '__rdmascope_is fabric' -l dot -d 'a graph for Graphviz'
complete -c rdmascope -n '__rdmascope_is fabric' -s n -d 'GUIDs instead of names'
complete -c rdmascope -n '__rdmascope_is fabric' -l node-names -rF -d 'names for GUIDs'
complete -c rdmascope -n '__rdmascope_is fabric' -l fail-on -x -a 'wrong minor suspected' -d 'what to exit with 3 for'
complete -c rdmascope -n '__rdmascope_is fabric' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is fabric' -l version -d 'print the version and exit'
__rdmascope_why_option -s v -l verbose -d 'all figures'
__rdmascope_why_option -l color -x -a 'auto never always' -d colour
__rdmascope_report_option -l counters -rF -d 'what devices counted meanwhile'
__rdmascope_report_option -l flow -x -d 'about one flow alone'
__rdmascope_report_option -s o -l output -rF -d 'write the page to a file'
__rdmascope_report_option -l title -x -d 'the heading of the page'
__rdmascope_report_option -l anonymous -d 'replace addresses and names'
__rdmascope_report_option -l perfetto -rF -d 'write a trace as well'
__rdmascope_top_option -l interval -x -a '100ms 500ms 1s 2s 10s' -d 'new figures every so often'
__rdmascope_top_option -l speed -x -a '0.1 1 10 100 max' -d 'of what is played back'
__rdmascope_top_option -l paused -d 'stand still at the beginning'
__rdmascope_top_option -l view -x -a 'flows hosts congestion events packets counters io paths' -d 'begin with this view'
__rdmascope_top_option -l filter -x -d 'only these flows'
__rdmascope_top_option -l columns -x -a '(__fish_append , (__rdmascope_columns))' -d 'these columns'
__rdmascope_top_option -l sort -x -a '(__rdmascope_columns)' -d 'order by a column'
__rdmascope_top_option -l theme -x -a 'safe classic light plain' -d colours
__rdmascope_top_option -l no-color -d 'no colours'
__rdmascope_top_option -l ascii -d 'plain ASCII'
__rdmascope_top_option -l no-mouse -d 'leave the mouse to the terminal'
__rdmascope_top_option -l once -d 'print one picture as text'
__rdmascope_top_option -l size -x -a '80x24 132x43 160x50' -d 'of the picture'

function __rdmascope_part
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2]" = endpoint; and contains -- "$words[3]" $argv
end

function __rdmascope_endpoint
    complete -c rdmascope -n '__rdmascope_part serve ping bench listen' $argv
end

complete -c rdmascope -n '__rdmascope_is endpoint; and not __rdmascope_part serve ping bench listen' -a 'serve ping bench listen'
complete -c rdmascope -n '__rdmascope_is endpoint; and not __rdmascope_part serve ping bench listen' -s h -l help -d 'list the parts and exit'
complete -c rdmascope -n '__rdmascope_is endpoint; and not __rdmascope_part serve ping bench listen' -l version -d 'print the version and exit'
__rdmascope_endpoint -l crc -x -a 'on off' -d 'ask for the CRC of MPA'
__rdmascope_endpoint -l markers -x -a 'on off' -d 'ask for markers'
__rdmascope_endpoint -l mpa-revision -x -a '1 2' -d 'MPA revision'
__rdmascope_endpoint -l peer-to-peer -d 'begin with a ready-to-receive message'
__rdmascope_endpoint -l placement -x -a 'strict direct' -d 'before or after the CRC is verified'
__rdmascope_endpoint -l align -d 'every FPDU begins a TCP segment'
__rdmascope_endpoint -l max-ulpdu -x -d 'bytes in an FPDU'
__rdmascope_endpoint -l ird -x -d 'reads served at once'
__rdmascope_endpoint -l ord -x -d 'reads outstanding'
__rdmascope_endpoint -l congestion -x -a 'cubic reno bbr' -d 'congestion control of TCP'
__rdmascope_endpoint -l json -d 'JSON instead of text'
__rdmascope_endpoint -s h -l help -d 'list the options and exit'
__rdmascope_endpoint -l version -d 'print the version and exit'
complete -c rdmascope -n '__rdmascope_part serve listen' -l listen -x -d 'where'
complete -c rdmascope -n '__rdmascope_part serve bench listen' -l connections -x -d 'the number of connections'
complete -c rdmascope -n '__rdmascope_part serve listen' -l region -x -a '64K 1M 16M' -d 'bytes lent'
complete -c rdmascope -n '__rdmascope_part serve' -l memory -x -a '256M 1G' -d 'bytes for all buffers'
complete -c rdmascope -n '__rdmascope_part serve' -l idle-timeout -x -a '0 1m 10m' -d 'end silent connections'
complete -c rdmascope -n '__rdmascope_part serve' -s v -l verbose -d 'a line for every connection'
complete -c rdmascope -n '__rdmascope_part ping bench' -l to -x -d 'whom'
complete -c rdmascope -n '__rdmascope_part ping listen' -s c -l count -x -d 'end after N'
complete -c rdmascope -n '__rdmascope_part bench' -l count -x -d 'messages of each connection'
complete -c rdmascope -n '__rdmascope_part ping bench' -l size -x -a '64 4K 64K 1M' -d 'bytes of a message'
complete -c rdmascope -n '__rdmascope_part ping' -l interval -x -a '0 100ms 1s' -d 'one every so often'
complete -c rdmascope -n '__rdmascope_part ping bench' -l timeout -x -a '1s 10s' -d 'the longest wait'
complete -c rdmascope -n '__rdmascope_part ping' -s q -l quiet -d 'only the summary'
complete -c rdmascope -n '__rdmascope_part bench' -a 'write read send atomic'
complete -c rdmascope -n '__rdmascope_part bench' -l seconds -x -d 'for so long'
complete -c rdmascope -n '__rdmascope_part bench' -l depth -x -a '1 16 128' -d 'messages outstanding'
complete -c rdmascope -n '__rdmascope_part bench' -l rate -x -d 'bits per second of each connection'
complete -c rdmascope -n '__rdmascope_part bench' -l ping-pong -d 'every message comes back'
complete -c rdmascope -n '__rdmascope_part bench' -l compare-swap -d 'Compare and Swap'
complete -c rdmascope -n '__rdmascope_part bench' -l verify -d 'compare all data'
complete -c rdmascope -n '__rdmascope_part listen' -l receives -x -d 'receives of each connection'
complete -c rdmascope -n '__rdmascope_part listen' -l receive-size -x -a '4K 64K' -d 'bytes of a receive'
complete -c rdmascope -n '__rdmascope_part listen' -l show -x -d 'bytes to print'

complete -c rdmascope -n '__rdmascope_is daemon' -l config -r -F -d 'read this configuration'
complete -c rdmascope -n '__rdmascope_is daemon' -l status -d 'ask the daemon that runs how it is'
complete -c rdmascope -n '__rdmascope_is daemon' -l trigger -x -d 'have the daemon save a recording, for this reason'
complete -c rdmascope -n '__rdmascope_is daemon' -l reload -d 'have the daemon read its configuration again'
complete -c rdmascope -n '__rdmascope_is daemon' -l json -d 'the answer as JSON'
complete -c rdmascope -n '__rdmascope_is daemon' -l check -d 'say what is wrong with the configuration and exit'
complete -c rdmascope -n '__rdmascope_is daemon' -l print-config -d 'print a complete configuration and exit'
complete -c rdmascope -n '__rdmascope_is daemon' -s i -l interface -x -a '(__rdmascope_interfaces)' -d 'capture on an interface, or on those of a pattern'
complete -c rdmascope -n '__rdmascope_is daemon' -s s -l snaplen -x -a '0 128 192' -d 'keep BYTES of each frame'
complete -c rdmascope -n '__rdmascope_is daemon' -l prometheus -x -a 'off 127.0.0.1:14791 :14791' -d 'where Prometheus is answered'
complete -c rdmascope -n '__rdmascope_is daemon' -l socket -r -F -d 'the socket of local clients'
complete -c rdmascope -n '__rdmascope_is daemon' -l history -x -a '(__fish_complete_directories)' -d 'keep history here'
complete -c rdmascope -n '__rdmascope_is daemon' -l record -x -a '(__fish_complete_directories)' -d 'save recordings here'
complete -c rdmascope -n '__rdmascope_is daemon' -l foreground -d 'stay in the foreground'
complete -c rdmascope -n '__rdmascope_is daemon' -l log-level -x -a 'error warning info debug' -d 'what is told'
complete -c rdmascope -n '__rdmascope_is daemon' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is daemon' -l version -d 'print the version and exit'

complete -c rdmascope -n __rdmascope_runs -l software -d 'over the software iWARP stack'
complete -c rdmascope -n __rdmascope_runs -l trace -r -F -d 'write what it does with queue pairs'
complete -c rdmascope -n __rdmascope_runs -l mads -r -F -d 'write its management datagrams'
complete -c rdmascope -n __rdmascope_runs -l kernel-events -f -a 'rdma_cma rdma_core ib_cma ib_mad rpcrdma' -d 'the events of the kernel too'
complete -c rdmascope -n __rdmascope_runs -l attach -x -a '(__fish_complete_pids)' -d 'trace a process that runs already'
complete -c rdmascope -n __rdmascope_runs -l summary -x -a 'on off' -d 'what each queue pair did'
complete -c rdmascope -n __rdmascope_runs -l address -x -d 'an address that the device has'
complete -c rdmascope -n __rdmascope_runs -l crc -x -a 'on off' -d 'ask for MPA CRC'
complete -c rdmascope -n __rdmascope_runs -l markers -x -a 'on off' -d 'ask for MPA markers'
complete -c rdmascope -n __rdmascope_runs -l mpa-revision -x -a '1 2' -d 'MPA revision'
complete -c rdmascope -n __rdmascope_runs -l peer-to-peer -x -a 'on off' -d 'a ready-to-receive message'
complete -c rdmascope -n __rdmascope_runs -l strict -x -a 'on off' -d 'data reach memory after their CRC alone'
complete -c rdmascope -n __rdmascope_runs -l max-ulpdu -x -d 'longest ULPDU sent, in bytes'
complete -c rdmascope -n __rdmascope_runs -l receive-patience -x -d 'ms that a message waits for a receive'
complete -c rdmascope -n __rdmascope_runs -l verbose -x -a 'on off' -d 'say why connections failed or ended'
complete -c rdmascope -n __rdmascope_runs -s h -l help -d 'list the options and exit'
complete -c rdmascope -n __rdmascope_runs -l version -d 'print the version and exit'
complete -c rdmascope -n '__rdmascope_is run' -a '(__rdmascope_complete_program)'
complete -c rdmascope -n '__rdmascope_is replay' -F
complete -c rdmascope -n '__rdmascope_is replay' -l loopback -d 'both ends here'
complete -c rdmascope -n '__rdmascope_is replay' -l serve -x -d 'be the end that accepts'
complete -c rdmascope -n '__rdmascope_is replay' -l to -x -d 'be the end that connects'
complete -c rdmascope -n '__rdmascope_is replay' -l inject -x -a '(__rdmascope_interfaces)' -d 'put the frames on an interface'
complete -c rdmascope -n '__rdmascope_is replay' -l as -x -a 'initiator responder' -d 'play one captured side'
complete -c rdmascope -n '__rdmascope_is replay' -l force -d 'also on the interface of the default route'
complete -c rdmascope -n '__rdmascope_is replay' -l rewrite -x -d 'write addresses anew'
complete -c rdmascope -n '__rdmascope_is replay' -l ether -x -d 'addresses for frames without an Ethernet header'
complete -c rdmascope -n '__rdmascope_is replay' -s r -l read-file -r -F -d 'the capture'
complete -c rdmascope -n '__rdmascope_is replay' -l flow -x -d 'only this flow and its reverse'
complete -c rdmascope -n '__rdmascope_is replay' -l speed -x -a '0.1 1 10 max' -d 'times as fast as captured'
complete -c rdmascope -n '__rdmascope_is replay' -l loop -x -d 'replay N times'
complete -c rdmascope -n '__rdmascope_is replay' -l copies -x -d 'copies of every connection'
complete -c rdmascope -n '__rdmascope_is replay' -l crc -x -a 'on off' -d 'CRC of MPA'
complete -c rdmascope -n '__rdmascope_is replay' -l payload -x -a 'captured pattern' -d 'what messages hold'
complete -c rdmascope -n '__rdmascope_is replay' -l timeout -x -d 'give up where nothing completes'
complete -c rdmascope -n '__rdmascope_is replay' -l loss -x -a '0.1% 1% 10%' -d 'lose frames'
complete -c rdmascope -n '__rdmascope_is replay' -l delay -x -d 'hold everything up, milliseconds'
complete -c rdmascope -n '__rdmascope_is replay' -l jitter -x -d 'add a random delay of up to MS'
complete -c rdmascope -n '__rdmascope_is replay' -l reorder -x -a '0.1% 1% 10%' -d 'let frames be overtaken'
complete -c rdmascope -n '__rdmascope_is replay' -l duplicate -x -a '0.1% 1% 10%' -d 'send frames twice'
complete -c rdmascope -n '__rdmascope_is replay' -l corrupt -x -a '0.1% 1% 10%' -d 'change a bit'
complete -c rdmascope -n '__rdmascope_is replay' -l mark -x -a '0.1% 1% 10%' -d 'mark frames as having met congestion'
complete -c rdmascope -n '__rdmascope_is replay' -l rate -x -a '10M 100M 1G' -d 'bits per second'
complete -c rdmascope -n '__rdmascope_is replay' -l seed -x -d 'what the draws begin with'
complete -c rdmascope -n '__rdmascope_is replay' -l compare -d 'print it next to the original'
complete -c rdmascope -n '__rdmascope_is replay' -l save -r -F -d 'keep what is captured'
complete -c rdmascope -n '__rdmascope_is replay' -l json -d 'one JSON object'
complete -c rdmascope -n '__rdmascope_is replay' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is replay' -l version -d 'print the version and exit'

complete -c rdmascope -n '__rdmascope_is doctor' -l binary -r -F -d 'whether this program will work here'
complete -c rdmascope -n '__rdmascope_is doctor' -l compare -r -F -d 'what this host and another disagree on'
complete -c rdmascope -n '__rdmascope_is doctor' -l root -x -a '(__fish_complete_directories)' -d 'examine the machine whose / is there'
complete -c rdmascope -n '__rdmascope_is doctor' -l list -d 'list the checks and exit'
complete -c rdmascope -n '__rdmascope_is doctor' -l export -r -F -d 'write what there is as JSON'
complete -c rdmascope -n '__rdmascope_is doctor' -l bundle -r -F -d 'write a .tar.gz for a bug report'
complete -c rdmascope -n '__rdmascope_is doctor' -l json -d 'one JSON object'
complete -c rdmascope -n '__rdmascope_is doctor' -s v -l verbose -d 'also what is as it should be'
complete -c rdmascope -n '__rdmascope_is doctor' -l color -x -a 'auto never always' -d 'colour'
complete -c rdmascope -n '__rdmascope_is doctor' -l fail-on -x -a 'broken warning note never' -d 'exit with 1 from this severity on'
complete -c rdmascope -n '__rdmascope_is doctor' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is doctor' -l version -d 'print the version and exit'

complete -c rdmascope -n '__rdmascope_is demo' -l recorded -d 'show the capture that the program carries'
complete -c rdmascope -n '__rdmascope_is demo' -l plain -d 'print, also on a terminal'
complete -c rdmascope -n '__rdmascope_is demo' -l save -r -F -d 'keep what is captured'
complete -c rdmascope -n '__rdmascope_is demo' -s n -d 'numbers instead of names'
complete -c rdmascope -n '__rdmascope_is demo' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is demo' -l version -d 'print the version and exit'

complete -c rdmascope -n '__rdmascope_is completion' -a 'bash zsh fish'
complete -c rdmascope -n '__rdmascope_is completion' -s h -l help -d 'list the options and exit'
complete -c rdmascope -n '__rdmascope_is completion' -l version -d 'print the version and exit'
