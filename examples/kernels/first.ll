; out[0] = (a[0] + a[0]) * 1.0, computed twice
define void @first(ptr %out, ptr %a) {
  %x = load float, ptr %a
  %twice = fadd float %x, %x
  %again = fadd float %x, %x
  %same = fmul float %again, 1.0
  %half = fsub float %twice, %same
  %sum = fadd float %half, %same
  store float %sum, ptr %out
  ret void
}
