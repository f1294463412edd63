// Every key: its default, what it takes, what it does not. Expectations are those of config.h and of the manual page,
// written out by hand.
#include <algorithm>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "daemon/config/config_file.h"
#include "daemon/config/config_table.h"

namespace service {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t mib = 1'048'576;

struct KeyCase {
    const char* path;
    const char* fallback;                  ///< as TOML
    std::vector<const char*> good;         ///< TOML values
    std::vector<const char*> bad;          ///< below, above, of another type, of another form
    const char* effect;                    ///< "once" or "restart"
    bool (*second_is_set)(const Config&);  ///< whether good[1] has reached the struct
};

#define SET(expression) [](const Config& c) { return expression; }

const std::vector<KeyCase>& cases() {
    using Texts = std::vector<std::string>;
    static const std::vector<KeyCase> all{
        {"capture.interfaces",
         R"(["any"])",
         {R"(["eth0"])", R"(["en*", "ib?"])"},
         {R"([""])", R"("eth0")", "[1]", R"(["a/b"])", R"(["a b"])", R"(["a:1"])", R"(["a\n"])", "5"},
         "once",
         SET((c.capture.interfaces == Texts{"en*", "ib?"}))},
        {"capture.verbs_devices",
         "[]",
         {"[]", R"(["mlx5_0", "rxe0"])"},
         {R"([""])", R"(["../x"])", "[true]", "1"},
         "restart",
         SET((c.capture.verbs_devices == Texts{"mlx5_0", "rxe0"}))},
        {"capture.snaplen",
         "192",
         {"96", "262144", "\"256KiB\"", "0", "\"1K\""},
         {"95", "262145", "-1", "1.5", "true", "\"many\"", "[192]", "\"\""},
         "restart",
         SET(c.capture.snaplen == 262144)},
        {"capture.iwarp_snaplen",
         "0",
         {"0", "262144", "\"256KiB\"", "96"},
         {"95", "262145", "-1", "true"},
         "restart",
         SET(c.capture.iwarp_snaplen == 262144)},
        {"capture.rdma_only",
         "true",
         {"true", "false"},
         {"0", "\"on\"", "\"true\""},
         "once",
         SET(!c.capture.rdma_only)},
        {"capture.filter",
         "\"\"",
         {"\"\"", "\"udp port 4791\""},
         {"5", "[]", "false"},
         "once",
         SET(c.capture.filter == "udp port 4791")},
        {"capture.iwarp_ports",
         "[]",
         {"[]", "[1, 65535]"},
         {"[0]", "[65536]", "[-1]", "[\"80\"]", "80", "[[80]]"},
         "once",
         SET((c.capture.iwarp_ports == std::vector<std::uint64_t>{1, 65535}))},
        {"capture.iwarp_discovery",
         "true",
         {"true", "false"},
         {"1", "\"off\""},
         "once",
         SET(!c.capture.iwarp_discovery)},
        {"capture.iwarp_connections",
         "65536",
         {"1024", "4194304"},
         {"1023", "4194305", "\"64K\"", "0"},
         "restart",
         SET(c.capture.iwarp_connections == 4194304)},
        {"capture.buffer",
         "\"64MiB\"",
         {"1048576", "\"1GiB\"", "\"2M\""},
         {"1048575", "\"1025MiB\"", "\"64 MiB\"", "0", "true", "\"-1\""},
         "restart",
         SET(c.capture.buffer_octets == 1024 * mib)},
        {"capture.threads",
         "1",
         {"1", "64", "\"auto\""},
         {"0", "65", "\"many\"", "-1"},
         "restart",
         SET(c.capture.threads == 64U)},
        {"capture.promiscuous", "true", {"true", "false"}, {"\"no\""}, "restart", SET(!c.capture.promiscuous)},
        {"capture.timestamps",
         "\"auto\"",
         {"\"auto\"", "\"hardware\"", "\"software\""},
         {"\"adapter\"", "1", "\"\"", "\"Auto\""},
         "restart",
         SET(c.capture.timestamps == "hardware")},
        {"engine.threads",
         "1",
         {"1", "256"},
         {"0", "257", "\"2\"", "2.0", "-3"},
         "restart",
         SET(c.engine.threads == 256)},
        {"engine.max_flows",
         "16384",
         {"1", "10000000"},
         {"0", "10000001", "\"1M\""},
         "restart",
         SET(c.engine.max_flows == 10'000'000)},
        {"engine.idle",
         "\"10m\"",
         {"\"1s\"", "\"365d\"", "\"1.5h\""},
         {"\"999ms\"", "\"366d\"", "600", "\"600\"", "\"10 m\"", "0"},
         "restart",
         SET(c.engine.idle_ns == std::uint64_t{365} * 86400 * second)},
        {"engine.interval",
         "\"1s\"",
         {"\"100ms\"", "\"500ms\""},
         {"\"99ms\"", "\"61m\"", "1", "1.0", "\"1\"", "\"1.\""},
         "restart",
         SET(c.engine.interval_ns == 500 * ms)},
        {"engine.verify_crc", "true", {"true", "false"}, {"\"false\""}, "restart", SET(!c.engine.verify_crc)},
        {"engine.link_rate",
         "\"auto\"",
         {"\"auto\"", "\"2.5G\"", "\"100Gbps\""},
         {"100000", "\"100000\"", "\"1bps\"", "\"fast\"", "\"100GiB\"", "true"},
         "restart",
         SET(c.engine.link_bits_per_sec == 2'500'000'000U)},
        {"engine.node_names",
         "\"\"",
         {"\"\"", "\"/etc/rdmascope/node-names\""},
         {"\"node-names\"", "[\"/etc/node-names\"]", "1"},
         "restart",
         SET(c.engine.node_names == "/etc/rdmascope/node-names")},
        {"commands.as",
         "[]",
         {"[]", "[\"4420=nvme\", \"qp:0x11=rsocket\"]"},
         {"\"4420=nvme\"", "[4420]", "[\"nvme\"]", "[\"70000=nvme\"]", "[\"4420=scsi\"]"},
         "restart",
         SET((c.commands.as == std::vector<std::string>{"4420=nvme", "qp:0x11=rsocket"}))},
        {"prometheus.listen",
         "\"127.0.0.1:14791\"",
         {"\"\"", "\"[::1]:9100\"", "\":9879\"", "\"0.0.0.0:0\"", "\"[2001:db8::1]:65535\""},
         {"\"127.0.0.1\"", "\"127.0.0.1:65536\"", "\"localhost:80\"", "\"::1:80\"", "\"[127.0.0.1]:80\"",
          "\"1.2.3:80\"", "\"[::1:80\"", "\"127.0.0.1:\"", "\"127.0.0.1:8x\"", "9879", "\"127.0.0.1:-1\""},
         "restart",
         SET(c.prometheus.listen == "[::1]:9100")},
        {"prometheus.max_peers",
         "20",
         {"0", "1000"},
         {"1001", "-1", "\"20\""},
         "once",
         SET(c.prometheus.max_peers == 1000)},
        {"http.page", "true", {"true", "false"}, {"\"false\"", "0"}, "restart", SET(!c.http.page)},
        {"http.token_file",
         "\"\"",
         {"\"\"", "\"/etc/token\""},
         {"\"token\"", "[\"/etc/token\"]"},
         "restart",
         SET(c.http.token_file == "/etc/token")},
        {"http.writes", "false", {"false", "true"}, {"\"true\"", "1"}, "restart", SET(c.http.writes)},
        {"history.directory",
         "\"\"",
         {"\"\"", "\"/var/lib/h\""},
         {"\"h\"", "\"./h\"", "\"/a\\u0007\"", "1"},
         "restart",
         SET(c.history.directory == "/var/lib/h")},
        {"history.interval",
         "\"10s\"",
         {"\"1s\"", "\"1d\""},
         {"\"99ms\"", "\"25h\"", "10"},
         "restart",
         SET(c.history.interval_ns == 86400 * second)},
        {"history.max_size",
         "\"1GiB\"",
         {"\"1MiB\"", "\"1024TiB\""},
         {"\"1023KiB\"", "\"1025TiB\"", "0", "false"},
         "once",
         SET(c.history.max_octets == std::uint64_t{1} << 50)},
        {"history.max_age",
         "\"30d\"",
         {"\"60s\"", "\"3650d\""},
         {"\"59s\"", "\"3651d\"", "30"},
         "once",
         SET(c.history.max_age_ns == std::uint64_t{3650} * 86400 * second)},
        {"recorder.directory",
         "\"\"",
         {"\"\"", "\"/srv/r\""},
         {"\"r\"", "[\"/r\"]"},
         "restart",
         SET(c.recorder.directory == "/srv/r")},
        {"recorder.before",
         "\"10s\"",
         {"\"100ms\"", "\"1h\""},
         {"\"99ms\"", "\"61m\"", "10", "0"},
         "restart",
         SET(c.recorder.before_ns == 3600 * second)},
        {"recorder.after",
         "\"5s\"",
         {"\"1ms\"", "\"1h\"", "0", "\"0s\""},
         {"\"1us\"", "\"61m\"", "5", "-0.5"},
         "once",
         SET(c.recorder.after_ns == 3600 * second)},
        {"recorder.memory",
         "\"64MiB\"",
         {"\"1MiB\"", "\"128MiB\""},
         {"\"1023KiB\"", "\"1025GiB\"", "true"},
         "restart",
         SET(c.recorder.memory_octets == 128 * mib)},
        {"recorder.max_files",
         "16",
         {"1", "100000"},
         {"0", "100001", "\"16\""},
         "once",
         SET(c.recorder.max_files == 100'000)},
        {"recorder.max_file_size",
         "\"256MiB\"",
         {"\"64MiB\"", "\"1TiB\""},
         {"\"63KiB\"", "\"1025GiB\"", "1.5"},
         "once",
         SET(c.recorder.max_file_octets == std::uint64_t{1} << 40)},
        {"recorder.pause",
         "\"1m\"",
         {"0", "\"30d\""},
         {"\"31d\"", "60", "\"60\""},
         "once",
         SET(c.recorder.pause_ns == std::uint64_t{30} * 86400 * second)},
        {"control.socket",
         "\"/run/rdmascope/rdmascope.sock\"",
         {"\"\"", "\"/tmp/s\""},
         {"\"s\"", "\"/tmp/\"", "1"},
         "restart",
         SET(c.control.socket == "/tmp/s")},
        {"control.group",
         "\"\"",
         {"\"\"", "\"adm\""},
         {"\"a b\"", "\"0\"", "\"-x\"", "1", "\"a:b\""},
         "restart",
         SET(c.control.group == "adm")},
        {"control.max_clients",
         "64",
         {"1", "1024"},
         {"0", "1025", "true"},
         "restart",
         SET(c.control.max_clients == 1024)},
        {"log.level",
         "\"info\"",
         {"\"error\"", "\"warning\"", "\"info\"", "\"debug\""},
         {"\"warn\"", "\"INFO\"", "3"},
         "once",
         SET(c.log.level == "warning")},
        {"log.max_lines_per_sec",
         "10",
         {"1", "1000000"},
         {"0", "1000001", "\"10\""},
         "once",
         SET(c.log.max_lines_per_sec == 1'000'000)},
        {"traces.programs", "false", {"false", "true"}, {"1", "\"on\"", "[true]"}, "restart", SET(c.traces.programs)},
        {"traces.kernel_events",
         "[]",
         {R"(["rdma_cma"])", R"(["rdma_core:cq_*", "ib_mad"])"},
         {R"([""])", R"([":x"])", R"(["x:"])", R"(["a/b"])", R"(["a b"])", "\"rdma_cma\"", "[1]"},
         "restart",
         SET((c.traces.kernel_events == Texts{"rdma_core:cq_*", "ib_mad"}))},
        {"service.user",
         "\"\"",
         {"\"\"", "\"nobody\""},
         {"\"no body\"", "\"65534\"", "7"},
         "restart",
         SET(c.service.user == "nobody")},
        {"service.restrict_system_calls",
         "true",
         {"true", "false"},
         {"0", "\"off\""},
         "restart",
         SET(!c.service.restrict_system_calls)},
        {"policy.file",
         "\"\"",
         {"\"\"", "\"/etc/policy.toml\""},
         {"\"policy.toml\"", "[\"/etc/policy.toml\"]", "1"},
         "once",
         SET(c.policy.file == "/etc/policy.toml")},
        {"clickhouse.url",
         "\"\"",
         {"\"\"", "\"https://clickhouse-1:8443\""},
         {"\"clickhouse-1\"", "\"ftp://clickhouse-1\"", "8443"},
         "restart",
         SET(c.clickhouse.url == "https://clickhouse-1:8443")},
        {"clickhouse.jsonl",
         "\"\"",
         {"\"\"", "\"/run/rdmascope/rows.jsonl\""},
         {"\"rows.jsonl\"", "1"},
         "restart",
         SET(c.clickhouse.jsonl == "/run/rdmascope/rows.jsonl")},
        {"clickhouse.database",
         "\"rdmascope\"",
         {"\"rdmascope\"", "\"rdma_2\""},
         {"\"\"", "\"a b\"", "\"a;DROP\"", "1"},
         "restart",
         SET(c.clickhouse.database == "rdma_2")},
        {"clickhouse.user",
         "\"\"",
         {"\"\"", "\"rdmascope_sink\""},
         {"\"a b\"", "1"},
         "restart",
         SET(c.clickhouse.user == "rdmascope_sink")},
        {"clickhouse.password_file",
         "\"\"",
         {"\"\"", "\"/etc/password\""},
         {"\"password\"", "1"},
         "restart",
         SET(c.clickhouse.password_file == "/etc/password")},
        {"clickhouse.ca_file",
         "\"\"",
         {"\"\"", "\"/etc/ca.pem\""},
         {"\"ca.pem\"", "1"},
         "restart",
         SET(c.clickhouse.ca_file == "/etc/ca.pem")},
        {"clickhouse.verify_tls", "true", {"true", "false"}, {"0", "\"no\""}, "restart", SET(!c.clickhouse.verify_tls)},
        {"clickhouse.host",
         "\"\"",
         {"\"\"", "\"host 7\""},
         {"\"a\\nb\"", "7"},
         "restart",
         SET(c.clickhouse.host == "host 7")},
        {"clickhouse.interval",
         "\"10s\"",
         {"\"100ms\"", "\"10m\""},
         {"\"99ms\"", "\"11m\"", "10", "\"10\""},
         "restart",
         SET(c.clickhouse.interval_ns == 600 * second)},
        {"clickhouse.send_interval",
         "0",
         {"\"1s\"", "\"2m\"", "\"0s\"", "0"},
         {"\"999ms\"", "\"3m\"", "10", "true"},
         "restart",
         SET(c.clickhouse.send_interval_ns == 120 * second)},
        {"clickhouse.spool",
         "\"\"",
         {"\"\"", "\"/var/spool/rdmascope\""},
         {"\"spool\"", "1"},
         "restart",
         SET(c.clickhouse.spool == "/var/spool/rdmascope")},
        {"clickhouse.max_spool_size",
         "\"1GiB\"",
         {"\"1MiB\"", "\"1024TiB\""},
         {"\"1023KiB\"", "\"1025TiB\"", "true"},
         "restart",
         SET(c.clickhouse.max_spool_octets == std::uint64_t{1} << 50)},
        {"fabric.interval",
         "0",
         {"\"1s\"", "\"24h\"", "\"0s\"", "0"},
         {"\"999ms\"", "\"25h\"", "true", "\"\""},
         "restart",
         SET(c.fabric.interval_ns == 86400 * second)},
        {"fabric.device",
         "\"\"",
         {"\"\"", "\"mlx5_0\""},
         {"\"a/b\"", "1", "[\"mlx5_0\"]"},
         "restart",
         SET(c.fabric.device == "mlx5_0")},
        {"fabric.port", "0", {"0", "2", "254"}, {"255", "-1", "\"x\"", "true"}, "restart", SET(c.fabric.port == 2)},
        {"fabric.max_ports",
         "128",
         {"0", "4096", "128"},
         {"4097", "-1", "\"many\""},
         "restart",
         SET(c.fabric.max_ports == 4096)},
    };
    return all;
}

/// A file with this key alone; what else a value asks for stands in front.
std::string file_of(const KeyCase& each, const char* value) {
    const std::string path = each.path;
    const std::size_t dot = path.find('.');
    std::string also;
    if (path == "capture.interfaces") also = "verbs_devices = [\"rxe0\"]\n";  // it may be empty then
    if (path == "recorder.memory") also = "max_file_size = \"1TiB\"\n";
    if (path == "clickhouse.url" || path == "clickhouse.jsonl") also = "spool = \"/var/spool/rdmascope\"\n";
    return fmt::format("[{}]\n{}{} = {}\n", path.substr(0, dot), also, path.substr(dot + 1), value);
}

class EveryKey : public testing::TestWithParam<KeyCase> {};

TEST_P(EveryKey, has_the_default_of_the_struct) {
    Config config;
    const Key* key = find_key(GetParam().path);
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(format(*key, config), GetParam().fallback);
}

TEST_P(EveryKey, takes_what_is_good) {
    const KeyCase& each = GetParam();
    for (std::size_t i = 0; i < each.good.size(); ++i) {
        const auto read = parse_config(file_of(each, each.good[i]), "f");
        ASSERT_TRUE(read.ok()) << each.good[i] << ": " << read.error().lines.front();
        EXPECT_TRUE(i != 1 || each.second_is_set(*read)) << each.good[i];
        // What is written out is read back to the same.
        Config again = *read;
        const std::string written = format(*find_key(each.path), again);
        const auto second_time = parse_config(file_of(each, written.c_str()), "f");
        ASSERT_TRUE(second_time.ok()) << written;
        EXPECT_EQ(*second_time, *read) << written;
    }
}

TEST_P(EveryKey, refuses_what_is_bad_and_says_what_is_wanted_and_where) {
    const KeyCase& each = GetParam();
    for (const char* value : each.bad) {
        const std::string file = file_of(each, value);
        const auto read = parse_config(file, "f");
        ASSERT_FALSE(read.ok()) << value;
        ASSERT_EQ(read.error().lines.size(), 1U) << value;
        const auto line = std::count(file.begin(), file.end(), '\n');
        EXPECT_THAT(read.error().lines.front(), testing::StartsWith("f:" + std::to_string(line) + ":")) << value;
        EXPECT_THAT(read.error().lines.front(), testing::HasSubstr(std::string(": ") + each.path + ": ")) << value;
        EXPECT_THAT(read.error().lines.front(), testing::HasSubstr(" is given, ")) << value;
        EXPECT_THAT(read.error().lines.front(), testing::EndsWith(" is expected")) << value;
    }
}

TEST_P(EveryKey, says_when_a_change_takes_effect) {
    const KeyCase& each = GetParam();
    const auto changed = parse_config(file_of(each, each.good[1]), "f");
    const auto before = parse_config(file_of(each, each.fallback), "f");
    ASSERT_TRUE(changed.ok() && before.ok());
    const ConfigChange change = compare(*before, *changed);
    EXPECT_EQ(change.applied,
              std::string(each.effect) == "once" ? std::vector<std::string>{each.path} : std::vector<std::string>{});
    EXPECT_EQ(change.needs_restart,
              std::string(each.effect) == "once" ? std::vector<std::string>{} : std::vector<std::string>{each.path});
    EXPECT_EQ(change.in_force, std::string(each.effect) == "once" ? *changed : *before);
}

INSTANTIATE_TEST_SUITE_P(Config, EveryKey, testing::ValuesIn(cases()), [](const auto& of) {
    std::string name = of.param.path;
    for (char& c : name)
        if (c == '.') c = '_';
    return name;
});

TEST(Keys, are_all_tried_above) {
    std::set<std::string> tried;
    for (const KeyCase& each : cases()) tried.insert(each.path);
    for (const Key& key : keys())
        EXPECT_TRUE(key.section == trigger_section || tried.contains(key.path())) << key.path();
    EXPECT_EQ(tried.size() + 3, keys().size());  // name, when, verdict
}

TEST(Keys, of_a_trigger) {
    const auto read = parse_config(
        "[[recorder.trigger]]\nname = \"a-B_3\"\nwhen = \"x > 1\"\n"
        "[[recorder.trigger]]\nname = \"b\"\nverdict = \"rnr\"\n",
        "f");
    ASSERT_TRUE(read.ok()) << read.error().lines.front();
    ASSERT_EQ(read->recorder.triggers.size(), 2U);
    EXPECT_EQ(read->recorder.triggers[0], (TriggerConfig{"a-B_3", "x > 1", ""}));
    EXPECT_EQ(read->recorder.triggers[1], (TriggerConfig{"b", "", "rnr"}));
    EXPECT_EQ(compare(Config{}, *read).applied, std::vector<std::string>{"recorder.trigger"});
    EXPECT_TRUE(compare(Config{}, *read).needs_restart.empty());
    EXPECT_TRUE(compare(*read, *read).applied.empty());
}

TEST(SetKey, as_the_command_line_does) {
    Config config;
    EXPECT_TRUE(set_key(config, "capture.snaplen", {"128"}));
    EXPECT_EQ(config.capture.snaplen, 128U);
    EXPECT_TRUE(set_key(config, "capture.interfaces", {"a", "b*"}));
    EXPECT_EQ(config.capture.interfaces, (std::vector<std::string>{"a", "b*"}));
    EXPECT_EQ(set_key(config, "capture.snaplen", {"95"}).error().text(), "a size from 96 to \"256KiB\", or 0,");
    EXPECT_EQ(set_key(config, "log.level", {"loud"}).error().text(), R"("error", "warning", "info" or "debug")");
    EXPECT_EQ(config.capture.snaplen, 128U);
    EXPECT_FALSE(set_key(config, "capture.nothing", {"95"}));
    EXPECT_FALSE(set_key(config, "recorder.trigger.name", {"x"}));
    EXPECT_FALSE(set_key(config, "log.level", {}));
    EXPECT_FALSE(set_key(config, "log.level", {"info", "info"}));
}

}  // namespace
}  // namespace service
