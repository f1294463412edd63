// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "plugins/wireshark/analysis.h"
#include "plugins/wireshark/compat.h"
#include "plugins/wireshark/presentation.h"

namespace plugins::wireshark {

/// Wireshark's preferences for the protocol "rdma". A change makes Wireshark dissect the file again.
class Preferences {
public:
    void register_all(int protocol);
    AnalysisOptions analysis() const;
    ShowOptions show() const;

private:
    Flag verify_crc_ = true;
    guint link_mbit_per_sec_ = 0;
    Flag units_ = true;
    Flag commands_ = true;
    Flag info_column_ = true;
    Flag cnp_ = true;
    Flag xrc_ = true;
    Flag rd_ = true;
    Flag immediate_ = true;
    Flag terminate_ = true;
    Flag mpa_parameters_ = true;
    Flag streams_midway_ = true;
    Flag upper_layers_ = true;
};

Preferences& preferences();

}  // namespace plugins::wireshark
