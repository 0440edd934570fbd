// SPDX-License-Identifier: BSD-3-Clause
// The live page: history once, then an event each second. If the number of an event is not the
// one after the last, some were missed, and history is asked for again.
import {AT, drawCharts, openCharts} from "./charts.js";
import {showBlocks} from "./blocks.js";
import {openMapping, showMapping} from "./mapping.js";
import {showNodes} from "./nodes.js";
import {byId, bytes, count, duration, element, percent, rate, setText, time} from "./words.js";

const HOUR = 3600;
const token = new URLSearchParams(location.search).get("token");
const ask = (path) => `${path}?token=${encodeURIComponent(token)}`;
let rows = [];
let number = 0;
let isBehind = true; // history is to be asked for
let latest = null;
let isHeld = false;
let hasEnded = false;

function setState(kind, text) {
    byId("state").className = kind;
    setText(byId("state"), text);
}

function span() {
    return Number(document.querySelector("input[name=span]:checked").value);
}

function shownRows() {
    const last = rows.length ? rows[rows.length - 1][AT.seconds] : 0;

    return rows.filter((row) => row[AT.seconds] >= last - span());
}

// ---- decisions

const decided = new Set();

function showDecision(decision) {
    if (decided.has(decision.number)) {
        return;
    }
    const item = element("li");

    decided.add(decision.number);
    item.append(element("time", "", duration(decision.seconds)),
        element("span", "", decision.text));
    byId("decisions").prepend(item);
    byId("decisions-told").hidden = true;
}

// ---- the figures at the top, and what the charts say in words

function withUnit(id, text) {
    const [value, ...unit] = text.split(" ");

    if (byId(id).textContent !== value + unit.join(" ")) {
        byId(id).replaceChildren(value, element("small", "", unit.join(" ")));
    }
}

function showFigures(event) {
    const {job, row} = event;
    const threads = job.nodes.reduce((sum, node) => sum + node.threads, 0);
    const compute = job.nodes.reduce(
        (sum, node, i) => sum + node.threads * event.rates[i][0], 0);
    const lastKnown = rows.findLast((it) => it[AT.iteration] > 0);

    withUnit("figure-iteration", lastKnown ? time(lastKnown[AT.iteration]) : "–");
    withUnit("figure-iterations", count(job.iterations));
    withUnit("figure-threads", `${count(threads)} on ${job.nodes.length} nodes`);
    withUnit("figure-compute", percent(threads > 0 ? compute / threads : 0));
    withUnit("figure-sent", `${bytes(row[AT.sent])}/s`);
    withUnit("figure-pages", `${rate(row[AT.pageIns])} /s`);
}

function median(values) {
    const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);

    return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 0;
}

function showWords(shown) {
    const last = shown[shown.length - 1];
    const moved = shown.reduce((sum, row) => sum + row[AT.moved], 0);
    const usual = median(shown.map((row) => row[AT.iteration]));

    setText(byId("text-iteration"), usual > 0
        ? `Usual in the time shown: ${time(usual)}; ${moved === 1 ? "1 thread has" : `${count(moved)} threads have`} moved.`
        : "The program has ended no iteration in the time shown.");
    setText(byId("text-forecast"), !(last[AT.measured] > 0)
        ? "Nothing has been measured yet."
        : !(last[AT.predicted] > 0)
            ? `Solid: measured, ${time(last[AT.measured])}. Nothing has been predicted yet.`
            : `Solid: measured, ${time(last[AT.measured])}. Dashed: predicted, `
              + `${time(last[AT.predicted])}, `
              + `${Math.round(100 * (last[AT.predicted] / last[AT.measured] - 1))} % off.`);
}

function showStateOf(job) {
    if (job.exit_code !== undefined) {
        setState("ended", `The job has ended with exit code ${job.exit_code} after `
            + `${duration(job.seconds)}. These are its last numbers.`);
    } else {
        setState("running", `${job.running ? "running" : "starting or ending"} for `
            + `${duration(job.seconds)}`);
    }
}

// ---- all of it

function show() {
    const shown = shownRows();

    if (!latest || isHeld) {
        return;
    }
    const {job} = latest;

    document.title = `${job.program} – Teamster`;
    byId("program").replaceChildren(job.program,
        element("small", "", `job ${latest.job_number}`));
    showStateOf(job);
    showFigures(latest);
    showNodes(job, latest.rates);
    showMapping(job);
    showBlocks(job);
    if (shown.length) {
        drawCharts(shown);
        showWords(shown);
    }
    document.body.dataset.number = latest.number;
}

async function askHistory() {
    const answer = await fetch(ask("api/history"));

    if (!answer.ok) {
        throw new Error(`history is answered with ${answer.status}`);
    }
    const history = await answer.json();

    rows = history.rows;
    number = history.number;
    history.decisions.forEach(showDecision);
}

// If it fails the next event tries again.
async function catchUp() {
    try {
        await askHistory();
        isBehind = false;
    } catch {
        isBehind = true;
    }
}

async function take(event) {
    isBehind ||= event.number !== number + 1 && event.number !== number;
    if (isBehind) {
        await catchUp();
    }
    if (event.number > number) {
        rows.push(event.row);
        rows = rows.slice(-HOUR);
        number = event.number;
    }
    event.job.decisions.forEach(showDecision);
    latest = event;
    show();
    if (isBehind && !isHeld) {
        setState("lost", "What was missed could not be fetched; the page tries again.");
    }
}

// One after the other, also where history is asked for in between.
let taking = Promise.resolve();

function follow() {
    const events = new EventSource(ask("api/events"));

    events.onmessage = (message) => {
        taking = taking.then(() => take(JSON.parse(message.data))).catch((error) => {
            console.error(error);
            setState("lost", "An event could not be shown; the page waits for the next one.");
        });
    };
    events.addEventListener("end", () => {
        events.close();
        hasEnded = true;
        taking = taking.then(() => {
            if (!latest || latest.job.exit_code === undefined) {
                setState("lost", "The connection with the job is lost. "
                    + "These are the last numbers that were told.");
            }
        });
    });
    events.onerror = () => {
        if (!hasEnded) {
            setState("lost", "The connection is lost; the page tries to come back.");
        }
    };
}

function openControls() {
    byId("pause").addEventListener("click", () => {
        isHeld = !isHeld;
        byId("pause").setAttribute("aria-pressed", String(isHeld));
        if (!isHeld) {
            show();
        }
    });
    byId("span").addEventListener("change", show);
    for (const [id, path] of [["link-metrics", "metrics"], ["link-now", "api/now"],
        ["link-history", "api/history"]]) {
        byId(id).href = ask(path);
    }
    byId("uplot-note").hidden = !openCharts();
    openMapping();
}

openControls();
await catchUp();
follow();
