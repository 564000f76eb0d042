//! The orders in which things can happen to a run: every one of two threads, and many thousands of three.

use std::sync::atomic::AtomicUsize;

use shuttle::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;

type Ending = SubAgentState;

fn dropped(_: bool) -> (SubAgentState, Ending) {
    (SubAgentState::Failed, SubAgentState::Failed)
}

/// A run, how often its end was told, and whether it was told to end.
struct Run {
    slots: Slots,
    cell: Arc<Cell<Ending>>,
    guard: Option<Guard<Ending>>,
    told: Arc<AtomicUsize>,
    token: Arc<AtomicBool>,
}

impl Run {
    fn new(slots: &Slots) -> Self {
        let told = Arc::new(AtomicUsize::new(0));
        let cell = Cell::new(slots.take().ok().unwrap());
        let (count, free) = (Arc::clone(&told), slots.clone());
        let guard = Guard::new(Arc::clone(&cell), dropped, move |_| {
            // Whoever hears of the end of the only run finds its place free.
            assert!(free.take().is_ok());
            count.fetch_add(1, Ordering::SeqCst);
        });
        let (guard, token) = (Some(guard), Arc::new(AtomicBool::new(false)));
        Self { slots: slots.clone(), cell, guard, told, token }
    }

    /// What the manager does to cancel it.
    fn canceller(&self) -> impl FnOnce() + Send + 'static {
        let (cell, token) = (Arc::clone(&self.cell), Arc::clone(&self.token));
        move || {
            if cell.cancel() {
                token.store(true, Ordering::SeqCst);
            }
        }
    }

    /// What is true of every run when all is over.
    fn check(&self) {
        assert_eq!(self.told.load(Ordering::SeqCst), 1, "one terminal event");
        assert_eq!(self.slots.active(), 0, "no place is taken");
        let state = self.cell.state();
        assert!(state.is_terminal());
        assert_eq!(self.cell.end.get().map(|it| **it).as_ref(), Some(&state));
        if state == SubAgentState::Canceled {
            assert!(
                self.token.load(Ordering::SeqCst),
                "nobody is cancelled who was not told to end"
            );
        }
        assert!(!self.cell.cancel(), "what is over stays as it is");
        assert_eq!(self.cell.state(), state);
    }
}

/// The loop: it looks at its token now and then, and ends as that says.
fn work(guard: Guard<Ending>, cell: &Cell<Ending>, token: &AtomicBool) {
    cell.works(1);
    for _ in 0..2 {
        if token.load(Ordering::SeqCst) {
            return guard.settle(SubAgentState::Canceled, SubAgentState::Canceled);
        }
    }
    guard.settle(SubAgentState::Completed, SubAgentState::Completed);
}

/// All of them. It ends only where there are two threads that do little.
fn every_order(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_dfs(test, None);
}

/// Those that are known to find what goes wrong with up to three changes of threads, and chance besides. What is tried is the same
/// each time.
fn many_orders(test: impl Fn() + Send + Sync + Clone + 'static) {
    let pct = shuttle::scheduler::PctScheduler::new_from_seed(1, 3, 5_000);
    shuttle::Runner::new(pct, shuttle::Config::default()).run(test.clone());
    let chance = shuttle::scheduler::RandomScheduler::new_from_seed(1, 5_000);
    shuttle::Runner::new(chance, shuttle::Config::default()).run(test);
}

fn complete_against(cancellers: usize) {
    let slots = Slots::new(1);
    let mut run = Run::new(&slots);
    let guard = run.guard.take().unwrap();
    let (cell, token) = (Arc::clone(&run.cell), Arc::clone(&run.token));
    let mut threads = vec![thread::spawn(move || work(guard, &cell, &token))];
    threads.extend((0..cancellers).map(|_| thread::spawn(run.canceller())));
    for thread in threads {
        thread.join().unwrap();
    }
    run.check();
}

#[test]
fn complete_against_cancel() {
    every_order(|| complete_against(1));
}

#[test]
fn complete_against_cancel_against_shutdown() {
    many_orders(|| complete_against(2));
}

#[test]
fn panic_against_cancel() {
    every_order(|| {
        let slots = Slots::new(1);
        let mut run = Run::new(&slots);
        let guard = run.guard.take().unwrap();
        let cell = Arc::clone(&run.cell);
        let threads = [
            // What unwinding does.
            thread::spawn(move || {
                cell.works(1);
                drop(guard);
            }),
            thread::spawn(run.canceller()),
        ];
        for thread in threads {
            thread.join().unwrap();
        }
        run.check();
        assert_eq!(run.cell.state(), SubAgentState::Failed);
    });
}

/// What unwinding does, while one cancels it and another one shuts everything down.
#[test]
fn panic_against_cancel_against_shutdown() {
    many_orders(|| {
        let slots = Slots::new(1);
        let mut run = Run::new(&slots);
        let guard = run.guard.take().unwrap();
        let (cell, token) = (Arc::clone(&run.cell), Arc::clone(&run.token));
        let breaks = thread::spawn(move || {
            cell.works(1);
            if token.load(Ordering::SeqCst) {
                return guard.settle(SubAgentState::Canceled, SubAgentState::Canceled);
            }
            drop(guard);
        });
        let threads = [breaks, thread::spawn(run.canceller()), thread::spawn(run.canceller())];
        for thread in threads {
            thread.join().unwrap();
        }
        run.check();
        assert!(run.cell.state() != SubAgentState::Completed);
    });
}

#[test]
fn never_more_run_than_may_and_every_place_comes_back() {
    many_orders(|| {
        let slots = Slots::new(1);
        let running = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let (slots, running) = (slots.clone(), Arc::clone(&running));
                thread::spawn(move || {
                    let Ok(permit) = slots.take() else { return false };
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    let cell: Arc<Cell<Ending>> = Cell::new(permit);
                    let guard = Guard::new(Arc::clone(&cell), dropped, |_| {});
                    running.fetch_sub(1, Ordering::SeqCst);
                    if number == 0 {
                        guard.settle(SubAgentState::Completed, SubAgentState::Completed);
                    }
                    true
                })
            })
            .collect();
        let started = threads.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count();
        assert!((1..=2).contains(&started));
        assert_eq!(slots.active(), 0);
        assert!(slots.take().is_ok());
    });
}

#[test]
fn reservations_take_places_and_come_back() {
    every_order(|| {
        let slots = Slots::new(2);
        slots.reserve(2);
        assert_eq!(slots.take().err(), Some((2, 2)), "reservations alone are enough");
        slots.release(1);
        let permit = slots.take();
        assert!(permit.is_ok());
        assert_eq!(slots.take().err(), Some((2, 2)));
        slots.release(99);
        drop(permit);
        assert_eq!(slots.active(), 0);
    });
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}
