// Names of vertex types with template arguments.
#ifndef POPUTIL_VERTEXTEMPLATES_HPP
#define POPUTIL_VERTEXTEMPLATES_HPP

#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poputil {

// How a template argument is written. Enumerations have a specialisation of their own.
template <typename T> struct VertexTemplateToString {
  static std::string to_string(const T &value) { return std::to_string(value); }
};
template <> struct VertexTemplateToString<bool> {
  static std::string to_string(bool value) { return value ? "true" : "false"; }
};
template <> struct VertexTemplateToString<poplar::Type> {
  static std::string to_string(const poplar::Type &type) { return type.toString(); }
};
template <> struct VertexTemplateToString<std::string> {
  static std::string to_string(const std::string &text) { return text; }
};
template <> struct VertexTemplateToString<poplar::StringRef> {
  static std::string to_string(const poplar::StringRef &text) { return text.str(); }
};
template <> struct VertexTemplateToString<const char *> {
  static std::string to_string(const char *text) { return text; }
};
template <> struct VertexTemplateToString<char *> {
  static std::string to_string(const char *text) { return text; }
};

template <typename... Args>
std::string templateVertexParams(bool first, const Args &... args) {
  const std::vector<std::string> texts{
      VertexTemplateToString<typename std::decay<Args>::type>::to_string(args)...};
  std::string made;
  for (const std::string &text : texts) {
    made += (first ? "<" : ",") + text;
    first = false;
  }
  return first ? made : made + ">";
}

// `name<argument,argument>`.
template <typename... Args>
std::string templateVertex(const std::string &name, const Args &... args) {
  return name + templateVertexParams(true, args...);
}

} // namespace poputil

#endif
