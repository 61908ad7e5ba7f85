// The program that counts the instructions of vertices: added behind the preprocessed code, it uses no macros.
//
// It reads vertices from the standard input and writes three numbers for each: instructions of the slowest worker, those
// of all workers, and floating-point operations. Two registers that the compiler leaves alone are the counters; what
// adds to them is written into the assembly by `assembly.py`.

namespace tremula_counting {

static std::int64_t slowest, all, before, operationsBefore, operationsAll;
static bool begun;

static std::int64_t slots() {
  std::int64_t found;
  asm volatile("movq %%r15, %0" : "=r"(found));
  return found;
}
static std::int64_t operations() {
  std::int64_t found;
  asm volatile("movq %%r14, %0" : "=r"(found));
  return found;
}
static void turns() {
  const std::int64_t now = slots(), done = operations();
  if (begun) {
    if (now - before > slowest)
      slowest = now - before;
    all += now - before;
    operationsAll += done - operationsBefore;
  }
  begun = true;
  operationsBefore = operations();
  before = slots();
}
static std::int64_t number() {
  std::int64_t value = 0;
  if (std::fread(&value, sizeof value, 1, stdin) != 1)
    std::_Exit(3);
  return value;
}
static void bytes(char *place, std::int64_t count) {
  if (count && std::fread(place, 1, static_cast<std::size_t>(count), stdin) != static_cast<std::size_t>(count))
    std::_Exit(3);
}
// Memory with room behind it, so that short reads outside of it find zeros.
static char *room(std::int64_t count) {
  return static_cast<char *>(std::calloc(static_cast<std::size_t>(count) + 4096, 1));
}

// One vertex: its buffer, then its fields as the loading process describes them.
static void vertex(std::int64_t entry) {
  const std::int64_t size = number(), members = number(), length = number();
  char *buffer = room(length);
  bytes(buffer, length);
  auto *fields = reinterpret_cast<tremula_codelet::FieldData *>(room(members * 64));
  auto *states = reinterpret_cast<tremula_codelet::StateData *>(room(members * 64));
  for (std::int64_t i = 0; i < members; ++i) {
    const std::int64_t edges = number(), items = number(), state = number();
    if (state >= 0) {
      states[i].column = room(state);
      bytes(states[i].column, state);
    }
    char *offsets = room(edges * 8), *counts = room(edges * 8), *first = room(16);
    bytes(offsets, edges * 8);
    bytes(counts, edges * 8);
    std::memcpy(first + 8, &edges, 8);
    fields[i] = {buffer, reinterpret_cast<std::int64_t *>(offsets), reinterpret_cast<std::int64_t *>(counts),
                 reinterpret_cast<std::int64_t *>(first), room(edges * items)};
  }
  char *object = room(size);
  tremulaEntries[entry].bind(object, 1, fields);
  slowest = all = operationsAll = 0;
  begun = false;
  asm volatile("xorl %%r15d, %%r15d\n\txorl %%r14d, %%r14d" ::: "cc");
  tremulaEntries[entry].run(object, 1, states);
  std::int64_t found[3] = {slowest, all, operationsAll};
  std::fwrite(found, sizeof found, 1, stdout);
  std::fflush(stdout);
}

} // namespace tremula_counting

int main() {
  tremula_codelet::turn = tremula_counting::turns;
  for (std::int64_t left = tremula_counting::number(); left > 0; --left)
    tremula_counting::vertex(tremula_counting::number());
  std::_Exit(0);
}
