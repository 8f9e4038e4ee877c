//! Calls of entries: what may be passed, what is bound, chosen and reported.

mod fake;

use fake::{gather, gemm, shapes_of};
use hidp_std::{Context, Error, FaultKind, Isa, View, ViewError, ViewMut, Why};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, arr2, s};

fn cx() -> Context {
    Context::builder().threads(1).build().expect("a context")
}

/// For entries whose code is for the base instruction set alone.
fn base() -> Context {
    Context::builder().threads(1).isa(Isa::Base).build().expect("a context")
}

#[test]
fn anything_that_is_an_array_can_be_passed() {
    let cx = cx();
    let cols = [2, 0];
    let expected = [6.0, 2.0];
    let array = Array1::from(vec![1.0, 2.0, 3.0]);
    let vector = vec![1.0, 2.0, 3.0];
    let slice: &[f32] = &vector;
    let boxed: Box<[f32]> = vector.clone().into();
    let shared = array.to_shared();

    let mut y = vec![0.0; 2];
    gather(&cx, 2.0, &array, &cols, &mut y).unwrap();
    assert_eq!(y, expected);
    let mut y = [0.0; 2];
    gather(&cx, 2.0, &vector, &cols[..], &mut y).unwrap();
    assert_eq!(y, expected);
    let mut y = Array1::zeros(2);
    gather(&cx, 2.0, slice, &Array1::from(cols.to_vec()), &mut y).unwrap();
    assert_eq!(y.as_slice().unwrap(), expected);
    let mut y = [0.0; 2];
    gather(&cx, 2.0, &slice, &cols, &mut y[..]).unwrap();
    assert_eq!(y, expected);
    let mut y = [0.0; 2];
    gather(&cx, 2.0, &array.view(), &(&cols, [2]), &mut &mut y[..]).unwrap();
    assert_eq!(y, expected);
    let mut y = [0.0; 2];
    gather(&cx, 2.0, &boxed, &(cols, [2]), &mut (&mut y, [2])).unwrap();
    assert_eq!(y, expected);
    let mut y = shared.clone();
    gather(&cx, 2.0, &shared, &[2, 0, 0], &mut y).unwrap();
    assert_eq!(y.as_slice().unwrap(), [6.0, 2.0, 2.0]);
    assert_eq!(shared, array, "an array that shares its elements is copied before it is written");
}

#[test]
fn matrices_can_be_slices_with_a_shape() {
    let cx = cx();
    let (a, b) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), vec![5.0, 6.0, 7.0, 8.0]);
    let mut c = Array2::zeros((2, 2));
    gemm(&cx, &a, &(&b, [2, 2]), &mut c).unwrap();
    assert_eq!(c, arr2(&[[19.0, 22.0], [43.0, 50.0]]));
    let mut flat = vec![0.0; 4];
    gemm(&cx, &[[1.0, 2.0], [3.0, 4.0]], &(&b[..], [2, 2]), &mut (&mut flat[..], [2, 2])).unwrap();
    assert_eq!(flat, [19.0, 22.0, 43.0, 50.0]);
    let mut rows = vec![[0.0; 2]; 2];
    let view: ArrayView2<'_, f32> = a.view();
    gemm(&cx, view.as_slice().map(|a| (a, [2, 2])).as_ref().unwrap(), &(&b, [2, 2]), &mut rows).unwrap();
    assert_eq!(rows, [[19.0, 22.0], [43.0, 50.0]]);
}

#[test]
fn references_to_arrays_can_be_passed_on() {
    fn step(cx: &Context, a: &Array2<f32>, c: &mut Array2<f32>, view: &mut ArrayViewMut2<'_, f32>) {
        gemm(cx, a, a, c).unwrap();
        let twice = &a;
        gemm(cx, &a, &twice, view).unwrap();
    }
    let a = Array2::eye(2);
    let (mut c, mut d) = (Array2::zeros((2, 2)), Array2::zeros((2, 2)));
    step(&cx(), &a, &mut c, &mut d.view_mut());
    assert_eq!((&c, &d), (&a, &a));
}

#[test]
fn strided_arrays_are_refused_with_advice() {
    let a = Array2::<f32>::zeros((4, 4));
    let mut c = Array2::zeros((4, 2));
    let error = gemm(&cx(), &a, &a.slice(s![.., ..;2]), &mut c).unwrap_err();
    assert!(matches!(error, Error::View { reason: ViewError::NotContiguous, .. }));
    assert_eq!(
        error.to_string(),
        "gemm::GEMM: the argument for B[K][N] is not contiguous in row-major order; pass a copy made by \
         `.as_standard_layout()`"
    );
    gemm(&cx(), &a, &a.slice(s![.., ..;2]).as_standard_layout(), &mut c).unwrap();
    assert!(gemm(&cx(), &a.t(), &a, &mut c).is_err());
}

#[test]
fn disagreeing_shapes_name_both_arrays() {
    let (a, b) = (Array2::zeros((2, 3)), Array2::zeros((4, 2)));
    let error = gemm(&cx(), &a, &b, &mut Array2::zeros((2, 2))).unwrap_err();
    assert_eq!(error.to_string(), "gemm::GEMM: dimension K is 3 in A[M][K] and 4 in B[K][N]");
    let error = gemm(&cx(), &a, &Array2::zeros((3, 2)), &mut Array2::zeros((5, 2))).unwrap_err();
    assert_eq!(error.to_string(), "gemm::GEMM: dimension M is 2 in A[M][K] and 5 in C[M][N]");
}

#[test]
fn slices_must_have_as_many_elements_as_their_shape() {
    let data = [0.0; 6];
    let error = gemm(&cx(), &(&data, [2, 2]), &(&data, [2, 3]), &mut Array2::zeros((2, 3))).unwrap_err();
    assert_eq!(error.to_string(), "gemm::GEMM: argument for A[M][K]: the shape asks for 4 elements, the slice has 6");
    let huge = [usize::MAX / 2, 8];
    let error = gemm(&cx(), &(&data, huge), &(&data, [2, 3]), &mut Array2::zeros((2, 3))).unwrap_err();
    assert!(matches!(error, Error::View { reason: ViewError::Length { shape: None, elements: 6 }, .. }), "{error}");
    let error = gemm(&cx(), &([0.0; 0], [0, usize::MAX]), &(&data, [2, 3]), &mut Array2::zeros((0, 3))).unwrap_err();
    assert!(matches!(error, Error::View { reason: ViewError::Length { shape: None, elements: 0 }, .. }), "{error}");
}

/// A type of a user's that says it has more elements than it has.
struct Liar(Vec<f32>);

impl View<f32, 2> for Liar {
    fn elements(&self) -> Result<(&[f32], [usize; 2]), ViewError> {
        Ok((&self.0, [1000, 1000]))
    }
}

impl ViewMut<f32, 2> for Liar {
    fn elements_mut(&mut self) -> Result<(&mut [f32], [usize; 2]), ViewError> {
        Ok((&mut self.0, [1000, 1000]))
    }
}

#[test]
fn shapes_of_foreign_types_are_not_believed() {
    let a = Array2::zeros((1000, 1000));
    let mut liar = Liar(vec![0.0; 4]);
    assert!(matches!(gemm(&cx(), &liar, &a, &mut a.clone()), Err(Error::View { .. })));
    assert!(matches!(gemm(&cx(), &a, &a, &mut liar), Err(Error::View { .. })));
}

#[test]
fn empty_arrays_have_a_readable_address() {
    let cx = cx();
    gather(&cx, 1.0, &[0.0; 0], &[0; 0], &mut [0.0; 0]).unwrap();
    gather(&cx, 1.0, &[5.0], &[0; 0], &mut [0.0; 0]).unwrap();
    gemm(&cx, &Array2::zeros((0, 3)), &Array2::zeros((3, 4)), &mut Array2::zeros((0, 4))).unwrap();
    let mut c = arr2(&[[1.0]]);
    gemm(&cx, &Array2::zeros((1, 0)), &Array2::zeros((0, 1)), &mut c).unwrap();
    assert_eq!(c, arr2(&[[1.0]]));
    let error = gather(&cx, 1.0, &[0.0; 0], &[0], &mut [0.0]).unwrap_err();
    assert!(matches!(error, Error::Fault(fault) if fault.values() == [0, 0, 0]));
}

#[test]
fn faults_say_where_and_what() {
    let error = gather(&cx(), 1.0, &[1.0, 2.0], &[0, -7], &mut [0.0; 2]).unwrap_err();
    assert_eq!(error.to_string(), "kernels/gather.hdp:4:12: index cols[i] = -7 is outside x[0:2) in x[cols[i]]");
    assert_eq!(format!("{error:?}"), error.to_string(), "what `main` prints");
    let Error::Fault(fault) = error else { panic!("{error:?}") };
    assert_eq!((fault.entry(), fault.kind(), fault.values()), ("gather::Gather", FaultKind::Index, &[-7, 2, 0][..]));
    assert_eq!((fault.file(), fault.line(), fault.column()), ("kernels/gather.hdp", 4, 12));
}

#[test]
fn dimensions_in_expressions_are_solved() {
    let mut out = [0; 3];
    shapes_of(&cx(), &[0; 8], &Array2::zeros((4, 6)), 3, &mut out).unwrap();
    assert_eq!(out, [7, 4, 5]);
    let error = shapes_of(&cx(), &[0; 0], &Array2::zeros((4, 6)), 3, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "shapes::shapes: dimension 0 of rowptr[R+1] is 0, which makes R -1");
    let error = shapes_of(&cx(), &[0; 1], &Array2::zeros((4, 5)), 3, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "shapes::shapes: no Q gives a[M][2*Q-M] the size it has: dimension 1, 2*Q-M, is 5");
    let error = shapes_of(&cx(), &[0; 1], &Array2::zeros((4, 6)), 4, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "shapes::shapes: dimension 0 of out[_k] is 3, but _k is 4");
    let error = shapes_of(&cx(), &[0; 1], &Array2::zeros((4, 6)), u64::MAX, &mut out).unwrap_err();
    assert!(matches!(error, Error::UndefinedExtent { axis: 0, .. }), "{error}");
}

#[test]
fn plans_can_be_forced() {
    let cx = cx();
    let mut y = [0.0];
    assert_eq!(cx.last_run(), None);
    gather(&cx, 1.0, &[3.0], &[0], &mut y).unwrap();
    let run = cx.last_run().unwrap();
    assert_eq!((y, run.entry, run.plan, run.why), ([3.0], "gather::Gather", "rows", Why::Preferred));

    let forced = cx.with_plan("twice");
    gather(&forced, 1.0, &[3.0], &[0], &mut y).unwrap();
    let run = forced.last_run().unwrap();
    assert_eq!((y, run.plan, run.isa, run.why), ([6.0], "twice", Isa::Base, Why::ForcedPlan));
    assert_eq!(cx.last_run(), Some(run.clone()), "clones share what they ran");
    assert_eq!(run.to_string(), "gather::Gather: plan twice, base, 1 thread (plan forced)");

    let error = gather(&cx.with_plan("warp"), 1.0, &[3.0], &[0], &mut y).unwrap_err();
    assert_eq!(error.to_string(), "gather::Gather has no plan `warp`; it has `rows`, `twice`");
    assert_eq!(base().last_run(), None, "another context has run nothing");
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cx.last_run(), None, "another thread has run nothing"));
    });
}

#[test]
fn instruction_sets_can_be_forced() {
    let mut y = [0.0];
    gather(&base(), 1.0, &[3.0], &[0], &mut y).unwrap();
    let run = base().last_run();
    assert_eq!(run, None);
    let cx = base();
    gather(&cx, 1.0, &[3.0], &[0], &mut y).unwrap();
    assert_eq!(cx.last_run().map(|run| (run.isa, run.why)), Some((Isa::Base, Why::ForcedIsa)));
    if Isa::detect() >= Isa::V3 {
        let cx = cx.with_isa(Isa::V3).unwrap();
        gather(&cx, 1.0, &[3.0], &[0], &mut y).unwrap();
        assert_eq!(cx.last_run().map(|run| run.isa), Some(Isa::V3));
        let error = gather(&cx.with_plan("twice"), 1.0, &[3.0], &[0], &mut y).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gather::Gather: plan `twice` was not compiled for `v3`, only for `base`: see `HIDP_ISAS`, read when it is built"
        );
    }
    match Isa::ALL.into_iter().find(|&isa| isa > Isa::detect()) {
        Some(isa) => assert!(matches!(cx.with_isa(isa), Err(Error::UnsupportedIsa { .. }))),
        None => assert!(cx.with_isa(Isa::V4).is_ok()),
    }
}

#[test]
fn contexts_are_shared_by_threads() {
    let cx = cx();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let cx = cx.clone();
            scope.spawn(move || {
                for _ in 0..100 {
                    let mut y = [0.0; 2];
                    gather(&cx, 1.0, &[start as f32, 1.0], &[0, 1], &mut y).unwrap();
                    assert_eq!(y, [start as f32, 1.0]);
                }
            });
        }
    });
}

#[test]
fn errors_are_small_and_travel() {
    fn travels<T: std::error::Error + Send + Sync + 'static>() {}
    travels::<Error>();
    assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
}
