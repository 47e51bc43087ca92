/* SPDX-License-Identifier: MIT */
/*
 * Panels below each other, over one time axis. dygraphs draws axes and lines, zooms and pans; bars and
 * the braid are drawn below its lines, of which they have none. Each panel has a chart, and a function
 * that describes what is at a place in it: an array of lines of text, or null.
 */
"use strict";

const LABELS_PIXELS = 66; /* left of a chart */
const RATES_PIXELS = 44; /* right of it */

class Panels {
	constructor(scheme, from, to, asides) {
		Object.assign(this, {scheme, from, to, asides, list: [], node: element("div", {className: "panels"})});
		this.tip = element("div", {className: "tip", hidden: true});
		this.node.append(this.tip);
	}

	/* Options and rows as for dygraphs. `keys`: what stands beside the title. */
	add(name, title, keys, height, rows, options, describe) {
		const chart = element("div", {className: "chart"});
		const hair = element("div", {className: "hair", hidden: true});
		const panel = {name, chart, hair, describe};
		chart.style.height = `${height}px`;
		this.node.append(element("section", {id: name},
			element("div", {className: "title"}, element("h2", {}, title), ...keys), chart));
		panel.build = () => {
			panel.dygraph = new Dygraph(chart, rows, this.options(panel, options));
			chart.append(hair);
			chart.addEventListener("mousemove", (event) => this.point(panel, event));
			chart.addEventListener("mouseleave", () => this.leave());
		};
		this.list.push(panel);
		return panel;
	}

	/* When the panels are in the page: dygraphs measures them. */
	build() {
		this.list.forEach((panel, i) => {
			panel.selects = i === 0;
			panel.build();
		});
		if (this.list.length > 1)
			this.together = Dygraph.synchronize(this.list.map((panel) => panel.dygraph),
				{selection: false, zoom: true, range: false});
	}

	destroy() {
		this.together?.detach();
		this.list.forEach((panel) => panel.dygraph.destroy());
	}

	options(panel, more) {
		const scheme = this.scheme, {axes, underlayCallback, ...others} = more;
		const selector = panel.selects ? {
			showRangeSelector: true, rangeSelectorHeight: 34, rangeSelectorPlotStrokeColor: scheme.axis,
			rangeSelectorPlotFillColor: scheme.mean, rangeSelectorPlotFillGradientColor: scheme.mean,
			rangeSelectorBackgroundStrokeColor: scheme.axis, rangeSelectorForegroundStrokeColor: scheme.muted,
			rangeSelectorAlpha: scheme.veil,
		} : {};
		return {
			legend: "never", connectSeparatedPoints: true, labels: ["time"], xRangePad: 0,
			dateWindow: [this.from, this.to], panEdgeFraction: 0.02, gridLineColor: scheme.grid,
			axisLineColor: scheme.axis, gridLineWidth: 1, strokeWidth: 1.5, highlightCircleSize: 3,
			highlightSeriesBackgroundColor: scheme.paper, highlightSeriesBackgroundAlpha: 0.6,
			rightGap: axes?.y2 ? 6 : RATES_PIXELS + 12,
			interactionModel: this.interaction(),
			highlightCallback: (event, x, points, row, series) => { panel.nearest = {x, points, series}; },
			unhighlightCallback: () => { panel.nearest = null; },
			axes: {
				...axes,
				x: {axisLabelWidth: 70, pixelsPerLabel: 80, ...axes?.x,
					axisLabelFormatter: (x, granularity, option, dygraph) => {
						const [from, to] = dygraph.xAxisRange();
						return `${moment(x, to - from)} s`;
					}},
				y: {axisLabelWidth: LABELS_PIXELS, ...axes?.y},
			},
			underlayCallback: (canvas, area, dygraph) => {
				this.shade(canvas, area, dygraph);
				underlayCallback?.(canvas, area, dygraph);
			},
			...selector, ...others,
		};
	}

	/* Where nothing was balanced. */
	shade(canvas, area, dygraph) {
		canvas.fillStyle = this.scheme.aside;
		for (let i = 0; i < this.asides.length; i += 2) {
			const left = dygraph.toDomXCoord(this.asides[i]), right = dygraph.toDomXCoord(this.asides[i + 1]);
			canvas.fillRect(left, area.y, right - left, area.h);
		}
	}

	/* One finger scrolls the page, two zoom and pan; so does the wheel. */
	interaction() {
		const model = Dygraph.defaultInteractionModel;
		const two = (handle) => (event, dygraph, context) => {
			if (event.touches.length > 1 || context.initialTouches)
				handle(event, dygraph, context);
			if (event.touches.length === 0)
				context.initialTouches = null;
		};
		return {
			...model,
			touchstart: two(model.touchstart), touchmove: two(model.touchmove), touchend: two(model.touchend),
			dblclick: () => this.show(this.from, this.to),
			wheel: (event, dygraph) => {
				if (!event.ctrlKey && !event.shiftKey)
					return;
				event.preventDefault();
				const turn = event.deltaY || event.deltaX;
				if (event.shiftKey)
					this.pan(Math.sign(turn) * 0.1);
				else
					this.zoom(turn > 0 ? 1.25 : 0.8, dygraph.toDataXCoord(dygraph.eventToDomCoords(event)[0]));
			},
		};
	}

	/* ---- The window ---- */

	window() {
		return this.list[0].dygraph.xAxisRange();
	}

	/* Keeps it within the run, and longer than a microsecond. */
	show(from, to) {
		const length = Math.min(Math.max(to - from, 1e-6), this.to - this.from);
		const begin = Math.min(Math.max(from, this.from), this.to - length);
		/* Also undoes what was zoomed up and down. */
		if (begin <= this.from && begin + length >= this.to)
			this.list.forEach((panel) => panel.dygraph.resetZoom());
		this.list[0].dygraph.updateOptions({dateWindow: [begin, begin + length]}); /* the others follow */
		this.leave();
	}

	zoom(factor, at) {
		const [from, to] = this.window(), centre = at ?? (from + to) / 2;
		this.show(centre - (centre - from) * factor, centre + (to - centre) * factor);
	}

	/* By a share of what is seen. */
	pan(share) {
		const [from, to] = this.window();
		this.show(from + (to - from) * share, to + (to - from) * share);
	}

	/* ---- What is below the pointer ---- */

	point(panel, event) {
		const [x, y] = panel.dygraph.eventToDomCoords(event), area = panel.dygraph.getArea();
		if (x < area.x || x > area.x + area.w || y < area.y || y > area.y + area.h) {
			this.leave();
			return;
		}
		const time = panel.dygraph.toDataXCoord(x);
		for (const other of this.list) {
			other.hair.hidden = false;
			other.hair.style.left = `${other.dygraph.toDomXCoord(time)}px`;
			other.hair.style.height = `${other.dygraph.getArea().h}px`;
		}
		const [from, to] = this.window(), lines = panel.describe(time, y, panel) ?? [];
		this.tip.replaceChildren(element("div", {className: "when"}, `${moment(time, (to - from) / 30)} s`),
			...lines.map((line) => element("div", {}, line)));
		this.tip.hidden = false;
		const place = this.node.getBoundingClientRect();
		const left = event.clientX - place.left, room = place.width - this.tip.offsetWidth - 4;
		this.tip.style.left = `${Math.max(4, left + 14 > room ? left - this.tip.offsetWidth - 14 : left + 14)}px`;
		this.tip.style.top = `${event.clientY - place.top + 14}px`;
	}

	leave() {
		this.tip.hidden = true;
		this.list.forEach((panel) => { panel.hair.hidden = true; });
	}
}

/* Rows of a table of series, each a flat array: time, value, time, value ... */
function tableOf(series) {
	const rows = new Map();
	series.forEach((values, column) => {
		for (let i = 0; i < values.length; i += 2) {
			let row = rows.get(values[i]);
			if (row === undefined) {
				row = new Array(series.length + 1).fill(null);
				row[0] = values[i];
				rows.set(values[i], row);
			}
			row[column + 1] = values[i + 1];
		}
	});
	return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

/* The same with the gaps of its first column closed, by lines between its values. */
function bridged(rows) {
	let last = -1;
	rows.forEach((row, i) => {
		if (row[1] === null)
			return;
		for (let k = last + 1; last >= 0 && k < i; k++)
			rows[k][1] = rows[last][1] + (row[1] - rows[last][1]) * (rows[k][0] - rows[last][0]) / (row[0] - rows[last][0]);
		last = i;
	});
	return rows;
}

function greatest(series) {
	let most = 0;
	for (const values of series)
		for (let i = 1; i < values.length; i += 2)
			most = Math.max(most, Math.abs(values[i]));
	return most;
}

function scaled(values, factor) {
	return values.map((value, i) => (i % 2 === 1 ? value * factor : value));
}
