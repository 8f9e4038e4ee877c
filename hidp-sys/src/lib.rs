//! Raw bindings to the run-time ABI of HiDP kernels.
