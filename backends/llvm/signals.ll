; Signals during native code, calls of functions of Python by native code, and calls of functions with bound arguments.
;
; Python records a signal when it arrives, and calls its handler in the main thread when that thread runs Python next. A
; long loop therefore polls: some times a second the main thread takes Python's lock and calls the handlers. An exception
; of a handler becomes a status, with which all functions return, to the caller that raises it. Other threads of Python
; call no handlers.
;
; Exceptions wait in a dictionary under their status. Statuses of exceptions are negative, above {cancelled}, the status
; of a thread that leaves a loop because another thread has failed.

@stepwell.pending = external global i8       ; the dictionary
@stepwell.none = external global i8          ; None
@stepwell.main_thread = external global i64  ; the thread that calls handlers
@stepwell.next_poll = internal global i64 0  ; in nanoseconds
@stepwell.errors = internal global i32 0     ; the number of exceptions so far

declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_Clear()
declare i32 @PyException_SetTraceback(ptr, ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_DecRef(ptr)

; Returns 0, or a status with which the caller must return: another thread has failed in an iteration of the loop whose
; iterations this thread executes, or a handler has raised an exception.
define i32 @stepwell.poll() nounwind {
  %self = call i64 @pthread_self()
  %status = load atomic i32, ptr @stepwell.status acquire, align 4
  %healthy = icmp eq i32 %status, 0
  br i1 %healthy, label %signals, label %failed
failed:
  %mine = call i1 @stepwell.executes_loop(i64 %self)
  br i1 %mine, label %leave, label %signals
leave:
  ret i32 {cancelled}
signals:
  %main = load atomic i64, ptr @stepwell.main_thread monotonic, align 8
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %measure, label %end
measure:
  %now = call i64 @stepwell.nanoseconds()
  %next = load i64, ptr @stepwell.next_poll
  %due = icmp sge i64 %now, %next
  br i1 %due, label %check, label %end
check:
  %after = add i64 %now, {poll_interval}
  store i64 %after, ptr @stepwell.next_poll
  %error = call i32 @stepwell.call_handlers()
  ret i32 %error
end:
  ret i32 0
}

define internal i64 @stepwell.nanoseconds() nounwind {
  %time = alloca { i64, i64 }
  call i32 @clock_gettime(i32 {monotonic_clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.word = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.word
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Calls the handlers of signals that have arrived. Returns 0, or the status of an exception.
define internal i32 @stepwell.call_handlers() nounwind {
  %lock = call i32 @PyGILState_Ensure()
  %error = call i32 @PyErr_CheckSignals()
  %none = icmp eq i32 %error, 0
  br i1 %none, label %end, label %raised
raised:
  %kept = call i32 @stepwell.keep_exception()
  br label %end
end:
  %status = phi i32 [ 0, %0 ], [ %kept, %raised ]
  call void @PyGILState_Release(i32 %lock)
  ret i32 %status
}

; Calls a function of Python with a number and an address. Returns 0, or the status of an exception.
define i32 @stepwell.call_python(ptr %function, i32 %number, ptr %slots) nounwind {
  %arguments = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %arguments, i64 1
  %number.64 = sext i32 %number to i64
  %lock = call i32 @PyGILState_Ensure()
  %a = call ptr @PyLong_FromLongLong(i64 %number.64)
  %b = call ptr @PyLong_FromVoidPtr(ptr %slots)
  store ptr %a, ptr %arguments
  store ptr %b, ptr %second
  %no.a = icmp eq ptr %a, null
  %no.b = icmp eq ptr %b, null
  %missing = or i1 %no.a, %no.b
  br i1 %missing, label %release, label %call
call:
  %returned = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 2, ptr null)
  br label %release
release:
  %result = phi ptr [ null, %0 ], [ %returned, %call ]
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %b)
  call void @Py_DecRef(ptr %result)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %keep, label %end
keep:
  %kept = call i32 @stepwell.keep_exception()
  br label %end
end:
  %status = phi i32 [ 0, %release ], [ %kept, %keep ]
  call void @PyGILState_Release(i32 %lock)
  ret i32 %status
}

; Moves the exception of this thread to the dictionary. Returns its status.
define internal i32 @stepwell.keep_exception() nounwind {
  %parts = alloca [3 x ptr]
  call void @llvm.memset.p0.i64(ptr %parts, i8 0, i64 24, i1 false)
  %value.word = getelementptr ptr, ptr %parts, i64 1
  %traceback.word = getelementptr ptr, ptr %parts, i64 2
  call void @PyErr_Fetch(ptr %parts, ptr %value.word, ptr %traceback.word)
  call void @PyErr_NormalizeException(ptr %parts, ptr %value.word, ptr %traceback.word)
  %type = load ptr, ptr %parts
  %value = load ptr, ptr %value.word
  %traceback = load ptr, ptr %traceback.word
  %none = icmp eq ptr %traceback, null
  br i1 %none, label %number, label %attach
attach:
  call i32 @PyException_SetTraceback(ptr %value, ptr %traceback)
  br label %number
number:
  %count = atomicrmw add ptr @stepwell.errors, i32 1 monotonic
  %part = urem i32 %count, {statuses}
  %status = sub i32 -1, %part
  %status.64 = sext i32 %status to i64
  %key = call ptr @PyLong_FromLongLong(i64 %status.64)
  %no.key = icmp eq ptr %key, null
  br i1 %no.key, label %clear, label %add
add:
  call i32 @PyDict_SetItem(ptr @stepwell.pending, ptr %key, ptr %value)
  br label %clear
clear:
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %key)
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %traceback)
  ret i32 %status
}
