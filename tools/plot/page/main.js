/* SPDX-License-Identifier: MIT */
/* Draws what the data are of. `page` is there for tests, and for whoever opens the console. */
"use strict";

const page = new Run(JSON.parse(document.getElementById("data").textContent));

page.draw(document.querySelector("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.draw(document.querySelector("main")));
addEventListener("keydown", (event) => page.key(event));
