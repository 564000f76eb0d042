//! A page in the browser: what is clicked, typed, seen and sent.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::browser::Browser;

/// How long something may take to be seen.
const SOON: Duration = Duration::from_secs(45);

/// How large the window is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Size {
    Desk,
    Phone,
}

/// Which colours the user likes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colours {
    Light,
    Dark,
}

pub(crate) struct Tab {
    browser: Browser,
    session: String,
    screenshots: Utf8PathBuf,
    /// Where everything must come from.
    origin: String,
    /// Whether the program may be silent: it was ended on purpose.
    may_be_silent: bool,
}

impl Tab {
    pub(crate) fn open(mut browser: Browser, screenshots: &Utf8Path) -> anyhow::Result<Self> {
        let target = browser.ask(None, "Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask(None, "Target.attachToTarget", &attach)?;
        let session = session["sessionId"].as_str().context("no session")?.to_owned();
        let (screenshots, origin) = (screenshots.to_owned(), String::new());
        let mut tab = Self { browser, session, screenshots, origin, may_be_silent: false };
        for domain in ["Page", "Runtime", "Network", "Log", "DOM"] {
            tab.ask(&format!("{domain}.enable"), &json!({}))?;
        }
        tab.look_like(Size::Desk, Colours::Light)?;
        Ok(tab)
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.browser.ask(Some(&self.session), method, params)
    }

    pub(crate) fn look_like(&mut self, size: Size, colours: Colours) -> anyhow::Result<()> {
        let (width, height, mobile, scale) = match size {
            Size::Desk => (1280, 860, false, 1),
            Size::Phone => (390, 844, true, 2),
        };
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics)?;
        let value = match colours {
            Colours::Light => "light",
            Colours::Dark => "dark",
        };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.ask("Emulation.setEmulatedMedia", &media)?;
        Ok(())
    }

    /// Goes to the page of a program.
    pub(crate) fn visit(&mut self, address: &str) -> anyhow::Result<()> {
        let after = address.find("://").map_or(0, |at| at + 3);
        let end = address[after..].find('/').map_or(address.len(), |at| after + at);
        address[..end].clone_into(&mut self.origin);
        self.ask("Page.navigate", &json!({ "url": address }))?;
        self.until("the page is live", "document.getElementById('line')?.dataset.state === 'live'")
    }

    /// What a piece of JavaScript gives. It is the browser's owner who asks, not the page.
    pub(crate) fn eval(&mut self, script: &str) -> anyhow::Result<Value> {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let given = self.ask("Runtime.evaluate", &params)?;
        if let Some(wrong) = given.get("exceptionDetails") {
            bail!("`{script}`: {wrong}");
        }
        Ok(given["result"]["value"].clone())
    }

    /// Waits until something holds.
    pub(crate) fn until(&mut self, what: &str, script: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            if self.eval(&format!("Boolean({script})"))? == true {
                return Ok(());
            }
            if begun.elapsed() > SOON {
                let seen = self.eval("document.body.innerText.slice(0, 1500)")?;
                bail!("waited in vain: {what}; the page says {seen}");
            }
            self.browser.listen(Duration::from_millis(50))?;
        }
    }

    /// Waits until a text is seen in the content.
    pub(crate) fn sees(&mut self, text: &str) -> anyhow::Result<()> {
        let quoted = json!(text);
        self.until(text, &format!("document.getElementById('main').innerText.includes({quoted})"))
    }

    /// Clicks what a selector names, where it is, with a mouse.
    pub(crate) fn click(&mut self, selector: &str) -> anyhow::Result<()> {
        let quoted = json!(selector);
        self.until(&format!("{selector} is there"), &format!("document.querySelector({quoted})"))?;
        let at = self.eval(&format!(
            "(() => {{ const it = document.querySelector({quoted}); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Presses a key: a letter, or one that has a name.
    pub(crate) fn press(&mut self, key: &str) -> anyhow::Result<()> {
        let text = match key {
            "Enter" => "\r",
            "Tab" | "Escape" => "",
            letter => letter,
        };
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            _ => 0,
        };
        for kind in [if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" {
                event["text"] = text.into();
            }
            self.ask("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Types a text where the focus is.
    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.ask("Input.insertText", &json!({ "text": text })).map(drop)
    }

    pub(crate) fn screenshot(&mut self, name: &str) -> anyhow::Result<()> {
        // No more than there is to see: a page that is half empty makes a poor picture.
        let seen = self.eval(
            "[innerWidth, Math.min(innerHeight, Math.ceil(document.getElementById('main').getBoundingClientRect().bottom) + 8)]",
        )?;
        let clip = json!({ "x": 0, "y": 0, "width": seen[0], "height": seen[1], "scale": 1 });
        let taken =
            self.ask("Page.captureScreenshot", &json!({ "format": "png", "clip": clip }))?;
        let data = taken["data"].as_str().context("no picture")?;
        fs_err::write(self.screenshots.join(format!("{name}.png")), decode(data)?)?;
        Ok(())
    }

    /// From now on the program may be silent, because it was ended.
    pub(crate) fn expect_silence(&mut self) {
        self.may_be_silent = true;
    }

    fn told(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.browser.events.iter().filter(move |it| it["method"] == method).map(|it| &it["params"])
    }

    /// What the browser has to say against the page.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let console = self
            .told("Runtime.consoleAPICalled")
            .filter(|it| matches!(it["type"].as_str(), Some("error" | "warning" | "assert")));
        let log = self
            .told("Log.entryAdded")
            .map(|it| &it["entry"])
            .filter(|it| matches!(it["level"].as_str(), Some("error" | "warning")));
        let silence = |it: &&Value| self.may_be_silent && it.to_string().contains("net::ERR_");
        let thrown = self.told("Runtime.exceptionThrown");
        console
            .chain(log.filter(|it| !silence(it)))
            .chain(thrown)
            .map(ToString::to_string)
            .collect()
    }

    /// Requests that went anywhere but to the program.
    pub(crate) fn requests_elsewhere(&self) -> Vec<String> {
        let sent =
            self.told("Network.requestWillBeSent").filter_map(|it| it["request"]["url"].as_str());
        let own = format!("{}/", self.origin);
        sent.filter(|url| !url.starts_with(&own) && !url.starts_with("data:"))
            .map(str::to_owned)
            .collect()
    }

    /// What of the content came to life.
    pub(crate) fn ran(&mut self) -> Vec<String> {
        let dialogs: Vec<String> =
            self.told("Page.javascriptDialogOpening").map(ToString::to_string).collect();
        // Everything hostile calls `ran`, or is one of these elements.
        let alive = "[...(window.hostile ?? []), ...document.querySelectorAll('main :is(script, img, iframe, object, embed, style, link, [onerror], [onload]), main b')].map((it) => it.outerHTML ?? String(it))";
        let alive = self.eval(alive).map_or_else(
            |error| vec![Value::from(error.to_string())],
            |it| it.as_array().cloned().unwrap_or_default(),
        );
        dialogs.into_iter().chain(alive.iter().map(ToString::to_string)).collect()
    }
}

/// What is written in base64.
fn decode(text: &str) -> anyhow::Result<Vec<u8>> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for c in four {
            bits = bits << 6 | u32::from(value(*c).context("not base64")?);
        }
        bits <<= 6 * (4 - four.len());
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    Ok(bytes)
}
