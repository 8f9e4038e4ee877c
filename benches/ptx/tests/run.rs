//! Kernels of which a person can say what they do.

use hidp_ptx::{Class, Counts, Memory, Module, Shape};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel with a pointer and a number of 32 bits.
fn kernel(declared: &str, body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{{\n.reg .b32 %r<20>;\n{declared}\nld.param.u64 %rd0, [k_param_0];\n\
         ld.param.u32 %r0, [k_param_1];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %rd0, %rd1;\n{body}\nret;\n}}\n"
    )
}

/// Numbers that begin with a sector and a line, as device memory does.
#[repr(align(256))]
struct Numbers([u32; 1024]);

/// Runs a block of 64 threads over these numbers.
fn run(text: &str, numbers: &mut [u32], number: u32) -> Result<Counts, String> {
    let module = Module::read(text).map_err(|error| error.to_string())?;
    let mut memory = Memory::default();
    // SAFETY: the numbers outlive the run.
    unsafe { memory.allow(numbers.as_mut_ptr().cast(), size_of_val(numbers)) };
    let pointer = numbers.as_ptr();
    let args = [(&raw const pointer).cast::<u8>(), (&raw const number).cast()];
    let shape = Shape { blocks: [1; 3], threads: [64, 1, 1], shared: 0, far: 1000, most: u64::MAX, together: false };
    // SAFETY: the arguments have as many bytes as the parameters.
    let parts = unsafe { module.run("k", shape, &args, &memory) }?;
    Ok(parts.into_iter().next().expect("a launch has a part"))
}

#[test]
fn lanes_meet_behind_loops_of_different_lengths() {
    // Lane i adds 1 i times.
    let text = kernel(
        "",
        "mov.u32 %r2, 0;\n$L_loop:\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra $L_end;\nadd.s32 %r2, %r2, 1;\nbra.uni $L_loop;\n\
         $L_end:\nst.global.u32 [%rd2], %r2;",
    );
    let Numbers(numbers) = &mut Numbers([0; 1024]);
    let counts = run(&text, &mut numbers[..], 0).unwrap();
    assert!(numbers.iter().take(64).enumerate().all(|(at, number)| at == *number as usize), "{numbers:?}");
    // One request a warp, each of 4 sectors: lanes are together again.
    assert_eq!([counts.requests, counts.sectors, counts.lines, counts.launch_sectors], [2, 8, 2, 8]);
    // The slowest lane's turns, 31 and 63: sum and jump; and one comparison with a jump more.
    assert_eq!(counts.by_class[Class::Control as usize], 2 * 2 + (31 + 63) * 3 + 2);
    // Lanes that wait: 0 + 1 + … + 31 in each warp, at the four instructions of a turn less those of the comparison that they make themselves.
    assert_eq!(counts.idle, 2 * (31 * 32 / 2) * 4);
}

#[test]
fn banks_and_sectors_are_counted() {
    // Words 32 apart are in one bank; a stride of 64 bytes touches a sector a lane.
    let text = kernel(
        ".shared .align 4 .b8 near[8192];",
        "mov.u32 %r3, near;\nshl.b32 %r4, %r1, 7;\nadd.s32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\n\
         ld.shared.u32 %r5, [%r4];\nshl.b32 %r6, %r1, 4;\nand.b32 %r6, %r6, 1023;\nmul.wide.u32 %rd3, %r6, 4;\nadd.s64 %rd4, %rd0, %rd3;\nst.global.u32 [%rd4], %r5;",
    );
    let Numbers(numbers) = &mut Numbers([0; 1024]);
    let counts = run(&text, &mut numbers[..], 0).unwrap();
    assert_eq!([counts.shared, counts.turns, counts.least_turns], [4, 128, 4]);
    assert_eq!([counts.requests, counts.sectors, counts.block_sectors, counts.barriers], [2, 64, 64, 2]);
    assert_eq!(numbers[16 * 63], 63);
}

#[test]
fn lanes_shuffle_vote_and_update() {
    let text = kernel(
        "",
        "shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1;\nsetp.lt.u32 %p2, %r1, 40;\nvote.sync.ballot.b32 %r3, %p2, -1;\npopc.b32 %r4, %r3;\n\
         mad.lo.s32 %r5, %r4, 100, %r2;\nst.global.u32 [%rd2], %r5;\nsetp.eq.s32 %p3, %r0, 7;\n@%p3 atom.global.add.u32 %r6, [%rd0+256], 2;",
    );
    let Numbers(numbers) = &mut Numbers([0; 1024]);
    let counts = run(&text, &mut numbers[..], 7).unwrap();
    assert_eq!(numbers[..2], [3201, 3200]);
    assert_eq!(numbers[62..65], [863, 862, 128]);
    assert_eq!([counts.updates, counts.hottest], [64, 64]);
}

#[test]
fn what_a_gpu_would_not_do_is_an_error() {
    let of = |body: &str| run(&kernel("", body), &mut [0; 64][..], 0).unwrap_err();
    let error = of("ld.global.u32 %r2, [%rd2+4];");
    assert!(error.contains("lane 31 is outside of device memory"), "{error}");
    let error = of("setp.eq.s32 %p1, %r1, 3;\n@%p1 bra $L_1;\nbar.sync 0;\n$L_1:");
    assert!(error.contains("some lanes do not reach `bar.sync 0`"), "{error}");
    let error = of("call.uni f, (param0);");
    assert!(error.contains("calls are not run"), "{error}");
    let error = Module::read(&kernel("", "tex.2d.v4.f32.f32 {%f1}, [%rd0];")).unwrap_err();
    assert_eq!((error.line, error.why.contains("`tex.2d.v4.f32.f32 {%f1}, [%rd0]` is not run")), (16, true), "{error}");
}

#[test]
fn some_blocks_stand_for_all() {
    let text = kernel("", "st.global.u32 [%rd2], %r1;");
    let module = Module::read(&text).unwrap();
    let Numbers(numbers) = &mut Numbers([0; 1024]);
    let mut memory = Memory::default();
    // SAFETY: the numbers outlive the run.
    unsafe { memory.allow(numbers.as_mut_ptr().cast(), size_of_val(numbers)) };
    let (pointer, number) = (numbers.as_ptr(), 0u32);
    let args = [(&raw const pointer).cast::<u8>(), (&raw const number).cast()];
    let counts = |most| {
        let shape = Shape { blocks: [10, 10, 1], threads: [64, 1, 1], shared: 0, far: 1000, most, together: false };
        // SAFETY: the arguments have as many bytes as the parameters.
        unsafe { module.run("k", shape, &args, &memory) }.unwrap().remove(0)
    };
    let (all, some) = (counts(u64::MAX), counts(4));
    assert_eq!([all.requests, some.requests, all.block_sectors, some.block_sectors], [200, 200, 800, 800]);
    // Blocks share these: what is different in a launch is not known.
    assert_eq!([all.launch_sectors, some.launch_sectors], [8, 200]);
}

#[test]
fn blocks_wait_for_each_other() {
    // Each block copies what the other wrote before.
    let text = |load: &str| {
        kernel(
            "",
            &format!(
                "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd3, %r2, 256;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r1;\nbar.sync 0;\n\
                 setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $L_all;\natom.global.add.u32 %r5, [%rd0+2048], 1;\n$L_again:\nnanosleep.u32 20;\n\
                 ld.global.u32 %r6, [%rd0+2048];\nsetp.lt.u32 %p2, %r6, 2;\n@%p2 bra $L_again;\n$L_all:\nbar.sync 0;\n\
                 xor.b64 %rd5, %rd3, 256;\nadd.s64 %rd6, %rd2, %rd5;\n{load} %r7, [%rd6];\nst.global.u32 [%rd4+1024], %r7;"
            ),
        )
    };
    let Numbers(numbers) = &mut Numbers([0; 1024]);
    let run = |text: &str, numbers: &mut [u32], together: bool| {
        let module = Module::read(text).unwrap();
        let mut memory = Memory::default();
        // SAFETY: the numbers outlive the run.
        unsafe { memory.allow(numbers.as_mut_ptr().cast(), size_of_val(numbers)) };
        let (pointer, number) = (numbers.as_ptr(), 0u32);
        let args = [(&raw const pointer).cast::<u8>(), (&raw const number).cast()];
        let shape = Shape { blocks: [2, 1, 1], threads: [64, 1, 1], shared: 0, far: 1000, most: 1, together };
        // SAFETY: the arguments have as many bytes as the parameters.
        unsafe { module.run("k", shape, &args, &memory) }
    };
    let parts = run(&text("ld.global.u32"), &mut numbers[..], true).unwrap();
    assert!((0..128).all(|at| numbers[256 + at] == at as u32 % 64), "{numbers:?}");
    let found: Vec<_> = parts.iter().map(|part| (part.goes_on, part.blocks, part.requests, part.updates)).collect();
    // A store per warp and an update per block; then the number that has come, loads and stores.
    assert_eq!(found, [(false, 2, 6, 2), (true, 2, 10, 0)]);
    // Everything is new after a barrier, but for what is updated.
    assert_eq!([parts[0].launch_sectors, parts[1].launch_sectors], [17, 32]);
    let why = run(&text("ld.global.nc.u32"), &mut numbers[..], true).unwrap_err();
    assert!(why.contains("read as a constant"), "{why}");
    let why = run(&text("ld.global.u32"), &mut numbers[..], false).unwrap_err();
    assert!(why.contains("blocks that may not run"), "{why}");
}

#[test]
fn loads_widen_by_themselves() {
    // Slots of a warp for the instructions between its first load and its store.
    let slots = |body: &str| {
        let body = format!("{body}\nst.global.u32 [%rd2], %r9;");
        let Numbers(numbers) = &mut Numbers([0xfedc_ba98; 1024]);
        let counts = run(&kernel("", &body), &mut numbers[..], 0).unwrap();
        (counts.slots, numbers[1])
    };
    let plain = slots("ld.global.u32 %r9, [%rd2];").0;
    let byte = "ld.global.nc.u8 %rs0, [%rd2];\ncvt.u32.u16 %r8, %rs0;\nand.b32 %r9, %r8, 255;";
    assert_eq!(slots(byte), (plain, 0x98));
    let signed = "ld.global.s8 %rs0, [%rd2];\ncvt.s32.s16 %r9, %rs0;";
    assert_eq!(slots(signed), (plain, 0xffff_ff98));
    // Another mask, a number that is no load's alone, and signs of what has none.
    let mask = "ld.global.nc.u8 %rs0, [%rd2];\ncvt.u32.u16 %r8, %rs0;\nand.b32 %r9, %r8, 15;";
    assert_eq!(slots(mask), (plain + 2, 8));
    let both = "ld.global.u8 %rs0, [%rd2];\nld.global.u8 %rs0, [%rd2+1];\ncvt.u32.u16 %r9, %rs0;";
    assert_eq!(slots(both), (plain + 2 * 2, 0xba));
    let signs = "ld.global.u8 %rs0, [%rd2];\ncvt.s32.s8 %r9, %rs0;";
    assert_eq!(slots(signs), (plain + 2, 0xffff_ff98));
}
