// The functions that the loading process calls. Added behind the preprocessed code: it uses no macros.

extern "C" __attribute__((visibility("default"))) const char *tremula_describe() {
  static std::string text;
  text.clear();
  for (std::int64_t i = 0; i < tremulaEntryCount; ++i)
    if (tremulaEntries[i].describe)
      text += "entry|" + std::to_string(i) + "\n" + tremulaEntries[i].describe(tremulaSpelled[i]);
  return text.c_str();
}
extern "C" __attribute__((visibility("default"))) void tremula_bind(std::int64_t entry, void *objects, std::int64_t count,
                                 const tremula_codelet::FieldData *fields) {
  tremulaEntries[entry].bind(objects, count, fields);
}
extern "C" __attribute__((visibility("default"))) std::int64_t tremula_run(std::int64_t entry, void *objects, std::int64_t count,
                                        const tremula_codelet::StateData *states) {
  const std::int64_t failed = tremulaEntries[entry].run(objects, count, states);
  tremula_codelet::flush();
  return failed;
}
extern "C" __attribute__((visibility("default"))) std::int64_t tremula_half_bytes() { return sizeof(half); }
extern "C" __attribute__((visibility("default"))) const char *tremula_failure() { return tremula_codelet::failure().c_str(); }
extern "C" __attribute__((visibility("default"))) void tremula_set_sink(tremula_codelet::Sink sink) { tremula_codelet::sink() = sink; }

// What codelets print goes to the process that loaded them, through these definitions of the library's own.
extern "C" __attribute__((visibility("hidden"))) int printf(const char *format, ...) {
  __builtin_va_list arguments, again;
  __builtin_va_start(arguments, format);
  __builtin_va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  __builtin_va_end(arguments);
  if (length > 0) {
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    std::vsnprintf(&text[0], text.size(), format, again);
    tremula_codelet::print(text.data(), static_cast<std::size_t>(length));
  }
  __builtin_va_end(again);
  return length;
}
extern "C" __attribute__((visibility("hidden"))) int puts(const char *text) {
  tremula_codelet::print(text, std::strlen(text));
  tremula_codelet::print("\n", 1);
  return 1;
}
extern "C" __attribute__((visibility("hidden"))) int putchar(int letter) {
  const char text = static_cast<char>(letter);
  tremula_codelet::print(&text, 1);
  return letter;
}
