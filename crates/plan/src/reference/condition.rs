//! `tasks.survey.output.count > 0 and not tasks.survey.output.done`.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Lookup, Reference, ReferenceError, scan::Scanner};

/// Whether something holds.
///
/// `or`, `and`, `not`, parentheses, the six comparisons, references and literals. A value alone holds unless it is `false`, `null`,
/// 0, or an empty text or list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// A value.
    Value(Value),
    /// Something that is known later, and where it was read.
    Reference(Reference, Range<usize>),
    /// It does not hold.
    Not(Box<Self>),
    /// All of them hold.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
    /// Two values compare so.
    Compare(Box<Self>, Operator, Box<Self>),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// They are the same.
    Equal,
    /// They are not.
    NotEqual,
    /// The first is not greater.
    AtMost,
    /// The first is not less.
    AtLeast,
    /// The first is less.
    Less,
    /// The first is greater.
    Greater,
}

impl Operator {
    // The longer signs first: `<=` begins with `<`.
    pub(super) const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::AtMost, Self::AtLeast, Self::Less, Self::Greater];

    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::Greater => ">",
        }
    }

    /// Whether it asks for an order, which only numbers and texts have.
    #[must_use]
    pub fn is_order(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

impl Condition {
    /// Reads one, with or without `${{ }}` around it.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let trimmed = text.trim();
        let start = text.len() - text.trim_start().len();
        let inner = trimmed.strip_prefix("${{").and_then(|it| it.strip_suffix("}}"));
        let span = match inner {
            Some(inner) => start + 3..start + 3 + inner.len(),
            None => start..start + trimmed.len(),
        };
        let mut scanner = Scanner::new(text, span);
        let condition = any(&mut scanner)?;
        scanner.end()?;
        Ok(condition)
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::All(vec![self, other])
    }

    /// What it refers to.
    #[must_use]
    pub fn references(&self) -> Vec<(&Reference, Range<usize>)> {
        let mut found = Vec::new();
        let mut waiting = vec![self];
        while let Some(part) = waiting.pop() {
            match part {
                Self::Value(_) => {}
                Self::Reference(reference, span) => found.push((reference, span.clone())),
                Self::Not(inner) => waiting.push(inner),
                Self::All(parts) | Self::Any(parts) => waiting.extend(parts.iter().rev()),
                Self::Compare(one, _, other) => waiting.extend([&**other, &**one]),
            }
        }
        found
    }

    /// The comparisons in it.
    #[must_use]
    pub fn comparisons(&self) -> Vec<(&Self, Operator, &Self)> {
        match self {
            Self::Value(_) | Self::Reference(..) => Vec::new(),
            Self::Not(inner) => inner.comparisons(),
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().flat_map(Self::comparisons).collect()
            }
            Self::Compare(one, operator, other) => vec![(&**one, *operator, &**other)],
        }
    }

    /// The same with what is known put in, and the rest renamed.
    #[must_use]
    pub fn bind(&self, known: &dyn Lookup, rename: &dyn Fn(&str) -> String) -> Self {
        let bound = |part: &Self| part.bind(known, rename);
        match self {
            Self::Value(value) => Self::Value(value.clone()),
            Self::Reference(reference, span) => match known.look_up(reference) {
                Some(value) => Self::Value(value),
                None => Self::Reference(reference.renamed(rename), span.clone()),
            },
            Self::Not(inner) => Self::Not(Box::new(bound(inner))),
            Self::All(parts) => Self::All(parts.iter().map(bound).collect()),
            Self::Any(parts) => Self::Any(parts.iter().map(bound).collect()),
            Self::Compare(one, operator, other) => {
                Self::Compare(Box::new(bound(one)), *operator, Box::new(bound(other)))
            }
        }
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// Two values are asked for their order that have none.
    pub fn holds(&self, known: &dyn Lookup) -> Result<bool, String> {
        match self {
            Self::Value(_) | Self::Reference(..) => Ok(is_true(&self.value(known)?)),
            Self::Not(inner) => Ok(!inner.holds(known)?),
            Self::All(parts) => {
                for part in parts {
                    if !part.holds(known)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Any(parts) => {
                for part in parts {
                    if part.holds(known)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Compare(one, operator, other) => {
                compare(&one.value(known)?, *operator, &other.value(known)?)
            }
        }
    }

    fn value(&self, known: &dyn Lookup) -> Result<Value, String> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Reference(reference, _) => Ok(known.look_up(reference).unwrap_or_default()),
            other => other.holds(known).map(Value::Bool),
        }
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

fn compare(one: &Value, operator: Operator, other: &Value) -> Result<bool, String> {
    use std::cmp::Ordering;
    let order = match (one, other) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ if operator.is_order() => {
            return Err(format!("{one} {} {other} has no answer", operator.sign()));
        }
        _ => Some(if one == other { Ordering::Equal } else { Ordering::Less }),
    };
    Ok(match operator {
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::AtMost => order.is_some_and(Ordering::is_le),
        Operator::AtLeast => order.is_some_and(Ordering::is_ge),
        Operator::Less => order.is_some_and(Ordering::is_lt),
        Operator::Greater => order.is_some_and(Ordering::is_gt),
    })
}

fn any(scanner: &mut Scanner<'_>) -> Result<Condition, ReferenceError> {
    let mut parts = vec![all(scanner)?];
    while scanner.keyword("or") {
        parts.push(all(scanner)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
}

fn all(scanner: &mut Scanner<'_>) -> Result<Condition, ReferenceError> {
    let mut parts = vec![not(scanner)?];
    while scanner.keyword("and") {
        parts.push(not(scanner)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
}

fn not(scanner: &mut Scanner<'_>) -> Result<Condition, ReferenceError> {
    if scanner.keyword("not") {
        return Ok(Condition::Not(Box::new(scanner.descend(not)?)));
    }
    let one = operand(scanner)?;
    match scanner.operator() {
        Some(operator) => {
            let other = operand(scanner)?;
            Ok(Condition::Compare(Box::new(one), operator, Box::new(other)))
        }
        None => Ok(one),
    }
}

fn operand(scanner: &mut Scanner<'_>) -> Result<Condition, ReferenceError> {
    if scanner.sign("(") {
        let start = scanner.position();
        let inner = scanner.descend(any)?;
        if !scanner.sign(")") {
            return scanner.error(start - 1..start, "`(` without `)`");
        }
        return Ok(inner);
    }
    if let Some(value) = scanner.literal()? {
        return Ok(Condition::Value(value));
    }
    let (reference, span) = scanner.reference()?;
    Ok(Condition::Reference(reference, span))
}
