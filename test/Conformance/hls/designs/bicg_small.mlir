// bicg of PolyBench, with a tenth of the sizes of MEDIUM: q = A p, s = transposed A times r.
func.func @main(%A: tensor<41x39xf32> {tw.name = "A"},
                %p: tensor<39x1xf32> {tw.name = "p"},
                %r: tensor<41x1xf32> {tw.name = "r"})
    -> (tensor<39x1xf32> {tw.name = "s"}, tensor<41x1xf32> {tw.name = "q"}) {
  %At = tw.permute %A {permutation = array<i64: 1, 0>} : tensor<41x39xf32> -> tensor<39x41xf32>
  %s = tw.matmul %At, %r : (tensor<39x41xf32>, tensor<41x1xf32>) -> tensor<39x1xf32>
  %q = tw.matmul %A, %p : (tensor<41x39xf32>, tensor<39x1xf32>) -> tensor<41x1xf32>
  return %s, %q : tensor<39x1xf32>, tensor<41x1xf32>
}
