#include <cerrno>
#include <deque>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <map>
#include <random>
#include <set>

#include "capture/filter/rdma_filter.h"
#include "capture/sniffer/verbs_source.h"
#include "support.h"
#include "tests/support/pcaps.h"

namespace capture::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// A provider in memory: devices with ports on which frames pass, and whatever can go wrong with them.
class FakeVerbs final : public VerbsApi {
public:
    struct Port {
        bool ethernet = true;
        std::uint64_t out_of_buffer = 0;  ///< of all users of the device
    };
    struct Device {
        std::vector<Port> ports = {Port{}};
        bool raw_packets = true;
        bool sniffer = true;
        bool times = false;
        bool counts = true;
    };
    std::map<std::string, Device> devices = {{"mlx5_0", {}}};
    std::map<std::string, int> refused;                  ///< by step: the errno that it gives
    std::size_t post_at_most = ~std::size_t{0};          ///< of each call
    std::map<std::string, std::set<std::string>> alive;  ///< and what each was made of
    int made = 0;

    /// A frame passes: into the oldest buffer, or it is lost.
    void pass(const std::string& device, std::uint8_t port, std::string_view octets, std::int64_t time_ns = 0) {
        for (auto& [pair_name, pair] : pairs_)
            if (pair.device == device && pair.port == port && pair.sniffed) deliver(pair, octets, time_ns);
    }
    void break_pairs(VerbsStatus status) {
        for (auto& [name, pair] : pairs_) {
            for (bool first = true; !pair.posted.empty(); first = false, pair.posted.pop_front())
                complete(pair, {.id = pair.posted.front().id,
                                .status = first ? status : VerbsStatus::flushed,
                                .failure = first && status == VerbsStatus::failed ? "local protection error" : ""});
            pair.broken = true;
        }
    }
    std::size_t posted() const {
        std::size_t sum = 0;
        for (const auto& [name, pair] : pairs_) sum += pair.posted.size();
        return sum;
    }

    int list_devices(std::vector<std::string>& names) override {
        if (const int code = code_of("list")) return code;
        for (const auto& [name, device] : devices) names.push_back(name);
        return 0;
    }
    int open_device(const std::string& name, Object& device) override {
        if (const int code = code_of("open")) return code;
        device = make("device " + name);
        return 0;
    }
    void close_device(Object device) override { destroy(device, "device"); }
    unsigned ports(Object device) override { return static_cast<unsigned>(devices[rest_of(device)].ports.size()); }
    int query_port(Object device, std::uint8_t port, VerbsPort& into) override {
        into = {devices[rest_of(device)].ports.at(port - 1U).ethernet, true};
        return 0;
    }
    int create_domain(Object device, Object& domain) override {
        if (const int code = code_of("domain")) return code;
        domain = make("domain " + rest_of(device), {device});
        return 0;
    }
    void destroy_domain(Object domain) override { destroy(domain, "domain"); }
    int register_memory(Object domain, std::span<std::byte>, Object& region) override {
        if (const int code = code_of("memory")) return code;
        region = make("region of memory", {domain});
        return 0;
    }
    void deregister_memory(Object region) override { destroy(region, "region"); }
    int create_queue(Object device, unsigned entries, bool with_times, Object& queue) override {
        if (const int code = code_of("queue")) return code;
        if (with_times && !devices[rest_of(device)].times) return EOPNOTSUPP;
        queue = make("queue " + rest_of(device), {device});
        queues_[name_of(queue)] = {entries, with_times, {}};
        return 0;
    }
    void destroy_queue(Object queue) override {
        queues_.erase(name_of(queue));
        destroy(queue, "queue");
    }
    int create_pair(Object domain, Object queue, std::uint8_t port, unsigned receives, Object& pair) override {
        const std::string device = rest_of(domain);
        if (const int code = code_of("pair")) return code;
        if (!devices[device].raw_packets) return EOPNOTSUPP;
        pair = make("pair " + device, {domain, queue});
        pairs_[name_of(pair)] = {device, port, name_of(queue), receives, {}, false, false};
        return 0;
    }
    void destroy_pair(Object pair) override {
        pairs_.erase(name_of(pair));
        destroy(pair, "pair");
    }
    int create_sniffer(Object pair, std::uint8_t port, Object& rule) override {
        Pair& of = pairs_.at(name_of(pair));
        if (const int code = code_of("sniffer")) return code;
        if (!devices[of.device].sniffer) return EOPNOTSUPP;
        EXPECT_EQ(of.port, port);
        of.sniffed = true;
        rule = make("rule on a port", {pair});
        return 0;
    }
    void destroy_sniffer(Object rule) override { destroy(rule, "rule"); }
    int post(Object pair, Object, std::span<const VerbsReceive> receives, std::size_t& posted) override {
        posted = 0;
        if (const int code = code_of("post")) return code;
        Pair& of = pairs_.at(name_of(pair));
        for (const VerbsReceive& receive : receives) {
            if (posted == post_at_most || of.posted.size() == of.receives) return ENOMEM;
            for (const VerbsReceive& other : of.posted) EXPECT_NE(other.id, receive.id) << "posted twice";
            of.posted.push_back(receive);
            ++posted;
        }
        return 0;
    }
    int poll(Object queue, std::span<VerbsCompletion> completions, std::size_t& count) override {
        if (const int code = code_of("poll")) return code;
        Queue& of = queues_.at(name_of(queue));
        for (count = 0; count < completions.size() && !of.completions.empty(); ++count, of.completions.pop_front())
            completions[count] = of.completions.front();
        return 0;
    }
    int descriptor(Object) override { return 42; }
    int arm(Object) override {
        ++arms;
        if (on_arm) std::exchange(on_arm, nullptr)();
        return 0;
    }
    std::optional<std::uint64_t> out_of_buffer(const std::string& device, std::uint8_t port) override {
        const Device& of = devices[device];
        return of.counts ? std::optional(of.ports.at(port - 1U).out_of_buffer) : std::nullopt;
    }
    int arms = 0;
    std::function<void()> on_arm;

private:
    struct Queue {
        unsigned entries;
        bool times;
        std::deque<VerbsCompletion> completions;
    };
    struct Pair {
        std::string device;
        std::uint8_t port;
        std::string queue;
        unsigned receives;
        std::deque<VerbsReceive> posted;
        bool sniffed;
        bool broken;
    };

    int code_of(const std::string& step) {
        const auto found = refused.find(step);
        return found == refused.end() ? 0 : found->second;
    }
    Object make(const std::string& name, const std::vector<Object>& parents = {}) {
        names_.push_back(std::make_unique<std::string>(fmt::format("{} #{}", name, ++made)));
        std::set<std::string>& of = alive[*names_.back()];
        for (const Object parent : parents) of.insert(name_of(parent));
        return names_.back().get();
    }
    static const std::string& name_of(Object object) { return *static_cast<std::string*>(object); }
    static std::string rest_of(Object object) {
        const std::string& name = name_of(object);
        const std::size_t at = name.find(' ') + 1;
        return name.substr(at, name.find(" #") - at);
    }
    /// Nothing may be left that was made of it.
    void destroy(Object object, std::string_view kind) {
        const std::string& name = name_of(object);
        EXPECT_TRUE(name.starts_with(kind)) << name;
        EXPECT_EQ(alive.erase(name), 1U) << name << " is destroyed twice";
        for (const auto& [child, parents] : alive)
            EXPECT_FALSE(parents.contains(name)) << child << " is made of " << name;
    }
    void complete(const Pair& pair, const VerbsCompletion& completion) {
        Queue& queue = queues_.at(pair.queue);
        EXPECT_LT(queue.completions.size(), queue.entries) << "the completion queue overflows";
        queue.completions.push_back(completion);
    }
    void deliver(Pair& pair, std::string_view octets, std::int64_t time_ns) {
        if (pair.broken) return;
        if (pair.posted.empty()) {
            ++devices[pair.device].ports.at(pair.port - 1U).out_of_buffer;
            return;
        }
        const VerbsReceive to = pair.posted.front();
        pair.posted.pop_front();
        if (octets.size() > to.head.size() + to.rest.size()) {
            complete(pair, {.id = to.id, .status = VerbsStatus::too_long});
            return;
        }
        const std::size_t head = std::min(octets.size(), to.head.size());
        std::memcpy(to.head.data(), octets.data(), head);
        if (octets.size() > head) std::memcpy(to.rest.data(), octets.data() + head, octets.size() - head);
        VerbsCompletion completion{.id = to.id, .octets = static_cast<std::uint32_t>(octets.size())};
        if (queues_.at(pair.queue).times) completion.time_ns = time_ns;
        complete(pair, completion);
    }

    std::vector<std::unique_ptr<std::string>> names_;
    std::map<std::string, Queue> queues_;
    std::map<std::string, Pair> pairs_;
};

struct Sniffing {
    std::shared_ptr<FakeVerbs> verbs = std::make_shared<FakeVerbs>();
    std::unique_ptr<VerbsSource> source;

    void open(const VerbsOptions& options = {}, std::uint8_t port = 1, const std::string& device = "mlx5_0") {
        auto opened = VerbsSource::open(device, port, options, verbs);
        ASSERT_TRUE(opened.ok()) << opened.error().text();
        source = std::move(opened).value();
    }
    std::string mistake(std::uint8_t port = 1, const std::string& device = "mlx5_0") {
        const auto opened = VerbsSource::open(device, port, {}, verbs);
        if (opened.ok()) return "(none)";
        EXPECT_THAT(verbs->alive, testing::IsEmpty()) << "what was made is destroyed again";
        return opened.error().text();
    }
    /// Frames until there are none.
    std::vector<Kept> drain(std::size_t batch = 16) {
        std::vector<Kept> all;
        std::vector<wire::Frame> frames(batch);
        for (;;) {
            const Batch got = source->next_batch(frames);
            for (std::size_t i = 0; i < got.count; ++i) all.push_back(keep(frames[i]));
            status = got.status;
            if (got.status != ReadStatus::frame) return all;
        }
    }
    ReadStatus status = ReadStatus::frame;
};

TEST(Verbs, frames_come_as_they_passed) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].times = true;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.snaplen = 100, .buffers = 8}));
    EXPECT_TRUE(sniffing.source->device_timestamps());
    const std::string large(1500, 'y');
    sniffing.verbs->pass("mlx5_0", 1, "hello", 1'700'000'000'000'000'001);
    sniffing.verbs->pass("mlx5_0", 1, large, 1'700'000'000'000'000'002);
    const std::vector<Kept> got = sniffing.drain();
    ASSERT_THAT(got, SizeIs(2));
    EXPECT_EQ(got[0], (Kept{"hello", 5, 1, wire::Direction::unknown, 0, 1'700'000'000'000'000'001, 1, ""}));
    EXPECT_EQ(got[1],
              (Kept{large.substr(0, 100), 1500, 1, wire::Direction::unknown, 0, 1'700'000'000'000'000'002, 2, ""}));
    EXPECT_EQ(sniffing.status, ReadStatus::timeout);
    ASSERT_THAT(sniffing.source->interfaces(), SizeIs(1));
    EXPECT_EQ(sniffing.source->interfaces()[0].name, "mlx5_0/1");
    EXPECT_EQ(sniffing.source->interfaces()[0].snaplen, management_octets) << "of RoCE's management";
    EXPECT_EQ(sniffing.source->statistics(0).received, 2U);
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 0U);
    EXPECT_THAT(sniffing.source->descriptors(), ElementsAre(42));
    sniffing.source.reset();
    EXPECT_THAT(sniffing.verbs->alive, testing::IsEmpty());
}

TEST(Verbs, management_is_kept_whole) {
    const Contents capture = read_all(std::filesystem::path(support::pcaps()) / "rxe-ucmatose.pcap", {}, 64);
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.snaplen = 100, .buffers = 8}));
    std::size_t whole = 0;
    for (const Kept& frame : capture.frames) {
        sniffing.verbs->pass("mlx5_0", 1, frame.bytes);
        const std::vector<Kept> got = sniffing.drain();
        ASSERT_THAT(got, SizeIs(1));
        const std::string& udp = frame.bytes;
        const bool management = udp.size() > 50 && udp.substr(12, 2) == std::string("\x08\0", 2) && udp[23] == 17 &&
                                udp.substr(36, 2) == "\x12\xb7" && udp.substr(47, 3) == std::string("\0\0\1", 3);
        EXPECT_EQ(got[0].bytes, management ? frame.bytes : frame.bytes.substr(0, 100));
        whole += management && frame.bytes.size() > 100 ? 1 : 0;
    }
    EXPECT_GE(whole, 12U) << "three connections, each of REQ, REP, RTU and DREQ at least";
}

TEST(Verbs, without_times_of_the_device_frames_have_the_clock_s) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open());
    EXPECT_FALSE(sniffing.source->device_timestamps());
    const auto clock = [] {
        timespec now = {};
        ::clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec * 1'000'000'000 + now.tv_nsec;
    };
    const std::int64_t before = clock();
    sniffing.verbs->pass("mlx5_0", 1, "hello", 5);
    const std::vector<Kept> got = sniffing.drain();
    EXPECT_GE(got.at(0).time_ns, before);
    EXPECT_LE(got.at(0).time_ns, clock());
}

TEST(Verbs, a_frame_that_comes_while_arming_is_not_forgotten) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open());
    sniffing.verbs->on_arm = [&] { sniffing.verbs->pass("mlx5_0", 1, "late"); };
    wire::Frame frame;
    EXPECT_EQ(sniffing.source->next(frame), ReadStatus::frame);
    EXPECT_EQ(sniffing.source->next(frame), ReadStatus::timeout);
    EXPECT_GE(sniffing.verbs->arms, 1);
}

TEST(Verbs, all_ports_of_a_device_are_interfaces_of_their_own) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].ports = {{true, 0}, {false, 0}, {true, 0}};
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 4}, 0));
    ASSERT_THAT(sniffing.source->interfaces(), SizeIs(2));
    EXPECT_EQ(sniffing.source->interfaces()[1].name, "mlx5_0/3");
    sniffing.source->number_from(1000);
    for (int i = 0; i < 3; ++i) {
        sniffing.verbs->pass("mlx5_0", 1, "one");
        sniffing.verbs->pass("mlx5_0", 3, "three");
    }
    // A busy port does not silence the other.
    wire::Frame frame;
    ASSERT_EQ(sniffing.source->next(frame), ReadStatus::frame);
    EXPECT_EQ(frame.number, 1001U);
    std::map<std::uint32_t, std::vector<std::string>> by_interface;
    by_interface[frame.interface].emplace_back(text_of(frame));
    for (const Kept& kept : sniffing.drain(2)) by_interface[kept.interface].push_back(kept.bytes);
    EXPECT_THAT(by_interface[0], ElementsAre("one", "one", "one"));
    EXPECT_THAT(by_interface[1], ElementsAre("three", "three", "three"));
    EXPECT_EQ(sniffing.source->statistics().received, 6U);
}

TEST(Verbs, buffers_are_used_for_ever) {
    for (const std::uint32_t buffers : {1U, 2U, 4096U}) {
        Sniffing sniffing;
        ASSERT_NO_FATAL_FAILURE(sniffing.open({.snaplen = 64, .buffers = buffers}));
        std::mt19937 random(7);
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        std::vector<wire::Frame> frames(100);
        while (sent < 50'000) {
            // Never more than there are buffers for.
            for (std::size_t n = random() % (sniffing.verbs->posted() + 1); n > 0; --n)
                sniffing.verbs->pass("mlx5_0", 1, fmt::format("frame {}", ++sent));
            const Batch got = sniffing.source->next_batch(std::span(frames).first(1 + random() % frames.size()));
            for (std::size_t i = 0; i < got.count; ++i) {
                ASSERT_EQ(text_of(frames[i]), fmt::format("frame {}", ++received));
                ASSERT_EQ(frames[i].number, received);
            }
        }
        for (const Kept& kept : sniffing.drain()) ASSERT_EQ(kept.bytes, fmt::format("frame {}", ++received));
        EXPECT_EQ(received, sent);
        EXPECT_EQ(sniffing.verbs->posted(), buffers) << "none is lost";
        EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 0U);
    }
}

TEST(Verbs, what_was_delivered_is_not_written_over_before_the_next_call) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 4}));
    for (const char* const text : {"a", "b", "c", "d"}) sniffing.verbs->pass("mlx5_0", 1, text);
    std::vector<wire::Frame> frames(2);
    ASSERT_EQ(sniffing.source->next_batch(frames).count, 2U);
    for (int i = 0; i < 10; ++i) sniffing.verbs->pass("mlx5_0", 1, "x");
    EXPECT_EQ(text_of(frames[0]), "a");
    EXPECT_EQ(text_of(frames[1]), "b");
    ASSERT_EQ(sniffing.source->next_batch(frames).count, 2U);
    EXPECT_EQ(text_of(frames[0]), "c");
    EXPECT_EQ(sniffing.verbs->posted(), 2U) << "and those go back as soon as they may";
}

TEST(Verbs, frames_without_a_buffer_are_counted) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].ports[0].out_of_buffer = 7;  // before our time
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
    for (int i = 0; i < 25; ++i) sniffing.verbs->pass("mlx5_0", 1, "x");
    EXPECT_THAT(sniffing.drain(3), SizeIs(10));
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 15U);
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 15U);
    // Another user of the device runs out of buffers, while we have some.
    sniffing.verbs->devices["mlx5_0"].ports[0].out_of_buffer += 1000;
    sniffing.verbs->pass("mlx5_0", 1, "x");
    EXPECT_THAT(sniffing.drain(), SizeIs(1));
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 15U);
}

TEST(Verbs, where_nobody_counts_losses_are_unknown_not_zero) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].counts = false;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
    sniffing.verbs->pass("mlx5_0", 1, "x");
    sniffing.drain();
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 0U) << "there was always a buffer";
    for (int i = 0; i < 25; ++i) sniffing.verbs->pass("mlx5_0", 1, "x");
    sniffing.drain();
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, std::nullopt);
}

TEST(Verbs, frames_longer_than_the_buffers_are_counted_and_lost) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.snaplen = 64, .buffers = 4, .max_frame_octets = 2048}));
    for (const std::size_t length : {2048U, 2049U, 64U, 65U, 5000U})
        sniffing.verbs->pass("mlx5_0", 1, std::string(length, 'x'));
    const std::vector<Kept> got = sniffing.drain();
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_EQ(got[0].wire_length, 2048U);
    EXPECT_EQ(got[0].bytes.size(), 64U);
    EXPECT_EQ(got[1].bytes.size(), 64U);
    EXPECT_EQ(got[2].wire_length, 65U);
    EXPECT_EQ(sniffing.source->statistics(0).interface_dropped, 1U) << "the last one found no buffer at all";
    EXPECT_EQ(sniffing.source->statistics(0).kernel_dropped, 1U);
    EXPECT_EQ(sniffing.verbs->posted(), 4U);
}

TEST(Verbs, without_a_snap_length_frames_are_whole) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.snaplen = 0, .buffers = 4, .max_frame_octets = 9216}));
    const std::string jumbo(9216, 'j');
    sniffing.verbs->pass("mlx5_0", 1, jumbo);
    EXPECT_EQ(sniffing.drain().at(0).bytes, jumbo);
}

TEST(Verbs, a_filter_is_run_on_what_comes) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 4, .filter = "ether proto 0x8915"}));
    const std::string addresses(12, '\0');
    for (int i = 0; i < 100; ++i) {
        sniffing.verbs->pass("mlx5_0", 1, addresses + std::string("\x08\x00", 2) + std::string(46, 'i'));
        sniffing.verbs->pass("mlx5_0", 1, addresses + std::string("\x89\x15", 2) + std::string(46, 'r'));
        const std::vector<Kept> got = sniffing.drain();
        ASSERT_THAT(got, SizeIs(1));
        ASSERT_EQ(got[0].bytes[20], 'r');
    }
    EXPECT_EQ(sniffing.source->statistics(0).received, 100U);
    const auto wrong = VerbsSource::open("mlx5_0", 1, {.filter = "nonsense ((("}, sniffing.verbs);
    EXPECT_FALSE(wrong.ok());
}

TEST(Verbs, a_queue_that_takes_no_more_gets_the_rest_later) {
    Sniffing sniffing;
    sniffing.verbs->post_at_most = 3;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
    EXPECT_EQ(sniffing.verbs->posted(), 3U);
    sniffing.drain();
    sniffing.drain();
    sniffing.drain();
    EXPECT_EQ(sniffing.verbs->posted(), 10U);
}

TEST(Verbs, a_pair_that_breaks_is_replaced) {
    for (const VerbsStatus status : {VerbsStatus::flushed, VerbsStatus::failed}) {
        Sniffing sniffing;
        ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
        sniffing.verbs->pass("mlx5_0", 1, "before");
        sniffing.verbs->break_pairs(status);
        EXPECT_THAT(sniffing.drain(), SizeIs(1)) << "what came before is delivered";
        EXPECT_EQ(sniffing.status, ReadStatus::timeout);
        sniffing.drain();
        sniffing.verbs->pass("mlx5_0", 1, "after");
        const std::vector<Kept> got = sniffing.drain();
        ASSERT_THAT(got, SizeIs(1));
        EXPECT_EQ(got[0].bytes, "after");
        EXPECT_EQ(got[0].number, 2U);
        EXPECT_EQ(sniffing.source->restarts(), 1U);
        EXPECT_EQ(sniffing.verbs->posted(), 10U);
        EXPECT_EQ(sniffing.source->statistics(0).interface_dropped, status == VerbsStatus::failed ? 1U : 0U);
    }
}

TEST(Verbs, a_device_that_is_removed_is_the_end) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
    sniffing.verbs->pass("mlx5_0", 1, "last");
    sniffing.verbs->break_pairs(VerbsStatus::flushed);
    const auto device = sniffing.verbs->devices.extract("mlx5_0");
    EXPECT_THAT(sniffing.drain(), SizeIs(1));
    EXPECT_EQ(sniffing.status, ReadStatus::end);
    EXPECT_THAT(sniffing.drain(), SizeIs(0));
    EXPECT_EQ(sniffing.status, ReadStatus::end);
    sniffing.source.reset();
    EXPECT_THAT(sniffing.verbs->alive, testing::IsEmpty());
}

TEST(Verbs, a_device_that_is_going_is_the_end_too) {
    for (const std::string step : {"pair", "post", "sniffer", "poll"}) {
        Sniffing sniffing;
        ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
        if (step != "poll") sniffing.verbs->break_pairs(VerbsStatus::flushed);
        sniffing.verbs->refused[step] = EIO;
        sniffing.drain();
        EXPECT_EQ(sniffing.status, ReadStatus::end) << step;
    }
}

TEST(Verbs, a_pair_that_cannot_be_replaced_is_an_error) {
    Sniffing sniffing;
    ASSERT_NO_FATAL_FAILURE(sniffing.open({.buffers = 10}));
    sniffing.verbs->break_pairs(VerbsStatus::flushed);
    sniffing.verbs->refused["pair"] = ENOMEM;
    sniffing.drain();
    EXPECT_EQ(sniffing.status, ReadStatus::error);
    EXPECT_THAT(sniffing.source->error().text(),
                AllOf(HasSubstr("mlx5_0: port 1: the queue pair broke"), HasSubstr("Cannot allocate memory")));
    sniffing.drain();
    EXPECT_EQ(sniffing.status, ReadStatus::error) << "asking again gives the same";
}

TEST(Verbs, no_such_device_lists_those_there_are) {
    Sniffing sniffing;
    sniffing.verbs->devices["rxe0"] = {};
    EXPECT_EQ(sniffing.mistake(1, "mlx5_9"), "mlx5_9: no such RDMA device; there are: mlx5_0, rxe0");
    sniffing.verbs->devices.clear();
    EXPECT_EQ(sniffing.mistake(), "mlx5_0: no such RDMA device; there is none");
    sniffing.verbs->refused["list"] = ENOSYS;
    EXPECT_THAT(sniffing.mistake(), HasSubstr("modprobe ib_uverbs"));
}

TEST(Verbs, no_such_port_says_which_there_are) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].ports.resize(2);
    EXPECT_EQ(sniffing.mistake(3), "mlx5_0: has no port 3; its ports are 1 to 2");
    sniffing.verbs->devices["mlx5_0"].ports[1].ethernet = false;
    EXPECT_THAT(sniffing.mistake(2), HasSubstr("port 2 is InfiniBand"));
    EXPECT_EQ(sniffing.mistake(1), "(none)");
}

TEST(Verbs, lack_of_permission_says_which) {
    for (const char* const step : {"open", "pair", "sniffer"}) {
        Sniffing sniffing;
        sniffing.verbs->refused[step] = EPERM;
        EXPECT_THAT(sniffing.mistake(), AllOf(HasSubstr("Operation not permitted"), HasSubstr("cap_net_raw"))) << step;
    }
}

TEST(Verbs, what_is_not_supported_says_who_can) {
    Sniffing sniffing;
    sniffing.verbs->devices["mlx5_0"].sniffer = false;
    EXPECT_THAT(sniffing.mistake(), AllOf(HasSubstr("the sniffer rule was refused: Operation not supported"),
                                          HasSubstr("no other device here can; adapters of the mlx5 driver")));
    sniffing.verbs->devices["mlx5_1"] = {};
    sniffing.verbs->devices["rxe0"].raw_packets = false;
    EXPECT_THAT(sniffing.mistake(), HasSubstr("of the devices here, mlx5_1 can"));
    EXPECT_THAT(sniffing.mistake(1, "rxe0"),
                AllOf(HasSubstr("a RAW_PACKET queue pair was refused"), HasSubstr("of the devices here, mlx5_1 can")));
}

TEST(Verbs, memory_that_may_not_be_locked_says_what_to_raise) {
    Sniffing sniffing;
    sniffing.verbs->refused["memory"] = ENOMEM;
    EXPECT_THAT(sniffing.mistake(), AllOf(HasSubstr("registering the buffers"), HasSubstr("LimitMEMLOCK")));
}

TEST(Verbs, every_step_that_fails_leaves_nothing_behind) {
    for (const char* const step : {"open", "domain", "memory", "queue", "pair", "post", "sniffer"})
        for (const int code : {EPERM, ENOMEM, EINVAL, EOPNOTSUPP, ENODEV, EBUSY}) {
            Sniffing sniffing;
            sniffing.verbs->devices["mlx5_1"] = {};
            sniffing.verbs->refused[step] = code;
            EXPECT_THAT(sniffing.mistake(), HasSubstr(std::strerror(code))) << step;
        }
}

TEST(Verbs, a_program_without_libibverbs_says_so) {
    const auto opened = VerbsSource::open("mlx5_0", 1, {}, nullptr);
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().text(), HasSubstr("built without libibverbs"));
}

TEST(Verbs, the_machine_s_own_devices_can_be_asked_for) {
    const auto verbs = system_verbs();
    const auto names = list_verbs_devices(verbs.get());
    if (!names) {
        EXPECT_THAT(names.error().text(), testing::AnyOf(HasSubstr("modprobe ib_uverbs"), HasSubstr("built without")));
    } else {
        const auto opened = VerbsSource::open("no_such_device", 1);
        ASSERT_FALSE(opened.ok());
        EXPECT_THAT(opened.error().text(), HasSubstr("no such RDMA device"));
    }
}

}  // namespace
}  // namespace capture::test
