// Records are looked up by the key of a kernel, which `stamp` attaches; a kernel without a record keeps its schedule.
// RUN: tilewright-opt %s --tw-select-schedule --tw-apply-records=stamp=true | FileCheck %s
// RUN: rm -rf %t && mkdir %t
// RUN: tilewright-opt %s --tw-select-schedule --tw-apply-records=records=%t | FileCheck %s --check-prefix=KEPT

// CHECK: func.func private @product
// CHECK-SAME: tw.family = "{{[0-9a-f]+}}"
// CHECK-SAME: tw.signature = "{{[0-9a-f]+}}", tw.sizes_of_family = array<i64: 256, 128, 128, 192, 256, 192, 256, 192>
// KEPT: func.func private @product
// KEPT-SAME: tw.schedule = #tw_cpu.schedule<tiles = [

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: tensor<256x128xbf16>, %b: tensor<128x192xbf16>, %out: tensor<256x192xf32>) -> tensor<256x192xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<256x192xf32>) -> tensor<256x192xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<256x128xbf16>, tensor<128x192xbf16>) outs(%init : tensor<256x192xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %sum, %r : f32
    linalg.yield %s : f32
  } -> tensor<256x192xf32>
  return %0 : tensor<256x192xf32>
}
func.func @main(%a: tensor<256x128xbf16>, %b: tensor<128x192xbf16>) -> tensor<256x192xf32> {
  %empty = tensor.empty() : tensor<256x192xf32>
  %0 = call @product(%a, %b, %empty) : (tensor<256x128xbf16>, tensor<128x192xbf16>, tensor<256x192xf32>) -> tensor<256x192xf32>
  return %0 : tensor<256x192xf32>
}
