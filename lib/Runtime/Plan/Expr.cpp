//===- Expr.cpp - integer expressions over the symbols of a plan ----------===//
//
// Expressions are postfix programs, which are evaluated on a stack of fixed size. Every operation checks for overflow,
// because a size that wraps around could cause an allocation that is smaller than the data written to it.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {

static const char *exprOpName(Expr::Op op) {
  switch (op) {
  case Expr::Op::Const:
    return "const";
  case Expr::Op::Symbol:
    return "symbol";
  case Expr::Op::Add:
    return "add";
  case Expr::Op::Mul:
    return "mul";
  case Expr::Op::FloorDiv:
    return "floordiv";
  case Expr::Op::CeilDiv:
    return "ceildiv";
  case Expr::Op::Mod:
    return "mod";
  case Expr::Op::Max:
    return "max";
  case Expr::Op::Min:
    return "min";
  }
  return "unknown";
}

int64_t linearSymbol(const Expr &expr) {
  int64_t symbol = -1;
  for (const Expr::Item &item : expr.items) {
    if (item.op == Expr::Op::Symbol) {
      if (symbol >= 0)
        return -1;
      symbol = item.value;
    } else if (item.op != Expr::Op::Const && item.op != Expr::Op::Add && item.op != Expr::Op::Mul) {
      return -1;
    }
  }
  return symbol;
}

/// Applies one binary operation. Returns false if the result overflows or the divisor is zero.
static bool applyBinary(Expr::Op op, int64_t lhs, int64_t rhs, int64_t &result) {
  switch (op) {
  case Expr::Op::Add:
    return !__builtin_add_overflow(lhs, rhs, &result);
  case Expr::Op::Mul:
    return !__builtin_mul_overflow(lhs, rhs, &result);
  case Expr::Op::FloorDiv:
  case Expr::Op::CeilDiv:
  case Expr::Op::Mod: {
    if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
      return false;
    int64_t quotient = lhs / rhs, rest = lhs % rhs;
    bool inexact = rest != 0, negative = (rest < 0) != (rhs < 0);
    if (op == Expr::Op::FloorDiv)
      result = quotient - (inexact && negative);
    else if (op == Expr::Op::CeilDiv)
      result = quotient + (inexact && !negative);
    else
      result = inexact && negative ? rest + rhs : rest;
    return true;
  }
  case Expr::Op::Max:
    result = lhs > rhs ? lhs : rhs;
    return true;
  case Expr::Op::Min:
    result = lhs < rhs ? lhs : rhs;
    return true;
  case Expr::Op::Const:
  case Expr::Op::Symbol:
    break;
  }
  return false;
}

int64_t evaluate(const Expr &expr, const int64_t *symbols, std::string &error) {
  error.clear();
  int64_t stack[Expr::maxDepth];
  int depth = 0;
  for (const Expr::Item &item : expr.items) {
    if (item.op == Expr::Op::Const || item.op == Expr::Op::Symbol) {
      if (depth == Expr::maxDepth) {
        error = "size expression is too deep; verify the plan before running it";
        return 0;
      }
      stack[depth++] = item.op == Expr::Op::Const ? item.value : symbols[item.value];
      continue;
    }
    if (depth < 2) {
      error = "size expression is malformed; verify the plan before running it";
      return 0;
    }
    int64_t lhs = stack[depth - 2], rhs = stack[depth - 1], result = 0;
    if (!applyBinary(item.op, lhs, rhs, result)) {
      bool byZero = rhs == 0 && item.op != Expr::Op::Add && item.op != Expr::Op::Mul;
      error = std::string(byZero ? "division by zero in " : "64-bit overflow in ") + exprOpName(item.op) + "(" +
              std::to_string(lhs) + ", " + std::to_string(rhs) + ")";
      return 0;
    }
    stack[--depth - 1] = result;
  }
  if (depth > 1) {
    error = "size expression leaves " + std::to_string(depth) + " values; verify the plan before running it";
    return 0;
  }
  return depth == 0 ? 0 : stack[0];
}

std::string verify(const Expr &expr, size_t numSymbols) {
  int depth = 0;
  for (size_t i = 0; i < expr.items.size(); ++i) {
    const Expr::Item &item = expr.items[i];
    auto at = [&] { return std::string(exprOpName(item.op)) + " at item " + std::to_string(i); };
    if (uint8_t(item.op) > uint8_t(Expr::Op::Min))
      return "unknown operation " + std::to_string(int(item.op)) + " at item " + std::to_string(i);
    if (item.op == Expr::Op::Symbol && (item.value < 0 || uint64_t(item.value) >= numSymbols))
      return at() + " names s" + std::to_string(item.value) + ", but the plan has " + std::to_string(numSymbols) +
             " symbols";
    if (item.op == Expr::Op::Const || item.op == Expr::Op::Symbol) {
      if (++depth > Expr::maxDepth)
        return at() + " needs a stack deeper than " + std::to_string(Expr::maxDepth);
      continue;
    }
    if (depth < 2)
      return at() + " needs two values, the stack has " + std::to_string(depth);
    --depth;
  }
  if (depth > 1)
    return "the program leaves " + std::to_string(depth) + " values instead of one";
  return "";
}

std::string brokenGuard(const Plan &plan, const int64_t *symbols) {
  for (const Guard &guard : plan.guards) {
    std::string problem, second;
    const int64_t lhs = evaluate(guard.lhs, symbols, problem), rhs = evaluate(guard.rhs, symbols, second);
    if (problem.empty() && second.empty() && (guard.atLeast ? lhs >= rhs : lhs == rhs))
      continue;
    std::string values = problem + second;
    if (values.empty())
      values = guard.rhs.isSymbolFree() ? "here it is " + std::to_string(lhs)
                                        : "here they are " + std::to_string(lhs) + " and " + std::to_string(rhs);
    return "the sizes of the inputs do not fit the model: " + guard.text + "; " + values;
  }
  return "";
}

int64_t fixedBytes(const Buffer &buffer, std::string &error) {
  int64_t bytes = evaluate(buffer.bytes, nullptr, error);
  if (error.empty() && (bytes < 0 || bytes > int64_t(1) << 46))
    error = std::to_string(bytes);
  return error.empty() ? bytes : -1;
}

} // namespace tilewright::plan
