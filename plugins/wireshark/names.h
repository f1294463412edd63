// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "metrics/answers/answer.h"

namespace plugins::wireshark {

/// Hosts as Wireshark names them; without names if it resolves none.
class WiresharkNames final : public metrics::HostNames {
public:
    std::string name(const metrics::Address& address) const override;
};

}  // namespace plugins::wireshark
