// Profiles as trees of values, as older programs read them.
#ifndef POPLAR_PROFILE_VALUE_HPP
#define POPLAR_PROFILE_VALUE_HPP

#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class ProfileValue {
public:
  enum class Type { BOOL, NUMBER, STRING, VECTOR, MAP, UNDEF };
  typedef bool Boolean;
  typedef double Number;
  typedef std::string String;
  typedef std::vector<ProfileValue> Vector;
  typedef std::map<std::string, ProfileValue> Map;

  ProfileValue() = default;
  ProfileValue(bool value) : type_(Type::BOOL), number_(value) {}
  ProfileValue(double value) : type_(Type::NUMBER), number_(value) {}
  ProfileValue(std::string value) : type_(Type::STRING), text_(std::move(value)) {}
  ProfileValue(Vector value);
  ProfileValue(Map value);

  Type type() const { return type_; }
  bool asBool() const { return number_ != 0; }
  double asDouble() const { return number_; }
  std::uint64_t asUint() const { return static_cast<std::uint64_t>(number_); }
  std::int64_t asInt() const { return static_cast<std::int64_t>(number_); }
  const std::string &asString() const { return text_; }
  const Vector &asVector() const;
  const Map &asMap() const;
  const ProfileValue &operator[](StringRef key) const;
  const ProfileValue &operator[](std::size_t place) const;
  const ProfileValue &getValueAt(StringRef key) const { return (*this)[key]; }
  double sumDoubles() const;
  std::size_t size() const;

private:
  Type type_ = Type::UNDEF;
  double number_ = 0;
  std::string text_;
  std::shared_ptr<Vector> vector_;
  std::shared_ptr<Map> map_;
};

void serializeToJSON(std::ostream &os, const ProfileValue &value, bool prettyPrint = false);

} // namespace poplar

#endif
