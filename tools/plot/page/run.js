/* SPDX-License-Identifier: MIT */
/* The page of a run: its panels, and what they say of the place below the pointer. */
"use strict";

const LANE_GAP = 0.5; /* rows between CPUs */
const LEAD_LEVELS = 10;

function within(value, least, most) {
	return Math.min(Math.max(value, least), most);
}

class Run {
	constructor(data) {
		this.data = data;
		this.hidden = new Set(); /* threads, by index */
		this.threads = data.threads.map((thread) => `${printable(thread.name)} ${thread.tid}`.trim());
		this.cpus = data.cpus.map((cpu) => (cpu.os_cpu < 0 ? "left to Linux" : `CPU ${cpu.os_cpu}`));
		this.namedCpus = data.cpus.filter((cpu) => cpu.os_cpu >= 0).length;
	}

	threadColour(index) {
		return colourOf(this.scheme, index, this.threads.length);
	}

	cpuColour(index) {
		return this.data.cpus[index].os_cpu < 0 ? this.scheme.kernel : colourOf(this.scheme, index, this.namedCpus);
	}

	/* Draw everything, again if the scheme has changed. */
	draw(into) {
		const before = this.panels?.window();
		this.panels?.destroy();
		this.scheme = currentScheme();
		this.panels = new Panels(this.scheme, this.data.from_s, this.data.to_s, this.data.asides);
		this.addSpread("spread", this.data.spread && ["Spread of the threads, and migrations", this.data.spread,
			this.data.moves, "migrations"]);
		this.addLines("progress", "CPU time of each thread", this.data.progress, this.data.mean,
			"CPU time");
		this.addLines("lead", "Lead of each thread over the mean of all", this.data.lead,
			[this.data.from_s, 0, this.data.to_s, 0], "ahead");
		this.addPlacement();
		this.addWaits();
		this.addBraid();
		this.addSpread("updates", this.data.braid && ["Spread of the subdomains, and their moves",
			this.data.braid.spread, this.data.braid.moves, "moves", "updates"]);
		into.replaceChildren(this.head(), this.tools(), this.legend(), this.panels.node);
		this.panels.build();
		this.hidden.forEach((index) => this.setVisible(index, false));
		if (before)
			this.panels.show(...before);
	}

	/* ---- Around the panels ---- */

	head() {
		const {data} = this, facts = [
			`policy ${printable(data.policy)}, period ${duration(data.period_s)}`,
			`${plural(data.threads_seen, "thread")} on ${plural(this.namedCpus, "CPU")}`,
			plural(data.migrations, "migration"),
			`${moment(data.from_s, data.to_s - data.from_s)} to ${moment(data.to_s, data.to_s - data.from_s)} s`];
		if (this.threads.length < data.threads_seen)
			facts.push(`${this.threads.length} threads are drawn`);
		if (data.asides.length > 0)
			facts.push("grey: not balanced");
		document.title = `juggle: ${printable(data.command)}`;
		return element("header", {}, element("h1", {title: printable(data.command)}, printable(data.command)),
			element("p", {}, facts.join(" · ")));
	}

	tools() {
		const button = (text, title, action) => element("button", {type: "button", title, onclick: action}, text);
		const panels = this.panels;
		return element("nav", {},
			button("−", "Zoom out (key -)", () => panels.zoom(2)),
			button("+", "Zoom in (key +)", () => panels.zoom(0.5)),
			button("◀", "Earlier (left arrow key)", () => panels.pan(-0.25)),
			button("▶", "Later (right arrow key)", () => panels.pan(0.25)),
			button("Whole run", "Show everything (key 0, or double click)", () => panels.show(panels.from, panels.to)),
			element("span", {className: "hint"},
				"Drag to zoom, Shift and drag to pan, Ctrl and wheel to zoom, double click for the whole run"));
	}

	key(event) {
		const actions = {"+": () => this.panels.zoom(0.5), "-": () => this.panels.zoom(2),
			"ArrowLeft": () => this.panels.pan(-0.25), "ArrowRight": () => this.panels.pan(0.25),
			"0": () => this.panels.show(this.panels.from, this.panels.to)};
		const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
		if (action) {
			event.preventDefault();
			action();
		}
	}

	legend() {
		this.chips = this.threads.map((name, index) => {
			const chip = element("button", {type: "button", className: "chip", title: "Show or hide this thread",
				onclick: () => this.setVisible(index, this.hidden.has(index))},
			swatch(this.threadColour(index)), name);
			chip.setAttribute("aria-pressed", "true");
			return chip;
		});
		return element("div", {className: "legend"}, ...this.chips);
	}

	setVisible(index, visible) {
		if (visible)
			this.hidden.delete(index);
		else
			this.hidden.add(index);
		this.chips[index].setAttribute("aria-pressed", String(visible));
		for (const panel of this.panels.list)
			if (panel.ofThreads)
				panel.dygraph.setVisibility(index, visible);
			else if (panel.name === "placement")
				panel.dygraph.updateOptions({});
	}

	/* ---- Lines ---- */

	lineOptions(more) {
		const labels = this.threads.map((_, index) => String(index));
		return {labels: ["time", ...labels, "mean"],
			colors: [...labels.map((_, index) => this.threadColour(index)), this.scheme.mean],
			highlightSeriesOpts: {strokeWidth: 2.5}, strokeWidth: labels.length > 8 ? 1 : 1.5, ...more};
	}

	/* What a panel of threads says: the nearest one. */
	nearest(panel, words) {
		const point = panel.nearest?.points.find((each) => each.name === panel.nearest.series);
		if (!point || panel.nearest.series === undefined)
			return null;
		return words(this.threads[point.name] ?? "mean of all", point.yval);
	}

	addLines(name, title, series, mean, noun) {
		if (!series)
			return;
		const [unit, perSecond] = unitFor(greatest(series));
		const panel = this.panels.add(name, `${title}, ${unit}`, [], 210,
			tableOf([...series, mean].map((values) => scaled(values, perSecond))), this.lineOptions({}),
			() => this.nearest(panel, (thread, value) => [thread,
				name === "lead" ? `${duration(Math.abs(value) / perSecond)} ${value < 0 ? "behind" : "ahead"}`
					: `${duration(value / perSecond)} ${noun}`]));
		panel.ofThreads = true;
	}

	addWaits() {
		const {waits, phases} = this.data;
		if (!waits)
			return;
		const panel = this.panels.add("waits", "Waits of each thread for others, % of its time", [], 170, tableOf([...waits, []]),
			this.lineOptions({axes: {y: {valueRange: [0, 100.5]}}}),
			() => this.nearest(panel, (thread, value) => [thread, `waits for ${short(value)} % of its time`]));
		panel.ofThreads = true;
		const rates = this.panels.add("phases", "Phases per second", [], 110, tableOf([phases]),
			{labels: ["time", "phases"], colors: [this.scheme.line], axes: {y: {valueRange: [0, null]}}},
			() => rates.nearest && [`${short(rates.nearest.points[0].yval)} phases per second`]);
	}

	/* A line, and bars of rates on an axis of their own. */
	addSpread(name, what) {
		if (!what)
			return;
		const {scheme} = this, [title, spread, rates, noun, counted] = what;
		const [unit, perSecond] = counted ? [counted, 1] : unitFor(greatest([spread]));
		const moved = rates.some((value, i) => i % 2 === 1 && value > 0);
		const bars = [...rates, this.data.to_s, rates.at(-1)];
		const value = (panel, series) => panel.nearest?.points.find((point) => point.name === series)?.yval;
		const panel = this.panels.add(name, title,
			[element("span", {}, swatch(scheme.line, true), `spread, ${unit}`),
				element("span", {}, swatch(scheme.bars), `${noun} per second (right)`)],
			170, bridged(tableOf([scaled(spread, perSecond), bars])), {
				labels: ["time", "spread", "rate"], colors: [scheme.line, scheme.bars],
				series: {spread: {showInRangeSelector: true},
					rate: {axis: "y2", stepPlot: true, fillGraph: true, fillAlpha: 0.55, strokeWidth: 0.5,
						highlightCircleSize: 0}},
				axes: {y: {valueRange: [0, null]},
					y2: {valueRange: [0, moved ? null : 1], axisLabelWidth: RATES_PIXELS, independentTicks: true,
						drawGrid: false, drawAxis: true}},
			},
			(time) => {
				const lines = [], apart = value(panel, "spread");
				const width = (this.data.to_s - this.data.from_s) / (rates.length / 2);
				const bar = within(Math.floor((time - this.data.from_s) / width), 0, rates.length / 2 - 1);
				if (apart !== undefined && apart !== null)
					lines.push(counted ? `${short(apart)} ${counted} apart` : `${duration(apart / perSecond)} apart`);
				lines.push(`${short(rates[2 * bar + 1])} ${noun} per second`);
				return lines;
			});
	}

	/* ---- Placement ---- */

	rowTop(row, cpu) {
		return row + (this.data.by_thread ? 0 : LANE_GAP * cpu);
	}

	placementTicks() {
		if (this.data.by_thread)
			return this.data.threads.map((thread, index) => ({v: index + 0.5, label: String(thread.tid)}));
		let row = 0;
		return this.data.cpus.map((cpu, index) => {
			const middle = this.rowTop(row, index) + cpu.rows / 2;
			row += cpu.rows;
			return {v: middle, label: cpu.os_cpu < 0 ? "Linux" : this.cpus[index]};
		});
	}

	addPlacement() {
		const {bars, by_thread: byThread, rows} = this.data;
		if (!bars)
			return;
		const height = byThread ? rows : rows + LANE_GAP * (this.cpus.length - 1);
		const pixels = within(22 * height, 70, 520), ticks = this.placementTicks();
		const title = byThread ? "Placement: the CPU of each thread" : "Placement: the threads of each CPU";
		this.panels.add("placement", title, byThread ? this.cpuKeys() : [], pixels + 24,
			[[this.data.from_s, null], [this.data.to_s, null]],
			this.laneOptions(height, ticks, (canvas, area, dygraph) => this.drawBars(canvas, area, dygraph)),
			(time, y, panel) => this.describeBar(time, panel.dygraph.toDataYCoord(y)));
	}

	cpuKeys() {
		const all = this.cpus.map((name, index) => element("span", {}, swatch(this.cpuColour(index)), name));
		return all.length <= 17 ? all : [all[0], element("span", {}, "…"), ...all.slice(this.namedCpus - 1)];
	}

	/* Of a chart without lines: lanes with names, as many as fit, from the top down. */
	laneOptions(height, ticks, draw) {
		const ticker = (from, to, pixels, option, dygraph) => {
			const seen = ticks.filter((tick) => tick.v >= Math.min(from, to) && tick.v <= Math.max(from, to));
			const step = Math.ceil(seen.length * 14 / dygraph.getArea().h);
			return seen.filter((_, i) => i % step === 0);
		};
		return {labels: ["time", "none"], underlayCallback: draw,
			axes: {x: {drawGrid: false}, y: {valueRange: [height, 0], ticker, drawGrid: false}}};
	}

	drawBars(canvas, area, dygraph) {
		const {bars, by_thread: byThread, rows} = this.data, margin = rows > 60 ? 0 : 0.08;
		const [from, to] = dygraph.xAxisRange();
		canvas.save();
		canvas.beginPath();
		canvas.rect(area.x, area.y, area.w, area.h);
		canvas.clip();
		canvas.font = "11px system-ui, sans-serif";
		canvas.textBaseline = "middle";
		for (let i = 0; i < bars.length; i += 5) {
			const thread = bars[i + 1], cpu = bars[i + 2];
			if (bars[i + 4] < from || bars[i + 3] > to || this.hidden.has(thread))
				continue;
			const left = Math.max(dygraph.toDomXCoord(bars[i + 3]), area.x - 1);
			const right = Math.min(dygraph.toDomXCoord(bars[i + 4]), area.x + area.w + 1);
			const row = this.rowTop(bars[i], cpu);
			const top = dygraph.toDomYCoord(row + margin), bottom = dygraph.toDomYCoord(row + 1 - margin);
			const colour = byThread ? this.cpuColour(cpu) : this.threadColour(thread);
			canvas.fillStyle = colour;
			canvas.fillRect(left, top, Math.max(right - left - (right - left > 3 ? 0.75 : 0), 0.4), bottom - top);
			const text = byThread ? this.cpus[cpu] : this.threads[thread];
			if (right - left > 40 && bottom - top > 12 && canvas.measureText(text).width < right - left - 8) {
				canvas.fillStyle = inkOn(colour);
				canvas.fillText(text, left + 4, (top + bottom) / 2);
			}
		}
		canvas.restore();
	}

	describeBar(time, y) {
		const {bars} = this.data;
		for (let i = 0; i < bars.length; i += 5) {
			const row = this.rowTop(bars[i], bars[i + 2]);
			if (time >= bars[i + 3] && time < bars[i + 4] && y >= row && y < row + 1 && !this.hidden.has(bars[i + 1]))
				return [this.threads[bars[i + 1]], this.cpus[bars[i + 2]],
					`since ${moment(bars[i + 3], 0.01)} s, for ${duration(bars[i + 4] - bars[i + 3])}`];
		}
		return null;
	}

	/* ---- Braid ---- */

	workerName(process, worker) {
		return this.data.braid.processes.length > 1 ? `rank ${process.rank}: ${worker}` : `worker ${worker}`;
	}

	addBraid() {
		const {braid} = this.data;
		if (!braid)
			return;
		const ticks = braid.processes.flatMap((process) => Array.from({length: process.workers},
			(_, worker) => ({v: process.first_lane + worker + 0.5, label: this.workerName(process, worker)})));
		const lines = new Set(braid.strokes.map((stroke) => stroke[0])).size;
		const pixels = within(Math.max(70 * braid.lanes, 9 * lines), 140, 560);
		const scale = element("span", {className: "scale"});
		scale.style.background = `linear-gradient(to right, ${this.scheme.leads.join(", ")})`;
		const most = short(braid.lead_max);
		this.panels.add("braid", "Braid: the worker that holds each subdomain",
			[element("span", {}, `−${most}`, scale, `+${most} updates ahead of the mean`)], pixels + 24,
			[[this.data.from_s, null], [this.data.to_s, null]],
			this.laneOptions(braid.lanes, ticks, (canvas, area, dygraph) => this.drawBraid(canvas, area, dygraph)),
			(time, y, panel) => this.describeStroke(time, y, panel.dygraph));
	}

	/* A path for each level of lead: canvases are slow to change colours. */
	drawBraid(canvas, area, dygraph) {
		const {braid} = this.data, paths = Array.from({length: LEAD_LEVELS + 1}, () => new Path2D());
		const [from, to] = dygraph.xAxisRange();
		canvas.save();
		canvas.beginPath();
		canvas.rect(area.x, area.y, area.w, area.h);
		canvas.clip();
		canvas.fillStyle = this.scheme.band;
		for (let lane = 0; lane < braid.lanes; lane += 2) {
			const top = dygraph.toDomYCoord(lane), bottom = dygraph.toDomYCoord(lane + 1);
			canvas.globalAlpha = 0.8;
			canvas.fillRect(area.x, top, area.w, bottom - top);
		}
		canvas.globalAlpha = 1;
		for (const stroke of braid.strokes)
			for (let i = 4; i < stroke.length; i += 3) {
				if (stroke[i] < from || stroke[i - 3] > to)
					continue;
				const level = Math.round((stroke[i - 1] / braid.lead_max + 1) / 2 * LEAD_LEVELS);
				const path = paths[within(level, 0, LEAD_LEVELS)];
				path.moveTo(dygraph.toDomXCoord(stroke[i - 3]), dygraph.toDomYCoord(stroke[i - 2]));
				path.lineTo(dygraph.toDomXCoord(stroke[i]), dygraph.toDomYCoord(stroke[i + 1]));
			}
		canvas.lineWidth = 1.7;
		paths.forEach((path, level) => {
			canvas.strokeStyle = along(this.scheme.leads, level / LEAD_LEVELS);
			canvas.stroke(path);
		});
		canvas.restore();
	}

	/* The nearest stroke, if it is near. */
	describeStroke(time, y, dygraph) {
		const {braid} = this.data;
		let best = null, distance = 12;
		for (const stroke of braid.strokes) {
			if (time < stroke[1] || time > stroke[stroke.length - 3])
				continue;
			let i = 4;
			while (i < stroke.length - 3 && stroke[i] < time)
				i += 3;
			const share = stroke[i] > stroke[i - 3] ? (time - stroke[i - 3]) / (stroke[i] - stroke[i - 3]) : 0;
			const lane = stroke[i - 2] + (stroke[i + 1] - stroke[i - 2]) * share;
			const apart = Math.abs(dygraph.toDomYCoord(lane) - y);
			if (apart < distance) {
				distance = apart;
				best = {line: stroke[0], lane, lead: stroke[i - 1]};
			}
		}
		if (!best)
			return null;
		const process = braid.processes.findLast((each) => each.first_line <= best.line && each.workers > 0);
		const lead = Math.abs(best.lead);
		return [`subdomain ${best.line - process.first_line}`,
			this.workerName(process, Math.floor(best.lane) - process.first_lane),
			`${short(lead)} updates ${best.lead < 0 ? "behind" : "ahead of"} the mean`];
	}
}
