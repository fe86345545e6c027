//! Aligned tables: text to the left, numbers to the right.

/// A cell that reads as a number (with at most a unit behind it) goes to the right.
fn is_number(cell: &str) -> bool {
    cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains("::")
}

/// Rows under a header, as lines.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self { rows: vec![header.map(str::to_owned).to_vec()] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(Vec::from(cells));
    }

    /// The lines, with the header underlined.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> =
            (0..columns).map(|i| cells(i).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        let right: Vec<bool> = (0..columns)
            .map(|i| self.rows.len() > 1 && cells(i).skip(1).all(|cell| is_number(cell)))
            .collect();

        let mut out = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            let line: Vec<String> = row
                .iter()
                .zip(&widths)
                .zip(&right)
                .map(
                    |((cell, width), right)| {
                        if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                    },
                )
                .collect();
            out.push_str(line.join("  ").trim_end());
            out.push('\n');
            if n == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                out.push_str(&rule.join("  "));
                out.push('\n');
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_left_and_numbers_go_right() {
        let mut table = Table::new(["phase", "passed"]);
        table.row(["unit".to_owned(), "7".to_owned()]);
        table.row(["doc tests".to_owned(), "123".to_owned()]);
        assert_eq!(
            table.render(),
            "phase      passed\n---------  ------\nunit            7\ndoc tests     123\n"
        );
    }

    #[test]
    fn an_empty_table_is_its_header() {
        assert_eq!(Table::new(["a", "b"]).render(), "a  b\n-  -\n");
    }
}
