// What a file of codelets is.
#ifndef POPLAR_CODELET_FILE_TYPE_HPP
#define POPLAR_CODELET_FILE_TYPE_HPP

#include <string>

namespace poplar {
enum class CodeletFileType {
  PreprocessedAsmSource,
  AsmSource,
  CSource,
  CppSource,
  IrSource,
  Object,
  Auto
};
std::string getExtensionFromFileType(CodeletFileType type);
std::string codeletFileTypeToString(CodeletFileType type);
} // namespace poplar

#endif
