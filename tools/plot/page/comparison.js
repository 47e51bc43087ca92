/* SPDX-License-Identifier: MIT */
/* The page of two reports, side by side: numbers, and how far each thread came. */
"use strict";

const THREADS_SHOWN = 64;

/* What follows the keys of a report; undefined where one is missing. */
function inReport(report, keys) {
	return keys.split(".").reduce((value, key) => value?.[key] ?? undefined, report);
}

function numberIn(report, keys) {
	const value = inReport(report, keys);
	return typeof value === "number" ? value : undefined;
}

function computing(report) {
	return report.thread.filter((thread) => typeof thread?.progress_s === "number")
		.sort((a, b) => b.progress_s - a.progress_s);
}

const percent = (share) => `${short(100 * share)} %`;

/* Rows of the table: what, how it reads, how it is found; and whether more of it is better (1), worse (-1) or
 * neither (0). */
const MEASURES = [
	["Elapsed", duration, (report) => numberIn(report, "elapsed_s"), -1],
	["CPU time of the threads", duration,
		(report) => computing(report).reduce((sum, thread) => sum + thread.progress_s, 0), 0],
	["Parallel efficiency", percent, (report) => numberIn(report, "phases.parallel_efficiency"), 1],
	["Load balance", percent, (report) => numberIn(report, "phases.load_balance"), 1],
	["CPU time lost in waits", percent, (report) => numberIn(report, "phases.lost_share"), -1],
	["Length of a phase", duration, (report) => numberIn(report, "phases.phase_s"), -1],
	["Period", duration, (report) => numberIn(report, "period_s"), 0],
	["Balanced for", duration, (report) => numberIn(report, "balanced_s"), 0],
	["Balancing points", short, (report) => numberIn(report, "cycles"), 0],
	["Migrations", short, (report) => numberIn(report, "migrations"), 0],
	["CPU time of the balancer", duration, (report) => numberIn(report, "balancer_cpu_s"), -1],
	["A balancing point, median", (us) => duration(us * 1e-6), (report) => numberIn(report, "cycle_us.median"), -1],
	["Throttled by a quota", duration, (report) => numberIn(report, "throttled_s"), -1],
	["Threads", short, (report) => numberIn(report, "threads"), 0],
	["CPUs", short, (report) => report.cpus?.length, 0],
	["Exit status", short, (report) => numberIn(report, "exit_status"), 0],
];

const WORDS = [
	["Policy", "policy"], ["State at the end", "regime"], ["because", "reason"], ["Sampler", "sampler"],
	["Advice", "phases.advice"],
];

class Comparison {
	constructor(data) {
		this.runs = data.runs;
		const last = this.runs.map((run) => printable(run.name.split("/").at(-1)));
		this.names = last[0] === last[1] ? this.runs.map((run) => printable(run.name)) : last;
	}

	draw(into) {
		this.scheme = currentScheme();
		into.replaceChildren(this.head(), this.table(), this.threads());
	}

	key() {
	}

	colour(which) {
		return this.scheme.series[which];
	}

	head() {
		const [before, after] = this.runs.map((run) => run.report.elapsed_s), ratio = before / after;
		const commands = this.runs.map((run) => printable(run.report.command));
		document.title = `juggle: ${this.names.join(" and ")}`;
		const verdict = Math.abs(ratio - 1) < 0.005 ? "Both took the same time"
			: `The second is ${short(ratio)} times as fast`;
		return element("header", {},
			element("h1", {title: commands[0]}, commands[0] === commands[1] ? commands[0] : "Two runs"),
			element("p", {className: "verdict"}, verdict));
	}

	table() {
		const rows = [];
		for (const [name, read, find, better] of MEASURES) {
			const [before, after] = this.runs.map((run) => find(run.report));
			if (before === undefined && after === undefined)
				continue;
			rows.push(element("tr", {}, element("th", {scope: "row"}, name),
				...[before, after].map((value) => element("td", {}, value === undefined ? "–" : read(value))),
				this.change(before, after, better)));
		}
		for (const [name, keys] of WORDS) {
			const words = this.runs.map((run) => inReport(run.report, keys));
			if (words.some((each) => typeof each === "string"))
				rows.push(element("tr", {className: "words"}, element("th", {scope: "row"}, name),
					...words.map((each) => element("td", {}, typeof each === "string" ? printable(each) : "–")),
					element("td", {}, words[0] === words[1] ? "" : "differs")));
		}
		const names = this.runs.map((run, i) => element("th", {scope: "col", title: printable(run.name)}, swatch(this.colour(i)), this.names[i]));
		return element("div", {className: "wide"}, element("table", {},
			element("thead", {}, element("tr", {}, element("td"), ...names, element("th", {scope: "col"}, "change"))),
			element("tbody", {}, ...rows)));
	}

	/* A sign besides the colour says whether it is good. */
	change(before, after, better) {
		if (before === undefined || after === undefined || !(before > 0))
			return element("td");
		const share = after / before - 1, notable = Math.abs(share) >= 0.005;
		const good = notable && better !== 0 ? Math.sign(share) === better : null;
		const sign = share < 0 ? "−" : "+";
		const text = !notable ? "=" : share > 9 ? `${short(after / before)} times`
			: `${sign}${short(Math.abs(100 * share))} %`;
		const mark = good === null ? "" : good ? " ✓" : " ✗";
		return element("td", {className: good === null ? "" : good ? "good" : "bad",
			title: good === null ? "" : good ? "better" : "worse"}, text + mark);
	}

	threads() {
		const threads = this.runs.map((run) => computing(run.report));
		const most = Math.max(1e-9, ...threads.flat().map((thread) => thread.progress_s + Math.max(0, thread.wait_s || 0)));
		const columns = threads.map((list, i) => element("section", {className: "column"},
			element("h2", {}, swatch(this.colour(i)), this.names[i]),
			element("p", {className: "hint"}, this.spread(list)),
			...list.slice(0, THREADS_SHOWN).map((thread) => this.bar(thread, most, this.colour(i))),
			list.length > THREADS_SHOWN ? `and ${list.length - THREADS_SHOWN} more, which used less` : ""));
		return element("div", {},
			element("div", {className: "title"}, element("h2", {}, "CPU time of each thread"),
				element("span", {}, "pale: ready, without a CPU")),
			element("div", {className: "columns"}, ...columns));
	}

	spread(list) {
		if (list.length === 0)
			return "no threads";
		const apart = list[0].progress_s - list.at(-1).progress_s;
		return `${plural(list.length, "thread")}, ${duration(apart)} between the first and the last`;
	}

	bar(thread, most, colour) {
		const used = element("div", {className: "used"}), waited = element("div", {className: "used"});
		used.style.cssText = `width: ${100 * thread.progress_s / most}%; background: ${colour}`;
		waited.style.cssText = `width: ${100 * Math.max(0, thread.wait_s || 0) / most}%; background: ${colour}; opacity: 0.3`;
		const name = `${printable(thread.comm)} ${Number(thread.tid)}`;
		return element("div", {className: "bar", title: `${name}: ${duration(thread.progress_s)} of CPU time, ` +
			`${duration(thread.wait_s || 0)} without a CPU, ${plural(Number(thread.migrations) || 0, "migration")}`},
		element("span", {className: "name"}, name), element("div", {className: "track"}, used, waited),
		element("span", {className: "value"}, duration(thread.progress_s)));
	}
}
