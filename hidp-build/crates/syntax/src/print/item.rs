//! Items.

use super::Printer;
use crate::ast::{
    Codelet, ConstItem, Direction, Directive, DirectiveKind, Field, Function, Import, Item, Param, Recurrence,
    ScalarFunction, StructItem, Tunable, Values,
};

impl Printer {
    pub(super) fn item(&mut self, item: &Item) {
        match item {
            Item::Import(import) => self.import(import),
            Item::Const(constant) => self.constant(constant),
            Item::Struct(item) => self.struct_item(item),
            Item::Function(function) => self.function(function),
            Item::Scalar(function) => self.scalar_function(function),
            Item::Recurrence(recurrence) => self.recurrence(recurrence),
            Item::Codelet(codelet) => self.codelet(codelet),
        }
    }

    fn import(&mut self, import: &Import) {
        let path = import.path.replace('\\', "\\\\").replace('"', "\\\"");
        self.line(&format!("import \"{path}\";"));
    }

    fn constant(&mut self, constant: &ConstItem) {
        self.push(&format!("const {} {} = ", constant.ty.name, constant.name.name));
        self.expr(&constant.value);
        self.push(";\n");
    }

    fn struct_item(&mut self, item: &StructItem) {
        self.doc(&item.doc);
        if item.native {
            self.line(&format!("extern struct {};", item.name.name));
            return;
        }
        self.line(&format!("struct {} {{", item.name.name));
        self.indented(|printer| {
            for Field { ty, name } in &item.fields {
                printer.line(&format!("{} {};", ty.name, name.name));
            }
        });
        self.line("}");
    }

    fn function(&mut self, function: &Function) {
        self.doc(&function.doc);
        self.directives(&function.directives);
        self.push(if function.is_static { "static function " } else { "function " });
        self.push(&function.name.name);
        self.push("\n");
        self.params(&function.params);
        self.block(&function.body);
        self.push("\n");
    }

    pub(super) fn params(&mut self, params: &[Param]) {
        let alike = |a: &Param, b: &Param| (a.direction, a.partial, &a.ty.name) == (b.direction, b.partial, &b.ty.name);
        for list in params.chunk_by(alike) {
            self.param_list(list);
        }
    }

    fn codelet(&mut self, codelet: &Codelet) {
        self.doc(&codelet.doc);
        self.directives(&codelet.directives);
        let tag = codelet.tag.replace('\\', "\\\\").replace('"', "\\\"");
        self.push(&format!("codelet {} \"{tag}\"\n", codelet.function.name));
        self.params(&codelet.params);
        if let Some(when) = &codelet.when {
            self.push("when (");
            self.expr(when);
            self.push(")\n");
        }
        for Tunable { ty, name, values, run, span: _ } in &codelet.tunables {
            self.push(&format!("tunable {} {} = ", ty.name, name.name));
            match values {
                Values::Listed(values) => {
                    self.push("{");
                    self.separated(values, ", ", |printer, value| printer.expr(value));
                    self.push("}");
                }
                Values::OfModel(knob) => self.push(knob.name()),
            }
            self.push(if *run { " run;\n" } else { ";\n" });
        }
        self.block(&codelet.body);
        self.push("\n");
    }

    fn param_list(&mut self, list: &[Param]) {
        let word = match list[0].direction {
            Direction::Input => "input",
            Direction::Output if list[0].partial => "partial output",
            Direction::Output => "output",
            Direction::Inout => "inout",
        };
        self.push(&format!("{word} {} ", list[0].ty.name));
        self.separated(list, ", ", |printer, param| {
            printer.push(&param.name.name);
            printer.dims(&param.dims);
        });
        self.push(";\n");
    }

    fn scalar_function(&mut self, function: &ScalarFunction) {
        self.doc(&function.doc);
        self.directives(&function.directives);
        self.push(if function.body.is_none() { "extern function " } else { "function " });
        self.push(&format!("{} {}(", function.result.name, function.name.name));
        self.separated(&function.params, ", ", |printer, Field { ty, name }| {
            printer.push(&format!("{} {}", ty.name, name.name));
        });
        match &function.body {
            None => self.push(");\n"),
            Some(body) => {
                self.push(") ");
                self.block(body);
                self.push("\n");
            }
        }
    }

    fn recurrence(&mut self, recurrence: &Recurrence) {
        self.doc(&recurrence.doc);
        self.directives(&recurrence.directives);
        self.push(&format!("recurrence {} {}(", recurrence.ty.name, recurrence.name.name));
        self.separated(&recurrence.index, ", ", |printer, index| {
            printer.push(&format!("{} := ", index.name.name));
            printer.range(&index.range);
        });
        self.push(")\n");
        for list in recurrence.params.chunk_by(|a, b| a.ty.name == b.ty.name) {
            self.param_list(list);
        }
        self.block(&recurrence.body);
        self.push("\n");
    }

    fn doc(&mut self, doc: &[String]) {
        for line in doc {
            self.line(format!("// {line}").trim_end());
        }
    }

    /// One line for each, so that every one reads as it stands.
    pub(super) fn directives(&mut self, directives: &[Directive]) {
        for directive in directives {
            self.start_line();
            self.push("#pragma hidp ");
            self.directive(&directive.kind);
            self.push("\n");
        }
    }

    fn directive(&mut self, kind: &DirectiveKind) {
        match kind {
            DirectiveKind::Level(level) => self.push(level.name()),
            DirectiveKind::Ordered => self.push("ordered"),
            DirectiveKind::Unordered => self.push("unordered"),
            DirectiveKind::Unchecked => self.push("unchecked"),
            DirectiveKind::NoContract => self.push("nocontract"),
            DirectiveKind::BlockSize(size) => {
                self.push("block(");
                self.expr(size);
                self.push(")");
            }
            DirectiveKind::Unroll(count) => {
                self.push("unroll(");
                self.expr(count);
                self.push(")");
            }
            DirectiveKind::Schedule(rows) => {
                self.push("schedule(");
                for (at, row) in rows.iter().enumerate() {
                    self.push(if at == 0 { "" } else { "; " });
                    self.expr(row);
                }
                self.push(")");
            }
            DirectiveKind::Pin(pin) => self.pin(pin),
            DirectiveKind::Allow(codes) => {
                let names: Vec<&str> = codes.iter().map(|code| code.name.as_str()).collect();
                self.push(&format!("allow({})", names.join(", ")));
            }
        }
    }
}
