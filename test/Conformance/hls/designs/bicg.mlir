// bicg of PolyBench, size MEDIUM: q = A p, s = transposed A times r.
func.func @main(%A: tensor<410x390xf32> {tw.name = "A"},
                %p: tensor<390x1xf32> {tw.name = "p"},
                %r: tensor<410x1xf32> {tw.name = "r"})
    -> (tensor<390x1xf32> {tw.name = "s"}, tensor<410x1xf32> {tw.name = "q"}) {
  %At = tw.permute %A {permutation = array<i64: 1, 0>} : tensor<410x390xf32> -> tensor<390x410xf32>
  %s = tw.matmul %At, %r : (tensor<390x410xf32>, tensor<410x1xf32>) -> tensor<390x1xf32>
  %q = tw.matmul %A, %p : (tensor<410x390xf32>, tensor<390x1xf32>) -> tensor<410x1xf32>
  return %s, %q : tensor<390x1xf32>, tensor<410x1xf32>
}
