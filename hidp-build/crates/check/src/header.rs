//! Headers of functions over arrays: parameters, dimension names and what binds them.

use hidp_ir::par::{ConvertMode, Expr, ExprKind, VarId, VarKind};
use hidp_syntax::ast::{self, Direction};
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::source::FileId;
use hidp_syntax::ty::{Scalar, Ty};

use super::cx::{Cx, MAX_RANK, Named};
use super::items::{Global, Globals};
use super::shape::{self, Linear};
use super::stmt::too_many_dimensions;

/// An unknown type name.
pub(super) fn unknown_type(globals: &Globals<'_>, file: FileId, ty: &ast::TypeName) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(Code::UnknownType, ty.span, format!("there is no type `{}`", ty.name)).label("not a type");
    let structs = globals.structs.iter().map(|(_, s)| s.name.as_str());
    let mut candidates: Vec<&str> = structs.collect();
    for scalar in Scalar::ALL {
        candidates.push(scalar.hidp_name());
    }
    candidates.push("char");
    match near::suggest(&ty.name, candidates) {
        Some(near) => diagnostic.suggest(ty.span, near, "a similar type exists"),
        None => match globals.lookup(file, &ty.name) {
            Some(global) => diagnostic.note(format!("`{}` is a {}", ty.name, global.noun())),
            None => diagnostic,
        },
    }
}

impl Cx<'_> {
    /// Declares the parameters and dimension names of a function. Gives both in order.
    pub(super) fn header(&mut self, params: &[ast::Param]) -> (Vec<VarId>, Vec<VarId>) {
        let vars: Vec<VarId> = params.iter().map(|param| self.parameter(param)).collect();
        let dims = self.dimension_names(params);
        let mut plain = Vec::new();
        for (param, var) in params.iter().zip(&vars) {
            if let Some(shape) = self.parameter_shape(param) {
                plain.push(shape.clone());
                self.vars[*var].shape = shape;
            } else {
                self.info_mut(*var).poisoned = true;
            }
        }
        self.bound_dimensions(&dims, &plain);
        (vars, dims)
    }

    fn parameter(&mut self, param: &ast::Param) -> VarId {
        let ty = self.type_name(&param.ty);
        // The shape comes when all names are known; until then the rank alone counts.
        let shape = param.dims.iter().map(|dim| Expr::int(0, dim.span)).collect();
        let kind = VarKind::Param(param.direction);
        let var = self.new_var(&param.name.name, ty.unwrap_or(Ty::LONG), shape, kind, param.name.span);
        self.info_mut(var).poisoned = ty.is_none();
        self.declare(&param.name, var);
        if param.partial && param.dims.is_empty() {
            let headline = format!("the scalar `{}` has no elements that could stay as they are", param.name.name);
            let _: Option<()> = self.error(
                Diagnostic::new(Code::BadHeader, param.name.span, headline)
                    .label("`partial` is for arrays")
                    .help("put it into an `output` list of its own"),
            );
        }
        if param.dims.len() > MAX_RANK {
            let diagnostic = too_many_dimensions(&param.name);
            let _: Option<()> = self.error(diagnostic);
        }
        var
    }

    /// Names in dimensions that nothing else has are dimension names.
    fn dimension_names(&mut self, params: &[ast::Param]) -> Vec<VarId> {
        let mut names = Vec::new();
        for dim in params.iter().flat_map(|param| &param.dims) {
            super::maps::collect_names(dim, &mut names);
        }
        let mut dims = Vec::new();
        for (name, span) in names {
            if self.is_known(&name) {
                continue;
            }
            if super::prims::is_primitive(&name) {
                self.refuse_reserved(&name, span);
            }
            let var = self.new_var(&name, Ty::LONG, Vec::new(), VarKind::Dim, span);
            self.bind(&name, var);
            dims.push(var);
        }
        dims
    }

    fn is_known(&self, name: &str) -> bool {
        match self.lookup(name) {
            Some(Named::Scalar(_) | Named::Array(_) | Named::Global(Global::Const(_)) | Named::Poisoned) => true,
            Some(Named::ElementOf(_) | Named::Global(_)) | None => false,
        }
    }

    fn parameter_shape(&mut self, param: &ast::Param) -> Option<Vec<Expr>> {
        let dims: Vec<Option<Expr>> = param
            .dims
            .iter()
            .map(|dim| {
                let extent = self.long(dim, "a dimension", ConvertMode::Checked)?;
                self.dimension_parts(&extent)?;
                Some(shape::simplified(extent))
            })
            .collect();
        dims.into_iter().collect()
    }

    /// A dimension is made of dimension names, scalar inputs and constants.
    fn dimension_parts(&mut self, extent: &Expr) -> Option<()> {
        if extent.as_int().is_some_and(|size| size < 0) {
            return self.error(
                Diagnostic::new(Code::BadDimension, extent.span, "a dimension cannot be negative").label("negative"),
            );
        }
        let mut written = None;
        shape::walk(extent, &mut |e| match e.kind {
            ExprKind::Read(var) => {
                if matches!(self.vars[var].kind, VarKind::Param(Direction::Output | Direction::Inout)) {
                    written = Some(e.span);
                }
            }
            ExprKind::Load(_) | ExprKind::Call(..) => {
                written = Some(e.span);
            }
            _ => {}
        });
        let Some(span) = written else { return Some(()) };
        self.error(
            Diagnostic::new(Code::BadDimension, span, "a dimension is made of names, scalar inputs and constants")
                .label("not known before the call"),
        )
    }

    /// Reports dimension names that no argument's shape gives a value.
    fn bound_dimensions(&mut self, dims: &[VarId], shapes: &[Vec<Expr>]) {
        let extents: Vec<&Expr> = shapes.iter().flatten().collect();
        let mut bound: Vec<VarId> = dims
            .iter()
            .copied()
            .filter(|dim| extents.iter().any(|e| matches!(e.kind, ExprKind::Read(var) if var == *dim)))
            .collect();
        loop {
            let next = dims.iter().copied().find(|dim| {
                let others_bound = |e: &Expr| {
                    dims.iter().all(|other| other == dim || bound.contains(other) || !shape::mentions(e, *other))
                };
                !bound.contains(dim) && extents.iter().any(|e| Linear::of(e).is_linear_in(*dim) && others_bound(e))
            });
            match next {
                Some(dim) => bound.push(dim),
                None => break,
            }
        }
        if self.failed {
            return;
        }
        for dim in dims.iter().filter(|dim| !bound.contains(dim)) {
            let name = self.vars[*dim].name.clone();
            let span = self.vars[*dim].span;
            let scalar = format!("_{name}");
            let mut diagnostic = Diagnostic::new(
                Code::UnboundDimension,
                span,
                format!("no argument gives dimension `{name}` a value"),
            )
            .label("not bound")
            .note("a name is bound by an array that has it as a dimension, or by an expression that is linear in it");
            if self.names_in_scope().contains(&scalar.as_str()) {
                diagnostic = diagnostic.suggest(span, scalar, "a scalar of a similar name exists");
            }
            let _: Option<()> = self.error(diagnostic);
        }
    }
}
