#pragma once
#include <memory>
#include <thread>
#include <vector>

#include "replay/plan/operation_queue.h"
#include "replay/plan/payload_window.h"
#include "replay/plan/survey.h"
#include "replay/replay_error.h"

namespace replay::inline plan {

/// Reads a capture as often as it is to be re-enacted and passes its operations to all consumers, in a thread of its
/// own, which waits if they are late.
class PlanReader {
public:
    /// `payload`: operations have their bytes, if the capture holds them.
    PlanReader(const Survey& survey, std::uint64_t loops, bool payload, std::vector<OperationQueue*> into);
    /// Ends it, even if operations are left.
    ~PlanReader();
    PlanReader(const PlanReader&) = delete;
    PlanReader& operator=(const PlanReader&) = delete;

private:
    void run(std::uint64_t loops);
    Status read_all(std::uint64_t loops);

    const Survey& survey_;
    std::vector<OperationQueue*> into_;
    std::shared_ptr<PayloadWindow> window_;  ///< absent: no payload
    std::thread thread_;
};

}  // namespace replay::plan
