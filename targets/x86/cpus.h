// The x86-64 micro-architecture levels and what a host must report to run each. Internal to targets/x86.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlcc::targets::x86 {

/// Bits that must be set: cpuid 1 ecx, cpuid 7.0 ebx, cpuid 0x80000001 ecx, and the state that the system saves (xcr0).
struct CpuLevel {
  std::string_view name;
  uint32_t leaf1_ecx, leaf7_ebx, extended_ecx, xcr0;
};

constexpr uint32_t bits(std::initializer_list<int> positions) {
  uint32_t mask = 0;
  for (const int p : positions) {
    mask |= uint32_t{1} << p;
  }
  return mask;
}

// System V x86-64 psABI, table of micro-architecture levels. In order: sse3 ssse3 cx16 sse4.1 sse4.2 popcnt | fma movbe
// osxsave avx f16c; bmi1 avx2 bmi2 | avx512 f dq cd bw vl; lahf lzcnt; xcr0: sse avx | opmask zmm_hi256 hi16_zmm.
constexpr uint32_t kV2Leaf1 = bits({0, 9, 13, 19, 20, 23});
constexpr uint32_t kV3Leaf1 = kV2Leaf1 | bits({12, 22, 27, 28, 29});
constexpr uint32_t kV3Leaf7 = bits({3, 5, 8});
constexpr CpuLevel kCpuLevels[] = {
    {"x86-64", 0, 0, 0, 0},
    {"x86-64-v2", kV2Leaf1, 0, bits({0}), 0},
    {"x86-64-v3", kV3Leaf1, kV3Leaf7, bits({0, 5}), bits({1, 2})},
    {"x86-64-v4", kV3Leaf1, kV3Leaf7 | bits({16, 17, 28, 30, 31}), bits({0, 5}), bits({1, 2, 5, 6, 7})},
};

}  // namespace dlcc::targets::x86
