-- Alerts of the fleet, for Grafana's alert rules over ClickHouse, or any scheduler: each query returns a row for each
-- thing that is wrong now, and none if all is well. Run them once a minute, in the database of `rdmascope fleet schema`.
-- Every query looks at the last five minutes, and at states up to fifteen minutes before.

-- name: FleetDaemonSilent
-- summary: {{host}} has sent no rows for {{value}} s; it did in the last hour
-- look: systemctl status rdmascope; journalctl -u rdmascope
SELECT host, toUInt32(now()) - intDiv(max(end_ns), 1000000000) AS value
FROM health WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 3600, 3600) * 3600)
GROUP BY host HAVING value > 300 AND value < 3600 ORDER BY host;

-- name: FleetRowsLost
-- summary: {{host}} dropped {{value}} intervals: its spool is full
-- look: the url of clickhouse in rdmascope.toml; clickhouse.max_spool_size
SELECT host, sum(dropped) AS value FROM (
    SELECT host, boot, max(intervals_dropped) - if(countIf(end_ns <= since) > 0, maxIf(intervals_dropped, end_ns <= since),
        min(intervals_dropped)) AS dropped, toInt64(toUInt32(now()) - 300) * 1000000000 AS since
    FROM health WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 1200, 3600) * 3600)
        AND end_ns > toInt64(toUInt32(now()) - 1200) * 1000000000
    GROUP BY host, boot)
GROUP BY host HAVING value > 0 ORDER BY host;

-- name: FleetCaptureDrops
-- summary: the kernel of {{host}} dropped {{value}} packets before the daemon read them: its figures are too small
-- look: rdmascope doctor
SELECT host, sum(dropped) AS value FROM (
    SELECT host, boot, max(kernel_dropped) - if(countIf(end_ns <= since) > 0, maxIf(kernel_dropped, end_ns <= since),
        min(kernel_dropped)) AS dropped, toInt64(toUInt32(now()) - 300) * 1000000000 AS since
    FROM health WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 1200, 3600) * 3600)
        AND end_ns > toInt64(toUInt32(now()) - 1200) * 1000000000
    GROUP BY host, boot)
GROUP BY host HAVING value > 0 ORDER BY host;

-- name: FleetTimeouts
-- summary: {{value}} flows to {{destination_address}} had time-outs
-- look: rdmascope fleet why; rdmascope fleet pairs
SELECT destination_address, countIf(late > 0) AS value FROM (
    SELECT host, boot, flow, any(destination_address) AS destination_address, toInt64(argMax(timeouts, sequence))
        - toInt64(if(countIf(end_ns <= since) > 0, argMaxIf(timeouts, sequence, end_ns <= since),
        argMin(timeouts, sequence))) AS late, toInt64(toUInt32(now()) - 300) * 1000000000 AS since
    FROM flows WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 1200, 3600) * 3600)
        AND end_ns > toInt64(toUInt32(now()) - 1200) * 1000000000 AND own_end != 'destination'
    GROUP BY host, boot, flow)
GROUP BY destination_address HAVING value >= 3 ORDER BY value DESC, destination_address;

-- name: FleetFinding
-- summary: {{host}}: {{verdict}} costs {{value}} ({{question}})
-- look: rdmascope why --connect, on the host
SELECT host, question, verdict, max(cost) AS value FROM answers
WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 300, 3600) * 3600) AND end_ns > toInt64(toUInt32(now()) - 300) * 1000000000
    AND grade = 'wrong' AND cost > 0.05
GROUP BY host, question, verdict ORDER BY value DESC, host, question;

-- name: FleetCommandErrors
-- summary: {{value}} commands to {{target}} ({{protocol}}) ended with an error
-- look: rdmascope fleet io
SELECT target, protocol, sum(failed) AS value FROM (
    SELECT host, boot, flow, any(target) AS target, any(protocol) AS protocol, max(errors)
        - if(countIf(end_ns <= since) > 0, maxIf(errors, end_ns <= since), min(errors)) AS failed,
        toInt64(toUInt32(now()) - 300) * 1000000000 AS since
    FROM commands WHERE hour >= toDateTime(intDiv(toUInt32(now()) - 1200, 3600) * 3600)
        AND end_ns > toInt64(toUInt32(now()) - 1200) * 1000000000 AND level = 'connection' AND own_end != 'target'
    GROUP BY host, boot, flow)
GROUP BY target, protocol HAVING value > 0 ORDER BY value DESC, target;
