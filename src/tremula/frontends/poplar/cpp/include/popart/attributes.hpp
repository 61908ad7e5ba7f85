// The attributes that a program gives to an operator.
#ifndef POPART_ATTRIBUTES_HPP
#define POPART_ATTRIBUTES_HPP

#include <popart/error.hpp>
#include <popart/names.hpp>

namespace popart {

class Attributes {
public:
  typedef std::int64_t Int;
  typedef std::vector<std::int64_t> Ints;
  typedef float Float;
  typedef std::vector<float> Floats;
  typedef std::string String;
  typedef std::vector<std::string> Strings;

  bool hasAttribute(const std::string &name) const { return kinds_.count(name) != 0; }
  std::vector<std::string> getNames() const;

  // The value of an attribute; the second form gives `other` where it is missing. One that is given with another type is
  // an empty list, zero or, for a text, missing.
  template <typename T> T getAttribute(const std::string &name) const;
  template <typename T> T getAttribute(const std::string &name, const T &other) const {
    return hasAttribute(name) ? getAttribute<T>(name) : other;
  }
  template <typename T> void set(T &value, const std::string &name) const {
    if (hasAttribute(name))
      value = getAttribute<T>(name);
  }

  // `single`: one value, not a list of one
  void add(const std::string &name, const Ints &values, bool single) {
    ints_[name] = values;
    kinds_[name] = single ? Kind::Int : Kind::Ints;
  }
  void add(const std::string &name, const Floats &values, bool single) {
    floats_[name] = values;
    kinds_[name] = single ? Kind::Float : Kind::Floats;
  }
  void add(const std::string &name, const Strings &values, bool single) {
    strings_[name] = values;
    kinds_[name] = single ? Kind::String : Kind::Strings;
  }

private:
  enum class Kind { Int = 0, Ints, Float, Floats, String, Strings };
  template <typename V> V found(const std::map<std::string, V> &values, const std::string &name, Kind asked) const;
  std::map<std::string, Kind> kinds_;
  std::map<std::string, Ints> ints_;
  std::map<std::string, Floats> floats_;
  std::map<std::string, Strings> strings_;
};

template <> Attributes::Int Attributes::getAttribute<Attributes::Int>(const std::string &name) const;
template <> Attributes::Ints Attributes::getAttribute<Attributes::Ints>(const std::string &name) const;
template <> Attributes::Float Attributes::getAttribute<Attributes::Float>(const std::string &name) const;
template <> Attributes::Floats Attributes::getAttribute<Attributes::Floats>(const std::string &name) const;
template <> Attributes::String Attributes::getAttribute<Attributes::String>(const std::string &name) const;
template <> Attributes::Strings Attributes::getAttribute<Attributes::Strings>(const std::string &name) const;
template <>
Attributes::String Attributes::getAttribute<Attributes::String>(const std::string &name, const String &other) const;

} // namespace popart

#endif
