#include <algorithm>
#include <array>

#include "tests/script/runner/steps.h"

namespace script {
namespace {

/// What holds for every segment of the stack, whether or not a line says so.
void judge(Connection& at, const Segment& segment) {
    const Kind* kind = kind_of(segment.opcode);
    const auto wrong = [&](const std::string& what) { throw Failure("the stack sent " + show(segment) + ": " + what); };
    if (at.terminated) wrong("nothing may follow a Terminate");
    if (!at.stack_initiates && at.fpdus_sent == 0) wrong("a responder waits for the first FPDU");
    if (kind == nullptr) return wrong("no such opcode");
    if (segment.ddp_version != 1 || segment.rdmap_version != 1) wrong("its version is wrong");
    if (segment.reserved != 0 || segment.rdmap_reserved != 0) wrong("reserved bits are set");
    if (kind->tagged != segment.tagged) wrong("the tagged flag is wrong");
    if (segment.payload.size() + header_of(segment).size() > 64768) wrong("the ULPDU is too long");
    if (segment.tagged) return;
    if (kind->queue != segment.queue) wrong("the queue is wrong");
    if (segment.ulp != 0 && kind->name.find("invalidate") == std::string_view::npos)
        wrong("RDMAP's octets are not zero");
    Connection::Place& place = at.received[segment.queue];
    if (segment.msn != place.msn) wrong("the MSN should be " + std::to_string(place.msn));
    if (segment.message_offset != place.offset) wrong("the MO should be " + std::to_string(place.offset));
    if (segment.payload.empty() && (place.offset != 0 || !segment.last))
        wrong("an empty segment that is not a message");
    place.offset += static_cast<std::uint32_t>(segment.payload.size());
    if (segment.last) place = {place.msn + 1, 0};
    if (kind->name == "terminate") at.terminated = true;
}

Segment next_segment(Connection& at, std::size_t& ulpdu_size) {
    at.pull();
    if (!at.theirs) throw Failure("the stack has not sent its start frame yet");
    const auto ulpdu = take_fpdu(at.stream, at.in);
    if (!ulpdu)
        throw Failure(at.stream.empty() ? "the stack sent nothing"
                                        : "the stack sent only a part of an FPDU: " + hex(at.stream));
    ulpdu_size = ulpdu->size();
    const Segment segment = decode(*ulpdu);
    judge(at, segment);
    return segment;
}

/// Compares what a line says with what came; collects what differs.
class Comparison {
public:
    Comparison(World& world, Words& words) : world_(world), words_(words) {}

    void number(const char* key, std::uint64_t got) {
        if (const auto value = words_.option(key)) check(world_.number(*value, World::meaning_of(key)) == got);
    }
    void octets(const char* key, View got) {
        const auto value = words_.option(key);
        if (!value) return;
        const Octets wanted = world_.data(*value);
        check(std::equal(wanted.begin(), wanted.end(), got.begin(), got.end()));
    }
    void choice(const char* key, bool got) {
        if (const auto value = words_.choice(key)) check(*value == got);
    }
    void check(bool right) { equal_ = equal_ && right; }
    bool equal() const { return equal_; }

private:
    World& world_;
    Words& words_;
    bool equal_ = true;
};

/// `ddp`, `ddp=LABEL`, `rdma`, `rdma=LABEL` or `bare`: which headers the Terminate brings back.
void compare_terminate(World& world, Words& words, const Segment& segment, Comparison& comparison) {
    const TerminateMessage got = decode_terminate(segment.payload);
    const auto code = terminate_code(words.next("layer/type/code"));
    comparison.check(code == std::array{got.layer, got.type, got.code});
    comparison.check(got.reserved == 0 && got.beyond.empty());
    const auto label_of = [&](const char* key) -> std::optional<std::string> {
        if (words.flag(key)) return std::string();
        return words.option(key);
    };
    const auto rdma = label_of("rdma");
    const auto ddp = rdma ? rdma : label_of("ddp");
    if (!ddp) {
        if (!words.flag("bare")) throw Failure("say ddp, rdma or bare: which headers the Terminate brings back");
        comparison.check(!got.m && !got.d && !got.r);
        return;
    }
    const auto& sent = world.connection().labelled;
    const auto found = sent.find(*ddp);
    if (found == sent.end()) throw Failure("the peer sent nothing called '" + *ddp + "'");
    const Octets header = header_of(found->second);
    comparison.check(got.m && got.d && got.ddp_header == header);
    comparison.check(got.segment_length == header.size() + found->second.payload.size());
    comparison.check(got.r == rdma.has_value());
    if (rdma)
        comparison.check(std::equal(got.rdma_header.begin(), got.rdma_header.end(), found->second.payload.begin(),
                                    found->second.payload.end()));
}

void compare_payload(World& world, Words& words, const Segment& segment, Comparison& comparison) {
    const Kind& kind = *kind_of(segment.opcode);
    if (kind.name == "read_request") {
        const ReadRequest got = decode_read_request(segment.payload);
        comparison.number("sink_stag", got.sink_stag);
        comparison.number("sink_to", got.sink_offset);
        comparison.number("size", got.size);
        comparison.number("source_stag", got.source_stag);
        comparison.number("source_to", got.source_offset);
    } else if (kind.name == "atomic_request") {
        const AtomicRequest got = decode_atomic_request(segment.payload);
        comparison.number("operation", got.operation);
        comparison.number("atomic_stag", got.stag);
        comparison.number("atomic_to", got.offset);
        comparison.number("operand", got.operand);
        comparison.number("mask", got.mask);
        comparison.number("compare", got.compare);
        comparison.number("compare_mask", got.compare_mask);
        if (const auto name = words.option("let_id")) world.values[*name] = got.id;
    } else if (kind.name == "atomic_response" || kind.name.starts_with("immediate")) {
        View rest(segment.payload);
        if (kind.name == "atomic_response") comparison.number("id", take(rest, 4));
        const std::uint64_t value = take(rest, 8);
        comparison.number(kind.name == "atomic_response" ? "original" : "immediate", value);
        comparison.check(rest.empty());
    } else if (kind.name == "terminate") {
        compare_terminate(world, words, segment, comparison);
    }
    comparison.number("len", segment.payload.size());
    comparison.octets("data", segment.payload);
}

void expect_segment(World& world, Words& words, const Kind& kind) {
    Connection& at = world.connection();
    std::size_t ulpdu = 0;
    const Segment got = next_segment(at, ulpdu);
    Comparison comparison(world, words);
    comparison.check(got.opcode == kind.opcode);
    comparison.check(got.last != words.flag("more"));
    words.flag("last");
    comparison.number("qn", got.queue);
    comparison.number("msn", got.msn);
    comparison.number("mo", got.message_offset);
    comparison.number("stag", got.stag);
    comparison.number("to", got.offset);
    comparison.number("invalidate", got.ulp);
    comparison.number("ulpdu", ulpdu);
    if (comparison.equal()) compare_payload(world, words, got, comparison);
    if (!comparison.equal()) throw Failure("got: " + show(got));
    words.finish();
}

/// A message of any number of segments, each of them as the one before lets expect.
void expect_message(World& world, Words& words) {
    Connection& at = world.connection();
    const Kind& kind = kind_named(words.next("a message's kind"));
    Comparison comparison(world, words);
    Octets all;
    std::size_t count = 0;
    std::size_t longest = 0;
    Segment first;
    Segment got;
    do {
        std::size_t ulpdu = 0;
        got = next_segment(at, ulpdu);
        if (count++ == 0) first = got;
        if (got.opcode != kind.opcode) throw Failure("got in its midst: " + show(got));
        if (got.tagged && (got.stag != first.stag || got.offset != first.offset + all.size()))
            throw Failure("this segment does not continue the one before: " + show(got));
        put(all, got.payload);
        longest = std::max(longest, ulpdu);
    } while (!got.last);
    comparison.number("stag", first.stag);
    comparison.number("to", first.offset);
    comparison.number("msn", first.msn);
    comparison.number("invalidate", first.ulp);
    comparison.number("segments", count);
    comparison.number("ulpdu", longest);
    comparison.number("len", all.size());
    comparison.octets("data", all);
    words.finish();
    if (!comparison.equal())
        throw Failure("got: " + show(first) + "; in all " + std::to_string(all.size()) + " octets in " +
                      std::to_string(count) + " segments, the longest ULPDU " + std::to_string(longest) + " octets");
}

void compare_start(World& world, Words& words, bool reply) {
    const StartFrame got = expect_start_frame(world.connection());
    Comparison comparison(world, words);
    comparison.check(got.reply() == reply);
    comparison.number("revision", got.revision);
    comparison.number("reserved", got.reserved);
    comparison.choice("crc", got.crc);
    comparison.choice("markers", got.markers);
    comparison.choice("rejected", got.rejected);
    comparison.choice("enhanced", got.enhanced);
    comparison.choice("peer_to_peer", got.peer_to_peer);
    comparison.choice("send", got.send);
    comparison.choice("write", got.write);
    comparison.choice("read", got.read);
    comparison.number("ird", got.ird);
    comparison.number("ord", got.ord);
    comparison.number("length", *got.length);
    comparison.octets("data", got.private_data);
    if (!comparison.equal()) throw Failure("got: " + show(got));
}

void stack(World& world, Words& words) {
    world.run();
    const std::string what = words.next("what the stack sends");
    if (what == "request" || what == "reply")
        compare_start(world, words, what == "reply");
    else if (what == "message")
        expect_message(world, words);
    else
        expect_segment(world, words, kind_named(what));
}

}  // namespace

StartFrame expect_start_frame(Connection& at) {
    at.pull();
    const auto frame = take_start_frame(at.stream);
    if (!frame)
        throw Failure(at.stream.empty() ? "the stack sent nothing"
                                        : "the stack sent only a part of a start frame: " + hex(at.stream));
    at.theirs = frame;
    at.agree();
    return *frame;
}

void add_stack_steps(Steps& steps) { steps[">"] = stack; }

}  // namespace script
