// Views of tensors. A view is an offset, a shape and strides into the memory of its graph, or into a list of addresses.
#include "core.hpp"

namespace poplar {

using detail::Addresses;
using detail::Dims;
using detail::Run;
using detail::TensorAccess;

namespace detail {

std::int64_t product(const Dims &dims) {
  std::int64_t result = 1;
  for (std::size_t i = 0; i < dims.size(); ++i)
    result *= dims[i];
  return result;
}

Dims contiguousStrides(const Dims &shape, std::int64_t size) {
  Dims strides = shape;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = size;
    size *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::string shapeText(const Dims &dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

Dims dimsOf(ArrayRef<std::size_t> shape) {
  Dims made;
  for (std::size_t length : shape)
    made.push(static_cast<std::int64_t>(length));
  return made;
}

namespace {

// The same elements in the same order with as few dimensions as possible.
void merge(const Dims &shape, const Dims &strides, Dims &lengths, Dims &steps) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1)
      continue;
    const std::size_t last = lengths.size();
    if (last && steps[last - 1] == shape[i] * strides[i]) {
      lengths[last - 1] *= shape[i];
      steps[last - 1] = strides[i];
    } else {
      lengths.push(shape[i]);
      steps.push(strides[i]);
    }
  }
}

// The strides of the same elements in another shape, if there are any.
bool reshaped(const Dims &shape, const Dims &strides, const Dims &wanted, Dims &result) {
  Dims lengths, steps;
  merge(shape, strides, lengths, steps);
  result = wanted;
  std::size_t place = lengths.size();
  std::int64_t rest = 1, step = 0;
  if (place) {
    --place;
    rest = lengths[place];
    step = steps[place];
  }
  for (std::size_t i = wanted.size(); i-- > 0;) {
    const std::int64_t length = wanted[i];
    if (length == 1) {
      result[i] = step;
      continue;
    }
    while (rest == 1 && place > 0) {
      --place;
      rest = lengths[place];
      step = steps[place];
    }
    if (rest % length)
      return false;
    result[i] = step;
    step *= length;
    rest /= length;
  }
  return true;
}

// Calls `visit` with the offset of each element, in order.
template <typename F>
void eachOffset(const Dims &shape, const Dims &strides, std::int64_t offset, F visit) {
  const std::size_t rank = shape.size();
  if (!product(shape))
    return;
  if (!rank) {
    visit(offset);
    return;
  }
  Dims index = shape;
  for (std::size_t i = 0; i < rank; ++i)
    index[i] = 0;
  const std::int64_t inner = shape[rank - 1], step = strides[rank - 1];
  for (;;) {
    for (std::int64_t i = 0; i < inner; ++i)
      visit(offset + i * step);
    std::size_t dimension = rank - 1;
    for (;;) {
      if (dimension == 0)
        return;
      --dimension;
      offset += strides[dimension];
      if (++index[dimension] < shape[dimension])
        break;
      offset -= shape[dimension] * strides[dimension];
      index[dimension] = 0;
    }
  }
}

} // namespace

Tensor TensorAccess::make(std::shared_ptr<GraphCore> graph, const Type &type, const Dims &shape,
                          std::int64_t offset, const Dims &strides,
                          std::shared_ptr<const Addresses> list) {
  Tensor made;
  made.graph_ = std::move(graph);
  made.list_ = std::move(list);
  made.shape_ = shape;
  made.strides_ = strides;
  made.offset_ = offset;
  made.type_ = type;
  return made;
}

std::int64_t TensorAccess::elementBytes(const Tensor &t) { return t.graph_->elementSize(t.type_); }

Addresses TensorAccess::addresses(const Tensor &t) {
  Addresses found;
  found.reserve(static_cast<std::size_t>(product(t.shape_)));
  const Addresses *list = t.list_.get();
  if (list)
    eachOffset(t.shape_, t.strides_, t.offset_,
               [&](std::int64_t place) { found.push_back((*list)[static_cast<std::size_t>(place)]); });
  else
    eachOffset(t.shape_, t.strides_, t.offset_,
               [&](std::int64_t address) { found.push_back(address); });
  return found;
}

bool TensorAccess::singleRun(const Tensor &t, Run &run) {
  if (t.list_)
    return false;
  if (t.shape_.size() == 1) {
    run = Run{t.offset_, t.shape_[0], t.strides_[0]};
    return true;
  }
  const std::int64_t size = elementBytes(t);
  if (!t.shape_.size()) {
    run = Run{t.offset_, 1, size};
    return true;
  }
  if (!product(t.shape_))
    return false;
  Dims lengths, steps;
  merge(t.shape_, t.strides_, lengths, steps);
  if (lengths.size() > 1)
    return false;
  run = lengths.size() ? Run{t.offset_, lengths[0], steps[0]} : Run{t.offset_, 1, size};
  return true;
}

std::vector<Run> TensorAccess::runs(const Tensor &t) {
  std::vector<Run> found;
  const std::int64_t size = elementBytes(t);
  if (!product(t.shape_))
    return found;
  if (t.list_) {
    for (std::int64_t address : addresses(t)) {
      if (!found.empty() && address == found.back().start + found.back().count * size)
        ++found.back().count;
      else
        found.push_back(Run{address, 1, size});
    }
    return found;
  }
  Dims lengths, steps, outer, outerSteps;
  merge(t.shape_, t.strides_, lengths, steps);
  std::int64_t count = 1, step = size;
  if (lengths.size()) {
    count = lengths[lengths.size() - 1];
    step = steps[lengths.size() - 1];
    outer = Dims(lengths.data(), lengths.size() - 1);
    outerSteps = Dims(steps.data(), lengths.size() - 1);
  }
  eachOffset(outer, outerSteps, t.offset_,
             [&](std::int64_t start) { found.push_back(Run{start, count, step}); });
  return found;
}

} // namespace detail

namespace {

[[noreturn]] void wrong(const std::string &message) { throw tensor_creation_error(message); }

// A tensor whose elements are named one by one.
Tensor listed(const Tensor &like, const Dims &shape, Addresses addresses) {
  return TensorAccess::make(TensorAccess::graph(like), like.elementType(), shape, 0,
                            detail::contiguousStrides(shape, 1),
                            std::make_shared<const Addresses>(std::move(addresses)));
}

} // namespace

Tensor Tensor::with(const Dims &shape, const Dims &strides, std::int64_t offset) const {
  return TensorAccess::make(graph_, type_, shape, offset, strides, list_);
}

// The distance of neighbours: bytes of an element, or one place in the list.
std::int64_t Tensor::unit() const { return list_ ? 1 : TensorAccess::elementBytes(*this); }

std::int64_t Tensor::length(unsigned dimension) const {
  if (!graph_)
    wrong("the tensor was not made by a graph: it is a Tensor without a value");
  if (dimension >= shape_.size())
    wrong("the tensor has " + std::to_string(shape_.size()) + " dimensions, so none with number " +
          std::to_string(dimension));
  return shape_[dimension];
}

std::vector<std::size_t> Tensor::shape() const {
  return std::vector<std::size_t>(shape_.data(), shape_.data() + shape_.size());
}
std::size_t Tensor::dim(unsigned i) const { return static_cast<std::size_t>(length(i)); }
std::size_t Tensor::numElements() const {
  return graph_ ? static_cast<std::size_t>(detail::product(shape_)) : 0;
}

Tensor Tensor::operator[](std::size_t i) const & {
  if (!shape_.size())
    wrong(graph_ ? "a scalar has no parts to choose from"
                 : "the tensor was not made by a graph: it is a Tensor without a value");
  if (i >= static_cast<std::size_t>(shape_[0]))
    wrong("number " + std::to_string(i) + " is outside the first dimension of a tensor of shape " +
          detail::shapeText(shape_));
  return with(Dims(shape_.data() + 1, shape_.size() - 1),
              Dims(strides_.data() + 1, strides_.size() - 1),
              offset_ + static_cast<std::int64_t>(i) * strides_[0]);
}

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
  const std::int64_t whole = length(dimension);
  if (begin > end || end > static_cast<std::size_t>(whole))
    wrong("the slice [" + std::to_string(begin) + ", " + std::to_string(end) +
          ") is outside dimension " + std::to_string(dimension) + " of a tensor of shape " +
          detail::shapeText(shape_));
  Dims shape = shape_;
  shape[dimension] = static_cast<std::int64_t>(end - begin);
  return with(shape, strides_, offset_ + static_cast<std::int64_t>(begin) * strides_[dimension]);
}

Tensor Tensor::slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const {
  if (begin.size() != end.size() || begin.size() > shape_.size())
    wrong("a slice of a tensor of shape " + detail::shapeText(shape_) + " cannot go from " +
          detail::shapeText(detail::dimsOf(begin)) + " to " +
          detail::shapeText(detail::dimsOf(end)));
  Tensor result = *this;
  for (std::size_t i = 0; i < begin.size(); ++i)
    result = result.slice(begin[i], end[i], static_cast<unsigned>(i));
  return result;
}

std::vector<Tensor> Tensor::slices(ArrayRef<Interval> intervals, unsigned dimension) const {
  std::vector<Tensor> found;
  for (const Interval &each : intervals)
    found.push_back(slice(each, dimension));
  return found;
}

std::vector<Tensor> Tensor::slices(const std::vector<std::vector<Interval>> &intervals,
                                   unsigned dimension) const {
  std::vector<Tensor> found;
  for (const auto &each : intervals)
    found.push_back(concat(slices(ArrayRef<Interval>(each), dimension), dimension));
  return found;
}

Tensor Tensor::index(ArrayRef<std::size_t> indices) const {
  Tensor result = *this;
  for (std::size_t number : indices)
    result = result[number];
  return result;
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
  const Dims wanted = detail::dimsOf(shape);
  if (!graph_)
    wrong("the tensor was not made by a graph: it is a Tensor without a value");
  if (detail::product(wanted) != detail::product(shape_))
    wrong("a tensor of shape " + detail::shapeText(shape_) + " has " +
          std::to_string(numElements()) + " elements; shape " + detail::shapeText(wanted) +
          " needs " + std::to_string(detail::product(wanted)));
  if (!detail::product(wanted))
    return with(wanted, detail::contiguousStrides(wanted, unit()), offset_);
  Dims strides;
  if (detail::reshaped(shape_, strides_, wanted, strides))
    return with(wanted, strides, offset_);
  return listed(*this, wanted, TensorAccess::addresses(*this));
}

Tensor Tensor::reshapePartial(unsigned begin, unsigned end, ArrayRef<std::size_t> newDims) const {
  if (begin > end || end > shape_.size())
    wrong("a tensor of rank " + std::to_string(rank()) + " has no dimensions from " +
          std::to_string(begin) + " to " + std::to_string(end));
  std::vector<std::size_t> wanted = shape();
  wanted.erase(wanted.begin() + begin, wanted.begin() + end);
  wanted.insert(wanted.begin() + begin, newDims.begin(), newDims.end());
  return reshape(wanted);
}

Tensor Tensor::flatten() const {
  if (shape_.size() == 1)
    return *this;
  return reshape({numElements()});
}

Tensor Tensor::flatten(unsigned dimBegin, unsigned dimEnd) const {
  if (dimBegin > dimEnd || dimEnd > shape_.size())
    wrong("a tensor of rank " + std::to_string(rank()) + " has no dimensions from " +
          std::to_string(dimBegin) + " to " + std::to_string(dimEnd));
  std::size_t joined = 1;
  for (unsigned i = dimBegin; i < dimEnd; ++i)
    joined *= dim(i);
  return reshapePartial(dimBegin, dimEnd, {joined});
}

Tensor Tensor::squeeze(ArrayRef<std::size_t> dims) const {
  std::vector<bool> gone(shape_.size(), false);
  for (std::size_t each : dims) {
    if (length(static_cast<unsigned>(each)) != 1)
      wrong("dimension " + std::to_string(each) + " of " + detail::shapeText(shape_) +
            " is not of length 1");
    gone[each] = true;
  }
  Dims shape, strides;
  for (std::size_t i = 0; i < shape_.size(); ++i)
    if (!gone[i]) {
      shape.push(shape_[i]);
      strides.push(strides_[i]);
    }
  return with(shape, strides, offset_);
}

Tensor Tensor::expand(ArrayRef<std::size_t> dims) const {
  for (std::size_t each : dims)
    if (each > shape_.size())
      wrong(detail::shapeText(detail::dimsOf(dims)) + " are not all dimensions of a tensor of rank " +
            std::to_string(rank()));
  Dims shape, strides;
  for (std::size_t i = 0; i <= shape_.size(); ++i) {
    for (std::size_t each : dims)
      if (each == i) {
        shape.push(1);
        strides.push(0);
      }
    if (i < shape_.size()) {
      shape.push(shape_[i]);
      strides.push(strides_[i]);
    }
  }
  return with(shape, strides, offset_);
}

Tensor Tensor::dimShuffle(ArrayRef<unsigned> permutation) const {
  std::vector<unsigned> sorted = permutation.cloneAsVector();
  std::sort(sorted.begin(), sorted.end());
  bool all = sorted.size() == shape_.size();
  for (std::size_t i = 0; all && i < sorted.size(); ++i)
    all = sorted[i] == i;
  if (!all) {
    std::string text = "[";
    for (std::size_t i = 0; i < permutation.size(); ++i)
      text += (i ? ", " : "") + std::to_string(permutation[i]);
    wrong(text + "] does not name each dimension of " + detail::shapeText(shape_) + " once");
  }
  Dims shape, strides;
  for (unsigned each : permutation) {
    shape.push(shape_[each]);
    strides.push(strides_[each]);
  }
  return with(shape, strides, offset_);
}

Tensor Tensor::dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const {
  const std::set<unsigned> sources(source.begin(), source.end());
  const std::set<unsigned> targets(destination.begin(), destination.end());
  if (source.size() != destination.size() || sources.size() != source.size() ||
      targets.size() != destination.size())
    wrong("the dimensions to move and their new places have to be as many, each named once");
  if ((!sources.empty() && *sources.rbegin() >= shape_.size()) ||
      (!targets.empty() && *targets.rbegin() >= shape_.size()))
    wrong("a tensor of rank " + std::to_string(rank()) +
          " does not have all of the dimensions that are moved");
  std::vector<unsigned> order(shape_.size(), 0);
  for (std::size_t i = 0; i < source.size(); ++i)
    order[destination[i]] = source[i];
  unsigned rest = 0;
  for (unsigned place = 0; place < order.size(); ++place) {
    if (targets.count(place))
      continue;
    while (sources.count(rest))
      ++rest;
    order[place] = rest++;
  }
  return dimShuffle(order);
}

Tensor Tensor::dimRoll(unsigned dimIdx, unsigned newIdx) const {
  return dimShufflePartial({dimIdx}, {newIdx});
}

Tensor Tensor::transpose() const {
  std::vector<unsigned> order;
  for (unsigned i = rank(); i-- > 0;)
    order.push_back(i);
  return dimShuffle(order);
}

Tensor Tensor::broadcast(unsigned n, unsigned dimension) const {
  const std::int64_t whole = length(dimension);
  Dims shape = shape_;
  shape[dimension] = whole * n;
  if (whole == 1) {
    Dims strides = strides_;
    strides[dimension] = 0;
    return with(shape, strides, offset_);
  }
  if (n == 1)
    return *this;
  std::vector<Tensor> copies(n, *this);
  if (!n)
    return slice(0, 0, dimension);
  return concat(copies, dimension);
}

Tensor Tensor::upsample(unsigned scale, unsigned dimension, UpsampleMethod) const {
  if (length(dimension) == 1)
    return broadcast(scale, dimension);
  return expand({dimension + 1ul}).broadcast(scale, dimension + 1).flatten(dimension, dimension + 2);
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
  const std::int64_t whole = length(dimension);
  if (stride < 1)
    wrong("a step of 0 is not possible; it must be at least 1");
  Dims shape = shape_, strides = strides_;
  shape[dimension] = (whole + stride - 1) / stride;
  strides[dimension] *= stride;
  return with(shape, strides, offset_);
}

Tensor Tensor::reverse(unsigned dimension) const {
  const std::int64_t whole = length(dimension);
  Dims strides = strides_;
  strides[dimension] = -strides[dimension];
  return with(shape_, strides,
              offset_ + std::max<std::int64_t>(whole - 1, 0) * strides_[dimension]);
}

Tensor Tensor::reinterpret(const Type &type) const {
  if (!graph_)
    wrong("the tensor was not made by a graph: it is a Tensor without a value");
  if (detail::deviceSize(type) != detail::deviceSize(type_) ||
      graph_->elementSize(type) != graph_->elementSize(type_))
    wrong("elements of type " + type_.toString() + " cannot be read as " + type.toString() +
          ": their sizes on the host differ");
  Tensor result = *this;
  result.type_ = type;
  return result;
}

Tensor Tensor::getMetadata() const {
  wrong("only tensors of 8-bit floating point have metadata, which are not offered here");
}

// -- facts

bool Tensor::containsAliases() const {
  if (!list_) {
    // strides that grow over each other name no element twice
    Dims lengths, steps;
    detail::merge(shape_, strides_, lengths, steps);
    std::vector<std::pair<std::int64_t, std::int64_t>> order;
    bool simple = true;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      simple = simple && steps[i] != 0;
      order.push_back({std::abs(steps[i]), lengths[i]});
    }
    if (!simple)
      return numElements() > 0;
    std::sort(order.begin(), order.end());
    std::int64_t span = unit();
    for (const auto &each : order) {
      simple = simple && each.first >= span;
      span = each.first * each.second;
    }
    if (simple)
      return false;
  }
  Addresses found = TensorAccess::addresses(*this);
  std::sort(found.begin(), found.end());
  return std::adjacent_find(found.begin(), found.end()) != found.end();
}

bool Tensor::containsConstant() const {
  for (const VariableInterval &each : getVarRegions())
    if (graph_->variables[each.var.id()].constant)
      return true;
  return false;
}

namespace {

// Stretches of neighbours of one variable: begin and end in the flattened tensor, and the address.
struct Stretch {
  std::int64_t begin, end, address;
  std::size_t variable;
};

std::vector<Stretch> stretches(const Tensor &tensor) {
  std::vector<Stretch> found;
  const detail::GraphCore &graph = *TensorAccess::graph(tensor);
  const std::int64_t size = TensorAccess::elementBytes(tensor);
  std::int64_t place = 0;
  const auto add = [&](std::int64_t address, std::int64_t count) {
    while (count > 0) {
      const std::size_t variable = graph.variableAt(address);
      const std::int64_t left =
          variable + 1 < graph.bases.size() ? (graph.bases[variable + 1] - address) / size : count;
      const std::int64_t taken = std::max<std::int64_t>(1, std::min(count, left));
      if (!found.empty() && found.back().variable == variable &&
          found.back().address + (found.back().end - found.back().begin) * size == address)
        found.back().end += taken;
      else
        found.push_back(Stretch{place, place + taken, address, variable});
      place += taken;
      address += taken * size;
      count -= taken;
    }
  };
  for (const Run &run : TensorAccess::runs(tensor)) {
    if (run.step == size)
      add(run.start, run.count);
    else
      for (std::int64_t i = 0; i < run.count; ++i)
        add(run.start + i * run.step, 1);
  }
  return found;
}

} // namespace

std::vector<Interval> Tensor::getContiguousRegions() const {
  std::vector<Interval> found;
  for (const Stretch &each : stretches(*this))
    found.emplace_back(static_cast<std::size_t>(each.begin), static_cast<std::size_t>(each.end));
  return found;
}

std::vector<VariableInterval> Tensor::getVarRegions() const {
  std::vector<VariableInterval> found;
  for (const Stretch &each : stretches(*this)) {
    const detail::Variable &variable = graph_->variables[each.variable];
    const std::size_t first =
        static_cast<std::size_t>((each.address - variable.address) / variable.elementBytes);
    found.emplace_back(VariableRef(static_cast<unsigned>(each.variable)),
                       Interval(first, first + static_cast<std::size_t>(each.end - each.begin)));
  }
  return found;
}

bool Tensor::isContiguous() const { return getContiguousRegions().size() <= 1; }

std::string Tensor::getDebugStr() const {
  if (!graph_)
    return "no tensor";
  std::set<std::size_t> variables;
  for (const Stretch &each : stretches(*this))
    variables.insert(each.variable);
  std::string text;
  for (std::size_t each : variables) {
    const std::string &name = graph_->variables[each].name;
    text += (text.empty() ? "" : ", ") + (name.empty() ? "variable " + std::to_string(each) : name);
  }
  return text;
}

std::string Tensor::shapeToString() const { return detail::shapeText(shape_); }
void Tensor::dump() const { std::cerr << *this << '\n'; }

bool Tensor::constantValue(double &value) const {
  if (numElements() != 1 || !containsConstant())
    return false;
  const detail::Result found = detail::ask("constant", *this);
  value = found.kind == detail::Result::Kind::Real ? found.real()
          : found.kind == detail::Result::Kind::Boolean
              ? static_cast<double>(found.boolean())
              : static_cast<double>(found.integer());
  return true;
}

std::ostream &operator<<(std::ostream &os, const Tensor &tensor) {
  return os << tensor.getDebugStr() << ' ' << tensor.elementType() << tensor.shapeToString();
}

bool operator==(const Tensor &a, const Tensor &b) {
  if (!a.valid() || !b.valid())
    return a.valid() == b.valid();
  if (TensorAccess::graph(a) != TensorAccess::graph(b) || a.elementType() != b.elementType() ||
      !(TensorAccess::shape(a) == TensorAccess::shape(b)))
    return false;
  return TensorAccess::addresses(a) == TensorAccess::addresses(b);
}

// -- joining

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension) {
  if (tensors.empty())
    wrong("there is no tensor to join");
  const Tensor &first = tensors[0];
  if (!first.valid())
    wrong("tensor 0 of those to join is a Tensor without a value");
  if (tensors.size() == 1)
    return first;
  if (dimension >= first.rank())
    wrong("tensors of rank " + std::to_string(first.rank()) + " cannot be joined along dimension " +
          std::to_string(dimension));
  const Dims &one = TensorAccess::shape(first);
  std::int64_t whole = 0;
  bool neighbours = !TensorAccess::list(first);
  std::int64_t end = TensorAccess::offset(first);
  const std::int64_t stride = TensorAccess::strides(first)[dimension];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &each = tensors[i];
    if (!each.valid() || TensorAccess::graph(each) != TensorAccess::graph(first))
      wrong("tensor " + std::to_string(i) + " belongs to another graph than the first one");
    if (each.elementType() != first.elementType())
      throw type_error("tensor " + std::to_string(i) + " is of type " +
                       each.elementType().toString() + ", the first one of type " +
                       first.elementType().toString());
    Dims other = TensorAccess::shape(each);
    bool fits = other.size() == one.size();
    if (fits) {
      whole += other[dimension];
      neighbours = neighbours && !TensorAccess::list(each) &&
                   TensorAccess::strides(each) == TensorAccess::strides(first) &&
                   TensorAccess::offset(each) == end;
      end += other[dimension] * stride;
      other[dimension] = one[dimension];
      fits = other == one;
    }
    if (!fits)
      wrong("tensor " + std::to_string(i) + " of shape " + each.shapeToString() +
            " cannot be joined with one of shape " + first.shapeToString() + " along dimension " +
            std::to_string(dimension) + ": all other dimensions have to be equal");
  }
  Dims shape = one;
  shape[dimension] = whole;
  if (neighbours)
    return TensorAccess::make(TensorAccess::graph(first), first.elementType(), shape,
                              TensorAccess::offset(first), TensorAccess::strides(first));
  Addresses joined;
  joined.reserve(static_cast<std::size_t>(detail::product(shape)));
  if (dimension == 0) {
    for (const Tensor &each : tensors) {
      const Addresses part = TensorAccess::addresses(each);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return listed(first, shape, std::move(joined));
  }
  std::vector<Addresses> parts;
  std::vector<std::size_t> lengths;
  std::size_t rows = 1;
  for (unsigned i = 0; i < dimension; ++i)
    rows *= static_cast<std::size_t>(one[i]);
  for (const Tensor &each : tensors) {
    parts.push_back(TensorAccess::addresses(each));
    lengths.push_back(rows ? parts.back().size() / rows : 0);
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < parts.size(); ++i)
      joined.insert(joined.end(), parts[i].begin() + static_cast<std::ptrdiff_t>(row * lengths[i]),
                    parts[i].begin() + static_cast<std::ptrdiff_t>((row + 1) * lengths[i]));
  return listed(first, shape, std::move(joined));
}

Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension) {
  const Tensor both[] = {first, second};
  return concat(ArrayRef<Tensor>(both), dimension);
}

Tensor append(const Tensor &first, const Tensor &second, unsigned dimension) {
  return concat(first, second.expand({dimension}), dimension);
}
Tensor append(const Tensor &first, const Tensor &second) { return append(first, second, 0); }

namespace detail {

void Writer::tensor(const Tensor &value) {
  const std::shared_ptr<GraphCore> &graph = TensorAccess::graph(value);
  if (!graph)
    throw tensor_creation_error("a Tensor without a value is not possible here");
  const Dims &shape = TensorAccess::shape(value);
  tag('t');
  raw(static_cast<std::uint32_t>(graph->number));
  raw(static_cast<std::uint8_t>(value.elementType().number()));
  raw(static_cast<std::uint8_t>(shape.size()));
  append(shape.data(), shape.size() * sizeof(std::int64_t));
  if (TensorAccess::list(value)) {
    raw(static_cast<std::uint8_t>(1));
    const Addresses addresses = TensorAccess::addresses(value);
    append(addresses.data(), addresses.size() * sizeof(std::int64_t));
  } else {
    raw(static_cast<std::uint8_t>(0));
    raw(TensorAccess::offset(value));
    append(TensorAccess::strides(value).data(), shape.size() * sizeof(std::int64_t));
  }
}

} // namespace detail

} // namespace poplar
