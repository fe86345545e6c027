//! Middle, tail, mean.

/// The value below which `share` of the values lie, by interpolation; zero of none.
pub(crate) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = share.clamp(0.0, 1.0) * float(last);
    let below = index(at);
    let above = (below + 1).min(last);
    (values[above] - values[below]).mul_add(at - float(below), values[below])
}

/// The geometric mean; zero of none.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    (values.iter().map(|value| value.ln()).sum::<f64>() / float(values.len())).exp()
}

pub(crate) fn float(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

pub(crate) fn integer(n: u64) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a vector, rounded down"
)]
fn index(at: f64) -> usize {
    at as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let values = || vec![4.0, 1.0, 2.0, 3.0, 5.0];
        assert!((quantile(values(), 0.5) - 3.0).abs() < 1e-9);
        assert!((quantile(values(), 0.9) - 4.6).abs() < 1e-9);
        assert!((quantile(values(), 1.0) - 5.0).abs() < 1e-9);
        assert!((quantile(vec![7.0], 0.9) - 7.0).abs() < 1e-9);
        assert!(quantile(Vec::new(), 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-9);
    }
}
