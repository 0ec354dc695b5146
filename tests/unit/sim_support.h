// Programs in text on shipped chips, random data, and the three timings of asynchronous transfers: what the simulator's
// tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "hw/machine_yaml.h"
#include "hw/program.h"
#include "sim/report.h"
#include "sim/sim.h"

namespace dlcc::sim {

inline hw::Machine chip(const std::string& name) {
  auto machine = hw::load_machine(std::string(DLCC_SOURCE_DIR) + "/hw/chips/" + name + ".yaml");
  EXPECT_TRUE(machine.ok()) << (machine.ok() ? "" : to_string(machine.diags()));
  return std::move(machine).value();
}

inline hw::Program parse(const std::string& text, const hw::Machine& machine) {
  auto program = hw::parse_program(text, machine, "test");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : to_string(program.diags()));
  return std::move(program).value();
}

/// Small multiples of 1/8 that differ from their neighbours.
inline te::Array random_array(std::vector<int64_t> shape, unsigned seed) {
  te::Array array = te::Array::zeros(DType::F32, std::move(shape));
  std::mt19937 engine(seed);
  for (int64_t i = 0; i < array.count(); ++i) {
    array.as<float>()[i] = static_cast<float>(static_cast<int>(engine() % 1999) - 999) / 8.0F;
  }
  return array;
}

inline std::span<const std::byte> bytes_of_array(const te::Array& array) {
  return array.data;
}

inline Result run(const hw::Program& program, const hw::Machine& machine, const std::vector<te::Array>& inputs,
                  const te::Array& weights, const Options& options = {}) {
  auto result = simulate(program, machine, inputs, weights.data, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : to_string(result.diags()));
  return result.ok() ? std::move(result).value() : Result{};
}

/// The same program with one node removed or changed, for every node that `change` accepts (it returns false to
/// decline).
inline std::vector<hw::Program> mutants(const hw::Program& program, const std::function<bool(hw::Node&)>& change,
                                        bool remove) {
  std::vector<hw::Program> result;
  const std::function<bool(hw::Body&, int&)> mutate = [&](hw::Body& body, int& left) {
    for (size_t i = 0; i < body.size(); ++i) {
      hw::Node copy = body[i];
      if (change(copy) && left-- == 0) {
        if (remove) {
          body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          body[i] = copy;
        }
        return true;
      }
      if (auto* loop = std::get_if<hw::For>(&body[i].v); loop != nullptr && mutate(loop->body, left)) {
        return true;
      }
      if (auto* guard = std::get_if<hw::If>(&body[i].v); guard != nullptr && mutate(guard->body, left)) {
        return true;
      }
    }
    return false;
  };
  for (size_t g = 0; g < program.groups.size(); ++g) {
    for (int which = 0;; ++which) {
      hw::Program mutant = program;
      int left = which;
      if (!mutate(mutant.groups[g].body, left)) {
        break;
      }
      result.push_back(std::move(mutant));
    }
  }
  return result;
}

inline bool same_bits(const std::vector<te::Array>& a, const std::vector<te::Array>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].data != b[i].data) {
      return false;
    }
  }
  return true;
}

/// Every way of removing a sync or shifting a box by one element; counts those that no finding and no wrong output
/// betrays.
inline int survivors(const hw::Program& program, const hw::Machine& machine, const std::vector<te::Array>& inputs,
                     const te::Array& weights) {
  const Result good = run(program, machine, inputs, weights, {.timing = false});
  EXPECT_TRUE(good.findings.empty()) << findings_text(good);
  std::vector<hw::Program> all = mutants(
      program,
      [](hw::Node& node) {
        return std::holds_alternative<hw::Wait>(node.v) || std::holds_alternative<hw::Signal>(node.v) ||
               std::holds_alternative<hw::Barrier>(node.v);
      },
      true);
  const size_t syncs = all.size();
  for (const bool dst : {false, true}) {
    for (size_t dim = 0; dim < 4; ++dim) {
      for (const int64_t by : {-1, 1}) {
        auto shifted = mutants(
            program,
            [&](hw::Node& node) {
              auto* dma = std::get_if<hw::Dma>(&node.v);
              if (dma == nullptr || dim >= (dst ? dma->dst : dma->src).index.size()) {
                return false;
              }
              (dst ? dma->dst : dma->src).index[dim] += by;
              return true;
            },
            false);
        all.insert(all.end(), shifted.begin(), shifted.end());
      }
    }
  }
  int missed = 0;
  for (size_t m = 0; m < all.size(); ++m) {
    auto result = simulate(all[m], machine, inputs, weights.data, {.timing = false});
    if (result.ok() && result->findings.empty() && same_bits(result->outputs, good.outputs)) {
      ++missed;
      ADD_FAILURE() << "mutant " << m << (m < syncs ? " (sync removed)" : " (box shifted)") << " survives:\n"
                    << hw::print(all[m], machine);
    }
  }
  std::printf("[  mutants ] %zu of %zu caught, %zu syncs and %zu boxes\n", all.size() - static_cast<size_t>(missed),
              all.size(), syncs, all.size() - syncs);
  return missed;
}

}  // namespace dlcc::sim
