; Restricts the workers to the processors of the caller other than the one that executes the caller. Linux may wake a
; worker on that one, where it waits up to milliseconds until the caller has executed all chunks. Workers that are
; restricted to the same processors already stay as they are: a change takes 15 us for each.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

@stepwell.mask = internal global [16 x i64] zeroinitializer ; the processors of restricted workers

define internal void @stepwell.keep_workers_off_this_cpu() nounwind {
  %mask = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %error = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %cpu = call i32 @sched_getcpu()
  %failed = icmp slt i32 %error, 0
  %known = icmp ult i32 %cpu, 1024
  %refused = xor i1 %known, true
  %skip = or i1 %failed, %refused
  br i1 %skip, label %end, label %clear
clear:
  %cpu.64 = zext i32 %cpu to i64
  %word.number = lshr i64 %cpu.64, 6
  %bit.number = and i64 %cpu.64, 63
  %bit = shl i64 1, %bit.number
  %others = xor i64 %bit, -1
  %word = getelementptr [16 x i64], ptr %mask, i64 0, i64 %word.number
  %before = load i64, ptr %word
  %after = and i64 %before, %others
  store i64 %after, ptr %word
  br label %sum
sum:
  %n = phi i64 [ 0, %clear ], [ %n.next, %sum ]
  %any = phi i64 [ 0, %clear ], [ %any.next, %sum ]
  %changed = phi i64 [ 0, %clear ], [ %changed.next, %sum ]
  %each = getelementptr [16 x i64], ptr %mask, i64 0, i64 %n
  %bits = load i64, ptr %each
  %any.next = or i64 %any, %bits
  %known.word = getelementptr [16 x i64], ptr @stepwell.mask, i64 0, i64 %n
  %known.bits = load i64, ptr %known.word
  store i64 %bits, ptr %known.word
  %difference = xor i64 %bits, %known.bits
  %changed.next = or i64 %changed, %difference
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, 16
  br i1 %more, label %sum, label %decide
decide:
  %none = icmp eq i64 %any.next, 0
  %workers = load i32, ptr @stepwell.workers
  %idle = icmp slt i32 %workers, 1
  %nothing = or i1 %none, %idle
  br i1 %nothing, label %forget, label %compare
forget:
  store i32 0, ptr @stepwell.restricted
  br label %end
compare:
  %same = icmp eq i64 %changed.next, 0
  %restricted = load i32, ptr @stepwell.restricted
  %first = select i1 %same, i32 %restricted, i32 0
  store i32 %workers, ptr @stepwell.restricted
  %all = icmp sge i32 %first, %workers
  br i1 %all, label %end, label %restrict
restrict:
  %w = phi i32 [ %first, %compare ], [ %w.next, %restrict ]
  %w.64 = zext i32 %w to i64
  %place = getelementptr [{most_workers} x i64], ptr @stepwell.handles, i64 0, i64 %w.64
  %handle = load i64, ptr %place
  call i32 @pthread_setaffinity_np(i64 %handle, i64 128, ptr %mask)
  %w.next = add i32 %w, 1
  %rest = icmp slt i32 %w.next, %workers
  br i1 %rest, label %restrict, label %end
end:
  ret void
}
