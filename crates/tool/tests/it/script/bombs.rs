//! Scripts that want all there is. That these tests end is what they show.

use super::Stage;
use crate::unmarked;

/// The limits, one of which ended it.
const LIMITS: [&str; 9] = [
    "it took more than 1 s",
    "it used more than it may",
    "it may make 200 calls",
    "may have 4194304 bytes",
    "that nothing will ever settle",
    "out of memory",
    "no memory was left",
    "Maximum call stack size exceeded",
    "string too long",
];

/// Each comes to a limit in its time, and nothing of it is left.
#[track_caller]
fn ends(scripts: &[&str]) {
    let stage = Stage::new();
    for script in scripts {
        let result = stage.run(script, 1);
        assert!(
            result.is_error && LIMITS.iter().any(|it| result.content.contains(it)),
            "{script}: {}",
            result.content
        );
        assert!(result.content.len() < 200_000, "{script}: {} bytes", result.content.len());
    }
    stage.gives("return 'still here'", "still here");
}

/// What never comes to a limit, because the interpreter does not begin with it.
#[test]
fn what_is_refused_at_once() {
    let stage = Stage::new();
    for (script, why) in [
        // What was thrown is shown without asking it how.
        ("throw { toString() { while (true); } }", "{}"),
        ("return new ArrayBuffer(2 ** 40)", "RangeError: invalid array buffer length (line 1)"),
        (
            "return String(3n ** 30_000_000n).length",
            "RangeError: BigInt is too large to allocate (line 1)",
        ),
        (
            "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
            "TypeError: cannot block in this thread (line 1)",
        ),
        (
            "return new RegExp('(a{1,1000}){1,1000}'.repeat(1000)).test('a')",
            "SyntaxError: too many captures (line 1)",
        ),
    ] {
        let result = stage.run(script, 1);
        assert!(result.is_error, "{script}");
        assert_eq!(unmarked(&result.content), format!("the script failed: {why}"), "{script}");
    }
    stage.gives("return 'still here'", "still here");
}

#[test]
fn loops() {
    ends(&[
        "while (true);",
        "for (;;) { try { while (true); } catch {} finally { continue } }",
        "const again = () => Promise.resolve().then(again); await again()",
        "const f = async () => { while (true) await null }; await f()",
        "await new Promise(() => {})",
        "function* g() { while (true) yield 1 } for (const _ of g());",
        "const p = new Proxy({}, { get: () => p, has: () => true }); for (let it = p; it; it = it.x);",
        "Object.defineProperty(globalThis, 'x', { get() { while (true); } }); x",
        "return { toJSON() { while (true); } }",
        "new FinalizationRegistry(() => { while (true); }).register({}, 1); while (true) ({})",
    ]);
}

/// What runs inside of the interpreter, where nobody counts.
#[test]
fn loops_that_the_interpreter_does_not_see() {
    ends(&[
        "return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "return Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "return /^(a+)+$/.test('a'.repeat(60) + 'b')",
        "return /(x+x+)+y/.exec('x'.repeat(50_000))",
        "return [].concat(...Array(3000).fill(Array(10_000).fill(0))).sort(() => 0).reverse().join().length",
        "return JSON.parse('['.repeat(3_000_000))",
        "return 'a'.repeat(20_000_000).split('').map((it) => it.codePointAt(0)).length + (() => { while (true); })()",
    ]);
}

#[test]
fn memory() {
    ends(&[
        "const all = []; while (true) all.push(all.slice())",
        "let text = 'x'; while (true) text += text",
        "let text = ''; while (true) text += 'x'.repeat(1_000_000).toUpperCase()",
        "const all = []; while (true) { try { all.push(new Uint8Array(1 << 20).fill(1)) } catch {} }",
        "return 'x'.repeat(2 ** 29)",
        "return Array(2 ** 32 - 1).fill('x')",
        "let it = {}; while (true) it = { it }",
        "const all = new Map(); for (let i = 0; ; i++) all.set(i, 'x' + i)",
        "const all = []; while (true) all.push(new Promise(() => {}))",
        "return eval('(' + '['.repeat(1_000_000) + ')')",
    ]);
}

#[test]
fn the_stack() {
    ends(&[
        "const f = () => f(); f()",
        "const f = async () => f(); await f()",
        "let it = []; for (let i = 0; i < 1_000_000; i++) it = [it]; return it",
        "const p = new Proxy({}, { get(_, key, self) { return self[key] } }); return p.x",
        "class A { toString() { return `${this}` } } return `${new A()}`",
        "let f = 'x'; for (let i = 0; i < 100_000; i++) f = `(${f})`; return eval(f)",
        "return eval('x => '.repeat(100_000) + 'x')",
    ]);
}

#[test]
fn floods() {
    ends(&[
        "while (true) console.log('x'.repeat(1000))",
        "console.log('x'.repeat(30_000_000))",
        "while (true) tools.echo.say({})",
        "while (true) await tools.echo.say({})",
        "await tools.echo.say({ text: 'x'.repeat(8_000_000) })",
        "return 'x'.repeat(8_000_000)",
        "const all = []; while (true) all.push(tools.echo.big({ size: 4_000_000 }))",
        "await Promise.all(Array.from({ length: 200 }, async () => { for (;;) await tools.echo.big({ size: 1_000_000 }) }))",
        "throw new Error('x'.repeat(8_000_000))",
        "await tools.echo.never()",
        "await tools['with-dash']['x'.repeat(8_000_000)]()",
    ]);
}
