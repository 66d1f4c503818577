// 3mm of PolyBench, size MEDIUM: (A B) (C D).
func.func @main(%A: tensor<180x200xf32> {tw.name = "A"},
                %B: tensor<200x190xf32> {tw.name = "B"},
                %C: tensor<190x220xf32> {tw.name = "C"},
                %D: tensor<220x210xf32> {tw.name = "D"})
    -> (tensor<180x210xf32> {tw.name = "G"}) {
  %E = tw.matmul %A, %B : (tensor<180x200xf32>, tensor<200x190xf32>) -> tensor<180x190xf32>
  %F = tw.matmul %C, %D : (tensor<190x220xf32>, tensor<220x210xf32>) -> tensor<190x210xf32>
  %G = tw.matmul %E, %F : (tensor<180x190xf32>, tensor<190x210xf32>) -> tensor<180x210xf32>
  return %G : tensor<180x210xf32>
}
