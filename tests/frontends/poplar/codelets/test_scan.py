"""Classes, members and instantiations in preprocessed C++."""

from __future__ import annotations

from tremula.frontends.poplar.codelets.cpp.scan import scan, tokens

CODE = """\
# 1 "/usr/include/system.h" 1 3
class Hidden : public Vertex { int x; };
# 7 "mine.cpp"
namespace a::b {
template <class T, int N = (3 > 2)> class [
[poplar::constraint("elem(*x)")]] First final : public Base<T>, Other {
  using Self = First;
  Input<Vector<T, L::ONE, 8>> x, y;
  struct { int inner; } named;
  const unsigned size[4];
  float start{1.0f};
  static int compute(int p) { int local; if (p < local) { return 1; } return 2; }
  enum Kind { one, two };
 public:
  R"(not ' code)";
};
template class First<float, 2>;
extern template class First<int, 2>;
struct Forward;
}
template <> struct a::b::First<bool> : Vertex { char only; };
void f(struct Point *p) { class Local : Vertex { int z; }; }
extern "C" { class Last : public Vertex { bool q; }; }
template struct a::b::First<bool>;
"""


def test_scan():
    found = scan(tokens(CODE))
    assert [(each.scope, each.name, each.template) for each in found.classes] == [
        (("a", "b"), "First", True),
        ((), "First", True),
        ((), "Last", False),
    ]
    assert {"x", "y", "named", "size", "start"} <= set(found.classes[0].members)
    assert not {"local", "inner", "p", "compute"} & set(found.classes[0].members)
    assert found.classes[0].bases >= {"Base", "Other"}
    assert found.instantiations == [(("a", "b"), "First < float , 2 >"), ((), "a :: b :: First < bool >")]


def test_lines_are_those_of_the_user():
    words = {each.text: each for each in tokens(CODE)}
    assert (words["First"].file, words["start"].line) == ("mine.cpp", 14)
    assert "Hidden" not in words
