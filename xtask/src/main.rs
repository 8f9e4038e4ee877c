//! Every developer command of the workspace.

fn main() {}
