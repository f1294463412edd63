# Completion of rdmascope for bash.

_rdmascope_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_rdmascope_files() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

_rdmascope_folders() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
}

# Words that something is to follow without a space.
_rdmascope_beginnings() {
    compopt -o nospace 2> /dev/null
    _rdmascope_words "$1"
}

# The value of --kernel-events, which stands only after `=`.
_rdmascope_events() { _rdmascope_words 'rdma_cma rdma_core ib_cma ib_mad rpcrdma'; }

_rdmascope_fields() { _rdmascope_words "$("${COMP_WORDS[0]}" dump -G fields 2> /dev/null | cut -f3)"; }

_rdmascope_interfaces() { _rdmascope_words "any $(command ls /sys/class/net 2> /dev/null)"; }

_rdmascope_dump() {
    local word with_fields=
    for word in "${words[@]}"; do
        case $word in fields | json | ek | -Tfields | -Tjson | -Tek) with_fields=yes ;; esac
    done
    case $previous in
        -i | --interface) _rdmascope_interfaces; return ;;
        -r | --read-file | -w | -F | --node-names) _rdmascope_files; return ;;
        -T) _rdmascope_words 'text fields json ek'; return ;;
        -e) if [[ $with_fields ]]; then _rdmascope_fields; return; fi ;;
        -Y | --display-filter) _rdmascope_fields; return ;;
        -E) _rdmascope_words 'header=y header=n separator=/t separator=/s separator=, occurrence=f occurrence=l occurrence=a
            aggregator=, aggregator=/s quote=d quote=s quote=n bom=y bom=n'; return ;;
        -G) _rdmascope_words fields; return ;;
        -Q | --direction) _rdmascope_words 'in out inout'; return ;;
        -Z | --relinquish-privileges) mapfile -t COMPREPLY < <(compgen -u -- "$current"); return ;;
        -z) mapfile -t COMPREPLY < <(compgen -c -- "$current"); return ;;
        -y | --linktype) _rdmascope_words 'EN10MB LINUX_SLL LINUX_SLL2 RAW INFINIBAND'; return ;;
        --color) _rdmascope_words 'auto never always'; return ;;
        --kernel-events) if [[ $attached ]]; then _rdmascope_events; return; fi ;;
        --format) _rdmascope_words 'pcap pcapng'; return ;;
        --as) _rdmascope_words '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds'; return ;;
        --time-stamp-precision) _rdmascope_words 'micro nano'; return ;;
        -s | --snapshot-length | -B | --buffer-size | -j | --time-stamp-type | --flow | -c | -C | -W) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file -D --list-interfaces -L --list-data-link-types
            -J --list-time-stamp-types -y --linktype -s --snapshot-length -B --buffer-size -j --time-stamp-type
            -p --no-promiscuous-mode -Q --direction --immediate-mode --kernel-events -c -F -Y --display-filter --flow --all --io --as -d -dd -ddd
            -O --no-optimize -T -e -E -V -v -vv -vvv -q -# --number -t -tt -ttt -tttt -ttttt --time-stamp-precision
            --micro --nano -x -xx -X -XX -A -S --absolute-tcp-sequence-numbers -n --node-names -K --dont-verify-checksums --color
            -l --count -w --format --print -U --packet-buffered -C -W -G -z -Z --relinquish-privileges
            -h --help --version'
    else
        _rdmascope_expression
    fi
}

_rdmascope_expression() { _rdmascope_words 'ip ip6 udp tcp host net port src dst and or not vlan ether'; }

# Columns of the subcommand that the arguments name; of flows without any.
_rdmascope_columns() {
    # The last of a list of names with commas between.
    local before= of=("${@:-flows}")
    [[ $current == *,* ]] && before=${current%,*},
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" "${of[@]}" --columns names 2> /dev/null | while read -r name _; do
        [[ $before$name == "$current"* ]] && printf '%s\n' "$before$name"
    done)
}

# Values of the options that flows, why and top share; false where the word is no such value.
_rdmascope_measuring() {
    case $previous in
        -i | --interface) _rdmascope_interfaces ;;
        -r | --read-file | -F | --trace | --counters | --connect | --node-names) _rdmascope_files ;;
        --kernel-events) if [[ $attached ]]; then _rdmascope_events; else return 1; fi ;;
        --history) _rdmascope_folders ;;
        --from | --to) _rdmascope_words '-1h -10m -1d now' ;;
        -a | --autostop) _rdmascope_beginnings 'duration: packets:' ;;
        --as) _rdmascope_words '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds' ;;
        --link-rate) _rdmascope_words '10G 25G 40G 50G 100G 200G 400G' ;;
        -s | --snapshot-length | -B | --buffer-size | -c | --seconds | --threads | --max-flows) ;;
        *) return 1 ;;
    esac
}

_rdmascope_flows() {
    _rdmascope_measuring && return
    case $previous in
        --columns | --sort) _rdmascope_columns; return ;;
        --by) _rdmascope_words 'host pair process'; return ;;
        --filter) return ;;
        --top) return ;;
        --interval) _rdmascope_words '1ms 10ms 100ms 1s'; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --counters --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --json --csv --columns --filter --by --sort --reverse --top --interval'
    else
        _rdmascope_expression
    fi
}

_rdmascope_paths() {
    _rdmascope_measuring && return
    case $previous in
        --paths) _rdmascope_words '2 4 8 16 32 64'; return ;;
        --top) return ;;
        --interval) _rdmascope_words '1ms 10ms 100ms 1s'; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --counters --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --json --csv --paths --top --interval'
    else
        _rdmascope_expression
    fi
}

_rdmascope_io() {
    case $previous in
        -i | --interface) _rdmascope_interfaces; return ;;
        -r | --read-file | -F | --node-names) _rdmascope_files; return ;;
        --as) _rdmascope_words '4420=nvme 8009=nvme 20049=rpc 3260=iser 5555=srp 445=smb 18634=rds'; return ;;
        --columns | --sort)
            if [[ " ${COMP_WORDS[*]} " == *' --each '* ]]; then _rdmascope_columns io --each; else _rdmascope_columns io; fi
            return ;;
        --filter) return ;;
        --by) _rdmascope_words 'pair initiator target protocol all lba'; return ;;
        --interval) _rdmascope_words '1ms 10ms 100ms 1s'; return ;;
        -s | --snapshot-length | -B | --buffer-size | -c | --seconds | --flow | --top) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -F --flow --as -K --no-crc --each --json --csv --columns --filter --sort --top --by --interval -n --node-names -h --help --version'
    else
        _rdmascope_expression
    fi
}

_rdmascope_why() {
    _rdmascope_measuring && return
    case $previous in
        --flow) return ;;
        --policy | --fabric) _rdmascope_files; return ;;
        --fail-on) _rdmascope_words 'wrong minor suspected'; return ;;
        --color) _rdmascope_words 'auto never always'; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --counters --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --flow --diff --json --policy --fabric --fail-on -v --verbose --color'
    else
        _rdmascope_expression
    fi
}

_rdmascope_explain() {
    case $previous in
        -r | --read-file | --connect | --node-names) _rdmascope_files; return ;;
        --history) _rdmascope_folders; return ;;
        --from | --to) _rdmascope_words 'now -1h -10m -1d'; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-r --read-file --connect --history --from --to -f --follow --json -n --node-names -h --help --version'
    else
        _rdmascope_files
    fi
}

_rdmascope_report() {
    _rdmascope_measuring && return
    case $previous in
        --flow | --title) return ;;
        -o | --output | --perfetto) _rdmascope_files; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --counters --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --flow -o --output --title --anonymous --perfetto'
    else
        _rdmascope_expression
    fi
}

_rdmascope_fleet() {
    if ((${#words[@]} == 3)) && [[ $current != -* ]]; then _rdmascope_words 'schema top flows hosts io paths pairs why'; return; fi
    case $previous in
        --password-file | --ca-file | --racks) _rdmascope_files; return ;;
        --from | --to) _rdmascope_words 'now -1h -10m -1d'; return ;;
        --resolution) _rdmascope_words 'interval minute hour'; return ;;
        --by) _rdmascope_words 'host pair initiator target protocol all'; return ;;
        --url | --database | --user | --filter | --columns | --sort | --paths | --top | --cluster | --ttl | --server | --migrate) return ;;
    esac
    _rdmascope_words '--url --database --user --password-file --ca-file --no-verify-tls --from --to --resolution --filter --racks --by --columns --sort --paths --top --json -n --cluster --replicated --ttl --server --grants --migrate -h --help --version'
}

_rdmascope_policy() {
    if ((${#words[@]} == 3)) && [[ $current != -* ]]; then _rdmascope_words 'check learn'; return; fi
    _rdmascope_measuring && return
    case $previous in
        --rules) _rdmascope_files; return ;;
        --fail-on) _rdmascope_words 'wrong minor unruled never'; return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --rules --json --fail-on'
    else
        _rdmascope_expression
    fi
}

_rdmascope_fabric() {
    case $previous in
        -r | --read-file | --node-names) _rdmascope_files; return ;;
        --fail-on) _rdmascope_words 'wrong minor suspected'; return ;;
        --interval) _rdmascope_words '1s 10s 1m'; return ;;
        --parallel) _rdmascope_words '1 2 4 8 16'; return ;;
        --timeout) _rdmascope_words '100ms 500ms 2s'; return ;;
        --ca | --port | --retries) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '--ca --port -r --read-file --interval --no-counters --parallel --timeout --retries
            --diff --counters --json --dot -n --node-names --fail-on -h --help --version'
    elif ((${#words[@]} == 3)); then
        _rdmascope_words 'why route'
    else
        _rdmascope_files
    fi
}

_rdmascope_top() {
    _rdmascope_measuring && return
    case $previous in
        --columns | --sort) _rdmascope_columns; return ;;
        --interval) _rdmascope_words '100ms 500ms 1s 2s 10s'; return ;;
        --speed) _rdmascope_words '0.1 1 10 100 max'; return ;;
        --view) _rdmascope_words 'flows hosts congestion events packets counters io paths'; return ;;
        --theme) _rdmascope_words 'safe classic light plain'; return ;;
        --size) _rdmascope_words '80x24 132x43 160x50'; return ;;
        --filter) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '-i --interface -r --read-file --trace --kernel-events --connect --history --from --to -s --snapshot-length -B --buffer-size -p --no-promiscuous-mode
            -c --seconds -a --autostop -F -K --no-crc --crc --as --threads --link-rate --max-flows -n --node-names -h --help --version
            --interval --speed --paused --view --filter --columns --sort --theme --no-color --ascii --no-mouse --once --size'
    else
        _rdmascope_expression
    fi
}

_rdmascope_daemon() {
    case $previous in
        --config) _rdmascope_files ;;
        -i | --interface) _rdmascope_interfaces ;;
        -s | --snaplen) _rdmascope_words '0 128 192' ;;
        --prometheus) _rdmascope_words 'off 127.0.0.1:14791 [::1]:14791 :14791' ;;
        --socket) _rdmascope_files ;;
        --history | --record) _rdmascope_folders ;;
        --log-level) _rdmascope_words 'error warning info debug' ;;
        --trigger) ;;
        *) _rdmascope_words '--config --check --print-config --status --trigger --reload --json -i --interface -s --snaplen --prometheus --socket --history
            --record --foreground --log-level -h --help --version' ;;
    esac
}

_rdmascope_endpoint() {
    local part=${words[2]} common own=
    if ((${#words[@]} == 3)); then
        _rdmascope_words 'serve ping bench listen --help --version'
        return
    fi
    case $previous in
        --crc | --markers) _rdmascope_words 'on off'; return ;;
        --mpa-revision) _rdmascope_words '1 2'; return ;;
        --placement) _rdmascope_words 'strict direct'; return ;;
        --congestion) _rdmascope_words "$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2> /dev/null)"; return ;;
        --listen | --to) _rdmascope_words '127.0.0.1:7174'; return ;;
        --size | --region | --memory | --receive-size) _rdmascope_words '64 4K 64K 1M 16M'; return ;;
        --max-ulpdu | --ird | --ord | --connections | -c | --count | --depth | --receives | --show) return ;;
        --interval | --timeout | --idle-timeout | --seconds | --rate) return ;;
    esac
    common='--crc --markers --mpa-revision --peer-to-peer --placement --align --max-ulpdu --ird --ord --congestion
        --json -h --help --version'
    case $part in
        serve) own='--listen --connections --region --memory --idle-timeout -v --verbose' ;;
        ping) own='--to -c --count --size --interval --timeout -q --quiet' ;;
        bench) own='--to --size --count --seconds --depth --connections --rate --timeout --ping-pong --compare-swap --verify' ;;
        listen) own='--listen -c --count --connections --receives --receive-size --region --show' ;;
        *) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words "$own $common"
    elif [[ $part == bench ]]; then
        _rdmascope_words 'write read send atomic'
    fi
}

_rdmascope_replay() {
    case $previous in
        -r | --read-file | --save) _rdmascope_files; return ;;
        --inject) _rdmascope_words "$(command ls /sys/class/net 2> /dev/null)"; return ;;
        --serve | --to) _rdmascope_words '127.0.0.1:7174'; return ;;
        --as) _rdmascope_words 'initiator responder'; return ;;
        --speed) _rdmascope_words '0.1 1 10 max'; return ;;
        --crc) _rdmascope_words 'on off'; return ;;
        --payload) _rdmascope_words 'captured pattern'; return ;;
        --loss | --reorder | --duplicate | --corrupt | --mark) _rdmascope_words '0.1% 1% 10%'; return ;;
        --rate) _rdmascope_words '10M 100M 1G'; return ;;
        --rewrite) _rdmascope_beginnings 'mac: mac.src: mac.dst: ip: ip.src: ip.dst: port: port.src: port.dst: qpn: qpn.src: qpn.dst:'
            return ;;
        --flow | --loop | --copies | --timeout | --delay | --jitter | --seed | --ether) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '--loopback --serve --to --inject --as --force --rewrite --ether -r --read-file --flow --speed --loop --copies --crc
            --payload --timeout --loss --delay --jitter --reorder --duplicate --corrupt --mark --rate --seed --compare
            --save --json -h --help --version'
    else
        _rdmascope_files
    fi
}

_rdmascope_run() {
    # Behind its options stands somebody else's command.
    local at
    for ((at = 2; at < ${#words[@]} - 1; at++)); do
        case ${words[at]} in
            --) ((at++)); break ;;
            --trace | --mads | --attach | --summary | --address | --crc | --markers | --mpa-revision | --peer-to-peer | --strict | \
                --max-ulpdu | --receive-patience | --verbose) ((at++)) ;;
            -*) ;;
            *) break ;;
        esac
    done
    if ((at < ${#words[@]} - 1)); then
        _rdmascope_files
        return
    fi
    case $previous in
        --summary | --crc | --markers | --peer-to-peer | --strict | --verbose) _rdmascope_words 'on off'; return ;;
        --trace | --mads) _rdmascope_files; return ;;
        --attach) mapfile -t COMPREPLY < <(cd /proc && compgen -G "${current}*" | grep -x '[0-9]*'); return ;;
        --mpa-revision) _rdmascope_words '1 2'; return ;;
        --kernel-events) if [[ $attached ]]; then _rdmascope_events; return; fi ;;
        --address | --max-ulpdu | --receive-patience) return ;;
    esac
    if [[ $current == -* ]]; then
        _rdmascope_words '--software --trace --mads --kernel-events --attach --summary --address --crc --markers --mpa-revision --peer-to-peer
            --strict --max-ulpdu --receive-patience --verbose -h --help --version'
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
}

_rdmascope_doctor() {
    case $previous in
        --root) _rdmascope_folders ;;
        --binary | --compare | --export | --bundle) _rdmascope_files ;;
        --color) _rdmascope_words 'auto never always' ;;
        --fail-on) _rdmascope_words 'broken warning note never' ;;
        *) _rdmascope_words '--binary --compare --root --list --export --bundle --json -v --verbose --color --fail-on
            -h --help --version' ;;
    esac
}

_rdmascope_demo() {
    case $previous in
        --save) _rdmascope_files ;;
        *) _rdmascope_words '--recorded --plain --save -n -h --help --version' ;;
    esac
}

_rdmascope_completion() {
    if [[ $current == -* ]]; then
        _rdmascope_words '-h --help --version'
    elif ((${#words[@]} == 3)); then
        _rdmascope_words 'bash zsh fish'
    fi
}

_rdmascope() {
    # bash cuts words at `=` and `:`. Here they are whole: --color=al, 127.0.0.1:71, 10:00.pcap.
    local words=() word glued= attached= current previous before
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 1 && ($glued || $word =~ ^[=:]+$) ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        glued=
        [[ $word =~ ^[=:]+$ ]] && glued=yes
    done
    current=${words[${#words[@]} - 1]} previous=${words[${#words[@]} - 2]}
    # What of it is not to be completed any more.
    before=${current%"$word"}
    [[ $glued ]] && before=$current
    if [[ $current == --*=* ]]; then
        attached=yes previous=${current%%=*} before=${before#*=} current=${current#*=}
    fi
    COMPREPLY=()
    if ((${#words[@]} == 2)); then
        _rdmascope_words 'dump flows io paths why explain report policy fabric top daemon fleet endpoint replay run doctor demo completion help --help --version'
    else
        case ${words[1]} in
            dump) _rdmascope_dump ;;
            flows) _rdmascope_flows ;;
            io) _rdmascope_io ;;
            why) _rdmascope_why ;;
            explain) _rdmascope_explain ;;
            report) _rdmascope_report ;;
            paths) _rdmascope_paths ;;
            policy) _rdmascope_policy ;;
            fabric) _rdmascope_fabric ;;
            top) _rdmascope_top ;;
            daemon) _rdmascope_daemon ;;
            fleet) _rdmascope_fleet ;;
            endpoint) _rdmascope_endpoint ;;
            replay) _rdmascope_replay ;;
            run) _rdmascope_run ;;
            doctor) _rdmascope_doctor ;;
            demo) _rdmascope_demo ;;
            completion) _rdmascope_completion ;;
            help) if ((${#words[@]} == 3)); then _rdmascope_words 'dump flows io paths why explain report policy fabric top daemon fleet endpoint replay run doctor demo completion'; fi ;;
        esac
    fi
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}

complete -F _rdmascope rdmascope
