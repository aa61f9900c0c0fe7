"""Stories of a garden-irrigation controller in Rust: agents, a workflow, a compaction, a plan, an old session."""

from __future__ import annotations

from datetime import datetime

from clew.demo.stories.story import DRIP, ask, close, scene
from clew.demo.talk import Talk, bash, edit, plan, read, talk, task, todo, tool, write

VALVE = """\
use std::time::{Duration, Instant};

pub struct Valve {
    pin: u8,
    opened: Option<Instant>,
    longest: Duration,
}

impl Valve {
    pub fn new(pin: u8, longest: Duration) -> Self {
        Valve { pin, opened: None, longest }
    }

    pub fn open(&mut self, now: Instant) {
        self.opened = Some(now);
    }

    /// Must be called often; closes a valve that was forgotten.
    pub fn tick(&mut self, now: Instant) -> bool {
        match self.opened {
            Some(since) if now - since > self.longest => {
                self.opened = None;
                true
            }
            _ => false,
        }
    }
}
"""

MOISTURE = """\
/// Raw readings of the capacitive sensor, dry to wet.
const DRY: u16 = 2800;
const WET: u16 = 1200;

pub fn percent(raw: u16) -> u8 {
    ((DRY - raw) * 100 / (DRY - WET)) as u8
}
"""

MANUAL = """\
pub fn open_now(valve: &mut Valve) {
    valve.opened = Some(Instant::now());
}
"""

WRITERS = "List every place where `opened` is set, and whether `tick` is called after it."
SURVEY = "Survey how valves are opened and closed. Report paths that never close."
CLOCKS = "Check every use of Instant for overflow or time going backwards."

PLAN = """\
# Rain delay

1. `weather.rs`: fetch the forecast once an hour, keep the last good one.
2. `schedule.rs`: skip a watering when more than 4 mm are expected within 12 hours.
3. A forecast older than 24 hours counts as no forecast: water as usual. Tomatoes forgive rain, not drought.
4. Tests with a fixed clock and three forecasts: dry, wet, stale.
"""


def agents(begin: datetime) -> Talk:
    """Errands of errands: an agent that sends an agent, and one that works in the background."""
    version = "2.1.325"
    told = ask(
        scene("agents", DRIP, begin, version=version), "Where could a valve stay open for ever? Have a good look."
    )
    deepest = (
        talk(version=version, seed="deepest")
        .user(WRITERS)
        .reply(call=bash("rg -n opened src", "Find writers"))
        .result(
            "src/valve.rs:16:        self.opened = Some(now);\nsrc/manual.rs:9:    valve.opened = Some(Instant::now());"
        )
        .reply("Two places. `valve.rs:16` is ticked by the main loop; `manual.rs:9` runs before the loop starts.")
    )
    survey = (
        talk(version=version, seed="survey")
        .user(SURVEY)
        .reply("Reading the valve first.", call=read(f"{DRIP}/src/valve.rs", VALVE))
        .result()
        .reply("I need the list of writers.", call=task("List writers of opened", WRITERS, "Explore"))
        .agent(0, deepest)
        .reply("One path never closes: the manual override opens a valve before the loop that would tick it.")
    )
    clocks = (
        talk(version=version, seed="clocks")
        .user(CLOCKS)
        .reply(call=bash("rg -n 'Instant' src | wc -l", "Count uses"))
        .result("14")
        .reply("Fourteen uses, all monotonic. `now - since` panics only if `since` is later, which cannot happen here.")
    )
    told = told.reply(
        "I'll send two agents: one surveys the valves, one checks the clocks.",
        thinking="Two independent questions. Both read-only.",
        calls=[
            task("Survey the valves", SURVEY),
            task("Check the clocks", CLOCKS, "Explore", run_in_background=True),
        ],
    )
    told = told.agent(0, survey).agent(1, clocks, background=True)
    note = f"<task-notification>\n<tool-use-id>{told.uses[1].id}</tool-use-id>\n"
    told = told.reply("The survey found one: the manual override. I'll wait for the clocks before I touch anything.")
    return _agents_end(close(told), note)


def _agents_end(told: Talk, note: str) -> Talk:
    done = f"{note}<status>completed</status>\n<summary>The clocks are fine.</summary>\n</task-notification>"
    told = told.user(done, origin={"kind": "task-notification"}, promptSource="system", turnOrigin="task_notification")
    told = told.reply("The clocks are fine, so the override is the only way to flood the lettuce.")
    told = ask(close(told), "Fix the override.", tracked={"src/manual.rs": MANUAL})
    path = f"{DRIP}/src/manual.rs"
    told = told.reply(call=read(path, MANUAL)).result()
    told = told.reply(
        call=edit(path, "valve.opened = Some(Instant::now());", "valve.open(Instant::now());"),
    ).result()
    told = told.reply(call=bash("cargo test -q", "Run the tests")).result(
        "running 23 tests\n.......................\nok"
    )
    return close(
        told.reply("`open_now` goes through `Valve::open`, and the loop ticks manual valves too. 23 tests pass.")
    )


def workflow(begin: datetime) -> Talk:
    """One call that starts a run of several agents, in a folder of their own."""
    version = "2.1.325"
    told = ask(
        scene("workflow", DRIP, begin, version=version), "Review all four modules before the release, in parallel."
    )
    told = told.reply(
        "I'll run the review as a workflow: one reviewer for each module.",
        call=tool("Workflow", name="review-modules", args={"modules": ["valve", "moisture", "weather", "schedule"]}),
    )
    findings = {
        "valve": "No findings. `tick` is the kind of function one can explain to a plumber.",
        "moisture": "`DRY - raw` underflows when the sensor is unplugged and reads 4095.",
        "weather": "The HTTP client has no timeout.",
        "schedule": "Daylight saving: the 02:30 watering runs twice in October and not at all in March.",
    }
    reviewers = {
        f"review {module}": talk(version=version, seed=module)
        .user(f"Review src/{module}.rs. Report only what you can point at.")
        .reply(call=bash(f"cat src/{module}.rs | wc -l", "Measure"))
        .result(str(40 + 7 * len(module)))
        .reply(finding)
        for module, finding in findings.items()
    }
    told = told.workflow(0, reviewers, run="wf_5eed1e55-0a7")
    told = told.reply("Three findings:\n\n" + "\n".join(f"- **{m}**: {f}" for m, f in findings.items() if m != "valve"))
    told = close(told)
    path = f"{DRIP}/src/moisture.rs"
    told = ask(told, "Fix the sensor one now, issues for the other two.", tracked={"src/moisture.rs": MOISTURE})
    told = told.reply(call=read(path, MOISTURE)).result()
    told = told.reply(
        call=edit(
            path,
            "    ((DRY - raw) * 100 / (DRY - WET)) as u8",
            "    let raw = raw.clamp(WET, DRY);\n    (u32::from(DRY - raw) * 100 / u32::from(DRY - WET)) as u8",
        )
    ).result()
    return close(told.reply("Clamped, and widened before multiplying: 1600 × 100 does not fit in a `u16` either."))


def compacted(begin: datetime) -> Talk:
    """Long enough to be summed up, with the last exchange kept as it was."""
    told = scene("compacted", DRIP, begin, permission_mode="acceptEdits")
    steps = (
        (
            "Port the scheduler from chrono to jiff.",
            "cargo add jiff && cargo remove chrono",
            "    Updating crates.io index",
        ),
        ("Next: parsing of times in the config.", "rg -n NaiveTime src", "src/config.rs:31:    at: NaiveTime,"),
        ("And the tests?", "cargo test -q schedule", "running 11 tests\n...........\nok"),
    )
    for prompt, command, output in steps:
        told = ask(told, prompt).reply(f"On it: {prompt.lower()}", call=bash(command)).result(output)
        told = close(told.reply("Done; nothing else depends on it."))
    told = ask(told, "Does the DST test still make sense?")
    told = told.reply(
        "It pins the 02:30 case. jiff makes the ambiguity explicit, so the test should name which 02:30 it means.",
        call=bash("rg -n 'fn .*dst' tests", "Find the test"),
    ).result("tests/schedule.rs:88:fn dst_runs_once() {")
    told = told.compact(
        "Summary of the conversation so far.\n\n"
        "The person is porting the scheduler of the irrigation controller from chrono to jiff.\n"
        "- Cargo.toml: jiff added, chrono removed.\n- src/config.rs: `at` is a `jiff::civil::Time`.\n"
        "- 11 schedule tests pass.\n- Open: `dst_runs_once` in tests/schedule.rs must say which 02:30 it means.",
        trigger="auto",
        pre_tokens=171_204,
        keep=3,
    )
    told = told.attachment(
        "compact_file_reference", filename=f"{DRIP}/tests/schedule.rs", displayPath="tests/schedule.rs"
    )
    told = told.reply("Going on with the DST test.", call=bash("sed -n 80,100p tests/schedule.rs", "Read the test"))
    told = told.result("#[test]\nfn dst_runs_once() {\n    let at = civil::time(2, 30, 0, 0);\n}")
    told = close(told.reply("I'd split it: `dst_autumn_runs_first_only` and `dst_spring_runs_at_three`."))
    told = ask(told, "Do that.").reply("Both are in, both pass. The lettuce is safe twice a year.")
    return close(told.ai_title("Port the irrigation scheduler from chrono to jiff"))


def planned(begin: datetime) -> Talk:
    """A plan, laid before the person, approved, and worked off as tasks."""
    name = "rain-delay-quiet-heron"
    path = f"/home/ada/.claude/plans/{name}.md"
    told = scene("planned", DRIP, begin, version="2.1.325")
    told = told.line({"type": "permission-mode", "permissionMode": "plan", "sessionId": told.session_id})
    told = ask(told, "Skip watering when it is going to rain anyway. Plan first.", permission_mode="plan")
    told = told.attachment("plan_mode", reminderType="full", isSubAgent=False, planFilePath=path, planExists=False)
    told = told.reply(call=bash("ls src/*.rs", "List modules"))
    told = told.result("\n".join(f"src/{m}.rs" for m in ("main", "moisture", "schedule", "valve")))
    told = told.reply("Four steps, no surprises.", call=plan(PLAN, path)).result()
    told = told.file(f"plans/{name}.md", PLAN.encode())
    told = told.attachment("plan_mode_exit", planFilePath=path, planExists=True)
    tasks = ("Fetch the forecast", "Skip when rain is due", "Treat stale forecasts as none")
    calls = [
        tool("TaskCreate", subject=subject, description=f"{subject}, as the plan says.", activeForm=f"{subject} …")
        for subject in tasks
    ]
    told = told.reply("I'll keep track of it in three tasks.", calls=calls)
    for number, subject in enumerate(tasks, 1):
        told = told.result(f"Task #{number} created: {subject}")
        told = told.file(f"tasks/{{session}}/{number}.json", _task(number, subject, number < 3))
    told = told.reply(
        call=write(f"{DRIP}/src/weather.rs", "pub struct Forecast {\n    pub rain_mm: f32,\n}\n")
    ).result()
    for number in (1, 2):
        told = told.reply(call=tool("TaskUpdate", taskId=str(number), status="completed")).result()
    return close(
        told.reply("Two of three are done. The stale forecast needs a decision: is 24 hours right for a glasshouse?")
    )


def _task(number: int, subject: str, finished: bool) -> bytes:
    status = "completed" if finished else "pending"
    blocked = '["2"]' if number == 3 else "[]"
    return (
        f'{{\n  "id": "{number}",\n  "subject": "{subject}",\n  "description": "{subject}, as the plan says.",\n'
        f'  "activeForm": "{subject} …",\n  "status": "{status}",\n  "blocks": [],\n  "blockedBy": {blocked}\n}}'
    ).encode()


def sensor(begin: datetime) -> Talk:
    """An older session: results in one chain, the agent's file beside it, a todo list on disk."""
    version = "2.0.76"
    told = scene("sensor", DRIP, begin, version=version, name="patient-dripping-fern")
    told = ask(told, "The moisture sensor shows 255 % after rain. Please look into it.")
    told = told.reply(
        "Two files to read, then a list.",
        calls=[read(f"{DRIP}/src/moisture.rs", MOISTURE), bash("cargo test -q moisture", "Test")],
    )
    told = told.result().result("running 2 tests\n..\nok")
    steps = [("Find the overflow", "in_progress"), ("Clamp the reading", "pending")]
    told = told.reply(call=todo(steps)).result()
    child = (
        talk(version=version, seed="datasheet")
        .user("What range does the sensor's data sheet give?")
        .reply(call=bash("pdftotext doc/sensor.pdf - | grep -i range", "Search the data sheet"))
        .result("Output range: 1200 (water) to 2800 (air)")
        .reply("1200 in water, 2800 in air. Anything outside is noise.")
    )
    told = told.reply(call=task("Read the data sheet", "What range does the sensor's data sheet give?")).agent(0, child)
    told = told.reply(call=todo([(text, "completed") for text, _ in steps])).result()
    told = told.reply("A reading below 1200 gives more than 100 %, and `as u8` makes 255 of it. Clamping is enough.")
    return close(told)
