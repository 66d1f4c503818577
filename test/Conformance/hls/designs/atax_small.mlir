// atax of PolyBench, with a tenth of the sizes of MEDIUM: transposed A times (A x).
func.func @main(%A: tensor<39x41xf32> {tw.name = "A"},
                %x: tensor<41x1xf32> {tw.name = "x"})
    -> (tensor<41x1xf32> {tw.name = "y"}) {
  %tmp = tw.matmul %A, %x : (tensor<39x41xf32>, tensor<41x1xf32>) -> tensor<39x1xf32>
  %At = tw.permute %A {permutation = array<i64: 1, 0>} : tensor<39x41xf32> -> tensor<41x39xf32>
  %y = tw.matmul %At, %tmp : (tensor<41x39xf32>, tensor<39x1xf32>) -> tensor<41x1xf32>
  return %y : tensor<41x1xf32>
}
