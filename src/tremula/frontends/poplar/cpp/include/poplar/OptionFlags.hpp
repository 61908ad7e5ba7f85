// Options: names and values, both of them text.
#ifndef POPLAR_OPTION_FLAGS_HPP
#define POPLAR_OPTION_FLAGS_HPP

#include <poplar/StringRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class OptionFlags {
public:
  typedef std::pair<const std::string, std::string> OptionFlag;
  typedef std::map<std::string, std::string>::const_iterator iterator;

  OptionFlags() = default;
  OptionFlags(std::initializer_list<std::pair<std::string, std::string>> options) {
    set(options);
  }

  void set(StringRef option, StringRef value) { options_[option.str()] = value.str(); }
  void set(std::initializer_list<std::pair<std::string, std::string>> options) {
    for (const auto &each : options)
      options_[each.first] = each.second;
  }
  // Throws out_of_range if the option was not set.
  StringRef at(StringRef option) const { return options_.at(option.str()); }
  void clear() { options_.clear(); }
  iterator begin() const { return options_.begin(); }
  iterator end() const { return options_.end(); }
  std::size_t size() const { return options_.size(); }
  bool empty() const { return options_.empty(); }
  bool operator==(const OptionFlags &other) const { return options_ == other.options_; }
  bool operator<(const OptionFlags &other) const { return options_ < other.options_; }
  const std::map<std::string, std::string> &values() const { return options_; }

private:
  std::map<std::string, std::string> options_;
};

std::ostream &operator<<(std::ostream &os, const OptionFlags &options);
// Reads a JSON object of texts, numbers and booleans into options.
void readJSON(StringRef text, OptionFlags &options);

} // namespace poplar

#endif
