-- rdmascope, schema 1. Run it on every server of the cluster.
CREATE DATABASE IF NOT EXISTS rdmascope;
CREATE TABLE IF NOT EXISTS rdmascope.flows_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    flow UInt64,
    transport String,
    service String,
    source_address String,
    source_qpn UInt32,
    source_port UInt16,
    source_udp_port UInt16,
    source_udp_ports UInt8,
    destination_address String,
    destination_qpn UInt32,
    destination_port UInt16,
    traffic_class UInt8,
    reverse UInt64,
    known UInt8,
    vantage String,
    finished UInt8,
    confidence Float64,
    first_ns Int64,
    last_ns Int64,
    packets UInt64,
    wire_bytes UInt64,
    payload_bytes UInt64,
    acknowledgement_packets UInt64,
    retransmitted_packets UInt64,
    duplicate_packets UInt64,
    reordered_packets UInt64,
    missing_packets UInt64,
    unseen_acknowledged_packets UInt64,
    timeouts UInt64,
    rnr_naks UInt64,
    credits_exhausted UInt64,
    ecn_ce_packets UInt64,
    ecn_capable_packets UInt64,
    cnp_packets UInt64,
    icrc_bad UInt64,
    crc_bad UInt64,
    terminates UInt64,
    merged_messages UInt64,
    queueing_ns UInt64,
    messages UInt64,
    message_bytes UInt64,
    outstanding_message_ns UInt64,
    outstanding_byte_ns UInt64,
    outstanding_messages_max UInt64,
    outstanding_bytes_max UInt64,
    amount_keys Array(UInt32),
    amounts Array(UInt64),
    own_end String,
    verdict String,
    cause String,
    grade UInt8,
    begins UInt8
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,flow,sequence);
CREATE TABLE IF NOT EXISTS rdmascope.flows AS rdmascope.flows_local
ENGINE = Distributed(fleet, rdmascope, flows_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS rdmascope.flows_minute_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    flow UInt64,
    transport String,
    service String,
    source_address String,
    source_qpn UInt32,
    source_port UInt16,
    source_udp_port UInt16,
    source_udp_ports UInt8,
    destination_address String,
    destination_qpn UInt32,
    destination_port UInt16,
    traffic_class UInt8,
    reverse UInt64,
    known UInt8,
    vantage String,
    finished UInt8,
    confidence Float64,
    first_ns Int64,
    last_ns Int64,
    packets UInt64,
    wire_bytes UInt64,
    payload_bytes UInt64,
    acknowledgement_packets UInt64,
    retransmitted_packets UInt64,
    duplicate_packets UInt64,
    reordered_packets UInt64,
    missing_packets UInt64,
    unseen_acknowledged_packets UInt64,
    timeouts UInt64,
    rnr_naks UInt64,
    credits_exhausted UInt64,
    ecn_ce_packets UInt64,
    ecn_capable_packets UInt64,
    cnp_packets UInt64,
    icrc_bad UInt64,
    crc_bad UInt64,
    terminates UInt64,
    merged_messages UInt64,
    queueing_ns UInt64,
    messages UInt64,
    message_bytes UInt64,
    outstanding_message_ns UInt64,
    outstanding_byte_ns UInt64,
    outstanding_messages_max UInt64,
    outstanding_bytes_max UInt64,
    amount_keys Array(UInt32),
    amounts Array(UInt64),
    own_end String,
    verdict String,
    cause String,
    grade UInt8,
    begins UInt8,
    start DateTime,
    edge UInt8,
    rank UInt32
)
ENGINE = ReplacingMergeTree(rank)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,flow,start,edge);
CREATE TABLE IF NOT EXISTS rdmascope.flows_minute AS rdmascope.flows_minute_local
ENGINE = Distributed(fleet, rdmascope, flows_minute_local, cityHash64(host));
CREATE MATERIALIZED VIEW IF NOT EXISTS rdmascope.flows_minute_view TO rdmascope.flows_minute_local AS
SELECT hour,host,boot,sequence,end_ns,flow,transport,service,source_address,source_qpn,source_port,source_udp_port,source_udp_ports,destination_address,destination_qpn,destination_port,traffic_class,reverse,known,vantage,finished,confidence,first_ns,last_ns,packets,wire_bytes,payload_bytes,acknowledgement_packets,retransmitted_packets,duplicate_packets,reordered_packets,missing_packets,unseen_acknowledged_packets,timeouts,rnr_naks,credits_exhausted,ecn_ce_packets,ecn_capable_packets,cnp_packets,icrc_bad,crc_bad,terminates,merged_messages,queueing_ns,messages,message_bytes,outstanding_message_ns,outstanding_byte_ns,outstanding_messages_max,outstanding_bytes_max,amount_keys,amounts,own_end,verdict,cause,grade,begins, toDateTime(intDiv(end_ns - 1, 60000000000) * 60) AS start,
    toUInt8(arrayJoin(if(bitAnd(begins, 1) != 0, [0, 1], [1]))) AS edge,
    toUInt32(if(edge = 1, sequence, 4294967295 - sequence)) AS rank
FROM rdmascope.flows_local;
CREATE TABLE IF NOT EXISTS rdmascope.flows_hour_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    flow UInt64,
    transport String,
    service String,
    source_address String,
    source_qpn UInt32,
    source_port UInt16,
    source_udp_port UInt16,
    source_udp_ports UInt8,
    destination_address String,
    destination_qpn UInt32,
    destination_port UInt16,
    traffic_class UInt8,
    reverse UInt64,
    known UInt8,
    vantage String,
    finished UInt8,
    confidence Float64,
    first_ns Int64,
    last_ns Int64,
    packets UInt64,
    wire_bytes UInt64,
    payload_bytes UInt64,
    acknowledgement_packets UInt64,
    retransmitted_packets UInt64,
    duplicate_packets UInt64,
    reordered_packets UInt64,
    missing_packets UInt64,
    unseen_acknowledged_packets UInt64,
    timeouts UInt64,
    rnr_naks UInt64,
    credits_exhausted UInt64,
    ecn_ce_packets UInt64,
    ecn_capable_packets UInt64,
    cnp_packets UInt64,
    icrc_bad UInt64,
    crc_bad UInt64,
    terminates UInt64,
    merged_messages UInt64,
    queueing_ns UInt64,
    messages UInt64,
    message_bytes UInt64,
    outstanding_message_ns UInt64,
    outstanding_byte_ns UInt64,
    outstanding_messages_max UInt64,
    outstanding_bytes_max UInt64,
    amount_keys Array(UInt32),
    amounts Array(UInt64),
    own_end String,
    verdict String,
    cause String,
    grade UInt8,
    begins UInt8,
    start DateTime,
    edge UInt8,
    rank UInt32
)
ENGINE = ReplacingMergeTree(rank)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,flow,start,edge);
CREATE TABLE IF NOT EXISTS rdmascope.flows_hour AS rdmascope.flows_hour_local
ENGINE = Distributed(fleet, rdmascope, flows_hour_local, cityHash64(host));
CREATE MATERIALIZED VIEW IF NOT EXISTS rdmascope.flows_hour_view TO rdmascope.flows_hour_local AS
SELECT hour,host,boot,sequence,end_ns,flow,transport,service,source_address,source_qpn,source_port,source_udp_port,source_udp_ports,destination_address,destination_qpn,destination_port,traffic_class,reverse,known,vantage,finished,confidence,first_ns,last_ns,packets,wire_bytes,payload_bytes,acknowledgement_packets,retransmitted_packets,duplicate_packets,reordered_packets,missing_packets,unseen_acknowledged_packets,timeouts,rnr_naks,credits_exhausted,ecn_ce_packets,ecn_capable_packets,cnp_packets,icrc_bad,crc_bad,terminates,merged_messages,queueing_ns,messages,message_bytes,outstanding_message_ns,outstanding_byte_ns,outstanding_messages_max,outstanding_bytes_max,amount_keys,amounts,own_end,verdict,cause,grade,begins, toDateTime(intDiv(end_ns - 1, 3600000000000) * 3600) AS start,
    toUInt8(arrayJoin(if(bitAnd(begins, 2) != 0, [0, 1], [1]))) AS edge,
    toUInt32(if(edge = 1, sequence, 4294967295 - sequence)) AS rank
FROM rdmascope.flows_local;
CREATE TABLE IF NOT EXISTS rdmascope.answers_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    rank UInt16,
    question String,
    verdict String,
    grade String,
    alarm UInt8,
    confidence Float64,
    cost Float64,
    cost_basis String,
    summary String,
    advice String,
    flows Array(UInt64),
    frames Array(UInt64)
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,sequence,rank);
CREATE TABLE IF NOT EXISTS rdmascope.answers AS rdmascope.answers_local
ENGINE = Distributed(fleet, rdmascope, answers_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS rdmascope.hosts_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    address String,
    sent_packets UInt64,
    sent_wire_bytes UInt64,
    received_packets UInt64,
    received_wire_bytes UInt64,
    received_requests UInt64,
    link_bits_per_sec UInt64,
    incast_senders_max UInt64
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,address,sequence);
CREATE TABLE IF NOT EXISTS rdmascope.hosts AS rdmascope.hosts_local
ENGINE = Distributed(fleet, rdmascope, hosts_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS rdmascope.counters_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    device String,
    port UInt32,
    counter String,
    fact String,
    unit String,
    value UInt64
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,device,port,counter,sequence);
CREATE TABLE IF NOT EXISTS rdmascope.counters AS rdmascope.counters_local
ENGINE = Distributed(fleet, rdmascope, counters_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS rdmascope.health_local
(
    hour DateTime,
    host String,
    boot UInt64,
    sequence UInt32,
    end_ns Int64,
    version String,
    interfaces_open UInt32,
    packets UInt64,
    wire_bytes UInt64,
    truncated UInt64,
    malformed UInt64,
    kernel_dropped UInt64,
    interface_dropped UInt64,
    flows UInt64,
    flows_evicted UInt64,
    flows_forgotten UInt64,
    memory_bytes UInt64,
    busy_share Float64,
    spool_bytes UInt64,
    intervals_dropped UInt64
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour,host,boot,sequence);
CREATE TABLE IF NOT EXISTS rdmascope.health AS rdmascope.health_local
ENGINE = Distributed(fleet, rdmascope, health_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS rdmascope.schema_version (version UInt32, applied DateTime)
ENGINE = ReplacingMergeTree(applied) ORDER BY version;
INSERT INTO rdmascope.schema_version SELECT toUInt32(1), now();
