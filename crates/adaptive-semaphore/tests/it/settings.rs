use std::collections::HashMap;

use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Builder, ConfigError, Fixed, Ramp};

use crate::common::succeed_saturated;

fn read(builder: Builder, settings: &[(&str, &str)]) -> Result<AdaptiveSemaphore, ConfigError> {
    let settings: HashMap<_, _> = settings.iter().copied().collect();
    let built = builder.lookup("FETCH", |name| settings.get(name).map(|value| (*value).to_owned()))?;
    Ok(built.build())
}

fn refused(builder: Builder, settings: &[(&str, &str)]) -> String {
    read(builder, settings).unwrap_err().to_string()
}

#[test]
fn what_is_not_set_keeps_its_default() {
    let semaphore = read(AdaptiveSemaphore::builder(), &[]).unwrap();
    let state = semaphore.snapshot();
    assert_eq!((state.limit, state.min, state.max), (4, 1, 32));
    let semaphore =
        read(AdaptiveSemaphore::builder().initial(3).bounds(2..=5), &[("FETCH_MAX", "9")]).unwrap();
    let state = semaphore.snapshot();
    assert_eq!((state.limit, state.min, state.max), (3, 2, 9));
}

#[test]
fn every_variable_is_read() {
    let settings =
        [("FETCH_INITIAL", "6"), ("FETCH_MIN", " 2 "), ("FETCH_MAX", "12"), ("FETCH_STEP_EVERY", "7")];
    let semaphore = read(AdaptiveSemaphore::builder(), &settings).unwrap();
    let state = semaphore.snapshot();
    assert_eq!((state.limit, state.min, state.max), (6, 2, 12));
    succeed_saturated(&semaphore, 7);
    assert_eq!(semaphore.limit(), 7);
}

#[test]
fn a_step_from_outside_keeps_the_rest_of_the_ramp() {
    let builder = AdaptiveSemaphore::builder().limit(Ramp::article());
    let semaphore = read(builder, &[("FETCH_STEP_EVERY", "2")]).unwrap();
    succeed_saturated(&semaphore, 2);
    assert_eq!(semaphore.limit(), 5);
    semaphore.try_acquire().unwrap().overload();
    assert_eq!(semaphore.limit(), 5);
}

#[test]
fn a_bad_value_is_refused_by_name() {
    let builder = AdaptiveSemaphore::builder;
    for value in ["", "0", "-1", "4.5", "many", "99999999999999999999999"] {
        for name in ["FETCH_INITIAL", "FETCH_MIN", "FETCH_MAX", "FETCH_STEP_EVERY"] {
            let error = read(builder(), &[(name, value)]).unwrap_err();
            assert_eq!((error.variable(), error.value()), (name, value));
            assert_eq!(error.allowed(), "a whole number of at least 1");
        }
    }
    let text = refused(builder(), &[("FETCH_MAX", "many")]);
    assert_eq!(text, "FETCH_MAX is `many`: expected a whole number of at least 1");
}

#[test]
fn settings_that_exclude_each_other_are_refused_by_name() {
    let builder = AdaptiveSemaphore::builder;
    let text = refused(builder(), &[("FETCH_MIN", "8"), ("FETCH_MAX", "4")]);
    assert_eq!(text, "FETCH_MAX is `4`: expected a whole number of at least 8");
    let text = refused(builder().bounds(1..=4), &[("FETCH_MIN", "8")]);
    assert_eq!(text, "FETCH_MIN is `8`: expected a whole number from 1 to 4");
    let text = refused(builder().bounds(1..=4), &[("FETCH_INITIAL", "8")]);
    assert_eq!(text, "FETCH_INITIAL is `8`: expected a whole number from 1 to 4");
    let text = refused(builder().limit(Fixed), &[("FETCH_STEP_EVERY", "8")]);
    assert_eq!(text, "FETCH_STEP_EVERY is `8`: expected nothing, since the algorithm is not a ramp");
}

#[test]
fn a_start_above_the_default_bound_makes_room_for_itself() {
    let semaphore = read(AdaptiveSemaphore::builder(), &[("FETCH_INITIAL", "50")]).unwrap();
    assert_eq!(semaphore.snapshot().max, 50);
    let semaphore = read(AdaptiveSemaphore::builder(), &[("FETCH_MIN", "40")]).unwrap();
    assert_eq!((semaphore.limit(), semaphore.snapshot().max), (40, 40));
}

#[test]
fn the_environment_itself_is_read() {
    // A process cannot change its own environment safely: it runs this test again in a child.
    if std::env::var_os("TIDEGATE_TEST_CHILD").is_some() {
        let error = AdaptiveSemaphore::from_env("TIDEGATE_TEST_BAD").unwrap_err();
        assert_eq!(
            error.to_string(),
            "TIDEGATE_TEST_BAD_MAX is `many`: expected a whole number of at least 1"
        );
        assert_eq!(AdaptiveSemaphore::from_env("TIDEGATE_TEST_GOOD").unwrap().limit(), 7);
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "settings::the_environment_itself_is_read"])
        .envs([
            ("TIDEGATE_TEST_CHILD", "1"),
            ("TIDEGATE_TEST_BAD_MAX", "many"),
            ("TIDEGATE_TEST_GOOD_INITIAL", "7"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn names_and_debug_show_state() {
    let semaphore = AdaptiveSemaphore::builder().name("render").initial(2).build();
    assert_eq!(semaphore.name(), Some("render"));
    let permit = semaphore.try_acquire().unwrap();
    let expected = "AdaptiveSemaphore { name: \"render\", limit: 2, in_flight: 1, waiting: 0, epoch: 0, closed: false, .. }";
    assert_eq!(format!("{semaphore:?}"), expected);
    assert_eq!(format!("{permit:?}"), "Permit { epoch: 0, outcome: Ignored, .. }");
}
