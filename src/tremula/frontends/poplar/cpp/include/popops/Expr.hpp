// Expressions of tensors: placeholders, constants, casts, operations, and operators that make them.
// A whole expression is one call of `popops::map`.
#ifndef POPOPS_EXPR_HPP
#define POPOPS_EXPR_HPP

#include <popops/ExprOp.hpp>

namespace popops {
namespace expr {

class Expr {
public:
  virtual ~Expr() = default;
  virtual std::unique_ptr<Expr> clone() const = 0;
  // What the expression is in Python.
  virtual poplar::detail::Value remote() const = 0;
  template <class T> bool isA() const { return dynamic_cast<const T *>(this) != nullptr; }
  template <class T> T *getAs() { return dynamic_cast<T *>(this); }
  template <class T> const T *getAs() const { return dynamic_cast<const T *>(this); }
  bool deepEquals(const Expr &other) const {
    return remote().writer.bytes() == other.remote().writer.bytes();
  }
};

inline poplar::detail::Value remoteValue(const Expr &expr) { return expr.remote(); }
inline bool deepEquals(const Expr &a, const Expr &b) { return a.deepEquals(b); }

// An expression of any class, for lists of them.
class Any {
public:
  Any(const Expr &from) : expr_(from.clone()) {}
  Any(const Any &other) : expr_(other.expr_->clone()) {}
  Any(Any &&) = default;
  Any &operator=(const Any &other) {
    expr_ = other.expr_->clone();
    return *this;
  }
  Any &operator=(Any &&) = default;
  operator Expr &() { return *expr_; }
  operator const Expr &() const { return *expr_; }

private:
  std::unique_ptr<Expr> expr_;
};

inline poplar::detail::Value remoteValue(const Any &any) {
  return static_cast<const Expr &>(any).remote();
}

// A class whose objects are copied whole.
template <class Own, class Base = Expr> class ExprType : public Base {
public:
  using Base::Base;
  std::unique_ptr<Expr> clone() const override {
    return std::unique_ptr<Expr>(new Own(static_cast<const Own &>(*this)));
  }
};

class Const : public ExprType<Const> {
public:
  template <typename T,
            typename = typename std::enable_if<std::is_arithmetic<T>::value, T>::type>
  Const(T value)
      : value_(poplar::detail::value(value)), type_(poplar::equivalent_device_type<T>().value) {}
  Const(double value) : value_(poplar::detail::value(value)), type_(poplar::FLOAT) {}
  const poplar::Type &getType() const { return type_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "Const", value_, type_);
  }

protected:
  Const(float value, const poplar::Type &type)
      : value_(poplar::detail::value(value)), type_(type) {}

private:
  poplar::detail::Value value_;
  poplar::Type type_;
};

class ConstHalf : public Const {
public:
  ConstHalf(float value) : Const(value, poplar::HALF) {}
  std::unique_ptr<Expr> clone() const override {
    return std::unique_ptr<Expr>(new ConstHalf(*this));
  }
};

inline ConstHalf operator"" _half(long double value) {
  return ConstHalf(static_cast<float>(value));
}

class Cast : public ExprType<Cast> {
public:
  Cast(const Expr &argument, const poplar::Type &type) : argument_(argument), type_(type) {}
  const Expr &getLHS() const { return argument_; }
  const poplar::Type &getRHSType() const { return type_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "Cast", argument_, type_);
  }

private:
  Any argument_;
  poplar::Type type_;
};

class PlaceHolder : public ExprType<PlaceHolder> {
public:
  PlaceHolder(unsigned index) : index_(index) {}
  unsigned getIndex() const { return index_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "PlaceHolder", index_);
  }

private:
  unsigned index_;
};

const PlaceHolder _1(1);
const PlaceHolder _2(2);
const PlaceHolder _3(3);
const PlaceHolder _4(4);
const PlaceHolder _5(5);
const PlaceHolder _6(6);
const PlaceHolder _7(7);
const PlaceHolder _8(8);
const PlaceHolder _9(9);
const PlaceHolder _10(10);
const PlaceHolder _11(11);
const PlaceHolder _12(12);
const PlaceHolder _13(13);
const PlaceHolder _14(14);
const PlaceHolder _15(15);
const PlaceHolder _16(16);
const PlaceHolder _17(17);
const PlaceHolder _18(18);
const PlaceHolder _19(19);
const PlaceHolder _20(20);

class UnaryOp : public ExprType<UnaryOp> {
public:
  UnaryOp(UnaryOpType type, const Expr &a) : type_(type), a_(a) {}
  UnaryOpType getOpType() const { return type_; }
  const Expr &getArg() const { return a_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "UnaryOp", type_, a_);
  }

private:
  UnaryOpType type_;
  Any a_;
};

class BinaryOp : public ExprType<BinaryOp> {
public:
  BinaryOp(BinaryOpType type, const Expr &a, const Expr &b) : type_(type), a_(a), b_(b) {}
  BinaryOpType getOpType() const { return type_; }
  const Expr &getLHS() const { return a_; }
  const Expr &getRHS() const { return b_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "BinaryOp", type_, a_, b_);
  }

private:
  BinaryOpType type_;
  Any a_, b_;
};

class TernaryOp : public ExprType<TernaryOp> {
public:
  TernaryOp(TernaryOpType type, const Expr &a, const Expr &b, const Expr &c)
      : type_(type), a_(a), b_(b), c_(c) {}
  TernaryOpType getOpType() const { return type_; }
  const Expr &getArg0() const { return a_; }
  const Expr &getArg1() const { return b_; }
  const Expr &getArg2() const { return c_; }
  poplar::detail::Value remote() const override {
    return poplar::detail::object("popops.expr", "TernaryOp", type_, a_, b_, c_);
  }

private:
  TernaryOpType type_;
  Any a_, b_, c_;
};

#define POPOPS_EXPR_UNARY(NAME, OP)                                            \
  class NAME : public UnaryOp {                                                \
  public:                                                                      \
    NAME(const Expr &a) : UnaryOp(UnaryOpType::OP, a) {}                       \
  };
#define POPOPS_EXPR_BINARY(NAME, OP)                                           \
  class NAME : public BinaryOp {                                               \
  public:                                                                      \
    NAME(const Expr &a, const Expr &b) : BinaryOp(BinaryOpType::OP, a, b) {}   \
  };
#define POPOPS_EXPR_OPERATOR(NAME, OP, SYMBOL)                                 \
  POPOPS_EXPR_BINARY(NAME, OP)                                                 \
  inline NAME operator SYMBOL(const Expr &a, const Expr &b) { return NAME(a, b); } \
  template <typename T>                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, NAME>::type operator SYMBOL( \
      const Expr &a, const T &b) {                                             \
    return NAME(a, Const(b));                                                  \
  }                                                                            \
  template <typename T>                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, NAME>::type operator SYMBOL( \
      const T &a, const Expr &b) {                                             \
    return NAME(Const(a), b);                                                  \
  }
#define POPOPS_EXPR_TERNARY(NAME, OP)                                          \
  class NAME : public TernaryOp {                                              \
  public:                                                                      \
    NAME(const Expr &a, const Expr &b, const Expr &c)                          \
        : TernaryOp(TernaryOpType::OP, a, b, c) {}                             \
  };

POPOPS_EXPR_UNARY(Abs, ABSOLUTE)
POPOPS_EXPR_UNARY(Asin, ASIN)
POPOPS_EXPR_UNARY(BitwiseNot, BITWISE_NOT)
inline BitwiseNot operator~(const Expr &a) { return BitwiseNot(a); }
POPOPS_EXPR_UNARY(Cbrt, CBRT)
POPOPS_EXPR_UNARY(Erf, ERF)
POPOPS_EXPR_UNARY(Ceil, CEIL)
POPOPS_EXPR_UNARY(Cos, COS)
POPOPS_EXPR_UNARY(Exp, EXPONENT)
POPOPS_EXPR_UNARY(Expm1, EXPONENT_MINUS_ONE)
POPOPS_EXPR_UNARY(Exp2, EXPONENT2)
POPOPS_EXPR_UNARY(Floor, FLOOR)
POPOPS_EXPR_UNARY(GeluErf, GELU_ERF)
POPOPS_EXPR_UNARY(Inv, INVERSE)
POPOPS_EXPR_UNARY(IsFinite, IS_FINITE)
POPOPS_EXPR_UNARY(IsInf, IS_INF)
POPOPS_EXPR_UNARY(IsNaN, IS_NAN)
POPOPS_EXPR_UNARY(Log, LOGARITHM)
POPOPS_EXPR_UNARY(Log1p, LOGARITHM_ONE_PLUS)
POPOPS_EXPR_UNARY(Not, LOGICAL_NOT)
inline Not operator!(const Expr &a) { return Not(a); }
POPOPS_EXPR_UNARY(Neg, NEGATE)
inline Neg operator-(const Expr &a) { return Neg(a); }
POPOPS_EXPR_UNARY(NearbyInt, NEARBY_INT)
POPOPS_EXPR_UNARY(Signum, SIGNUM)
POPOPS_EXPR_UNARY(Sin, SIN)
POPOPS_EXPR_UNARY(Tan, TAN)
POPOPS_EXPR_UNARY(Tanh, TANH)
POPOPS_EXPR_UNARY(Round, ROUND)
POPOPS_EXPR_UNARY(Trunc, TRUNC)
POPOPS_EXPR_UNARY(Sqrt, SQRT)
POPOPS_EXPR_UNARY(Square, SQUARE)
POPOPS_EXPR_UNARY(Sigmoid, SIGMOID)
POPOPS_EXPR_UNARY(Rsqrt, RSQRT)
POPOPS_EXPR_UNARY(Relu, RELU)

POPOPS_EXPR_OPERATOR(Add, ADD, +)
POPOPS_EXPR_BINARY(Atan2, ATAN2)
POPOPS_EXPR_OPERATOR(BitwiseAnd, BITWISE_AND, &)
POPOPS_EXPR_OPERATOR(BitwiseOr, BITWISE_OR, |)
POPOPS_EXPR_OPERATOR(BitwiseXor, BITWISE_XOR, ^)
POPOPS_EXPR_BINARY(BitwiseXnor, BITWISE_XNOR)
POPOPS_EXPR_OPERATOR(Divide, DIVIDE, /)
POPOPS_EXPR_OPERATOR(Equal, EQUAL, ==)
POPOPS_EXPR_OPERATOR(Gte, GREATER_THAN_EQUAL, >=)
POPOPS_EXPR_OPERATOR(Gt, GREATER_THAN, >)
POPOPS_EXPR_OPERATOR(Lte, LESS_THAN_EQUAL, <=)
POPOPS_EXPR_OPERATOR(And, LOGICAL_AND, &&)
POPOPS_EXPR_OPERATOR(Or, LOGICAL_OR, ||)
POPOPS_EXPR_OPERATOR(Lt, LESS_THAN, <)
POPOPS_EXPR_BINARY(InvStdDevToVariance, INV_STD_DEV_TO_VARIANCE)
POPOPS_EXPR_BINARY(Max, MAXIMUM)
POPOPS_EXPR_BINARY(Min, MINIMUM)
POPOPS_EXPR_OPERATOR(Mul, MULTIPLY, *)
POPOPS_EXPR_OPERATOR(NotEqual, NOT_EQUAL, !=)
POPOPS_EXPR_BINARY(Pow, POWER)
POPOPS_EXPR_OPERATOR(Rem, REMAINDER, %)
POPOPS_EXPR_OPERATOR(Shl, SHIFT_LEFT, <<)
POPOPS_EXPR_OPERATOR(Shr, SHIFT_RIGHT, >>)
POPOPS_EXPR_BINARY(ShrSE, SHIFT_RIGHT_SIGN_EXTEND)
POPOPS_EXPR_OPERATOR(Sub, SUBTRACT, -)
POPOPS_EXPR_BINARY(VarianceToInvStdDev, VARIANCE_TO_INV_STD_DEV)

POPOPS_EXPR_TERNARY(Select, SELECT)
POPOPS_EXPR_TERNARY(Clamp, CLAMP)

#undef POPOPS_EXPR_UNARY
#undef POPOPS_EXPR_BINARY
#undef POPOPS_EXPR_OPERATOR
#undef POPOPS_EXPR_TERNARY

} // namespace expr
} // namespace popops

#endif
