/// What a capture is, by figures that are made so that it is known.
#include "metrics/answers/capture_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/unit/metrics/answers/support.h"

namespace metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using why_test::add_event;
using why_test::healthy;
using why_test::NoNames;
using why_test::snapshot_of;

std::vector<std::string> kinds_of(const Snapshot& snapshot) {
    std::vector<std::string> kinds;
    for (const CaptureNote& note : capture_notes(snapshot)) kinds.emplace_back(name_of(note.kind));
    return kinds;
}

/// 4000 packets of 400,000, with a hole before each.
FlowSnapshot sampled() {
    FlowSnapshot flow = healthy();
    flow.missing_packets = 396'000;
    add_event(flow, EventKind::gap, {2, 3}, 3990);
    flow.event_summaries.back().value_sum = 396'000;
    flow.event_summaries.back().value_max = 700;
    return flow;
}

TEST(CaptureNotes, OfAHealthyCaptureThereAreNone) { EXPECT_THAT(kinds_of(snapshot_of({healthy()})), IsEmpty()); }

TEST(CaptureNotes, ASampleHasNoVerdictOfLoss) {
    const Snapshot snapshot = snapshot_of({sampled()});
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("sample"));
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("1 in 100 "));
    for (const Answer& answer : metrics::answer(snapshot, NoNames())) {
        EXPECT_FALSE(answer.alarm);
        EXPECT_EQ(answer.verdict, Verdict::undecidable);
    }
}

TEST(CaptureNotes, OneLongHoleIsNoSample) {
    FlowSnapshot flow = sampled();
    flow.event_summaries.back().value_max = 390'000;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), IsEmpty());
}

TEST(CaptureNotes, WhatIsAskedForAgainIsNoSample) {
    FlowSnapshot flow = sampled();
    flow.retransmitted_packets = 400;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), IsEmpty());
}

TEST(CaptureNotes, CopiesOfTwoPlacesAreMerged) {
    Snapshot snapshot = snapshot_of({healthy()});
    snapshot.capture.copies = snapshot.capture.seen_twice = 2000;
    snapshot.capture.copy_distance_ns.record(300, 2000);
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("copies"));
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("50 %"));
    snapshot.capture.copies_elsewhere = 2000;
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("merged"));
    snapshot.capture.copies_elsewhere = 0;
    snapshot.capture.copy_distance_ns.record(300'000, 9000);
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("merged"));
}

TEST(CaptureNotes, AnIcrcThatIsWrongEverywhereIsNotUsed) {
    FlowSnapshot flow = healthy();
    flow.icrc_bad = 4000;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), ElementsAre("addresses_rewritten"));
    flow.icrc_zero = 4000;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), ElementsAre("crc_unusable"));
}

TEST(CaptureNotes, WhatWasCutIsToldWhereItMatters) {
    Snapshot snapshot = snapshot_of({healthy()});
    snapshot.capture.truncated = 3000;
    EXPECT_THAT(kinds_of(snapshot), IsEmpty()) << "a snap length that keeps all headers";
    snapshot.capture.headers_cut = 12;
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("cut"));
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("In 12 packets a header of RDMA is cut off"));
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("keep 128 bytes"))
        << "of RoCE, whose headers come first";
    snapshot.flows.front().transport = wire::Transport::iwarp;
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("keep whole frames (`-s 0`)")) << "FPDUs lie anywhere";
    snapshot.flows.front().transport = wire::Transport::roce2;
    snapshot.capture.headers_cut = 0;
    snapshot.capture.cut_by_mirror = 3000;
    EXPECT_THAT(kinds_of(snapshot), ElementsAre("cut"));
    EXPECT_THAT(capture_notes(snapshot).front().text, HasSubstr("3,000 of 4,000 packets"));
}

TEST(CaptureNotes, AnswersThatMustHavePassedAreMissed) {
    FlowSnapshot flow = healthy();
    flow.operations[index_of(Operation::write)].latency_ns = {};
    EXPECT_THAT(kinds_of(snapshot_of({flow})), ElementsAre("one_direction"));
    FlowSnapshot back = healthy(2, 1, 2);
    back.operations = {};
    back.payload_bytes = 0;
    EXPECT_THAT(kinds_of(snapshot_of({flow, back})), IsEmpty()) << "its answers may be among these packets";
    flow.retransmitted_packets = 7;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), IsEmpty()) << "the peer may be silent";
    flow.retransmitted_packets = 0;
    flow.service = Service::uc;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), IsEmpty()) << "nothing acknowledges UC";
}

TEST(CaptureNotes, DamageIsNoNote) {
    FlowSnapshot flow = healthy();
    flow.icrc_bad = 40;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), IsEmpty());
    flow.icrc_taken = 40;
    EXPECT_THAT(kinds_of(snapshot_of({flow})), ElementsAre("crc_unusable"));
    for (const Answer& answer : metrics::answer(snapshot_of({flow}), NoNames())) EXPECT_FALSE(answer.alarm);
}

}  // namespace
}  // namespace metrics
