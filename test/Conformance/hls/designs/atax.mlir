// atax of PolyBench, size MEDIUM: transposed A times (A x).
func.func @main(%A: tensor<390x410xf32> {tw.name = "A"},
                %x: tensor<410x1xf32> {tw.name = "x"})
    -> (tensor<410x1xf32> {tw.name = "y"}) {
  %tmp = tw.matmul %A, %x : (tensor<390x410xf32>, tensor<410x1xf32>) -> tensor<390x1xf32>
  %At = tw.permute %A {permutation = array<i64: 1, 0>} : tensor<390x410xf32> -> tensor<410x390xf32>
  %y = tw.matmul %At, %tmp : (tensor<410x390xf32>, tensor<390x1xf32>) -> tensor<410x1xf32>
  return %y : tensor<410x1xf32>
}
