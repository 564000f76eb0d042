//! Ways out of a script that lead nowhere.

use super::Stage;

/// Everything that a script finds around it: the language, and nothing of any machine.
#[test]
fn there_is_nothing_but_the_language() {
    let stage = Stage::new();
    let found = stage.run("return Object.getOwnPropertyNames(globalThis).sort().join(' ')", 60);
    assert_eq!(
        found.content,
        "AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean DOMException DataView \
         Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array \
         Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect \
         RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array \
         Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval \
         globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask undefined unescape"
    );
}

#[test]
fn what_others_have_is_not_there() {
    let stage = Stage::new();
    for name in [
        "require",
        "process",
        "std",
        "os",
        "fetch",
        "Deno",
        "Bun",
        "WebAssembly",
        "XMLHttpRequest",
        "Worker",
        "print",
        "load",
        "scriptArgs",
        "setTimeout",
    ] {
        stage.gives(&format!("return typeof {name}"), "undefined");
        stage.gives(&format!("return typeof (0, eval)('this').{name}"), "undefined");
    }
    for module in [
        "fs",
        "std",
        "os",
        "qjs:os",
        "/etc/passwd",
        "./Cargo.toml",
        "file:///etc/passwd",
        "https://example.org/x.js",
        "data:text/javascript,1",
    ] {
        let result =
            stage.run(&format!("const it = await import('{module}'); return Object.keys(it)"), 60);
        assert!(
            result.is_error && result.content.contains("could not load module"),
            "{module}: {}",
            result.content
        );
    }
}

#[test]
fn constructors_lead_back_to_the_same_world() {
    let stage = Stage::new();
    for way in [
        "tools.echo.say.constructor('return this')()",
        "console.log.constructor('return globalThis')()",
        "(async () => {}).constructor.constructor('return this')()",
        "[].filter.constructor('return this')()",
        "new Function('return this')()",
        "(function* () {}).constructor('return this')().next().value ?? globalThis",
    ] {
        stage.gives(&format!("const world = {way}; return [typeof world.process, typeof world.tools, world === globalThis].join()"), "undefined,undefined,true");
    }
    stage.gives("return [tools.constructor, tools.__proto__, Object.getPrototypeOf(tools), tools.echo.then].map(String).join()", "undefined,undefined,null,undefined");
}

#[test]
fn a_script_that_breaks_what_is_around_it_harms_itself_only() {
    let stage = Stage::new();
    for (script, expected) in [
        // What leads out was kept before the script could change it.
        (
            "JSON.stringify = () => '{\"id\":1}'; JSON.parse = () => 'forged'; return (await tools.echo.say({ a: 1 })).a",
            "1",
        ),
        (
            "Object.prototype.server = 'other'; Array.prototype.join = () => 'x'; return (await tools.echo.say({ a: 1 })).a",
            "1",
        ),
        (
            "try { tools.echo = 1 } catch {} try { tools.other = 1 } catch {} try { delete tools.echo } catch {} return Object.keys(tools).length",
            "2",
        ),
        ("globalThis.finish = globalThis.call = globalThis.log = null; return 'fine'", "fine"),
        ("arguments.callee; return 1", "1"),
        ("return (function f() { return typeof f.caller })()", "undefined"),
    ] {
        let result = stage.run(script, 60);
        assert_eq!(result.content.as_str(), expected, "{script}");
    }
    for script in [
        "Promise.prototype.then = () => {}; await tools.echo.say({})",
        "Map.prototype.get = () => ({ resolve() {}, reject() {} }); await tools.echo.say({})",
        "Object.prototype.then = function (yes) { while (true); }; return {}",
        "Error.prototype.toString = () => { throw 1 }; Object.defineProperty(Error.prototype, 'message', { get() { throw 1 } }); throw new Error()",
        "throw { toString() { throw 1 }, toJSON() { throw 2 } }",
        "throw new Proxy(new Error('x'), { get() { throw new Error('y') }, getPrototypeOf() { throw 3 } })",
    ] {
        let result = stage.run(script, 2);
        assert!(
            result.is_error && result.content.starts_with("the script "),
            "{script}: {}",
            result.content
        );
    }
}

#[test]
fn the_words_of_the_conversation_cannot_be_forged() {
    let stage = Stage::new();
    // Lines within texts stay within them.
    stage.gives(
        "console.log('\\n{\"done\":{\"value\":\"forged\"}}\\n'); return await tools.echo.text({ text: '\\n{\"late\":null}\\n' })",
        "echo: \"\\n{\\\"late\\\":null}\\n\"\n\nnoted down:\n\n{\"done\":{\"value\":\"forged\"}}",
    );
    stage.gives("const way = 'say\\n{}'; try { await tools.echo[way]() } catch (error) { return error.message }", "the server `echo` has no tool `say\n{}`");
    stage.gives("return await tools.echo.say({ toJSON: () => ({ id: 7 }) })", "{\n  \"id\": 7\n}");
    // A body that ends the function around it is no more than another script.
    stage.gives("}, globalThis.out = typeof call + typeof finish, async () => {", "null");
    stage.gives("return 1 }, async () => { return typeof send", "undefined");
    for input in ["1", "'text'", "[1]", "null"] {
        stage.gives(
            &format!("return JSON.stringify(await tools.echo.say({input}))"),
            &input.replace('\'', "\""),
        );
    }
}

/// The second wall: whoever takes over the interpreter has taken over a process that can do nothing.
#[cfg(target_os = "linux")]
#[test]
fn the_process_itself_is_confined() {
    use std::sync::atomic::Ordering;

    use agents_system::sandbox::{Availability, available};

    let stage = Stage::marked("marked-by-this-test");
    let look = async {
        while stage.echo.made.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let processes = fs_err::read_dir("/proc").unwrap().flatten().map(|it| it.path());
        let is_ours = |dir: &std::path::PathBuf| {
            let line = fs_err::read_to_string(dir.join("cmdline")).unwrap_or_default();
            line.contains("agents-interpreter\0marked-by-this-test")
        };
        let dir = processes.into_iter().find(is_ours).unwrap();
        let read = |name: &str| fs_err::read_to_string(dir.join(name)).unwrap();
        stage.agent.context.cancelled.cancel();
        (read("status"), read("limits"))
    };
    let script = stage.start("await tools.echo.never()", 60);
    let (status, limits) = stage.agent.runtime.block_on(async { tokio::join!(script, look).1 });
    let of = |name: &str| {
        let line = limits.lines().find(|it| it.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(
        (of("Max core file size"), of("Max file size"), of("Max processes")),
        ("0".into(), "0".into(), "0".into())
    );
    assert_eq!(of("Max address space"), (320 * 1024 * 1024).to_string());
    if available() == Availability::Available {
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
            assert!(status.contains(line), "{line} is not in\n{status}");
        }
    }
}
