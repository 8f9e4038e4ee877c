//! Kind `check`: a case without expectations is accepted without any diagnostic, others with exactly those that they expect.

use crate::case::Case;
use crate::expectation;
use crate::front::checked;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    expectation::compare(case, &checked(case))
}
