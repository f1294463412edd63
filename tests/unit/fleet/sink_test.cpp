#include "fleet/sink/sink.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/sink/interval_rows.h"
#include "fleet/sink/spool.h"
#include "fleet/sink/spool_batch.h"

namespace fleet::sink {
namespace {

class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "fleet-XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

Batch sample() {
    Batch batch;
    batch.sections.push_back({"flows", "a,b", std::string("\0\n rows", 7), 3});
    batch.sections.push_back({"health", "a", "", 0});
    return batch;
}

TEST(FleetBatch, is_read_back) {
    const auto back = Batch::decode(sample().encoded());
    ASSERT_TRUE(back);
    ASSERT_EQ(back->sections.size(), 2u);
    EXPECT_EQ(back->sections[0].statement(), "INSERT INTO flows (a,b) FORMAT RowBinary");
    EXPECT_EQ(back->sections[0].gzipped, sample().sections[0].gzipped);
    EXPECT_EQ(back->sections[0].rows, 3u);
}

TEST(FleetBatch, rows_come_out_of_gzip_as_they_went_in) {
    SectionWriter rows(rows::health_table());
    const auto row = rows::health_row({"h", 1, 1, 10}, {}, {});
    rows.add(row);
    std::string expected;
    rows::append_row_binary(expected, rows::health_table(), row);
    Section section = rows.finish();
    EXPECT_EQ(section.plain().value(), expected);
    section.gzipped += section.gzipped;  // two intervals
    EXPECT_EQ(section.plain().value(), expected + expected);
    section.gzipped.resize(section.gzipped.size() - 3);
    EXPECT_FALSE(section.plain());
}

TEST(FleetBatch, rows_of_one_table_are_sent_together) {
    Batch all;
    all.add(sample());
    all.add(sample());
    ASSERT_EQ(all.sections.size(), 2u);
    EXPECT_EQ(all.sections[0].rows, 6u);
    EXPECT_EQ(all.sections[0].gzipped, sample().sections[0].gzipped + sample().sections[0].gzipped);
}

TEST(FleetBatch, one_that_is_cut_or_changed_anywhere_is_refused) {
    const std::string whole = sample().encoded();
    const std::size_t rows = whole.find("\n rows") - 1;
    for (std::size_t length = 1; length < whole.size(); ++length) {
        const auto cut = Batch::decode(whole.substr(0, length));
        // After a whole section, the file looks complete: rename() makes whole files only.
        if (cut) {
            EXPECT_EQ(cut->sections.size(), length < rows + 7 ? 0u : 1u) << length;
        }
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] ^= 1;
        EXPECT_FALSE(Batch::decode(changed)) << at;
    }
}

TEST(FleetSpool, keeps_files_in_order_over_a_restart) {
    const Folder folder;
    {
        auto spool = Spool::open(folder.path(), 1000);
        ASSERT_TRUE(spool);
        ASSERT_TRUE((*spool)->put("1-1", "one"));
        ASSERT_TRUE((*spool)->put("1-2", "two"));
        std::ofstream(folder.path() + "/1-3.new") << "half";
        EXPECT_FALSE(Spool::open(folder.path(), 1000)) << "two processes have the spool";
    }
    auto spool = Spool::open(folder.path(), 1000);
    ASSERT_TRUE(spool);
    EXPECT_EQ((*spool)->counters().files, 2u);
    EXPECT_EQ((*spool)->counters().octets, 6u);
    EXPECT_THAT((*spool)->oldest(9, 100), testing::ElementsAre("1-1.rows", "1-2.rows"));
    EXPECT_THAT((*spool)->oldest(1, 100), testing::ElementsAre("1-1.rows"));
    EXPECT_THAT((*spool)->oldest(9, 2), testing::ElementsAre("1-1.rows"));
    EXPECT_EQ((*spool)->read("1-1.rows").value(), "one");
    (*spool)->remove("1-1.rows");
    EXPECT_THAT((*spool)->oldest(9, 100), testing::ElementsAre("1-2.rows"));
    EXPECT_EQ((*spool)->counters().dropped, 0u);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/1-3.new"));
}

std::filesystem::perms mode_of(const std::string& path) { return std::filesystem::status(path).permissions(); }

TEST(FleetSpool, is_closed_to_other_users_and_follows_no_links) {
    using std::filesystem::perms;
    const Folder folder;
    const std::string path = folder.path() + "/spool";
    {
        auto spool = Spool::open(path, 1000);
        ASSERT_TRUE(spool);
        EXPECT_EQ(mode_of(path) & perms::others_all, perms::none);
        std::ofstream(folder.path() + "/victim") << "not ours";
        std::filesystem::create_symlink(folder.path() + "/victim", path + "/1.new");
        ASSERT_TRUE((*spool)->put("1", "rows"));
        EXPECT_EQ(mode_of(path + "/1.rows") & perms::others_all, perms::none);
        std::filesystem::remove(path + "/1.rows");
        std::filesystem::create_symlink(folder.path() + "/victim", path + "/1.rows");
        EXPECT_FALSE((*spool)->read("1.rows"));
        EXPECT_TRUE((*spool)->has("1.rows"));
    }
    EXPECT_EQ((*Spool::open(path, 1000))->counters().files, 0u);
    std::ifstream victim(folder.path() + "/victim");
    std::string text;
    std::getline(victim, text);
    EXPECT_EQ(text, "not ours");
}

TEST(FleetSpool, goes_on_if_its_files_or_its_folder_are_removed) {
    const Folder folder;
    const std::string path = folder.path() + "/spool";
    auto spool = Spool::open(path, 1000);
    ASSERT_TRUE(spool);
    ASSERT_TRUE((*spool)->put("1", "one"));
    std::filesystem::remove(path + "/1.rows");
    EXPECT_FALSE((*spool)->read("1.rows"));
    EXPECT_FALSE((*spool)->has("1.rows")) << "it would be tried for ever";
    EXPECT_EQ((*spool)->counters().dropped, 1u);
    EXPECT_EQ((*spool)->counters().octets, 0u);

    std::filesystem::remove_all(path);
    ASSERT_TRUE((*spool)->put("2", "two"));
    EXPECT_EQ((*spool)->read("2.rows").value(), "two");
    EXPECT_FALSE(Spool::open(path, 1000)) << "two processes have the new folder";

    std::filesystem::remove_all(path);
    std::ofstream(path) << "a file in the way";
    EXPECT_FALSE((*spool)->put("3", "three"));
    EXPECT_EQ((*spool)->counters().failed, 1u);
    std::filesystem::remove(path);
    EXPECT_TRUE((*spool)->put("4", "four"));
}

TEST(FleetSpool, drops_the_oldest_files_beyond_its_bound_and_counts_them) {
    const Folder folder;
    auto spool = Spool::open(folder.path(), 100);
    ASSERT_TRUE(spool);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE((*spool)->put(std::to_string(i), std::string(40, 'x')));
    EXPECT_EQ((*spool)->counters().files, 2u);
    EXPECT_EQ((*spool)->counters().octets, 80u);
    EXPECT_EQ((*spool)->counters().dropped, 3u);
    EXPECT_THAT((*spool)->oldest(1, 0), testing::ElementsAre("3.rows"));
}

TEST(FleetChanges, a_row_after_a_pause_needs_the_row_before_it) {
    using Change = ChangeLog::Change;
    const auto at = [](std::uint32_t sequence) { return rows::Place{"h", 1, sequence, sequence * 10}; };
    ChangeLog log;
    EXPECT_EQ(log.look("a", 1, at(1)), Change::resumed);  // never seen
    EXPECT_EQ(log.look("a", 2, at(2)), Change::changed);
    EXPECT_EQ(log.last_end_ns("a"), 10);
    EXPECT_EQ(log.look("a", 2, at(3)), Change::none);
    EXPECT_EQ(log.look("a", 3, at(4)), Change::resumed);
    EXPECT_EQ(log.last_end_ns("a"), 20);
    log.forget_absent(4);
    EXPECT_EQ(log.look("a", 4, at(5)), Change::changed);
    log.forget_absent(6);
    EXPECT_EQ(log.look("a", 5, at(6)), Change::resumed);
}

class NoNames final : public metrics::HostNames {
public:
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

Interval interval_of(std::uint64_t packets, std::int64_t end_ns) {
    metrics::Snapshot snapshot;
    metrics::FlowSnapshot& flow = snapshot.flows.emplace_back();
    flow.id = 1;
    flow.packets = packets;
    Interval interval;
    interval.snapshot = std::make_shared<metrics::Snapshot>(std::move(snapshot));
    interval.end_ns = end_ns;
    return interval;
}

std::uint64_t flow_rows(const Batch& batch) {
    for (const Section& section : batch.sections)
        if (section.table == "flows") return section.rows;
    return 0;
}

TEST(FleetIntervals, an_interval_that_was_not_kept_is_in_the_next_one) {
    IntervalRows rows("h", 1, 0);
    EXPECT_EQ(flow_rows(rows.make(interval_of(5, 10), NoNames())), 2u);  // with the state before it
    // Not accepted: the disk was full.
    EXPECT_EQ(rows.sequence(), 1u);
    EXPECT_EQ(flow_rows(rows.make(interval_of(9, 20), NoNames())), 2u);
    rows.accept();
    EXPECT_EQ(rows.sequence(), 2u);
    EXPECT_EQ(flow_rows(rows.make(interval_of(9, 30), NoNames())), 0u);
    rows.accept();
    EXPECT_EQ(flow_rows(rows.make(interval_of(12, 40), NoNames())), 2u);
    rows.accept();
    EXPECT_EQ(flow_rows(rows.make(interval_of(13, 50), NoNames())), 1u);
}

/// A server that accepts connections, and never answers.
class SilentServer {
public:
    SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listener_.number(), any, length), 0);
        EXPECT_EQ(::listen(listener_.number(), 8), 0);
        EXPECT_EQ(::getsockname(listener_.number(), any, &length), 0);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    const std::string& url() const { return url_; }
    int socket() const { return listener_.number(); }

private:
    base::Descriptor listener_;
    std::string url_ = {};
};

SinkOptions to_server(const std::string& url, const Folder& spool) {
    SinkOptions options;
    options.access.url = url;
    options.spool = spool.path();
    options.max_spool_octets = 1 << 20;
    options.host = "h";
    options.boot = 1;
    options.interval_ns = 1;
    return options;
}

TEST(FleetSink, ends_within_seconds_and_keeps_its_rows_though_the_server_never_answers) {
    const Folder folder;
    const SilentServer server;
    const NoNames names;
    SinkOptions options = to_server(server.url(), folder);
    const auto begin = std::chrono::steady_clock::now();
    {
        auto sink = Sink::open(std::move(options), names, [](bool, const std::string&) {});
        ASSERT_TRUE(sink);
        (*sink)->start();
        (*sink)->offer(interval_of(5, 10), base::steady_ns());
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
        EXPECT_TRUE((*sink)->end(interval_of(7, 20)));
    }
    // The request's own time is 30 s.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
    EXPECT_GE((*Spool::open(folder.path(), 1 << 20))->counters().files, 1u);
}

/// A server that accepts every request, and counts them.
class AcceptingServer {
public:
    AcceptingServer() : thread_([this] { serve(); }) {}
    ~AcceptingServer() {
        ::shutdown(listener_.socket(), SHUT_RDWR);
        thread_.join();
    }
    AcceptingServer(const AcceptingServer&) = delete;
    AcceptingServer& operator=(const AcceptingServer&) = delete;
    const std::string& url() const { return listener_.url(); }
    unsigned requests() const { return requests_; }

private:
    void serve() {
        for (;;) {
            const base::Descriptor client(::accept4(listener_.socket(), nullptr, nullptr, SOCK_CLOEXEC));
            if (client.number() < 0) return;
            answer(client.number());
        }
    }
    /// One request: it ends with as many octets as its header says.
    void answer(int client) {
        std::string request;
        while (!is_whole(request)) {
            char octets[4096];
            const ssize_t count = ::recv(client, octets, sizeof octets, 0);
            if (count <= 0) return;
            request.append(octets, static_cast<std::size_t>(count));
        }
        ++requests_;
        constexpr std::string_view done = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        EXPECT_EQ(::send(client, done.data(), done.size(), MSG_NOSIGNAL), static_cast<ssize_t>(done.size()));
    }
    static bool is_whole(const std::string& request) {
        constexpr std::string_view name = "Content-Length: ";
        const std::size_t body = request.find("\r\n\r\n");
        const std::size_t length = request.find(name);
        if (body == std::string::npos || length == std::string::npos) return false;
        return request.size() >= body + 4 + std::stoul(request.substr(length + name.size()));
    }

    SilentServer listener_;
    std::atomic<unsigned> requests_ = 0;
    std::thread thread_;
};

bool comes_true(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
}

TEST(FleetSink, intervals_wait_to_be_sent_together) {
    const Folder folder;
    const AcceptingServer server;
    const NoNames names;
    SinkOptions options = to_server(server.url(), folder);
    options.send_interval_ns = 3'600'000'000'000;
    const auto opened = Sink::open(std::move(options), names, [](bool, const std::string&) {});
    ASSERT_TRUE(opened);
    Sink& sink = **opened;
    sink.start();
    const auto keep = [&](std::uint64_t number) {
        sink.offer(interval_of(number, static_cast<std::int64_t>(10 * number)), base::steady_ns());
        return comes_true([&] { return sink.counters().intervals_spooled == number; });
    };
    ASSERT_TRUE(keep(1));
    // The first one shows that the server can be reached.
    ASSERT_TRUE(comes_true([&] { return sink.counters().intervals_sent == 1; }));
    const unsigned of_one = server.requests();
    EXPECT_GE(of_one, 2u);  // one for each table with rows: flows, health
    for (std::uint64_t number = 2; number <= 4; ++number) ASSERT_TRUE(keep(number));
    // Longer than a sink looks for files.
    std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
    EXPECT_EQ(server.requests(), of_one);
    EXPECT_EQ(sink.counters().spool.files, 3u);
    EXPECT_TRUE(sink.end(interval_of(5, 50)));
    ASSERT_TRUE(comes_true([&] { return sink.counters().intervals_sent == 5; }));
    // When the daemon ends, all that waits is sent: a request for each table.
    EXPECT_EQ(server.requests(), 2 * of_one);
    EXPECT_EQ(sink.counters().spool.files, 0u);
}

}  // namespace
}  // namespace fleet::sink
