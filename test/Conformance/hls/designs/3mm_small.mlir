// 3mm of PolyBench, with a tenth of the sizes of MEDIUM: (A B) (C D).
func.func @main(%A: tensor<18x20xf32> {tw.name = "A"},
                %B: tensor<20x19xf32> {tw.name = "B"},
                %C: tensor<19x22xf32> {tw.name = "C"},
                %D: tensor<22x21xf32> {tw.name = "D"})
    -> (tensor<18x21xf32> {tw.name = "G"}) {
  %E = tw.matmul %A, %B : (tensor<18x20xf32>, tensor<20x19xf32>) -> tensor<18x19xf32>
  %F = tw.matmul %C, %D : (tensor<19x22xf32>, tensor<22x21xf32>) -> tensor<19x21xf32>
  %G = tw.matmul %E, %F : (tensor<18x19xf32>, tensor<19x21xf32>) -> tensor<18x21xf32>
  return %G : tensor<18x21xf32>
}
