// mvt of PolyBench, with a tenth of the sizes of MEDIUM: x1 + A y1, x2 + transposed A times y2.
func.func @main(%A: tensor<40x40xf32> {tw.name = "A"},
                %x1: tensor<40x1xf32> {tw.name = "x1"},
                %x2: tensor<40x1xf32> {tw.name = "x2"},
                %y1: tensor<40x1xf32> {tw.name = "y1"},
                %y2: tensor<40x1xf32> {tw.name = "y2"})
    -> (tensor<40x1xf32> {tw.name = "z1"}, tensor<40x1xf32> {tw.name = "z2"}) {
  %At = tw.permute %A {permutation = array<i64: 1, 0>} : tensor<40x40xf32> -> tensor<40x40xf32>
  %Ay = tw.matmul %A, %y1 : (tensor<40x40xf32>, tensor<40x1xf32>) -> tensor<40x1xf32>
  %Aty = tw.matmul %At, %y2 : (tensor<40x40xf32>, tensor<40x1xf32>) -> tensor<40x1xf32>
  %z1 = tw.add %x1, %Ay : (tensor<40x1xf32>, tensor<40x1xf32>) -> tensor<40x1xf32>
  %z2 = tw.add %x2, %Aty : (tensor<40x1xf32>, tensor<40x1xf32>) -> tensor<40x1xf32>
  return %z1, %z2 : tensor<40x1xf32>, tensor<40x1xf32>
}
