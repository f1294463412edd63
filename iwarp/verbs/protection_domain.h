#pragma once
#include <memory>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"

namespace iwarp {

struct ProtectionDomain::Impl {
    std::shared_ptr<Device> device;
    std::uint32_t number = 0;
    std::weak_ptr<ProtectionDomain> self;
};

}  // namespace iwarp
