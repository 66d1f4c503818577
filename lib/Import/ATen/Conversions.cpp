//===- Conversions.cpp - dtype conversions and ops that change nothing -------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

Results sameTensor(Node &n) { return n.tensor(0, "self"); }

Results convert(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  return n.convert(x, n.element());
}

/// copy(self, src): casts `src`, and broadcasts it to the result's shape.
Results copyInto(Node &n) {
  Value source = n.tensor(1, "src");
  if (n.failed())
    return n.refused();
  return n.broadcast(n.cast(source, n.element()), sizesOf(n.type()));
}

/// An assertion that holds whenever the guards hold, so nothing is emitted.
Results nothing(Node &n) { return Results::none(); }

} // namespace

void registerConversions(Table &t) {
  for (llvm::StringRef op :
       {"clone", "alias", "detach", "lift", "lift_fresh", "lift_fresh_copy", "contiguous", "positive", "conj",
        "resolve_conj", "resolve_neg", "conj_physical", "_conj", "alias_copy", "detach_copy"})
    t[("aten." + op + ".default").str()] = sameTensor;
  t["aten._to_copy.default"] = convert;
  t["prims.convert_element_type.default"] = convert;
  t["prims.device_put.default"] = sameTensor;
  t["aten.copy.default"] = copyInto;
  t["aten._assert_tensor_metadata.default"] = nothing;
}

} // namespace tilewright
