// Names that do not repeat: the wanted one, or with ".2", ".3", ... when it is taken.
#pragma once

#include <map>
#include <set>
#include <string>

namespace dlcc::frontend {

class UniqueNames {
 public:
  void reserve(const std::string& name) { taken_.insert(name); }
  std::string make(const std::string& wanted) {
    std::string name = wanted;
    while (!taken_.insert(name).second) {
      int& number = numbers_[wanted];
      number = number == 0 ? 2 : number + 1;
      name = wanted + "." + std::to_string(number);
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;
};

}  // namespace dlcc::frontend
