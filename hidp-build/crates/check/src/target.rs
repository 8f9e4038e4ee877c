//! Names, elements, fields and sections as targets of assignments.

use hidp_ir::par::{Place, VarId, VarKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::{Sub, all_at};
use super::cx::{BodyKind, Cx, Named};
use super::items::Global;
use super::shape;

/// What an assignment writes.
#[derive(Clone, Debug)]
pub(super) enum TargetRef {
    /// A scalar variable, or a field of one.
    Scalar { var: VarId, path: Vec<u32>, ty: Ty },
    /// An element, or a field of one.
    Element { place: Place, ty: Ty },
    /// A whole array or a section.
    Parallel { array: VarId, subs: Vec<Sub>, path: Vec<u32>, ty: Ty },
    /// A name that this assignment makes.
    New,
}

impl Cx<'_> {
    /// What an assignment to `e` writes; says what is not allowed.
    pub(super) fn target(&mut self, e: &ast::Expr) -> Option<TargetRef> {
        match &e.kind {
            ast::ExprKind::Name(name) => self.name_target(name, e.span),
            ast::ExprKind::Index { base, subscripts } => {
                let array = self.subscripted_array(base)?;
                let subs = self.subscripts(array, subscripts, e.span)?;
                self.check_writable(array, e.span)?;
                let ty = self.vars[array].ty;
                match all_at(&subs) {
                    Some(index) => Some(TargetRef::Element { place: self.place(array, index, e.span), ty }),
                    None if self.in_map() => self.parallel_in_map(array, e.span),
                    None => Some(TargetRef::Parallel { array, subs, path: Vec::new(), ty }),
                }
            }
            ast::ExprKind::Field { base, field } => {
                let target = self.target(base)?;
                self.field_target(target, base, field, e.span)
            }
            ast::ExprKind::Error => self.silent(),
            _ => self.error(
                Diagnostic::new(Code::NotWritable, e.span, "this cannot be assigned to")
                    .label("not a variable, an element or a section"),
            ),
        }
    }

    fn field_target(
        &mut self,
        target: TargetRef,
        base: &ast::Expr,
        field: &ast::Ident,
        span: Span,
    ) -> Option<TargetRef> {
        match target {
            TargetRef::Scalar { var, mut path, ty } => {
                let (position, ty) = self.field_of(ty, field)?;
                path.push(position);
                Some(TargetRef::Scalar { var, path, ty })
            }
            TargetRef::Element { mut place, ty } => {
                let (position, ty) = self.field_of(ty, field)?;
                place.path.push(position);
                place.span = span;
                Some(TargetRef::Element { place, ty })
            }
            TargetRef::Parallel { array, subs, mut path, ty } => {
                let (position, ty) = self.field_of(ty, field)?;
                path.push(position);
                Some(TargetRef::Parallel { array, subs, path, ty })
            }
            TargetRef::New => {
                let name = self.text(base.span);
                self.unknown_name(name, base.span)
            }
        }
    }

    fn name_target(&mut self, name: &str, span: Span) -> Option<TargetRef> {
        match self.lookup(name) {
            Some(Named::Scalar(var)) => {
                self.check_writable(var, span)?;
                let ty = self.vars[var].ty;
                Some(TargetRef::Scalar { var, path: Vec::new(), ty })
            }
            Some(Named::ElementOf(array)) => {
                self.check_writable(array, span)?;
                let place = self.iteration_element(array, span)?;
                Some(TargetRef::Element { place, ty: self.vars[array].ty })
            }
            Some(Named::Array(array)) => {
                self.check_writable(array, span)?;
                let ty = self.vars[array].ty;
                if !self.in_map() {
                    let subs = self.whole(array, span);
                    return Some(TargetRef::Parallel { array, subs, path: Vec::new(), ty });
                }
                match self.iteration_index(array, span) {
                    Some(index) => Some(TargetRef::Element { place: self.place(array, index, span), ty }),
                    None => self.parallel_in_map(array, span),
                }
            }
            Some(Named::Poisoned | Named::Global(Global::Poisoned)) => self.silent(),
            Some(Named::Global(global)) => self.error(
                Diagnostic::new(
                    Code::NotWritable,
                    span,
                    format!("`{name}` is a {}, which cannot be assigned to", global.noun()),
                )
                .label("not a variable"),
            ),
            None if self.in_map() && name.len() > 1 && name.starts_with('_') => Some(TargetRef::New),
            None if self.in_map() => {
                if !self.unknown.insert(name.to_string()) {
                    return self.silent();
                }
                let near = near::suggest(name, self.names_in_scope()).map(str::to_string);
                let mut diagnostic = Diagnostic::new(Code::UnknownName, span, format!("there is no `{name}` here"))
                    .label("not found in this scope");
                diagnostic = match near {
                    Some(near) => diagnostic.suggest(span, near, "a similar name exists"),
                    None => diagnostic.suggest(
                        span,
                        format!("_{name}"),
                        "a first assignment makes a scalar of this iteration if its name begins with `_`",
                    ),
                };
                self.error(diagnostic)
            }
            None => self.unknown_name(name, span),
        }
    }

    fn parallel_in_map<T>(&mut self, array: VarId, span: Span) -> Option<T> {
        let name = self.vars[array].name.clone();
        let rank = self.vars[array].shape.len();
        let iters: Vec<String> = (0..rank).map(|d| format!("i{d}")).collect();
        let ranges: Vec<String> = iters
            .iter()
            .zip(&self.vars[array].shape)
            .map(|(iter, extent)| format!("{iter} := [0:{});", shape::show(extent, &self.vars)))
            .collect();
        let index: String = iters.iter().map(|iter| format!("[{iter}]")).collect();
        self.error(
            Diagnostic::new(Code::DataParallelInMap, span, format!("`{name}` is assigned as a whole inside a map"))
                .label("data-parallel statements stand at host level only")
                .help(format!("write a nested map: `map {{ {} {name}{index} = …; }}`", ranges.join(" "))),
        )
    }

    /// Reports variables that must not be written here.
    pub(super) fn check_writable(&mut self, var: VarId, span: Span) -> Option<()> {
        let name = self.vars[var].name.clone();
        let declared = self.vars[var].span;
        if self.tunables.contains(&var) {
            return self.error(
                Diagnostic::new(
                    Code::TunableChanged,
                    span,
                    format!("`{name}` is a tunable, which cannot be assigned to"),
                )
                .label("has one value in each version")
                .also(declared, "declared here"),
            );
        }
        let refused = match self.vars[var].kind {
            VarKind::Dim => Some("a dimension"),
            VarKind::Iter => Some("an iterator"),
            VarKind::Param(_) | VarKind::Local => None,
        };
        if let Some(noun) = refused {
            return self.error(
                Diagnostic::new(Code::NotWritable, span, format!("`{name}` is {noun}, which cannot be assigned to"))
                    .label("never changes")
                    .also(declared, "declared here"),
            );
        }
        if self.is_input(var) && matches!(self.kind, BodyKind::Func | BodyKind::Cell(_)) {
            let diagnostic =
                Diagnostic::new(Code::WritesInput, span, format!("`{name}` is an input, which cannot be written"))
                    .label("written here")
                    .also(declared, "an `input` of the function");
            let diagnostic = if self.text(span).strip_prefix('_') == Some(name.as_str()) {
                let what =
                    if self.vars[var].is_array() { "this iteration's element of the array" } else { "the scalar" };
                diagnostic.note(format!("`_{name}` means {what} `{name}`")).help(self.another_name(&name))
            } else {
                diagnostic.help("declare it in an `inout` list if callers are to see the change")
            };
            return self.error(diagnostic);
        }
        if !self.vars[var].is_array() && self.info(var).level < self.level() {
            return self.outer_scalar(var, span);
        }
        self.info_mut(var).written = true;
        Some(())
    }

    fn outer_scalar<T>(&mut self, var: VarId, span: Span) -> Option<T> {
        let name = self.vars[var].name.clone();
        let declared = self.vars[var].span;
        let renamed = self.text(span).strip_prefix('_') == Some(name.as_str());
        let diagnostic = Diagnostic::new(
            Code::OuterScalar,
            span,
            format!("every iteration of the map would assign `{name}`, which belongs to the level outside"),
        )
        .label("assigned in every iteration")
        .also(declared, "declared outside the map");
        self.error(if renamed {
            diagnostic.note(format!("`_{name}` means the scalar `{name}`")).help(self.another_name(&name))
        } else {
            let value = self.free_name("x");
            diagnostic.help(format!(
                "fold a value of each iteration instead: `}} reduce(\"+\", {name}, {value}, i := [*]);` after the map"
            ))
        })
    }

    fn another_name(&self, name: &str) -> String {
        let free = self.free_name(name);
        format!("choose another name for the scalar of the iteration, such as `{free}`")
    }

    /// A name for a scalar of an iteration: `_x`, or with the first number that makes it new.
    fn free_name(&self, name: &str) -> String {
        let numbered = (1..).map(|number| format!("_{name}{number}"));
        let mut names = std::iter::once(format!("_{name}")).chain(numbered);
        names.find(|name| self.lookup(name).is_none()).expect("a program has few names")
    }
}
