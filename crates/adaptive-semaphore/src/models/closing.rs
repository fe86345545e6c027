//! How it ends: closing, and the last permit that returns.

use std::task::Poll;

use tidegate_sync::model::check;
use tidegate_sync::parker::block_on;
use tidegate_sync::primitives::thread;

use super::{poll, queued, semaphore, take, take_one};
use crate::{Closed, TryAcquireError};

#[test]
fn as6_closing_wakes_and_refuses_all_and_nothing_reopens() {
    check("as6_closing_wakes_and_refuses_all_and_nothing_reopens", 10, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let mut waiters = [queued(&semaphore), queued(&semaphore)];
        let wait = {
            let semaphore = semaphore.clone();
            thread::spawn(move || drop(block_on(semaphore.acquire_owned())))
        };
        let grow = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.set_limit(5))
        };
        semaphore.close();
        assert_eq!(grow.join().unwrap(), 5);
        drop(permit);
        wait.join().unwrap();
        assert!(matches!(semaphore.try_acquire(), Err(TryAcquireError::Closed)), "it was reopened");
        assert!(matches!(block_on(semaphore.acquire()), Err(Closed)), "it was reopened");
        // The growth had room for both: they were granted if it came first, and refused if the close did.
        let answers = waiters.each_mut().map(poll);
        assert!(answers.iter().all(Poll::is_ready), "a waiter was left behind");
        let granted = answers.each_ref().map(|answer| matches!(answer, Poll::Ready(Ok(_))));
        let out = granted.iter().filter(|granted| **granted).count();
        assert_eq!(semaphore.in_flight(), out, "closing left a waiter in the queue");
        assert_eq!(granted[0], granted[1], "closing left a waiter in the queue");
        drop(answers);
        assert_eq!(semaphore.in_flight(), 0, "permits were lost or made up");
    });
}

#[test]
fn as6_a_waiter_is_granted_or_refused_never_both() {
    check("as6_a_waiter_is_granted_or_refused_never_both", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let mut waiter = queued(&semaphore);
        let release = thread::spawn(move || drop(permit));
        let close = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.close())
        };
        release.join().unwrap();
        close.join().unwrap();
        let Poll::Ready(answer) = poll(&mut waiter) else { panic!("a waiter was left behind") };
        assert_eq!(
            semaphore.in_flight(),
            usize::from(answer.is_ok()),
            "refused with a permit, or granted without"
        );
    });
}

#[test]
fn the_last_permit_that_returns_wakes_who_waits_for_it() {
    check("the_last_permit_that_returns_wakes_who_waits_for_it", 3, || {
        let semaphore = semaphore(2);
        let releases = take(&semaphore, 2).into_iter().map(|permit| thread::spawn(move || drop(permit)));
        let releases: Vec<_> = releases.collect();
        semaphore.close();
        block_on(semaphore.drained());
        assert_eq!(semaphore.in_flight(), 0);
        for release in releases {
            release.join().unwrap();
        }
    });
}
