#pragma once
#include <cstddef>
#include <cstdint>

/// The one function of a fuzz target, as libFuzzer calls it; `replay_main.cpp` calls it too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
