// Profiles as trees of values.
#include "core.hpp"

#include <poplar/ProfileValue.hpp>

namespace poplar {

ProfileValue::ProfileValue(Vector value)
    : type_(Type::VECTOR), vector_(std::make_shared<Vector>(std::move(value))) {}
ProfileValue::ProfileValue(Map value) : type_(Type::MAP), map_(std::make_shared<Map>(std::move(value))) {}

const ProfileValue::Vector &ProfileValue::asVector() const {
  static const Vector none;
  return vector_ ? *vector_ : none;
}
const ProfileValue::Map &ProfileValue::asMap() const {
  static const Map none;
  return map_ ? *map_ : none;
}
const ProfileValue &ProfileValue::operator[](StringRef key) const {
  const auto found = asMap().find(key.str());
  if (found == asMap().end())
    throw profiling_disabled("the profile has no value '" + key.str() + "'");
  return found->second;
}
const ProfileValue &ProfileValue::operator[](std::size_t place) const {
  if (place >= asVector().size())
    throw index_error("the list in the profile has " + std::to_string(asVector().size()) + " values");
  return asVector()[place];
}
double ProfileValue::sumDoubles() const {
  double sum = number_;
  for (const ProfileValue &each : asVector())
    sum += each.sumDoubles();
  return sum;
}
std::size_t ProfileValue::size() const {
  return map_ ? map_->size() : vector_ ? vector_->size() : 0;
}

namespace {

ProfileValue valueOf(const detail::Result &from) {
  typedef detail::Result::Kind Kind;
  switch (from.kind) {
  case Kind::Boolean:
    return ProfileValue(from.boolean());
  case Kind::Integer:
  case Kind::Real:
    return ProfileValue(from.real());
  case Kind::Text:
    return ProfileValue(from.text());
  case Kind::List: {
    ProfileValue::Vector all;
    for (const detail::Result &each : from.items())
      all.push_back(valueOf(each));
    return ProfileValue(std::move(all));
  }
  case Kind::Map: {
    ProfileValue::Map all;
    for (std::size_t i = 0; i < from.size(); ++i)
      all.emplace(from.keys()[i], valueOf(from[i]));
    return ProfileValue(std::move(all));
  }
  case Kind::Data: {
    ProfileValue::Vector all;
    for (double each : from.numbers<double>())
      all.push_back(ProfileValue(each));
    return ProfileValue(std::move(all));
  }
  default:
    return ProfileValue();
  }
}

void quoted(std::ostream &os, const std::string &text) {
  os << '"';
  for (char each : text) {
    if (each == '"' || each == '\\')
      os << '\\' << each;
    else if (static_cast<unsigned char>(each) < 0x20)
      os << "\\u00" << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(each) << std::dec;
    else
      os << each;
  }
  os << '"';
}

void write(std::ostream &os, const ProfileValue &value, bool pretty, unsigned depth) {
  const std::string line = pretty ? "\n" + std::string(2 * depth + 2, ' ') : "";
  const std::string last = pretty ? "\n" + std::string(2 * depth, ' ') : "";
  const char *before = "";
  switch (value.type()) {
  case ProfileValue::Type::BOOL:
    os << (value.asBool() ? "true" : "false");
    break;
  case ProfileValue::Type::NUMBER:
    os << std::setprecision(17) << value.asDouble();
    break;
  case ProfileValue::Type::STRING:
    quoted(os, value.asString());
    break;
  case ProfileValue::Type::VECTOR:
    os << '[';
    for (const ProfileValue &each : value.asVector()) {
      os << before << line;
      write(os, each, pretty, depth + 1);
      before = ",";
    }
    os << (value.size() ? last : "") << ']';
    break;
  case ProfileValue::Type::MAP:
    os << '{';
    for (const auto &each : value.asMap()) {
      os << before << line;
      quoted(os, each.first);
      os << (pretty ? ": " : ":");
      write(os, each.second, pretty, depth + 1);
      before = ",";
    }
    os << (value.size() ? last : "") << '}';
    break;
  default:
    os << "null";
  }
}

} // namespace

void serializeToJSON(std::ostream &os, const ProfileValue &value, bool prettyPrint) {
  write(os, value, prettyPrint, 0);
  os << '\n';
}

ProfileValue Engine::getGraphProfile() { return valueOf(detail::ask("graph profile", detail::engineObject(*this))); }
ProfileValue Engine::getExecutionProfile() {
  return valueOf(detail::ask("execution profile", detail::engineObject(*this)));
}

} // namespace poplar
