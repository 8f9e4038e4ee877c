//! Arrays from one device to another.

use super::axpy::axpy;
use super::*;
use crate::device::staging::CHUNK;

/// Two devices, and whether they may copy from one another.
fn pair(together: bool) -> (World, Context, Context) {
    let world = World::default();
    if !together {
        world.part();
    }
    let (one, two) = (cuda_of_two(&world, 0), cuda_of_two(&world, 1));
    (world, one, two)
}

#[test]
fn copies_reach_every_context() {
    for together in [true, false] {
        let (world, one, two) = pair(together);
        for count in [0, 1, CHUNK / 4 - 1, 2 * CHUNK / 4 + 3] {
            let elements: Vec<u32> = (0..).take(count).collect();
            let mut array = DeviceArray::from_host(&one, &elements).unwrap();
            let mut copy = array.to_context(&two).unwrap();
            // Neither later writes nor what becomes of the memory are seen.
            array.copy_from(&vec![7; count]).unwrap();
            one.synchronize().unwrap();
            drop(array);
            let again = DeviceArray::from_host(&one, &vec![9_u32; count]).unwrap();
            one.synchronize().unwrap();
            assert!(copy.to_vec().unwrap() == elements, "{count}, together: {together}");
            // And back, after what the other device did with it.
            copy.copy_from(&again.to_context(&two).unwrap()).unwrap();
            assert!(copy.to_context(&one).unwrap().to_vec().unwrap() == vec![9; count]);
            assert!(copy.to_context(&two).unwrap().to_vec().unwrap() == vec![9; count]);
            assert!(copy.to_context(&two.fork().unwrap()).unwrap().to_vec().unwrap() == vec![9; count]);
            assert!(copy.to_context(&cpu()).unwrap().to_context(&one).unwrap().to_vec().unwrap() == vec![9; count]);
        }
        let before = two.copies();
        let array = DeviceArray::from_host(&one, &[1.0; 4]).unwrap();
        let copy = array.to_context(&two).unwrap();
        assert_eq!((two.copies() - before).to_device, u64::from(!together), "without the host where that goes");
        drop((one, two, array));
        assert_eq!(copy.to_vec().unwrap(), [1.0; 4]);
        drop(copy);
        assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
    }
}

#[test]
fn another_device_is_still_refused_by_all_else() {
    let (_world, one, two) = pair(true);
    let array = DeviceArray::from_host(&one, &[1.0; 2]).unwrap();
    let error = axpy(&two, &[1.0; 2], &array, &mut [1.0; 2], &mut [1.0; 2]).unwrap_err().to_string();
    assert_eq!(error, "axpy::axpy: the argument for b[N] is in the memory of another device");
    let mut other = DeviceArray::zeros(&two, [2]).unwrap();
    assert!(matches!(other.copy_from(&array), Err(Error::Array(ArrayError::OtherDevice))));
    // One may come after the other all the same.
    two.after(&one).unwrap();
}

#[test]
fn any_call_may_fail() {
    for apart in [true, false] {
        let calls = fail_everywhere(apart, |cx, other| {
            let array = DeviceArray::from_host(cx, &[1.0_f32; 100])?;
            let copy = array.to_context(other)?;
            drop(array);
            assert_eq!(copy.to_context(cx)?.to_vec()?, [1.0; 100]);
            drop(copy);
            other.synchronize()?;
            cx.synchronize()
        });
        assert!(calls > 30, "{calls}");
    }
}
