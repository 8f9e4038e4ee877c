//! Coefficients and constants, with the errors of the polynomials.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::lane::*;
use super::turns::TURNS;

/// ln 2, the first part short enough that 12 (8) bits times it are exact
pub(super) fn ln2_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.693147180559663) } else { F::of(0.693145751953125) }
}

pub(super) fn ln2_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.8235290563031577e-13) } else { F::of(1.428606765330187e-06) }
}

/// ln 2
pub(super) fn ln2_whole_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.6931471805599453) } else { F::of(0.6931471824645996) }
}

pub(super) fn ln2_whole_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.3190468138462996e-17) } else { F::of(-1.9046542121259336e-09) }
}

/// 1 / ln 2
pub(super) fn log2_e_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.4426950408889634) } else { F::of(1.4426950216293335) }
}

pub(super) fn log2_e_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.0355273740931033e-17) } else { F::of(1.925963033500011e-08) }
}

/// 1 / ln 10
pub(super) fn log10_e_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.4342944819032518) } else { F::of(0.4342944920063019) }
}

pub(super) fn log10_e_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.098319650216765e-17) } else { F::of(-1.0103049952192578e-08) }
}

/// log10 2, the first part short enough that 12 (8) bits times it are exact
pub(super) fn log10_2_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.30102999566383914) } else { F::of(0.301025390625) }
}

pub(super) fn log10_2_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.42050232272661e-13) } else { F::of(4.605039066518657e-06) }
}

/// 2 / ln 2
pub(super) fn two_over_ln2_high<F: Lane>() -> F {
    F::of(2.8853900817779268)
}

pub(super) fn two_over_ln2_low<F: Lane>() -> F {
    F::of(4.0710547481862066e-17)
}

/// 1 / 3
pub(super) fn third_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.3333333333333333) } else { F::of(0.3333333432674408) }
}

pub(super) fn third_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.850371707708594e-17) } else { F::of(-9.934107758624577e-09) }
}

/// pi / 2
pub(super) fn half_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.5707963267948966) } else { F::of(1.5707963705062866) }
}

pub(super) fn half_pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(6.123233995736766e-17) } else { F::of(-4.371138828673793e-08) }
}

/// pi / 4
pub(super) fn quarter_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.7853981633974483) } else { F::of(0.7853981852531433) }
}

pub(super) fn quarter_pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(3.061616997868383e-17) } else { F::of(-2.1855694143368964e-08) }
}

/// pi
pub(super) fn pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(3.141592653589793) } else { F::of(3.1415927410125732) }
}

pub(super) fn pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.2246467991473532e-16) } else { F::of(-8.742277657347586e-08) }
}

/// atan(1/2)
pub(super) fn atan_half_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.4636476090008061) } else { F::of(0.46364760398864746) }
}

pub(super) fn atan_half_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.2698777452961687e-17) } else { F::of(5.01215868808913e-09) }
}

/// 2 / sqrt(pi)
pub(super) fn two_over_root_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.1283791670955126) } else { F::of(1.128379225730896) }
}

pub(super) fn two_over_root_pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.533545961316588e-17) } else { F::of(-5.8635382771399236e-08) }
}

/// 2 / pi
pub(super) fn two_over_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.6366197723675814) } else { F::of(0.6366197466850281) }
}

/// (e^r - 1 - r) / r^2
/// double: degree 10, from -0.34661 to 0.34661, error 2^-60.27
/// float: degree 4, from -0.34661 to 0.34661, error 2^-27.99
pub(super) fn exp_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.5,
                0.16666666666666682,
                0.041666666666666095,
                0.008333333333317032,
                0.0013888888889115574,
                0.0001984126989638918,
                2.4801586926773935e-05,
                2.7557234856989255e-06,
                2.7557581712131275e-07,
                2.5112038411529163e-08,
                2.0826672152783338e-09,
            ],
        )
    } else {
        polynomial(
            x,
            &[0.4999999403953552, 0.1666652113199234, 0.04166838526725769, 0.0083687175065279, 0.0013814774574711919],
        )
    }
}

/// (e^r - 1 - r - r^2 / 2) / r^3
/// double: degree 9, from -0.34661 to 0.34661, error 2^-59.57
/// float: degree 4, from -0.34661 to 0.34661, error 2^-30.9
pub(super) fn expm1_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.16666666666666682,
                0.0416666666666667,
                0.008333333333316859,
                0.0013888888888865106,
                0.00019841269896817996,
                2.4801587365221295e-05,
                2.7557234438841213e-06,
                2.755723858127066e-07,
                2.5112179047019587e-08,
                2.0925706320089294e-09,
            ],
        )
    } else {
        polynomial(
            x,
            &[
                0.1666666716337204,
                0.041666459292173386,
                0.008333275094628334,
                0.0013935404131188989,
                0.0001991329772863537,
            ],
        )
    }
}

/// (2^r - 1 - r ln 2) / r^2
/// double: degree 9, from -0.50001 to 0.50001, error 2^-57.64
/// float: degree 4, from -0.50001 to 0.50001, error 2^-27.96
pub(super) fn exp2_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.24022650695910122,
                0.05550410866482074,
                0.009618129107596988,
                0.0013333558146686126,
                0.00015403530454060818,
                1.5252733546827433e-05,
                1.3215436611652295e-06,
                1.017818468552749e-07,
                7.0735789371713005e-09,
                4.4362969850763967e-10,
            ],
        )
    } else {
        polynomial(
            x,
            &[
                0.24022647738456726,
                0.05550362169742584,
                0.009618525393307209,
                0.0013390163658186793,
                0.00015321346290875226,
            ],
        )
    }
}

/// (sinh r - r) / r^3 of z = r^2
/// double: degree 4, from 0.0 to 0.12014, error 2^-61.69
/// float: degree 2, from 0.0 to 0.12014, error 2^-34.32
pub(super) fn sinh_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.16666666666666677,
                0.008333333333321386,
                0.0001984126988681557,
                2.755724345262163e-06,
                2.51093205226335e-08,
            ],
        )
    } else {
        polynomial(x, &[0.1666666716337204, 0.00833317544311285, 0.0001997411745833233])
    }
}

/// (cosh r - 1) / r^2 of z = r^2
/// double: degree 5, from 0.0 to 0.12014, error 2^-69.99
/// float: degree 2, from 0.0 to 0.12014, error 2^-33.24
pub(super) fn cosh_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.5,
                0.041666666666666685,
                0.0013888888888873283,
                2.4801587349202066e-05,
                2.75572518196462e-07,
                2.0921769945791546e-09,
            ],
        )
    } else {
        polynomial(x, &[0.5, 0.041666459292173386, 0.0013935426250100136])
    }
}

/// (2 artanh s - 2 s) / s^3 of z = s^2
/// double: degree 6, from 0.0 to 0.02945, error 2^-59.48
/// float: degree 2, from 0.0 to 0.02945, error 2^-30.2
pub(super) fn log_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.6666666666666735,
                0.39999999999409325,
                0.2857142874369598,
                0.22222198427761528,
                0.18183572426974545,
                0.15313830172554607,
                0.14798279630495675,
            ],
        )
    } else {
        polynomial(x, &[0.6666677594184875, 0.39977577328681946, 0.29871073365211487])
    }
}

/// (artanh s - s - s^3 / 3) / s^5 of z = s^2
/// double: degree 7, from 0.0 to 0.02945, error 2^-73.44
pub(super) fn pow_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.1999999999999999,
            0.14285714285721926,
            0.1111111110889262,
            0.09090909422350277,
            0.0769227918619766,
            0.06668133446287873,
            0.0583786417181396,
            0.05991107657948693,
        ],
    )
}

/// (sin r - r) / r^3 of z = r^2
/// double: degree 6, from 0.0 to 0.6169, error 2^-63.21
pub(super) fn sin_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            -0.16666666666666666,
            0.008333333333333038,
            -0.00019841269840955862,
            2.755731906958927e-06,
            -2.505206959796726e-08,
            1.6054125904639447e-10,
            -7.379634917092518e-13,
        ],
    )
}

/// (cos r - 1 + r^2 / 2) / r^4 of z = r^2
/// double: degree 5, from 0.0 to 0.6169, error 2^-63.69
pub(super) fn cos_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.0416666666666666,
            -0.0013888888888874474,
            2.4801587289671384e-05,
            -2.7557314400926135e-07,
            2.0875729258143e-09,
            -1.135993257674424e-11,
        ],
    )
}

/// (atan t - t) / t^3 of z = t^2
/// double: degree 7, from 0.0 to 0.0559, error 2^-58.95
/// float: degree 3, from 0.0 to 0.0559, error 2^-33.2
pub(super) fn atan_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                -0.33333333333333004,
                0.19999999999807402,
                -0.1428571424724387,
                0.11111107392348492,
                -0.09090709824910556,
                0.0768606026895676,
                -0.06552066470837786,
                0.047272232933611665,
            ],
        )
    } else {
        polynomial(x, &[-0.333333283662796, 0.19999085366725922, -0.14234375953674316, 0.09972738474607468])
    }
}

/// (asin x - x) / x^3 of z = x^2
/// double: degree 12, from 0.0 to 0.25, error 2^-59.75
/// float: degree 5, from 0.0 to 0.25, error 2^-29.23
pub(super) fn asin_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.16666666666666763,
                0.07499999999970129,
                0.04464285717525399,
                0.030381942676938927,
                0.022372215856134605,
                0.017351596443458836,
                0.013981006678389628,
                0.011397394263849269,
                0.010788731643553784,
                0.0036744914523234953,
                0.021784850207918906,
                -0.021108263486821943,
                0.03269672159176309,
            ],
        )
    } else {
        polynomial(
            x,
            &[
                0.16666659712791443,
                0.07500521093606949,
                0.04451363533735275,
                0.03183606266975403,
                0.014329119585454464,
                0.03766760602593422,
            ],
        )
    }
}

/// m^(-1/3)
/// double: degree 9, from 0.3535 to 2.8285, error 2^-13.1
pub(super) fn cbrt_start<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            2.3996684611766774,
            -5.255545149075645,
            10.951470472392797,
            -15.31519790137646,
            14.267006732035789,
            -8.865915670952512,
            3.623685939386935,
            -0.9337879495325754,
            0.13736322515462515,
            -0.008785313841328152,
        ],
    )
}

/// (erf(x) / x - 2 / sqrt(pi)) / x^2 of z = x^2
/// double: degree 9, from 0.0 to 0.5626, error 2^-59.63
pub(super) fn erf_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            -0.3761263890318373,
            0.11283791670953223,
            -0.026866170644545367,
            0.0052239776165924415,
            -0.0008548326258621908,
            0.00012055292160912817,
            -1.4924256832026082e-05,
            1.6431547661539322e-06,
            -1.5946945961205678e-07,
            1.1495947413900988e-08,
        ],
    )
}

/// (sin r) / r of z = r^2
/// double: degree 4, from 0.0 to 0.6169, error 2^-37.75
pub(super) fn sin_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.999999999995681,
            -0.16666666631626684,
            0.008333328785188877,
            -0.00019839202881418884,
            2.7173507527421996e-06,
        ],
    )
}

/// cos r of z = r^2
/// double: degree 5, from 0.0 to 0.6169, error 2^-43.55
pub(super) fn cos_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.9999999999999445,
            -0.4999999999935165,
            0.041666666543973205,
            -0.0013888880396332548,
            2.4798929182426218e-05,
            -2.7173454447118884e-07,
        ],
    )
}

/// 2 artanh(s) / (s ln 2) of z = s^2
/// double: degree 5, from 0.0 to 0.02945, error 2^-45.08
pub(super) fn log2_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            2.8853900817778495,
            0.9617966941143179,
            0.5770779420769757,
            0.41220928152491065,
            0.31990450154068617,
            0.2829172490687514,
        ],
    )
}

/// erf(x) / x of z = x^2
/// double: degree 7, from 0.0 to 0.5626, error 2^-41.21
pub(super) fn erf_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            1.1283791670951198,
            -0.37612638894181805,
            0.11283791332429814,
            -0.026866122095871876,
            0.005223634953740257,
            -0.0008535136879216647,
            0.00011771565635854089,
            -1.1675223356178741e-05,
        ],
    )
}

/// e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4)
/// double: degree 14, from -1.0 to 0.45205, error 2^-39.68
pub(super) fn erfc_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            1.2329951186254635,
            -0.1396211168715266,
            0.015379652119436121,
            0.06809705679095109,
            -0.10103906511757971,
            0.09373277583688197,
            -0.06633042579441797,
            0.037168080192862045,
            -0.01619681932392201,
            0.0050297632636904024,
            -0.0007631956321987169,
            -0.00019772442974541168,
            0.00016269724743128857,
            -1.683378288685691e-05,
            -1.596112511954872e-05,
        ],
    )
}

/// 2^r
/// double: degree 8, from -0.50001 to 0.50001, error 2^-40.23
pub(super) fn exp2_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.9999999999997622,
            0.6931471805465133,
            0.24022650698881504,
            0.05550410939347276,
            0.009618128542608706,
            0.0013333452055056766,
            0.00015403851881108538,
            1.5309739654494474e-05,
            1.3175839792191072e-06,
        ],
    )
}

pub(super) fn erfc_first_high<F: Lane>() -> F {
    F::of(1.2329951186255526)
}

pub(super) fn erfc_first_low<F: Lane>() -> F {
    F::of(-4.516472900356227e-17)
}

pub(super) fn erfc_second_high<F: Lane>() -> F {
    F::of(-0.13962111684056253)
}

pub(super) fn erfc_second_low<F: Lane>() -> F {
    F::of(-9.537052501584157e-18)
}

/// e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4), without the first two terms
/// double: degree 21, from -1.0 to 0.75, error 2^-55.68
pub(super) fn erfc_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.015379652102619622,
            0.06809705425469532,
            -0.10103906603629771,
            0.09373283499825626,
            -0.06633036581236013,
            0.0371675155389774,
            -0.016197734056207884,
            0.005031969964885695,
            -0.0007577732992417707,
            -0.000199256625531539,
            0.00015062172346799114,
            -2.4399442218174312e-05,
            -1.1222182985991897e-05,
            5.7101967434850845e-06,
            2.941617284192259e-07,
            -8.259664327974079e-07,
            7.410547569842131e-08,
            1.1033290145533422e-07,
            -1.74697875979646e-08,
            -1.4070582323953681e-08,
            1.6773210755074593e-09,
            1.1981519701105822e-09,
        ],
    )
}

/// pi / 2, piece 1 of 4
pub(super) fn half_pi_1<F: Lane>() -> F {
    F::of(1.5707963267341256)
}

/// pi / 2, piece 2 of 4
pub(super) fn half_pi_2<F: Lane>() -> F {
    F::of(6.077100506303966e-11)
}

/// pi / 2, piece 3 of 4
pub(super) fn half_pi_3<F: Lane>() -> F {
    F::of(2.0222662487111665e-21)
}

/// pi / 2, piece 4 of 4
pub(super) fn half_pi_4<F: Lane>() -> F {
    F::of(8.4784276603689e-32)
}

/// 2^(25 j + 3) 2 / pi without what gives whole turns, piece 1 of 3; row 0 is 2 / pi
pub(super) fn turns_short_1<F: Lane>(two: bool, three: bool, four: bool, five: bool) -> F {
    select(
        five,
        F::of(28043514.5625),
        select(
            four,
            F::of(21659401.8125),
            select(three, F::of(30001282.625), select(two, F::of(3119158.875), F::of(0.636619770899415))),
        ),
    )
}

/// 2^(25 j + 3) 2 / pi without what gives whole turns, piece 2 of 3; row 0 is 2 / pi
pub(super) fn turns_short_2<F: Lane>(two: bool, three: bool, four: bool, five: bool) -> F {
    select(
        five,
        F::of(0.04075434373226017),
        select(
            four,
            F::of(0.023261863039806485),
            select(
                three,
                F::of(0.02050047612283379),
                select(two, F::of(0.019107897416688502), F::of(1.4681663246252086e-09)),
            ),
        ),
    )
}

/// 2^(25 j + 3) 2 / pi without what gives whole turns, piece 3 of 3; row 0 is 2 / pi
pub(super) fn turns_short_3<F: Lane>(two: bool, three: bool, four: bool, five: bool) -> F {
    select(
        five,
        F::of(4.483098084016824e-11),
        select(
            four,
            F::of(5.0420873674486534e-11),
            select(
                three,
                F::of(1.1118093401871201e-10),
                select(two, F::of(2.8885192692718578e-11), F::of(2.276010073078396e-18)),
            ),
        ),
    )
}

/// 2^(16 j) 2 / pi without what gives whole turns, in four pieces; row after row
pub(super) fn turns<F: Lane>(at: u64) -> F {
    F::of(TURNS[at as usize])
}
