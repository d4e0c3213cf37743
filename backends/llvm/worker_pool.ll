; The worker pool of the process: threads that execute parallel loops.
;
; stepwell.run_parallel divides the iterations of a loop into chunks. The caller and the workers claim chunks until none
; is left; then the caller waits for the chunks that workers have claimed. A worker that wakes late costs no time, as the
; caller executes its chunks.
;
; The ticket is the number of the loop in its upper 32 bits, and the number of chunks that nobody has claimed in its
; lower 32. A thread claims a chunk where it replaces the ticket by the next lower one. The fields of a loop change only
; while its ticket has no chunks and all claimed chunks are done, so a thread that has claimed a chunk reads fields of
; the same loop.
;
; A worker without work polls the ticket for some 50 us, then sleeps on a condition variable. A second loop that begins
; while the pool is busy, from another thread or inside an iteration, is executed by its own thread alone.
;
; A thread that executes a loop polls (signals.ll): it leaves its chunk early if another chunk has failed.
;
; Names in braces are replaced by worker_pool.py.

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()

@stepwell.threads = internal global i32 1                   ; that execute a loop, its caller included
@stepwell.busy = internal global i32 0                      ; 1 while a loop uses the pool
@stepwell.workers = internal global i32 0                   ; that have started
@stepwell.handles = internal global [{most_workers} x i64] zeroinitializer
@stepwell.restricted = internal global i32 0                ; the workers that have the processors of @stepwell.mask
@stepwell.asleep = internal global i32 0                    ; the workers that sleep, or are about to
@stepwell.mutex = internal global [128 x i8] zeroinitializer, align 64
@stepwell.wake = internal global [128 x i8] zeroinitializer, align 64

; the loop
@stepwell.ticket = internal global i64 0, align 128
@stepwell.done = internal global i32 0, align 128           ; chunks
@stepwell.status = internal global i32 0                    ; the first that is not 0; 0 if no loop uses the pool
@stepwell.owner = internal global i64 0                     ; the thread that called the loop
@stepwell.task = internal global ptr null, align 128        ; i32 (i64 first, i64 last, ptr context)
@stepwell.context = internal global ptr null
@stepwell.first = internal global i64 0
@stepwell.last = internal global i64 0
@stepwell.size = internal global i64 0                      ; the iterations of a chunk
@stepwell.chunks = internal global i64 0

; Sets the number of threads.
define void @stepwell.set_threads(i32 %count) nounwind {
  store atomic i32 %count, ptr @stepwell.threads monotonic, align 4
  ret void
}

; Prepares the pool: in a new process, and in a process after a fork, which has no workers.
define void @stepwell.reset() nounwind {
  call i32 @pthread_mutex_init(ptr @stepwell.mutex, ptr null)
  call i32 @pthread_cond_init(ptr @stepwell.wake, ptr null)
  store i32 0, ptr @stepwell.workers
  store i32 0, ptr @stepwell.asleep
  store i32 0, ptr @stepwell.restricted
  store i32 0, ptr @stepwell.status
  store atomic i32 0, ptr @stepwell.busy release, align 4
  %ticket = load i64, ptr @stepwell.ticket
  %closed = and i64 %ticket, -4294967296
  store atomic i64 %closed, ptr @stepwell.ticket seq_cst, align 8
  ret void
}

; Executes the iterations from %first to below %last by calls of %task with parts of the range of %grain iterations at
; least, except for the last part; alone, if each thread would execute less than %each iterations. Returns 0, or a status other than 0 of a call; chunks that no thread has claimed by
; then are not executed.
define i32 @stepwell.run_parallel(ptr %task, ptr %context, i64 %first, i64 %last, i64 %grain, i64 %each) nounwind {
  %count = sub i64 %last, %first
  %grains = sdiv i64 %count, %grain
  %several = icmp sgt i64 %grains, 1
  %threads = load atomic i32, ptr @stepwell.threads monotonic, align 4
  %shared = icmp sgt i32 %threads, 1
  %threads.wide = zext i32 %threads to i64
  %for.each = sdiv i64 %count, %threads.wide
  %enough = icmp sge i64 %for.each, %each
  %divided = and i1 %several, %shared
  %divide = and i1 %divided, %enough
  br i1 %divide, label %lock, label %alone
lock:
  %locked = cmpxchg ptr @stepwell.busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %locked, 1
  br i1 %free, label %prepare, label %alone
alone:
  %only = call i32 %task(i64 %first, i64 %last, ptr %context)
  ret i32 %only
prepare:
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr @stepwell.owner monotonic, align 8
  %needed = sub i32 %threads, 1
  %workers = load i32, ptr @stepwell.workers
  %missing = icmp slt i32 %workers, %needed
  br i1 %missing, label %start, label %publish
start:
  call void @stepwell.start_workers(i32 %needed)
  br label %publish
publish:
  %threads.64 = zext i32 %threads to i64
  %most = mul i64 %threads.64, {chunks_per_thread}
  %parts = call i64 @llvm.umin.i64(i64 %grains, i64 %most)
  %count.up = add i64 %count, %parts
  %count.less = sub i64 %count.up, 1
  %size = udiv i64 %count.less, %parts
  %size.up = add i64 %count, %size
  %size.less = sub i64 %size.up, 1
  %chunks = udiv i64 %size.less, %size
  store ptr %task, ptr @stepwell.task
  store ptr %context, ptr @stepwell.context
  store i64 %first, ptr @stepwell.first
  store i64 %last, ptr @stepwell.last
  store i64 %size, ptr @stepwell.size
  store i64 %chunks, ptr @stepwell.chunks
  store atomic i32 0, ptr @stepwell.done monotonic, align 4
  %old = load atomic i64, ptr @stepwell.ticket monotonic, align 8
  %base = and i64 %old, -4294967296
  %next = add i64 %base, 4294967296
  %ticket = or i64 %next, %chunks
  %published = atomicrmw xchg ptr @stepwell.ticket, i64 %ticket seq_cst
  %asleep = load atomic i32, ptr @stepwell.asleep seq_cst, align 4
  %sleeping = icmp sgt i32 %asleep, 0
  br i1 %sleeping, label %wake, label %work
wake:
  call void @stepwell.wake_workers()
  br label %work
work:
  call void @stepwell.execute_chunks()
  %chunks.32 = trunc i64 %chunks to i32
  br label %wait
wait:
  %polls = phi i32 [ 0, %work ], [ %polls.next, %again ]
  %done = load atomic i32, ptr @stepwell.done acquire, align 4
  %finished = icmp eq i32 %done, %chunks.32
  br i1 %finished, label %end, label %pause
pause:
  %polls.next = add i32 %polls, 1
  %patient = icmp ult i32 %polls, {polls}
  br i1 %patient, label %spin, label %yield
spin:
  call void @stepwell.pause()
  br label %again
yield:
  call i32 @sched_yield()
  %poll = call i32 @stepwell.poll()
  %quiet = icmp eq i32 %poll, 0
  br i1 %quiet, label %again, label %cancel
cancel:
  %kept = cmpxchg ptr @stepwell.status, i32 0, i32 %poll acq_rel monotonic
  br label %again
again:
  br label %wait
end:
  %status = load i32, ptr @stepwell.status
  store atomic i32 0, ptr @stepwell.status monotonic, align 4
  store atomic i32 0, ptr @stepwell.busy release, align 4
  ret i32 %status
}

; Claims and executes chunks until none is left.
define internal void @stepwell.execute_chunks() nounwind {
  br label %look
look:
  %ticket = load atomic i64, ptr @stepwell.ticket acquire, align 8
  %left.32 = trunc i64 %ticket to i32
  %none = icmp eq i32 %left.32, 0
  br i1 %none, label %end, label %claim
claim:
  %less = sub i64 %ticket, 1
  %pair = cmpxchg ptr @stepwell.ticket, i64 %ticket, i64 %less acq_rel acquire
  %claimed = extractvalue { i64, i1 } %pair, 1
  br i1 %claimed, label %check, label %look
check:
  %failed.before = load atomic i32, ptr @stepwell.status monotonic, align 4
  %healthy = icmp eq i32 %failed.before, 0
  br i1 %healthy, label %execute, label %count
execute:
  %left = zext i32 %left.32 to i64
  %chunks = load i64, ptr @stepwell.chunks
  %number = sub i64 %chunks, %left
  %size = load i64, ptr @stepwell.size
  %offset = mul i64 %number, %size
  %start = load i64, ptr @stepwell.first
  %stop = load i64, ptr @stepwell.last
  %first = add i64 %start, %offset
  %rest = sub i64 %stop, %first
  %length = call i64 @llvm.umin.i64(i64 %size, i64 %rest)
  %last = add i64 %first, %length
  %task = load ptr, ptr @stepwell.task
  %context = load ptr, ptr @stepwell.context
  %status = call i32 %task(i64 %first, i64 %last, ptr %context)
  %passed = icmp eq i32 %status, 0
  br i1 %passed, label %count, label %fail
fail:
  %kept = cmpxchg ptr @stepwell.status, i32 0, i32 %status acq_rel monotonic
  br label %count
count:
  %before = atomicrmw add ptr @stepwell.done, i32 1 seq_cst
  br label %look
end:
  ret void
}

; Whether a thread is the caller of the loop that uses the pool, or a worker.
define internal i1 @stepwell.executes_loop(i64 %thread) nounwind {
  %owner = load atomic i64, ptr @stepwell.owner monotonic, align 8
  %called = icmp eq i64 %thread, %owner
  br i1 %called, label %yes, label %begin
begin:
  %workers = load atomic i32, ptr @stepwell.workers monotonic, align 4
  br label %next
next:
  %n = phi i32 [ 0, %begin ], [ %n.next, %compare ]
  %more = icmp slt i32 %n, %workers
  br i1 %more, label %compare, label %no
compare:
  %n.64 = sext i32 %n to i64
  %place = getelementptr [{most_workers} x i64], ptr @stepwell.handles, i64 0, i64 %n.64
  %handle = load i64, ptr %place
  %n.next = add i32 %n, 1
  %same = icmp eq i64 %handle, %thread
  br i1 %same, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Starts workers until there are %needed. They receive no signals, which belong to the threads of the program.
define internal void @stepwell.start_workers(i32 %needed) nounwind {
  %all = alloca [128 x i8], align 8
  %old = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  call i32 @pthread_sigmask(i32 {block_signals}, ptr %all, ptr %old)
  br label %next
next:
  %workers = load i32, ptr @stepwell.workers
  %number = sext i32 %workers to i64
  %missing = icmp slt i32 %workers, %needed
  br i1 %missing, label %start, label %end
start:
  %handle = getelementptr [{most_workers} x i64], ptr @stepwell.handles, i64 0, i64 %number
  %argument = inttoptr i64 %number to ptr
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @stepwell.work, ptr %argument)
  %started = icmp eq i32 %error, 0
  br i1 %started, label %count, label %end
count:
  %thread = load i64, ptr %handle
  call i32 @pthread_detach(i64 %thread)
  %more = add i32 %workers, 1
  store atomic i32 %more, ptr @stepwell.workers monotonic, align 4
  br label %next
end:
  call i32 @pthread_sigmask(i32 {set_signals}, ptr %old, ptr null)
  ret void
}

; The life of a worker. A worker beyond the number of threads only sleeps.
define internal ptr @stepwell.work(ptr %argument) nounwind {
  %number = ptrtoint ptr %argument to i64
  br label %poll
poll:
  %polls = phi i32 [ 0, %0 ], [ %polls.next, %spin ], [ 0, %execute ], [ 0, %awake ]
  %open = call i1 @stepwell.has_chunks(i64 %number)
  br i1 %open, label %execute, label %pause
execute:
  call void @stepwell.execute_chunks()
  br label %poll
pause:
  %polls.next = add i32 %polls, 1
  %patient = icmp ult i32 %polls, {polls}
  br i1 %patient, label %spin, label %sleep
spin:
  call void @stepwell.pause()
  br label %poll
sleep:
  call i32 @pthread_mutex_lock(ptr @stepwell.mutex)
  %asleep = atomicrmw add ptr @stepwell.asleep, i32 1 seq_cst
  %late = call i1 @stepwell.has_chunks(i64 %number)
  br i1 %late, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @stepwell.wake, ptr @stepwell.mutex)
  br label %awake
awake:
  %awake.now = atomicrmw sub ptr @stepwell.asleep, i32 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @stepwell.mutex)
  br label %poll
}

; Whether there are chunks that a worker may claim.
define internal i1 @stepwell.has_chunks(i64 %number) nounwind alwaysinline {
  %ticket = load atomic i64, ptr @stepwell.ticket seq_cst, align 8
  %left = trunc i64 %ticket to i32
  %open = icmp ne i32 %left, 0
  %threads = load atomic i32, ptr @stepwell.threads monotonic, align 4
  %threads.64 = sext i32 %threads to i64
  %place = add i64 %number, 1
  %within = icmp slt i64 %place, %threads.64
  %may = and i1 %open, %within
  ret i1 %may
}

; Wakes the workers that sleep. The mutex orders the signal after the sleep of a worker that has found no chunks.
define internal void @stepwell.wake_workers() nounwind {
  call void @stepwell.keep_workers_off_this_cpu()
  call i32 @pthread_mutex_lock(ptr @stepwell.mutex)
  call i32 @pthread_cond_broadcast(ptr @stepwell.wake)
  call i32 @pthread_mutex_unlock(ptr @stepwell.mutex)
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

