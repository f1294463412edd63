#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dissect/filter/regex.h"

namespace explain {

/// Which timer of the adapter ran before a status.
enum class Wait : std::uint8_t { none, answer, receiver };

/// A completion status of verbs.
struct Status {
    unsigned number = 0;
    std::string name = {};                  ///< "IBV_WC_RETRY_EXC_ERR"
    std::vector<std::string> texts = {};    ///< what libraries and kernel call it
    std::optional<unsigned> syndrome = {};  ///< the adapter's own code in what mlx5 drivers print
    std::vector<unsigned> vendor = {};      ///< vendor codes that were seen with it
    Wait wait = Wait::none;
    bool consequence = false;  ///< its cause is in an earlier line
    std::string meaning = {};
    std::vector<std::string> causes = {};
    std::string look_for = {};
    std::string next = {};
};

/// A reason of the communication manager to refuse a connection.
struct Reject {
    int number = 0;
    std::string name = {};
    std::vector<std::string> causes = {};
};

/// An event of rdma_cm.
struct Event {
    std::string name = {};  ///< "UNREACHABLE"
    std::string meaning = {};
    std::vector<std::string> causes = {};
    std::string look_for = {};
    std::string next = {};
};

struct ErrorNumber {
    int number = 0;
    std::string name = {};
    std::string meaning = {};
};

/// A kind of Terminate messages of iWARP.
struct TerminateKind {
    unsigned layer = 0;
    unsigned type = 0;
    std::string meaning = {};
};

/// How long an adapter repeats a request without an answer.
struct RetrySettings {
    std::optional<unsigned> timeout = {};  ///< local ACK timeout as the 5 bits of verbs: 4.096 us x 2^timeout
    std::optional<unsigned> retries = {};
    std::string origin = {};  ///< where the values come from: "the defaults of UCX"
};

/// A line that some software writes.
struct Pattern {
    std::string id = {};
    std::string software = {};
    std::string needle = {};  ///< a text that every such line contains
    std::string regex = {};
    std::string sample = {};
    std::string meaning = {};
    std::vector<std::string> causes = {};
    std::string look_for = {};
    std::string next = {};
    bool consequence = false;
    bool continues = false;  ///< belongs to the line before of the same software
    RetrySettings defaults = {};
    std::optional<unsigned> seconds_default = {};  ///< for how long the software waits if nothing else was set
};

/// All that is known, read from codes.toml and patterns.toml.
struct Knowledge {
    std::vector<Status> statuses = {};
    std::vector<Reject> rejects = {};
    std::vector<Event> events = {};
    std::vector<ErrorNumber> error_numbers = {};
    std::vector<TerminateKind> terminates = {};
    std::vector<Pattern> patterns = {};  ///< the first that matches is taken
    std::vector<Pattern> settings = {};  ///< lines that say how adapters are set

    const Status* status(unsigned number) const;
    const Status* status_named(std::string_view name) const;  ///< with or without "IBV_WC_", and "IB_WC_"
    const Status* status_of_text(std::string_view text) const;
    const Status* status_of_syndrome(unsigned syndrome) const;
    const Status* status_of_vendor(unsigned code) const;
    const Reject* reject(int number) const;
    const Event* event(std::string_view name) const;    ///< with or without "RDMA_CM_EVENT_"
    const ErrorNumber* error_number(int number) const;  ///< of either sign
    const TerminateKind* terminate(unsigned layer, unsigned type) const;
};

/// Errors name the place in the data.
base::Result<Knowledge> parse_knowledge(std::string_view codes, std::string_view patterns);
/// The data of the program.
base::Result<Knowledge> built_in_knowledge();

/// The expression of a pattern: it respects case, and alternatives may have groups of the same name.
base::Result<dissect::filter::Regex> compile_pattern(const Pattern& pattern);

}  // namespace explain
