// Names and places in the source, which messages and profiles show.
#ifndef POPLAR_DEBUG_CONTEXT_HPP
#define POPLAR_DEBUG_CONTEXT_HPP

#include <poplar/StringRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

typedef std::uint64_t DebugId;

class SourceLocation {
public:
  SourceLocation() = default;
  SourceLocation(const char *function, const char *file, unsigned line)
      : function_(function), file_(file), line_(line) {}

  const char *getFunctionName() const { return function_; }
  const char *getFileName() const { return file_; }
  unsigned getLineNumber() const { return line_; }
  bool isValid() const { return line_ != 0; }

  static SourceLocation Current(const char *function = __builtin_FUNCTION(),
                                const char *file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) {
    return SourceLocation(function, file, line);
  }

private:
  const char *function_ = "";
  const char *file_ = "";
  unsigned line_ = 0;
};

class DebugInfo;

class DebugNameAndId {
public:
  DebugNameAndId() = default;
  DebugNameAndId(std::string name, DebugId id = 0, std::string path = "")
      : name_(std::move(name)), path_(std::move(path)), id_(id) {
    if (path_.empty())
      path_ = name_;
  }
  DebugNameAndId(const char *name) : name_(name), path_(name) {}
  DebugNameAndId(const DebugInfo &info, std::string name = "");
  DebugNameAndId(const DebugNameAndId &parent, std::string name)
      : name_(name), path_(parent.path_), id_(parent.id_) {
    if (!name.empty())
      path_ += (path_.empty() ? "" : "/") + name;
  }

  std::string getPathName() const { return path_; }
  std::string getName() const { return name_; }
  DebugId getParentId() const { return id_; }

private:
  std::string name_, path_;
  DebugId id_ = 0;
};

class DebugContext {
public:
  DebugContext(SourceLocation where = SourceLocation::Current())
      : where_(where) {}
  DebugContext(const char *name, SourceLocation where = SourceLocation::Current())
      : path_(name), where_(where) {}
  DebugContext(StringRef name, SourceLocation where = SourceLocation::Current())
      : path_(name.str()), where_(where) {}
  DebugContext(std::string name, SourceLocation where = SourceLocation::Current())
      : path_(std::move(name)), where_(where) {}
  DebugContext(const DebugNameAndId &parent, StringRef name = "",
               SourceLocation where = SourceLocation::Current())
      : path_(joined(parent.getPathName(), name)), where_(where) {}
  DebugContext(const DebugContext &parent, StringRef name)
      : path_(joined(parent.path_, name)), where_(parent.where_) {}
  DebugContext(const DebugInfo &parent, StringRef name = "",
               SourceLocation where = SourceLocation::Current());
  DebugContext(const DebugContext &) = default;
  DebugContext(DebugContext &&) = default;
  DebugContext &operator=(const DebugContext &) = default;

  std::string getPathName() const { return path_; }
  const SourceLocation &location() const { return where_; }

private:
  static std::string joined(const std::string &path, StringRef name) {
    if (name.empty())
      return path;
    return path.empty() ? name.str() : path + "/" + name.str();
  }
  std::string path_;
  SourceLocation where_;
};

class DebugInfo {
public:
  DebugInfo(const DebugContext &context, std::string = "")
      : path_(context.getPathName()) {}
  virtual ~DebugInfo() = default;
  std::string getPathName() const { return path_; }
  DebugId getId() const { return 0; }

private:
  std::string path_;
};

inline DebugNameAndId::DebugNameAndId(const DebugInfo &info, std::string name)
    : DebugNameAndId(DebugNameAndId(info.getPathName()), name) {}

inline DebugContext::DebugContext(const DebugInfo &parent, StringRef name,
                                  SourceLocation where)
    : path_(joined(parent.getPathName(), name)), where_(where) {}

} // namespace poplar

#endif
