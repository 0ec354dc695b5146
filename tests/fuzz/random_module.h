// Random small modules for the plan fuzzer, as text: chains of convolutions, pools, products, rows, element-wise maps, moves and views.
// Every value stays a small integer, so that any order of any sum gives the same bits.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace dlcc::fuzz {

class ModuleMaker {
 public:
  explicit ModuleMaker(uint64_t seed) : engine_(seed) {}

  std::string make() {
    current_ = fresh_input(chance(70) ? std::vector<int64_t>{pick(1, 2), pick(1, 9), pick(1, 12), pick(1, 13)}
                                      : std::vector<int64_t>{pick(1, 24), pick(1, 40)});
    const int ops = static_cast<int>(pick(1, 4));
    for (int op = 0; op < ops; ++op) {
      step();
    }
    if (stmts_.empty()) {
      clamp();
    }
    return assemble();
  }

 private:
  struct Value {
    std::string name;
    std::vector<int64_t> shape;
    int64_t bound = 4;           // of its absolute values
  };

  int64_t pick(int64_t lo, int64_t hi) { return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1)); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  std::string declare(const std::string& prefix, const std::vector<int64_t>& shape, const std::string& kind) {
    const std::string name = prefix + std::to_string(number_++);
    tensors_.push_back({name, fmt::format("tensor {} f32[{}] {}", name, fmt::join(shape, ","), kind)});
    return name;
  }
  Value fresh_input(const std::vector<int64_t>& shape) {
    const std::string name = declare("x", shape, "input");
    inputs_.push_back(name);
    return {name, shape, 4};
  }
  std::string weight(const std::vector<int64_t>& shape) { return declare("w", shape, "constant"); }
  Value result(const std::vector<int64_t>& shape, int64_t bound) { return {declare("t", shape, "intermediate"), shape, bound}; }
  void add(const std::string& kind, const std::string& dims, const std::string& line) {
    stmts_.push_back(fmt::format("stmt s{} : {}\n{}  {}\n", stmts_.size(), kind, dims, line));
  }

  static std::string par(const std::vector<std::string>& names, const std::vector<int64_t>& shape) {
    std::string text = names.empty() ? "" : "  par";
    for (size_t d = 0; d < names.size(); ++d) {
      text += fmt::format(" {}:{}", names[d], shape[d]);
    }
    return names.empty() ? "" : text + "\n";
  }
  static std::vector<std::string> names_of(size_t rank) {
    static const std::vector<std::string> kNames = {"n", "c", "h", "w"};
    return {kNames.begin(), kNames.begin() + static_cast<int64_t>(rank)};
  }
  static std::string at(const std::vector<std::string>& names) { return fmt::format("[{}]", fmt::join(names, ", ")); }

  void step() {
    if (current_.bound > 4000) {
      clamp();
    }
    const int64_t which = pick(0, 9);
    if (current_.shape.size() == 4) {
      switch (which) {
        case 0:
        case 1:
          return conv();
        case 2:
          return depthwise();
        case 3:
          return pool();
        case 4:
          return conv_transpose();
        case 5:
          return global_pool();
        default:
          return any_rank(which);
      }
    }
    switch (which) {
      case 0:
      case 1:
      case 2:
        return product();
      case 3:
      case 4:
        return rows();
      default:
        return any_rank(which);
    }
  }

  void any_rank(int64_t which) {
    switch (which) {
      case 5:
        return residual();
      case 6:
        return bias();
      case 7:
        return chance(50) ? transpose() : slice();
      case 8:
        return chance(60) ? concat() : clamp();
      default:
        return chance(50) ? view() : bias();
    }
  }

  void clamp() {
    const auto names = names_of(current_.shape.size());
    const Value y = result(current_.shape, 8);
    add("map", par(names, y.shape), fmt::format("{}{} = min(max({}{}, -8), 8)", y.name, at(names), current_.name, at(names)));
    current_ = y;
  }

  struct Window {
    int64_t kernel, stride, dilation, pad, out;
  };
  Window window(int64_t in, bool may_pad) {
    Window w{std::min<int64_t>(pick(1, 3), in), pick(1, 3), chance(25) ? 2 : 1, may_pad ? pick(0, 2) : 0, 0};
    if ((w.kernel - 1) * w.dilation + 1 > in + 2 * w.pad) {
      w.kernel = w.dilation = 1;
    }
    w.out = (in + 2 * w.pad - (w.kernel - 1) * w.dilation - 1) / w.stride + 1;
    return w;
  }
  static std::string index(const std::string& out, const std::string& tap, const Window& w) {
    return fmt::format("{}*{} + {}*{} - {}", w.stride, out, w.dilation, tap, w.pad);
  }

  void conv() {
    const Value x = current_;
    const Window a = window(x.shape[2], true), b = window(x.shape[3], true);
    const int64_t ci = x.shape[1], co = pick(1, 9);
    const std::string w = weight({co, ci, a.kernel, b.kernel});
    const Value y = result({x.shape[0], co, a.out, b.out}, x.bound * 2 * ci * a.kernel * b.kernel);
    const std::string fill = a.pad + b.pad > 0 || chance(30) ? " | 0" : "";
    add("reduce sum", par(names_of(4), y.shape) + fmt::format("  red ci:{} kh:{} kw:{}\n", ci, a.kernel, b.kernel),
        fmt::format("{}[n, c, h, w] += {}[n, ci, {}, {}{}] * {}[c, ci, kh, kw]", y.name, x.name, index("h", "kh", a), index("w", "kw", b), fill, w));
    current_ = y;
  }

  void depthwise() {
    const Value x = current_;
    const Window a = window(x.shape[2], true), b = window(x.shape[3], true);
    const std::string w = weight({x.shape[1], a.kernel, b.kernel});
    const Value y = result({x.shape[0], x.shape[1], a.out, b.out}, x.bound * 2 * a.kernel * b.kernel);
    add("reduce sum", par(names_of(4), y.shape) + fmt::format("  red kh:{} kw:{}\n", a.kernel, b.kernel),
        fmt::format("{}[n, c, h, w] += {}[n, c, {}, {} | 0] * {}[c, kh, kw]", y.name, x.name, index("h", "kh", a), index("w", "kw", b), w));
    current_ = y;
  }

  void pool() {
    const Value x = current_;
    const bool max = chance(60);
    const Window a = window(x.shape[2], true), b = window(x.shape[3], true);
    const Value y = result({x.shape[0], x.shape[1], a.out, b.out}, max ? std::max<int64_t>(x.bound, 100) : x.bound * a.kernel * b.kernel);
    add(max ? "reduce max" : "reduce sum", par(names_of(4), y.shape) + fmt::format("  red kh:{} kw:{}\n", a.kernel, b.kernel),
        fmt::format("{}[n, c, h, w] {} {}[n, c, {}, {} | {}]", y.name, max ? "=" : "+=", x.name, index("h", "kh", a), index("w", "kw", b),
                    max ? "-100" : "0"));
    current_ = y;
  }

  // One statement for each phase: y[2q + r] gathers x[q + shift - t].
  void conv_transpose() {
    const Value x = current_;
    const int64_t s = pick(2, 3), taps = pick(1, 2), ci = x.shape[1], co = pick(1, 4);
    const std::string w = weight({ci, co, taps * s});
    const Value y = result({x.shape[0], co, x.shape[2], x.shape[3] * s}, x.bound * 2 * ci * taps);
    for (int64_t r = 0; r < s; ++r) {
      add("reduce sum", par({"n", "c", "h", "q"}, {x.shape[0], co, x.shape[2], x.shape[3]}) + fmt::format("  red ci:{} t:{}\n", ci, taps),
          fmt::format("{}[n, c, h, {}*q + {}] += {}[n, ci, h, q - t | 0] * {}[ci, c, {}*t + {}]", y.name, s, r, x.name, w, s, r));
    }
    current_ = y;
  }

  void global_pool() {
    const Value x = current_;
    const bool max = chance(50);
    const Value y = result({x.shape[0], x.shape[1]}, max ? x.bound : x.bound * x.shape[2] * x.shape[3]);
    add(max ? "reduce max" : "reduce sum", par({"n", "c"}, y.shape) + fmt::format("  red h:{} w:{}\n", x.shape[2], x.shape[3]),
        fmt::format("{}[n, c] {} {}[n, c, h, w]", y.name, max ? "=" : "+=", x.name));
    current_ = y;
  }

  void product() {
    const Value x = current_;
    const int64_t k = x.shape[1], cols = pick(1, 24);
    const bool transposed = chance(40);
    const std::string w = transposed ? weight({cols, k}) : weight({k, cols});
    const Value y = result({x.shape[0], cols}, x.bound * 2 * k);
    add("reduce sum", par({"i", "j"}, y.shape) + fmt::format("  red k:{}\n", k),
        fmt::format("{}[i, j] += {}[i, k] * {}[{}]", y.name, x.name, w, transposed ? "j, k" : "k, j"));
    current_ = y;
  }

  // max over the row, difference, sum of a function of it, and a last map that reads both.
  void rows() {
    const Value x = current_;
    const int64_t m = x.shape[0], k = x.shape[1];
    const Value top = result({m}, x.bound), d = result({m, k}, 2 * x.bound), sum = result({m}, 2 * x.bound * k), y = result({m, k}, 2 * x.bound * (k + 1));
    add("reduce max", par({"i"}, {m}) + fmt::format("  red j:{}\n", k), fmt::format("{}[i] = {}[i, j]", top.name, x.name));
    add("map", par({"i", "j"}, {m, k}), fmt::format("{}[i, j] = {}[i, j] - {}[i]", d.name, x.name, top.name));
    add("reduce sum", par({"i"}, {m}) + fmt::format("  red j:{}\n", k), fmt::format("{}[i] += abs({}[i, j])", sum.name, d.name));
    add("map", par({"i", "j"}, {m, k}), fmt::format("{}[i, j] = {}[i, j] + {}[i]", y.name, d.name, sum.name));
    current_ = y;
  }

  void residual() {
    const auto names = names_of(current_.shape.size());
    const Value other = fresh_input(current_.shape);
    const Value y = result(current_.shape, current_.bound + other.bound);
    add("map", par(names, y.shape), fmt::format("{}{} = {}{} + {}{}", y.name, at(names), current_.name, at(names), other.name, at(names)));
    current_ = y;
  }

  void bias() {
    const auto names = names_of(current_.shape.size());
    const auto axis = static_cast<size_t>(pick(0, static_cast<int64_t>(names.size()) - 1));
    const std::string w = weight({current_.shape[axis]});
    const Value y = result(current_.shape, current_.bound + 2);
    const std::string relu = chance(50) ? "max({}{} + {}[{}], 0)" : "{}{} - {}[{}]";
    add("map", par(names, y.shape),
        fmt::format("{}{} = ", y.name, at(names)) + fmt::format(fmt::runtime(relu), current_.name, at(names), w, names[axis]));
    current_ = y;
  }

  void transpose() {
    auto names = names_of(current_.shape.size());
    std::vector<size_t> order(names.size());
    for (size_t d = 0; d < order.size(); ++d) {
      order[d] = d;
    }
    std::shuffle(order.begin(), order.end(), engine_);
    std::vector<std::string> out;
    std::vector<int64_t> shape;
    for (size_t d : order) {
      out.push_back(names[d]);
      shape.push_back(current_.shape[d]);
    }
    const Value y = result(shape, current_.bound);
    add("map", par(out, shape), fmt::format("{}{} = {}{}", y.name, at(out), current_.name, at(names)));
    current_ = y;
  }

  void slice() {
    auto names = names_of(current_.shape.size());
    std::vector<int64_t> shape;
    std::vector<std::string> index;
    for (size_t d = 0; d < names.size(); ++d) {
      const int64_t extent = current_.shape[d], begin = pick(0, extent - 1), step = pick(1, 2);
      const int64_t count = pick(1, (extent - begin + step - 1) / step);
      const bool backwards = chance(20);
      shape.push_back(count);
      index.push_back(backwards ? fmt::format("{} - {}*{}", begin + step * (count - 1), step, names[d]) : fmt::format("{}*{} + {}", step, names[d], begin));
    }
    const Value y = result(shape, current_.bound);
    add("map", par(names, shape), fmt::format("{}{} = {}{}", y.name, at(names), current_.name, at(index)));
    current_ = y;
  }

  void concat() {
    const auto names = names_of(current_.shape.size());
    const auto axis = static_cast<size_t>(pick(0, static_cast<int64_t>(names.size()) - 1));
    std::vector<int64_t> other_shape = current_.shape, shape = current_.shape;
    other_shape[axis] = pick(1, 5);
    shape[axis] += other_shape[axis];
    const Value other = fresh_input(other_shape);
    const Value y = result(shape, std::max(current_.bound, other.bound));
    add("map", par(names, current_.shape), fmt::format("{}{} = {}{}", y.name, at(names), current_.name, at(names)));
    auto moved = names;
    moved[axis] += fmt::format(" + {}", current_.shape[axis]);
    add("map", par(names, other_shape), fmt::format("{}{} = {}{}", y.name, at(moved), other.name, at(names)));
    current_ = y;
  }

  void view() {
    int64_t count = 1;
    for (int64_t extent : current_.shape) {
      count *= extent;
    }
    const std::vector<int64_t> shape = {current_.shape[0], count / current_.shape[0]};
    if (shape[1] > 600) {
      return bias();
    }
    const std::string name = declare("v", shape, "intermediate view " + current_.name);
    current_ = {name, shape, current_.bound};
    if (stmts_.empty()) {
      clamp();   // a view of an input needs a statement that reads it
    }
  }

  std::string assemble() {
    std::string text;
    for (auto& [name, line] : tensors_) {
      const size_t kind = line.rfind("intermediate");
      text += (name == current_.name && kind != std::string::npos ? line.replace(kind, 12, "output") : line) + "\n";
    }
    text += fmt::format("inputs {}\noutputs {}\n", fmt::join(inputs_, " "), current_.name);
    for (const std::string& stmt : stmts_) {
      text += stmt;
    }
    return text;
  }

  std::mt19937_64 engine_;
  int number_ = 0;
  Value current_;
  std::vector<std::pair<std::string, std::string>> tensors_;
  std::vector<std::string> inputs_, stmts_;
};

}  // namespace dlcc::fuzz
