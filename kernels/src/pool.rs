//! The thread pool: one parallel loop at a time, dispatched in microseconds.
//!
//! The calling thread takes part. Tasks are handed out by a counter, so a thread
//! that is late, or that the system runs elsewhere, costs at most the task it
//! holds: the others take the rest, and a worker that wakes after the loop has
//! closed never enters it. Nothing is allocated per loop.
//!
//! A worker spins for [`SPIN`] after a loop, since the next kernel of a step
//! follows within microseconds, and then parks: an idle pool uses no processor.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::error::{KernelError, Result};

/// How long a worker waits awake for the next loop.
const SPIN: Duration = Duration::from_micros(100);
/// Checks of the state between two looks at the clock.
const CHECKS_PER_CLOCK: u32 = 32;

/// A task of a loop: called with the task's number and the number of the thread
/// that runs it (0 is the caller), which is less than [`ThreadPool::threads`].
type Task = dyn Fn(usize, usize) + Sync;

// The state word: the loop's number in the high half, then OPEN, SHUT, and the
// number of workers inside in the low bits. A worker enters by adding one while
// OPEN stands, so the caller knows whom to wait for once it has cleared OPEN.
const OPEN: u64 = 1 << 31;
const SHUT: u64 = 1 << 30;
const INSIDE: u64 = SHUT - 1;
const LOOP: u64 = 1 << 32;

#[repr(align(128))]
struct Line<T>(T);

struct State {
    word: Line<AtomicU64>,
    next: Line<AtomicUsize>,
    /// The loop's task and its number of tasks. Written by the caller while no worker is inside.
    job: UnsafeCell<(*const Task, usize)>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    parked: Box<[Line<AtomicBool>]>,
}

// SAFETY: `job` is written only while the word is not OPEN and nobody is inside,
// and read only by a worker that entered; entering and leaving synchronise.
unsafe impl Sync for State {}
// SAFETY: the raw pointer is only dereferenced inside a loop, see `run_indexed`.
unsafe impl Send for State {}

/// A fixed set of threads that run parallel loops.
///
/// ```
/// let pool = linnet_kernels::ThreadPool::new(2)?;
/// let sum = std::sync::atomic::AtomicUsize::new(0);
/// pool.run(10, &|i| {
///     sum.fetch_add(i, std::sync::atomic::Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// # Ok::<(), linnet_kernels::KernelError>(())
/// ```
pub struct ThreadPool {
    state: Arc<State>,
    workers: Vec<(Thread, Option<JoinHandle<()>>)>,
    /// Held by the thread whose loop is running.
    caller: Mutex<()>,
}

thread_local! {
    /// Whether this thread is inside a loop of any pool.
    static IN_LOOP: Cell<bool> = const { Cell::new(false) };
}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPool")
            .field("threads", &self.threads())
            .finish()
    }
}

impl ThreadPool {
    /// A pool of `threads` threads, the caller included: `threads - 1` are started.
    ///
    /// # Errors
    /// If `threads` is 0, or the system refuses to start one.
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(KernelError::Invalid {
                kernel: "ThreadPool::new",
                what: "a pool needs at least one thread (the caller), found 0",
            });
        }
        let parked = (1..threads).map(|_| Line(AtomicBool::new(false))).collect();
        let state = Arc::new(State {
            word: Line(AtomicU64::new(0)),
            next: Line(AtomicUsize::new(0)),
            job: UnsafeCell::new((&(|_, _| {}) as *const Task, 0)),
            panic: Mutex::new(None),
            parked,
        });
        let mut pool = Self {
            state,
            workers: Vec::with_capacity(threads - 1),
            caller: Mutex::new(()),
        };
        for index in 1..threads {
            let state = Arc::clone(&pool.state);
            let handle = thread::Builder::new()
                .name(format!("linnet-{index}"))
                .spawn(move || work(&state, index))
                .map_err(|_| KernelError::Threads { index, threads })?;
            pool.workers.push((handle.thread().clone(), Some(handle)));
        }
        Ok(pool)
    }

    /// The number of threads, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `task(0)` to `task(n_tasks - 1)`, each once, and returns when all are done.
    ///
    /// A call from within a task, or while another thread's loop is running, runs
    /// its tasks on the calling thread alone.
    ///
    /// # Panics
    /// With a task's own panic, after all running tasks have ended. Tasks that had
    /// not started by then do not run.
    pub fn run(&self, n_tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        self.run_indexed(n_tasks, &|i, _| task(i));
    }

    /// As [`run`](Self::run); each task is also told which thread runs it, a number less than
    /// [`threads`](Self::threads), so that threads can have scratch space of their own.
    pub fn run_indexed(&self, n_tasks: usize, task: &(dyn Fn(usize, usize) + Sync)) {
        if n_tasks <= 1 || self.workers.is_empty() || IN_LOOP.get() {
            return (0..n_tasks).for_each(|i| task(i, 0));
        }
        let _caller = match self.caller.try_lock() {
            Ok(guard) => guard,
            // A task's panic passed through an earlier loop; the pool itself is in order.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return (0..n_tasks).for_each(|i| task(i, 0)),
        };
        let state = &*self.state;
        // The pointer outlives its use: this function does not return, nor unwind,
        // before every worker that entered the loop has left it.
        // SAFETY: only the lifetime changes; see above for why the pointee lives long enough.
        let erased: *const Task =
            unsafe { std::mem::transmute::<&(dyn Fn(usize, usize) + Sync), &Task>(task) };
        // SAFETY: this thread holds `caller`, the word is not OPEN, and nobody is inside.
        unsafe { *state.job.get() = (erased, n_tasks) };
        state.next.0.store(0, Ordering::Relaxed);
        let word = state.word.0.load(Ordering::Relaxed);
        state.word.0.store(
            (word & !(LOOP - 1)).wrapping_add(LOOP) | OPEN,
            Ordering::SeqCst,
        );
        for ((thread, _), parked) in self.workers.iter().zip(&state.parked).take(n_tasks - 1) {
            if parked.0.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }

        IN_LOOP.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(|| drain(state, task, n_tasks, 0)));
        IN_LOOP.set(false);
        if outcome.is_err() {
            state.next.0.store(n_tasks, Ordering::Relaxed);
        }
        state.word.0.fetch_and(!OPEN, Ordering::AcqRel);
        let mut wait = Wait::new();
        while state.word.0.load(Ordering::Acquire) & INSIDE != 0 {
            if !wait.spin() {
                thread::yield_now();
            }
        }
        if let Err(payload) = outcome {
            lock(&state.panic).take();
            resume_unwind(payload);
        }
        if let Some(payload) = lock(&state.panic).take() {
            resume_unwind(payload);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.state.word.0.fetch_or(SHUT, Ordering::SeqCst);
        for (thread, handle) in &mut self.workers {
            thread.unpark();
            if let Some(handle) = handle.take() {
                // A worker catches its tasks' panics, so joining cannot fail; if it did there is nobody to tell.
                let _ = handle.join();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes tasks until there are none.
fn drain(state: &State, task: &(dyn Fn(usize, usize) + Sync), n_tasks: usize, thread: usize) {
    loop {
        let i = state.next.0.fetch_add(1, Ordering::Relaxed);
        if i >= n_tasks {
            return;
        }
        task(i, thread);
    }
}

/// A worker's life.
fn work(state: &State, index: usize) {
    IN_LOOP.set(true);
    let parked = &state.parked[index - 1].0;
    let mut seen = 0;
    loop {
        let word = await_loop(state, parked, seen);
        if word & SHUT != 0 {
            return;
        }
        seen = word & !(LOOP - 1);
        if !enter(state, word) {
            continue;
        }
        // SAFETY: this worker is inside, so the caller keeps the job unchanged and its task alive.
        let (task, n_tasks) = unsafe { *state.job.get() };
        // SAFETY: as above.
        let task = unsafe { &*task };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drain(state, task, n_tasks, index)))
        {
            state.next.0.store(n_tasks, Ordering::Relaxed);
            lock(&state.panic).get_or_insert(payload);
        }
        state.word.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits for an open loop after `seen` or for the end of the pool, and returns the word.
fn await_loop(state: &State, parked: &AtomicBool, seen: u64) -> u64 {
    let news = |word: u64| word & SHUT != 0 || (word & OPEN != 0 && word & !(LOOP - 1) != seen);
    loop {
        let mut wait = Wait::new();
        loop {
            let word = state.word.0.load(Ordering::Acquire);
            if news(word) {
                return word;
            }
            if !wait.spin() {
                break;
            }
        }
        // The flag goes up before the last look at the word, and the caller looks
        // at the flag after it has written the word: one of the two sees the other.
        parked.store(true, Ordering::SeqCst);
        while !news(state.word.0.load(Ordering::SeqCst)) {
            thread::park();
        }
        parked.store(false, Ordering::Relaxed);
    }
}

/// Adds this worker to those inside, unless the loop of `word` has closed.
fn enter(state: &State, mut word: u64) -> bool {
    let number = word & !(LOOP - 1);
    while word & OPEN != 0 && word & !(LOOP - 1) == number {
        match state.word.0.compare_exchange_weak(
            word,
            word + 1,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => return true,
            Err(now) => word = now,
        }
    }
    false
}

/// Waiting awake, for a while.
struct Wait {
    checks: u32,
    since: Option<Instant>,
}

impl Wait {
    fn new() -> Self {
        Self {
            checks: 0,
            since: None,
        }
    }

    /// Passes a moment; false once [`SPIN`] is over.
    fn spin(&mut self) -> bool {
        std::hint::spin_loop();
        self.checks += 1;
        if !self.checks.is_multiple_of(CHECKS_PER_CLOCK) {
            return true;
        }
        match self.since {
            None => {
                self.since = Some(Instant::now());
                true
            }
            Some(since) => {
                self.checks = 0;
                since.elapsed() < SPIN
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pool: &ThreadPool, n: usize) {
        let hits: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        pool.run_indexed(n, &|i, thread| {
            assert!(thread < pool.threads());
            hits[i].fetch_add(1, Ordering::Relaxed);
        });
        assert!(
            hits.iter().all(|h| h.load(Ordering::Relaxed) == 1),
            "{n} tasks"
        );
    }

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 8] {
            let pool = ThreadPool::new(threads).unwrap();
            assert_eq!(pool.threads(), threads);
            for n in [0, 1, 2, 3, 7, 100, 1000] {
                count(&pool, n);
            }
        }
        assert!(ThreadPool::new(0).is_err());
    }

    #[test]
    fn many_loops_with_pauses() {
        let pool = ThreadPool::new(3).unwrap();
        for i in 0..3000 {
            count(&pool, i % 9);
            if i % 500 == 0 {
                thread::sleep(SPIN * 3);
            }
        }
    }

    #[test]
    fn nested_and_concurrent_loops_run_inline() {
        let pool = ThreadPool::new(3).unwrap();
        let total = AtomicUsize::new(0);
        pool.run(8, &|_| {
            pool.run(5, &|_| {
                total.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(total.load(Ordering::Relaxed), 40);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|n| count(&pool, n % 7)));
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = ThreadPool::new(3).unwrap();
        for bad in 0..6 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.run(6, &|i| {
                    thread::sleep(Duration::from_micros(50));
                    assert!(i != bad, "task {i} fails");
                });
            }));
            let payload = caught.expect_err("the panic must propagate");
            let message = payload
                .downcast_ref::<String>()
                .expect("a formatted message");
            assert_eq!(message, &format!("task {bad} fails"));
            count(&pool, 50);
        }
        meet(&pool);
    }

    /// Two tasks that wait for each other: ends only if two threads run them.
    fn meet(pool: &ThreadPool) {
        let barrier = std::sync::Barrier::new(2);
        pool.run(2, &|_| {
            barrier.wait();
        });
    }

    #[test]
    fn all_threads_take_part() {
        let pool = ThreadPool::new(2).unwrap();
        (0..20).for_each(|_| meet(&pool));
    }
}
