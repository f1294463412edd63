#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace metrics::inline answers {

enum class Question : std::uint8_t { bandwidth, latency, qp_cache, congestion, queue_depth, path, commands, policy };
inline constexpr std::size_t question_count = 8;
/// The questions that every capture has an answer to. The question about paths is asked if packets may have taken
/// several, the question about commands if there are commands, and the question about the policy if rules are given.
inline constexpr std::size_t usual_question_count = 5;
inline constexpr std::array<std::string_view, question_count> question_names{
    "bandwidth", "latency", "qp_cache", "congestion", "queue_depth", "path", "commands", "policy"};
constexpr std::string_view name_of(Question question) { return question_names[static_cast<std::size_t>(question)]; }

/// An answer as one word. Questions share a verdict if the cause is the same: `rnr`, `pause`, `queueing`,
/// `posted_not_sent`, `slow_polling`, `undecidable`. What it means for a question is in `verdicts()`.
enum class Verdict : std::uint8_t {
    undecidable,
    // bandwidth
    remote_access_error,
    invalid_request,
    remote_operational_error,
    terminate,
    connection_rejected,
    connection_unanswered,
    connection_reset,
    loss_before_tap,
    loss_after_tap,
    reordering,
    duplication,
    corruption,
    rnr,
    timeout_recovery,
    never_answered,
    stopped_answering,
    retries_used_up,
    rnr_retries_used_up,
    go_back_n_violation,
    port_unreachable,
    host_unreachable,
    path_mtu,
    receive_window,
    pause,
    congestion_paced,
    credit,
    read_depth,
    window_too_small,
    paced_or_window,
    window_queueing,
    link_full,
    link_shared,
    nic_stall,
    posted_not_sent,
    slow_polling,
    small_messages,
    application_idle,
    application_depth,
    peer_wait,
    not_limited,
    // latency
    network_delay,
    retransmission,
    responder_slow,
    queueing,
    normal,
    // qp_cache
    thrashing,
    knee,
    no_knee,
    small_working_set,
    // congestion
    marked,
    throttled,
    incast,
    loss,
    none,
    // queue_depth
    at_limit,
    underused,
    ok,
    // path
    path_sick,
    pair_sick,
    host_sick,
    path_slow,
    path_marked,
    path_recovered,
    low_entropy,
    sprayed,
    selective_repeat,
    paths_alike,
    // commands
    command_errors,
    unanswered,
    retried,
    remote_access,
    fallback,
    repairs_hurt_commands,
    target_queueing,
    target_slow,
    network_slow,
    data_slow,
    credits_wasted,
    host_queue,
    host_idle,
    small_commands,
    receiver_congested,
    // policy
    policy_broken,
    policy_kept,
};
inline constexpr std::size_t verdict_count = static_cast<std::size_t>(Verdict::policy_kept) + 1;

std::string_view name_of(Verdict verdict);  ///< "rnr": for scripts, the manual and the configuration
/// Without value if no verdict has this name.
std::optional<Verdict> verdict_named(std::string_view name);

/// What a verdict means as the answer to one question.
struct VerdictMeaning {
    Verdict verdict;
    std::string_view meaning;  ///< one sentence
    bool alarm;                ///< something is wrong, and not merely described
};
/// Every verdict that a question can get, in the order of the manual.
std::span<const VerdictMeaning> verdicts(Question question);
/// Null if the question never gets this verdict.
const VerdictMeaning* meaning_of(Question question, Verdict verdict);

}  // namespace metrics::answers
