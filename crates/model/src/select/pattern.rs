//! Whether one pattern fits a model, and which.

use agents_agent::definition::Effort;

use super::{
    Available, Credentials, Preferences, Rank, fuzzy,
    names::{canonical, level, split_date, without_route},
};

/// In which way a pattern fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is the model, provider and all.
    Exact,
    /// It is the model, but for what a reseller writes behind it.
    WithoutRoute,
    /// It is the name of the model.
    Id,
    /// It is what the model is called whoever sells it.
    Canonical,
    /// Its letters are in the name, in order, of a model of that provider.
    Letters,
    /// It is a part of the name.
    Part,
    /// It is the parent's model itself.
    Parent,
    /// It is the first one.
    First,
}

impl How {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Exact => "exactly",
            Self::WithoutRoute => "without its route",
            Self::Id => "by its name",
            Self::Canonical => "whoever sells it",
            Self::Letters => "by its letters",
            Self::Part => "by a part of its name",
            Self::Parent => "as the parent",
            Self::First => "as the first",
        }
    }
}

/// A model that a pattern fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit<'m> {
    pub(super) model: &'m Available,
    pub(super) how: How,
    /// The level at the end of the pattern.
    pub(super) effort: Option<Effort>,
    /// Whether something stood at the end that is no level.
    pub(super) odd_suffix: bool,
}

/// The models, and which of two is taken where a pattern fits both.
pub(super) struct Field<'m> {
    pub(super) models: &'m [Available],
    pub(super) preferences: &'m Preferences,
}

impl<'m> Field<'m> {
    /// The model that the pattern fits.
    pub(super) fn fit(&self, pattern: &str) -> Option<Fit<'m>> {
        if let Some((model, how)) = self.fit_whole(pattern) {
            return Some(Fit { model, how, effort: None, odd_suffix: false });
        }
        let (head, suffix) = pattern.rsplit_once(':')?;
        if head.trim().is_empty() {
            return None;
        }
        let fit = self.fit(head)?;
        Some(match level(suffix) {
            // Of several levels the last one counts; it was said last.
            Some(effort) => Fit { effort: Some(effort), ..fit },
            None => Fit { odd_suffix: true, ..fit },
        })
    }

    fn fit_whole(&self, pattern: &str) -> Option<(&'m Available, How)> {
        let pattern = pattern.trim();
        if !pattern.contains(char::is_alphanumeric) {
            return None;
        }
        if let Some(answer) = self.exact(pattern) {
            return answer.map(|model| (model, How::Exact));
        }
        if let Some(model) = self.resold(pattern) {
            return Some((model, How::WithoutRoute));
        }
        if let Some(model) = self.best(|it| it.model.id.eq_ignore_ascii_case(pattern)) {
            return Some((model, How::Id));
        }
        let wanted = pattern.to_ascii_lowercase();
        if let Some(model) = self.best(|it| canonical(&it.model.id) == wanted) {
            return Some((model, How::Canonical));
        }
        if let Some((provider, rest)) = pattern.split_once('/')
            && self.is_provider(provider)
        {
            // Never a model of somebody else, whatever its name.
            return self.letters(provider, rest).map(|model| (model, How::Letters));
        }
        self.part(&wanted).map(|model| (model, How::Part))
    }

    fn is_provider(&self, name: &str) -> bool {
        self.models.iter().any(|it| it.model.provider.eq_ignore_ascii_case(name))
    }

    /// `Some(None)` if it is two models at once.
    fn exact(&self, pattern: &str) -> Option<Option<&'m Available>> {
        let mut same = self.models.iter().filter(|it| is_exactly(it, pattern));
        let first = same.next()?;
        Some(same.next().is_none().then_some(first))
    }

    fn resold(&self, pattern: &str) -> Option<&'m Available> {
        let resold = || self.models.iter().filter(|it| it.rank == Rank::Reseller);
        let plain = without_route(pattern);
        let undated = split_date(plain).0;
        [plain, undated].into_iter().filter(|it| *it != pattern).find_map(|name| {
            // A level is not a route.
            if name == plain
                && pattern.rsplit_once(':').is_some_and(|(_, word)| level(word).is_some())
            {
                return None;
            }
            resold().find(|it| is_exactly(it, name))
        })
    }

    fn letters(&self, provider: &str, letters: &str) -> Option<&'m Available> {
        if letters.is_empty() {
            return None;
        }
        let of_provider =
            self.models.iter().filter(|it| it.model.provider.eq_ignore_ascii_case(provider));
        let scored = of_provider.filter_map(|it| Some((fuzzy::score(letters, &it.model.id)?, it)));
        scored.min_by_key(|(score, it)| (*score, self.preference(it))).map(|(_, it)| it)
    }

    /// Names without a date first, then the latest date.
    fn part(&self, wanted: &str) -> Option<&'m Available> {
        let holds = |text: &str| text.to_lowercase().contains(wanted);
        let fits =
            |it: &&Available| holds(&it.model.id) || it.display.as_deref().is_some_and(holds);
        let fitting: Vec<&Available> = self.models.iter().filter(fits).collect();
        let (dated, undated): (Vec<_>, Vec<_>) =
            fitting.into_iter().partition(|it| split_date(without_route(&it.model.id)).1.is_some());
        let undated = undated.into_iter().min_by_key(|it| self.preference(it));
        undated.or_else(|| {
            let later =
                |it: &&Available| (std::cmp::Reverse(it.model.id.clone()), self.preference(it));
            dated.into_iter().min_by_key(later)
        })
    }

    fn best(&self, fits: impl Fn(&Available) -> bool) -> Option<&'m Available> {
        self.models.iter().filter(|it| fits(it)).min_by_key(|it| self.preference(it))
    }

    /// The lower the better; the place in the registry decides at last.
    fn preference(&self, it: &Available) -> (Credentials, usize, usize, Rank, usize) {
        let recent = self.preferences.recent.iter().position(|model| *model == it.model);
        let provider =
            self.preferences.providers.iter().position(|name| *name == it.model.provider);
        let place = self.models.iter().position(|other| std::ptr::eq(other, it));
        (
            it.credentials,
            recent.unwrap_or(usize::MAX),
            provider.unwrap_or(usize::MAX),
            it.rank,
            place.unwrap_or(usize::MAX),
        )
    }
}

fn is_exactly(it: &Available, pattern: &str) -> bool {
    let (provider, id) = (&it.model.provider, &it.model.id);
    pattern.len() == provider.len() + 1 + id.len()
        && pattern.get(..provider.len()).is_some_and(|head| head.eq_ignore_ascii_case(provider))
        && pattern.as_bytes().get(provider.len()) == Some(&b'/')
        && pattern.get(provider.len() + 1..).is_some_and(|tail| tail.eq_ignore_ascii_case(id))
}
