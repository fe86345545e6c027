use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Limit, Outcome, Ramp, Sample};

use crate::common::{succeed_saturated, take};

fn at(limit: usize) -> AdaptiveSemaphore {
    AdaptiveSemaphore::builder().initial(limit).build()
}

#[test]
fn as4_a_wave_of_any_size_is_one_cut() {
    for limit in 1..=32 {
        for wave in 1..=limit {
            let semaphore = at(limit);
            for permit in take(&semaphore, limit).into_iter().take(wave) {
                permit.overload();
            }
            assert_eq!(semaphore.limit(), (limit * 3 / 4).max(1), "{wave} of {limit}");
            let summary = semaphore.summary();
            assert_eq!(summary.cuts, 1);
            assert_eq!(summary.stale, u64::try_from(wave).unwrap() - 1);
        }
    }
}

#[test]
fn as4_an_overload_of_a_permit_taken_after_the_cut_is_a_second_wave() {
    let semaphore = at(32);
    let old = take(&semaphore, 32);
    for permit in old {
        permit.overload();
    }
    let permit = semaphore.try_acquire().unwrap();
    assert!(!permit.is_stale());
    permit.overload();
    assert_eq!(semaphore.limit(), 18);
    assert_eq!(semaphore.summary().cuts, 2);
}

#[test]
fn as4_what_was_in_flight_at_a_cut_grows_nothing_and_says_so() {
    let semaphore = AdaptiveSemaphore::builder().initial(8).limit(Ramp::new().step_every(1)).build();
    let mut permits = take(&semaphore, 8);
    permits.pop().unwrap().overload();
    assert_eq!(semaphore.limit(), 6);
    for permit in permits {
        assert!(permit.is_stale());
        permit.success();
    }
    assert_eq!(semaphore.limit(), 6);
    succeed_saturated(&semaphore, 5);
    assert_eq!(semaphore.limit(), 6);
    succeed_saturated(&semaphore, 1);
    assert_eq!(semaphore.limit(), 7);
}

#[test]
fn as4_permits_with_one_tag_are_one_wave_also_if_taken_after_the_cut() {
    let semaphore = at(16);
    let tagged = |tag| {
        let mut permit = semaphore.try_acquire_owned().unwrap();
        permit.tag_epoch(tag);
        assert_eq!(permit.epoch(), tag);
        permit
    };
    let early = [tagged(7), tagged(7), tagged(7)];
    for permit in early {
        permit.overload();
    }
    assert_eq!(semaphore.limit(), 12);
    let late = tagged(7);
    assert!(late.is_stale());
    late.overload();
    let older = tagged(3);
    assert!(older.is_stale());
    older.overload();
    assert_eq!(semaphore.limit(), 12);
    let next = tagged(8);
    assert!(!next.is_stale());
    next.overload();
    assert_eq!(semaphore.limit(), 9);
    tagged(u64::MAX).overload();
    assert_eq!(semaphore.limit(), 6);
    tagged(u64::MAX).overload();
    assert_eq!(semaphore.limit(), 6);
}

#[test]
fn as4_tagged_and_untagged_permits_of_one_wave_are_one_cut() {
    for tagged_first in [true, false] {
        let semaphore = at(16);
        let mut tagged = semaphore.try_acquire_owned().unwrap();
        tagged.tag_epoch(5);
        let plain = semaphore.try_acquire_owned().unwrap();
        let (first, second) = if tagged_first { (tagged, plain) } else { (plain, tagged) };
        first.overload();
        second.overload();
        assert_eq!(semaphore.limit(), 12);
        // An untagged cut says nothing of tags, a tagged one nothing of permits without.
        let permit = semaphore.try_acquire().unwrap();
        permit.overload();
        assert_eq!(semaphore.limit(), 9);
    }
}

#[test]
fn as4_a_straggler_of_an_older_tag_cuts_nothing() {
    let semaphore = at(16);
    let mut straggler = semaphore.try_acquire_owned().unwrap();
    straggler.tag_epoch(1);
    let mut current = semaphore.try_acquire_owned().unwrap();
    current.tag_epoch(2);
    current.overload();
    straggler.overload();
    assert_eq!(semaphore.limit(), 12);
}

#[test]
fn a_begun_epoch_makes_what_is_in_flight_stale() {
    let semaphore = at(16);
    let permit = semaphore.try_acquire().unwrap();
    assert_eq!(permit.epoch(), 0);
    assert_eq!(semaphore.begin_epoch(), 1);
    assert!(permit.is_stale());
    permit.overload();
    assert_eq!(semaphore.limit(), 16);
    let permit = semaphore.try_acquire().unwrap();
    assert_eq!(permit.epoch(), 1);
    permit.overload();
    assert_eq!(semaphore.limit(), 12);
    assert_eq!(semaphore.summary().epochs, 2);
}

#[test]
fn as4_at_the_floor_a_wave_is_still_one_cut() {
    let semaphore = AdaptiveSemaphore::builder().initial(4).bounds(4..=8).build();
    for permit in take(&semaphore, 4) {
        permit.overload();
    }
    assert_eq!(semaphore.limit(), 4);
    assert_eq!(semaphore.summary().cuts, 1);
}

#[test]
fn an_overload_that_cuts_nothing_ends_no_epoch() {
    let semaphore = AdaptiveSemaphore::builder().initial(4).limit(Ramp::article()).build();
    let mut permits = take(&semaphore, 4);
    permits.pop().unwrap().overload();
    assert!(!permits[0].is_stale());
    assert_eq!(semaphore.summary().cuts, 0);
}

#[test]
fn as4_the_algorithm_sees_fresh_successes_and_overloads_and_nothing_else() {
    struct Strict {
        epoch: u64,
    }
    impl Limit for Strict {
        fn on_sample(&mut self, sample: &Sample) -> usize {
            assert_eq!(sample.epoch, self.epoch, "a stale sample");
            assert!(matches!(sample.outcome, Outcome::Success | Outcome::Overload));
            if sample.outcome == Outcome::Overload { sample.limit - 1 } else { sample.limit }
        }
        fn on_epoch(&mut self, epoch: u64) {
            assert_eq!(epoch, self.epoch + 1);
            self.epoch = epoch;
        }
    }
    let semaphore = AdaptiveSemaphore::builder().initial(8).limit(Strict { epoch: 0 }).build();
    for turn in 0..4 {
        let mut permits = take(&semaphore, 4);
        permits.pop().unwrap().ignore();
        if turn % 2 == 0 {
            semaphore.begin_epoch();
        } else {
            permits.pop().unwrap().overload();
        }
        for permit in permits {
            permit.success();
        }
    }
    assert_eq!(semaphore.limit(), 6);
}
