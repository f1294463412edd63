#pragma once
#include <memory>

#include "iwarp/iwarp.h"
#include "iwarp/rdmap/send_queue.h"
#include "iwarp/verbs/protection_domain.h"

namespace iwarp {

struct MemoryWindow::Impl {
    ~Impl();
    ddp::TaggedBuffers& memory() const { return domain->impl().device->impl().memory; }

    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<rdmap::StagHandle> handle;
    int type = 1;
};

}  // namespace iwarp
