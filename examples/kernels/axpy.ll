; out[i] = 3 * a[i] + b[i], with a counter in memory, as a plain front end makes it
define void @axpy(ptr %out, ptr %a, ptr %b) {
entry:
  %i = alloca i64
  store i64 0, ptr %i
  br label %loop
loop:
  %at = load i64, ptr %i
  %pa = getelementptr float, ptr %a, i64 %at
  %pb = getelementptr float, ptr %b, i64 %at
  %po = getelementptr float, ptr %out, i64 %at
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %scaled = fmul float %x, 3.0
  %sum = fadd float %scaled, %y
  store float %sum, ptr %po
  %next = add i64 %at, 1
  store i64 %next, ptr %i
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  ret void
}
