#pragma once

namespace support {

/// Whether this is compiled for AddressSanitizer: everything takes five to ten times as long then, so what the
/// optimised build tries in full is sampled.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Whether this is compiled with optimisation. `./dev quick` compiles without, so that an answer comes in seconds: what
/// takes long then is sampled, and tried in full by the other builds.
#if defined(__OPTIMIZE__)
inline constexpr bool optimised = true;
#else
inline constexpr bool optimised = false;
#endif

}  // namespace support
