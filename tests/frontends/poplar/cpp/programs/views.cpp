// Reads one operation on tensors from each line and answers with one line: what the top of a stack of tensors is.
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>

using namespace poplar;

static std::string described(const Tensor &t) {
  std::ostringstream out;
  for (std::size_t length : t.shape())
    out << length << ' ';
  out << '|';
  for (const VariableInterval &each : t.getVarRegions())
    out << ' ' << each.var.id() << ':' << each.interval.begin() << '-' << each.interval.end();
  out << " |";
  for (const Interval &each : t.getContiguousRegions())
    out << ' ' << each.begin() << '-' << each.end();
  out << " | " << t.containsAliases() << t.isContiguous() << t.containsConstant();
  return out.str();
}

static std::vector<std::size_t> sizes(std::istream &in) {
  std::vector<std::size_t> all;
  for (std::size_t each; in >> each;)
    all.push_back(each);
  return all;
}

static Tensor applied(Graph &graph, std::vector<Tensor> &stack, const std::string &name, std::istream &in) {
  if (name == "variable")
    return graph.addVariable(FLOAT, sizes(in));
  if (name == "constant")
    return graph.addConstant(FLOAT, sizes(in), 1.0f);
  if (name == "concat") {
    unsigned count, dimension;
    in >> count >> dimension;
    return concat(std::vector<Tensor>(stack.end() - count, stack.end()), dimension);
  }
  const Tensor t = stack.back();
  const std::vector<std::size_t> n = sizes(in);
  const std::vector<unsigned> u(n.begin(), n.end());
  if (name == "slice")
    return t.slice(n[0], n[1], u[2]);
  if (name == "at")
    return t[n[0]];
  if (name == "reshape")
    return t.reshape(n);
  if (name == "flatten")
    return t.flatten();
  if (name == "shuffle")
    return t.dimShuffle(u);
  if (name == "roll")
    return t.dimRoll(u[0], u[1]);
  if (name == "transpose")
    return t.transpose();
  if (name == "broadcast")
    return t.broadcast(u[0], u[1]);
  if (name == "upsample")
    return t.upsample(u[0], u[1]);
  if (name == "sample")
    return t.subSample(u[0], u[1]);
  if (name == "reverse")
    return t.reverse(u[0]);
  if (name == "squeeze")
    return t.squeeze(n);
  if (name == "expand")
    return t.expand(n);
  throw std::logic_error("no operation " + name);
}

int main() {
  Graph graph(Target::createIPUTarget(1, "ipu2"));
  std::vector<Tensor> stack;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string name;
    in >> name;
    if (name == "clear") {
      stack.clear();
      continue;
    }
    if (name == "choose") {
      std::size_t place;
      in >> place;
      stack.push_back(stack[place]);
      std::cout << described(stack.back()) << std::endl;
      continue;
    }
    try {
      const Tensor made = applied(graph, stack, name, in);
      stack.push_back(made);
      std::cout << described(made) << std::endl;
    } catch (const poplar_error &problem) {
      std::cout << problem.type << std::endl;
    }
  }
}
