// SPDX-License-Identifier: BSD-3-Clause
// The charts, by uPlot. Without it there are the numbers below each.
import {byId, time} from "./words.js";

const HEIGHT = 200;
const charts = [];

/** Places of a row: docs/web.md. */
export const AT = {seconds: 0, iteration: 1, measured: 2, predicted: 3, pageIns: 4, sent: 5,
    resident: 6, moved: 7, compute: 8};

function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function clock(seconds) {
    const whole = Math.round(seconds);
    const two = (n) => String(n).padStart(2, "0");

    return whole >= 3600
        ? `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`
        : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

function axes() {
    const axis = {stroke: colour("--soft"), grid: {stroke: colour("--line"), width: 1},
        ticks: {show: false}, font: "12px system-ui, sans-serif"};

    return [
        {...axis, size: 28, grid: {show: false}, incrs: [5, 10, 15, 30, 60, 120, 300, 600, 900],
            values: (chart, values) => values.map(clock)},
        {...axis, size: 62,
            values: (chart, values) => values.map((v) => (v > 0 ? time(v) : "0"))},
    ];
}

function line(label, name, dash) {
    return {label, stroke: colour(name), width: 2, dash, spanGaps: true, points: {show: false}};
}

// A triangle for each second in which threads have moved.
function moves() {
    return {
        label: "moved", stroke: colour("--warm"), fill: colour("--warm"), width: 0,
        paths: () => null,
        points: {show: (chart, index, first, last) => {
            const context = chart.ctx;
            const scale = devicePixelRatio;

            context.save();
            context.fillStyle = colour("--warm");
            for (let i = first; i <= last; i++) {
                if (chart.data[index][i] != null) {
                    const x = chart.valToPos(chart.data[0][i], "x", true);
                    const y = chart.bbox.top + chart.bbox.height;

                    context.beginPath();
                    context.moveTo(x, y - 9 * scale);
                    context.lineTo(x - 5 * scale, y);
                    context.lineTo(x + 5 * scale, y);
                    context.fill();
                }
            }
            context.restore();
            return false;
        }},
    };
}

function make(place, series) {
    const options = () => ({
        width: place.clientWidth, height: HEIGHT, legend: {show: false},
        cursor: {show: false}, padding: [8, 18, 0, 0], axes: axes(),
        scales: {x: {time: false}, y: {range: (chart, low, high) => [0, (high || 1e-3) * 1.1]}},
        series: [{}, ...series()],
    });
    const kept = {place, data: [[], ...series().map(() => [])]};

    kept.draw = () => {
        if (kept.chart) {
            kept.chart.destroy();
        }
        kept.chart = new window.uPlot(options(), kept.data, place);
    };
    kept.draw();
    new ResizeObserver(() => kept.chart.setSize(
        {width: place.clientWidth, height: HEIGHT})).observe(place);
    charts.push(kept);
    return kept;
}

let iteration;
let forecast;

/** @return whether there are any */
export function openCharts() {
    if (!window.uPlot) {
        for (const id of ["chart-iteration", "chart-forecast"]) {
            byId(id).classList.add("none");
            byId(id).removeAttribute("role");
            byId(id).removeAttribute("aria-labelledby");
        }
        return false;
    }
    iteration = make(byId("chart-iteration"),
        () => [line("iteration", "--ink"), moves()]);
    forecast = make(byId("chart-forecast"),
        () => [line("measured", "--ink"), line("predicted", "--warm", [7, 5])]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
        "change", () => charts.forEach((kept) => kept.draw()));
    return true;
}

const known = (value) => (value > 0 ? value : null);

/** @param rows  of the time that is shown */
export function drawCharts(rows) {
    const column = (at) => rows.map((row) => known(row[at]));
    const seconds = rows.map((row) => row[AT.seconds]);

    if (!iteration || rows.length === 0) {
        return;
    }
    iteration.data = [seconds, column(AT.iteration), column(AT.moved)];
    // Threads that move are no time: their scale is not this one.
    iteration.data[2] = iteration.data[2].map((n) => (n == null ? null : 0));
    forecast.data = [seconds, column(AT.measured), column(AT.predicted)];
    charts.forEach((kept) => kept.chart.setData(kept.data));
}
