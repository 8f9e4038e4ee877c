//! Issue slots of warps: those of the computation, and those for indices and addresses. Compilers hoist what is invariant in a loop, as long as
//! one lane takes all of its iterations.

use super::asked::Asked;
use super::beside::Beside;
use super::facts::SiteNumbers;

/// How a lane comes to iterations of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// As items of a launch.
    Items,
    /// So many one after the other, in loops.
    InOrder(f64),
    /// So many one after the other of those that a group shares, by one index for all iterators.
    Shared(f64),
}

impl Form {
    /// Of lanes that share nothing, where there are so many iterations.
    pub(super) fn alone(self, iterations: f64) -> Form {
        match self {
            Form::Shared(_) => Form::InOrder(iterations),
            Form::Items | Form::InOrder(_) => self,
        }
    }

    fn turns(self) -> f64 {
        match self {
            Form::Items => 1.0,
            Form::InOrder(turns) | Form::Shared(turns) => turns,
        }
    }
}

/// Dimensions of a launch: iterators beyond share one.
const DIMENSIONS: usize = 3;

impl Asked<'_> {
    /// Issue slots of an iteration of a map, on average, where a lane takes so many iterations of the nest side by side.
    pub(super) fn slots_of(&self, at: usize, form: Form, beside: f64) -> f64 {
        let node = &self.facts.loops[at];
        match form {
            Form::Items => {
                let merged = node.known.len().saturating_sub(DIMENSIONS);
                let sites: f64 = self.loop_at(at).sites.iter().map(|site| site.weight + self.place(site)).sum();
                let found = f64::from(self.model.slots.item) + self.quotients(node.known.iter().skip(1).take(merged));
                found / beside + node.operations.iter().sum::<f64>() + sites
            }
            Form::InOrder(_) => self.of_loops(at, form, beside),
            Form::Shared(_) => self.of_loops(at, form, beside) + self.quotients(node.known.iter().skip(1)),
        }
    }

    /// The same of loops, without what finds iterators in an index.
    fn of_loops(&self, at: usize, form: Form, beside: f64) -> f64 {
        let node = &self.facts.loops[at];
        let of_all = |(own, alike): (&f64, &f64)| own - alike + alike / beside;
        let operations = node.operations.iter().zip(&node.alike).map(of_all).enumerate();
        let operations = operations.map(|(depth, own)| own * self.part(at, depth, form));
        let sites =
            self.loop_at(at).sites.iter().map(|site| self.access(at, site, form) * self.found_by(at, site, beside));
        operations.chain(sites).sum::<f64>() + self.turns(at, form) / beside
    }

    /// The part of iterations side by side that load a place.
    pub(super) fn shared_by(&self, site: &SiteNumbers, beside: f64) -> f64 {
        let same = |beside: Beside| !site.write && site.strides[beside.iter] == Some(0.0);
        if self.facts.beside.is_some_and(same) { 1.0 / beside } else { 1.0 }
    }

    /// The same with what compilers find to be loaded by neighbours, from one of few iterations inside to the next.
    fn found_by(&self, at: usize, site: &SiteNumbers, beside: f64) -> f64 {
        let (node, shared) = (&self.facts.loops[at], self.shared_by(site, beside));
        let Some(Beside { iter, overlaps: true }) = self.facts.beside.filter(|_| shared == 1.0 && !site.write) else {
            return shared;
        };
        let mut along = node.first..node.first + node.known.len();
        let window = along.find(|inner| node.known[inner - node.first] && site.strides[*inner] == site.strides[iter]);
        let window = window.map(|inner| self.numbers.counts[inner]);
        window
            .filter(|count| *count <= f64::from(self.model.slots.written_out))
            .map_or(1.0, |count| (count + beside - 1.0) / (count * beside))
    }

    /// Tests and steps of loops, but of those that are written out.
    fn turns(&self, at: usize, form: Form) -> f64 {
        let (node, slots) = (&self.facts.loops[at], &self.model.slots);
        let is_written_out = |outer: usize| {
            let counts = &self.numbers.counts[node.first + outer..node.first + node.known.len()];
            let turns = counts.iter().product::<f64>().min(form.turns());
            node.known[outer..].iter().all(|known| *known) && turns <= f64::from(slots.written_out)
        };
        let loops = match form {
            Form::InOrder(_) => node.known.len(),
            Form::Items | Form::Shared(_) => 1,
        };
        let of_loop = |outer: usize| f64::from(slots.turn) * self.part(at, outer + 1, form);
        (0..loops).filter(|outer| !is_written_out(*outer)).map(of_loop).sum()
    }

    /// An access, and finding where it is.
    fn access(&self, at: usize, site: &SiteNumbers, form: Form) -> f64 {
        let node = &self.facts.loops[at];
        let own = &site.strides[node.first..node.first + node.known.len()];
        let innermost = own.iter().rposition(|stride| *stride != Some(0.0));
        let part = |depth: usize| self.part(at, depth, form);
        let is_linear = node.known.len() == 1 || matches!(form, Form::InOrder(_));
        let found = match innermost {
            // One after the other from a place that is found once for each loop.
            Some(iter) if own[iter].is_some() && is_linear => part(iter),
            Some(iter) => part(iter + 1),
            None => part(0),
        };
        site.weight * part(innermost.map_or(0, |iter| iter + 1)) + self.place(site) * found
    }

    /// In which part of a map's iterations that is what depends on so many of its iterators.
    fn part(&self, at: usize, depth: usize, form: Form) -> f64 {
        match (depth, form) {
            (0, _) => 1.0 / form.turns().max(1.0),
            (_, Form::InOrder(_)) => self.deeper(at, depth),
            (_, Form::Items | Form::Shared(_)) => 1.0,
        }
    }

    /// In which part of a map's iterations something happens that is once for each of an iterator and those around.
    fn deeper(&self, at: usize, depth: usize) -> f64 {
        let node = &self.facts.loops[at];
        let counts = &self.numbers.counts[node.first + depth..node.first + node.known.len()];
        1.0 / counts.iter().map(|count| count.max(1.0)).product::<f64>()
    }

    /// To find where an access is; those that move alike share it.
    fn place(&self, site: &SiteNumbers) -> f64 {
        if site.is_first { site.weight * f64::from(self.model.slots.place) } else { 0.0 }
    }

    /// To find iterators in one index, by the numbers of iterations of those further in.
    fn quotients<'k>(&self, known: impl Iterator<Item = &'k bool>) -> f64 {
        let slots = &self.model.slots;
        known.map(|known| f64::from(if *known { slots.known_quotient } else { slots.quotient })).sum()
    }
}
