"use strict";
(() => {
  const { scenes, looks } = JSON.parse(document.getElementById("recordings").textContent);
  const NS = 1e9, ROWS = 12, CHIPS = 14, JUMP = 10, PLAYED_S = 20;
  const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16];
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);
  const state = { scene: 0, runs: [0, 0], moments: [], position: 0, playing: false, now: 0 };

  // ---- words

  const whole = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  const seconds = (ns, digits = 2) => `${(ns / NS).toFixed(digits).replace("-", "−")} s`;
  const scene = () => scenes[state.scene];
  const label = (run) => looks[run.policy].label;

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function shape(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // ---- what a side shows at a moment

  /** The last of some steps for which a time is not after `ns`; -1 if none. */
  function lastBy(steps, time, ns) {
    let low = -1, high = steps.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (steps[middle][time] <= ns) low = middle; else high = middle - 1;
    }
    return low;
  }

  function lookUp(run, ns) {
    const index = lastBy(run.steps, "start_ns", ns);
    const step = index >= 0 && run.steps[index].end_ns > ns ? run.steps[index] : null;
    const ended = lastBy(run.steps, "end_ns", ns);
    return { index, step, done: ended >= 0 ? run.steps[ended] : null };
  }

  function momentsOf(one, runs) {
    const steps = runs.flatMap((index) => one.runs[index].steps);
    const times = new Set([one.start_ns, one.end_ns]);
    for (const step of steps) times.add(step.start_ns).add(step.end_ns);
    return [...times].filter((ns) => ns >= one.start_ns && ns <= one.end_ns).sort((a, b) => a - b);
  }

  // ---- one side

  class Side {
    constructor(id, number) {
      this.root = at(id);
      this.root.append(at("side").content.cloneNode(true));
      this.number = number;
      this.field = (name) => this.root.querySelector(`[data-field=${name}]`);
      this.field("policy").setAttribute("aria-label", `Policy on the ${id}`);
      this.field("policy").addEventListener("change", (event) => {
        state.runs[number] = Number(event.target.value);
        choose();
      });
    }

    get run() { return scene().runs[state.runs[this.number]]; }

    offer() {
      const options = scene().runs.map((run, index) => element("option", { value: index, textContent: label(run) }));
      this.field("policy").replaceChildren(...options);
      this.field("policy").value = state.runs[this.number];
    }

    show(ns) {
      const { index, step, done } = lookUp(this.run, ns);
      const facts = step ? this.facts(step) : [];
      const admitted = new Map((step ? step.admitted : []).map((one) => [one[0], one]));
      const say = (name, text) => { this.field(name).textContent = text; };
      say("waiting", whole(facts.length));
      say("uncached", whole(facts.reduce((sum, one) => sum + one.tokens - one.hit, 0)));
      say("oldest", facts.length ? seconds(ns - facts[0].arrival) : "–");
      say("answered", `${done ? done.answered : 0} of ${scene().counted - this.run.refused}`);
      say("p50", done && done.p50_ns !== null ? seconds(done.p50_ns) : "–");
      say("p99", done && done.p99_ns !== null ? seconds(done.p99_ns) : "–");
      this.strip(facts, admitted);
      this.budget(step, index, admitted);
      this.order(step, facts, admitted, ns);
      this.lanes(step, admitted);
    }

    /** Return what is known of each waiting request, by arrival. */
    facts(step) {
      return step.waiting.map((id, place) => ({
        ...requests.get(id),
        hit: step.hit_tokens[place],
        score: step.scores ? step.scores[place] : null,
      }));
    }

    strip(facts, admitted) {
      const width = 600, height = 88, top = 10;
      const slot = Math.min(24, width / Math.max(1, facts.length));
      const scale = (height - top) / longest;
      const bars = facts.flatMap((one, place) => {
        const x = place * slot + slot * 0.12, wide = slot * 0.76;
        const uncached = (one.tokens - one.hit) * scale, cached = one.hit * scale;
        const shapes = [
          shape("rect", { class: "cached", x, y: height - cached, width: wide, height: cached }),
          shape("rect", { class: "uncached", x, y: height - cached - uncached, width: wide, height: uncached }),
        ];
        if (admitted.has(one.id)) {
          const middle = x + wide / 2, tip = height - cached - uncached - 1;
          shapes.push(shape("path", { class: "tick", d: `M${middle - 4} ${tip - 7}h8l-4 6z` }));
        }
        return shapes;
      });
      const told = `${facts.length} waiting, oldest first; ${admitted.size} of them admitted in this step`;
      const svg = shape("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMax meet", role: "img", "aria-label": told });
      svg.append(...bars);
      this.field("strip").replaceChildren(svg);
    }

    budget(step, index, admitted) {
      const bar = this.field("budget");
      const chunks = step ? step.chunks : [];
      const sum = chunks.reduce((total, [, tokens]) => total + tokens, 0);
      bar.replaceChildren(...chunks.map(([id, tokens]) => {
        const name = requests.get(id).name;
        const part = element("span", { textContent: tokens / scene().budget_tokens > 0.07 ? name : "", title: `${name}: ${whole(tokens)} tokens` });
        part.style.width = `${(100 * tokens) / scene().budget_tokens}%`;
        if (!admitted.has(id)) part.className = "goes-on";
        return part;
      }));
      const parts = chunks.map(([id, tokens]) => `${requests.get(id).name} ${whole(tokens)}${admitted.has(id) ? "" : " (goes on)"}`);
      bar.setAttribute("aria-label", parts.length ? `Tokens of this step: ${parts.join(", ")}` : "No step runs");
      this.field("step").textContent = step
        ? `Step ${index + 1} of ${this.run.steps.length}: ${seconds(step.start_ns - scene().start_ns)} to ` +
          `${seconds(step.end_ns - scene().start_ns)}, ${whole(sum)} of ${whole(scene().budget_tokens)} tokens`
        : "Nothing waits and nothing runs.";
    }

    order(step, facts, admitted, ns) {
      const byId = new Map(facts.map((one) => [one.id, one]));
      const lanes = step !== null && "fast_lane" in step, scored = step !== null && "scores" in step;
      this.field("why").textContent = this.has("fast_lane") ? "Lane, ledgers" : this.has("scores") ? "Score" : "";
      const rows = [];
      for (let place = 0; place < ROWS; place += 1) {
        const row = element("tr");
        const id = step ? step.order[place] : undefined;
        if (id === undefined) {
          row.className = "empty";
          row.append(...Array.from({ length: 6 }, () => element("td")));
        } else {
          const one = byId.get(id), entry = admitted.get(id);
          if (entry) row.className = "admitted";
          const why = lanes ? laneText(step, place) : scored ? one.score.toLocaleString("en-US") : "";
          row.append(
            element("td", { textContent: place + 1 }),
            element("td", { textContent: `${entry ? "✓ " : ""}${one.name}`, title: one.kind }),
            element("td", {}, share(one)),
            element("td", { textContent: seconds(ns - one.arrival) }),
            element("td", { textContent: why }),
            element("td", { textContent: entry ? entry[2] : "" }),
          );
        }
        rows.push(row);
      }
      this.field("order").replaceChildren(...rows);
      const left = step ? step.order.length - ROWS : 0;
      this.field("more").textContent = left > 0 ? `and ${left} more behind` : "\u00a0";
    }

    /** Say whether the policy's steps have such a column; one with nobody waiting has none. */
    has(column) { return this.run.steps.some((step) => column in step); }

    lanes(step, admitted) {
      const field = this.field("lanes");
      if (!this.has("fast_lane")) return field.replaceChildren();
      const turns = step && "fast_lane" in step ? step : { order: [], by_fast_lane: [], fast_lane: [], waiting: [], fast_ledger: [], fair_ledger: [] };
      const released = turns.order.filter((id) => admitted.has(id));
      const next = Math.min(released.length, turns.order.length - 1);
      const most = Math.max(1, turns.fast_ledger[next] || 0, turns.fair_ledger[next] || 0);
      const scores = new Map(turns.waiting.map((id, place) => [id, turns.scores[place]]));
      const turnOf = new Map(released.map((id, place) => [id, place]));
      const lane = (name, ids, fast) => {
        const ledger = fast ? turns.fast_ledger : turns.fair_ledger;
        const level = element("div", { className: `ledger ${fast ? "fast" : "fair"}` }, element("i"));
        level.firstChild.style.width = `${(100 * (ledger[next] || 0)) / most}%`;
        const text = ledger.length ? `Ledger ${whole(ledger[next])}, began at ${whole(ledger[0])}` : "Ledger –";
        const chips = ids.slice(0, CHIPS).map((id) => {
          const turn = turnOf.get(id), isHere = turn !== undefined && turns.by_fast_lane[turn] === Number(fast);
          const chip = element("li", { textContent: `${isHere ? `${turn + 1}. ` : ""}${requests.get(id).name}` });
          if (fast) chip.append(element("small", { textContent: ` ${scores.get(id).toFixed(1)}` }));
          if (isHere) chip.className = "here";
          if (turn !== undefined && !isHere) chip.className = "elsewhere";
          return chip;
        });
        if (ids.length > CHIPS) chips.push(element("li", { textContent: `+ ${ids.length - CHIPS}` }));
        const list = element("ol", {}, ...chips);
        list.setAttribute("aria-label", `${name}, head first`);
        return element("div", {}, element("h3", { textContent: name }), level, element("p", { className: "small", textContent: text }), list);
      };
      field.replaceChildren(element("div", { className: "lanes" },
        lane("Fast lane, by score", turns.fast_lane, true), lane("Fair lane, by arrival", turns.waiting, false)));
    }
  }

  function laneText(step, place) {
    const fast = step.by_fast_lane[place] === 1;
    const [one, other] = [step.fast_ledger[place], step.fair_ledger[place]];
    return `${fast ? "fast" : "fair"} ${whole(one)} ${one <= other ? "≤" : ">"} ${whole(other)}`;
  }

  function share(one) {
    const bar = element("span", { className: "bar" });
    for (const [name, tokens] of [["cached", one.hit], ["uncached", one.tokens - one.hit]]) {
      const part = element("i", { className: name });
      part.style.width = `${(100 * tokens) / longest}%`;
      if (tokens) bar.append(part);
    }
    return element("span", { className: "share" }, bar,
      element("b", { textContent: `${whole(one.hit)} + ${whole(one.tokens - one.hit)}` }));
  }

  // ---- the chart: waiting requests and p99 over the scene

  const MARGIN = { left: 44, right: 12 };

  function drawChart() {
    const one = scene(), width = Math.max(280, at("chart").clientWidth), high = 62, gap = 32, low = 18;
    const height = 2 * high + 2 * gap + low;
    const x = (ns) => MARGIN.left + ((ns - one.start_ns) / (one.end_ns - one.start_ns)) * (width - MARGIN.left - MARGIN.right);
    const runs = [...new Set(state.runs)].map((index) => one.runs[index]);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img",
      "aria-label": `Requests waiting and TTFT p99 so far over time, under ${runs.map(label).join(" and ")}` });
    for (const phase of one.phases.filter((part) => part.name === one.counted_phase)) {
      const [from, to] = [x(Math.max(phase.start_ns, one.start_ns)), x(Math.min(phase.end_ns, one.end_ns))];
      svg.append(shape("rect", { x: from, y: gap - 4, width: Math.max(0, to - from), height: height - low - gap + 4, fill: "var(--shade)" }));
    }
    plot(svg, runs, x, gap, high, width, "Waiting", (step) => ("waiting" in step ? step.waiting.length : 0), "start_ns", 1);
    plot(svg, runs, x, 2 * gap + high, high, width, "TTFT p99 so far, s", (step) => step.p99_ns, "end_ns", NS);
    const span = (one.end_ns - one.start_ns) / NS;
    const every = [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].find((tick) => (span / tick) * 56 <= width) || 1000;
    for (let tick = 0; tick <= span; tick += every) {
      svg.append(shape("text", { x: x(one.start_ns + tick * NS), y: height - 4, "text-anchor": "middle" }, `${Number(tick.toFixed(1))} s`));
    }
    svg.append(shape("line", { id: "cursor", y1: gap - 6, y2: height - low, stroke: "currentColor", "stroke-width": 2 }));
    const seek = (event) => {
      const place = (event.clientX - svg.getBoundingClientRect().left - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
      seekTo(one.start_ns + place * (one.end_ns - one.start_ns));
    };
    svg.addEventListener("pointerdown", seek);
    svg.addEventListener("pointermove", (event) => { if (event.buttons === 1) seek(event); });
    const legend = runs.map((run) => element("span", {},
      shape("svg", { width: 40, height: 10, "aria-hidden": "true" }, shape("path", { d: "M0 5h40", ...lineOf(run) })), ` ${label(run)}`));
    legend.push(element("span", {}, element("i", { className: "shade" }), ` ${one.counted_phase}`));
    at("chart").replaceChildren(element("p", { className: "legend" }, ...legend), svg);
    at("chart").x = x;
  }

  function lineOf(run) {
    const { color, dashes } = looks[run.policy];
    return { fill: "none", stroke: color, "stroke-width": 2.4, "stroke-dasharray": dashes.map((dash) => dash * 2).join(" ") };
  }

  function plot(svg, runs, x, top, high, width, title, value, time, unit) {
    const most = Math.max(1e-9, ...runs.flatMap((run) => run.steps.map((step) => (value(step) || 0) / unit)));
    const y = (amount) => top + high - (amount / most) * high;
    svg.append(shape("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: top + high, y2: top + high, stroke: "var(--line)" }));
    const digits = most < 10 && unit !== 1 ? 1 : 0;
    svg.append(shape("text", { x: MARGIN.left - 6, y: top + 8, "text-anchor": "end" }, most.toFixed(digits)));
    svg.append(shape("text", { x: MARGIN.left - 6, y: top + high, "text-anchor": "end" }, "0"));
    svg.append(shape("text", { x: MARGIN.left + 8, y: top - 10 }, title)); // clear of both axes and of the cursor
    runs.forEach((run) => {
      let path = "";
      for (const step of run.steps) {
        const amount = value(step);
        const ns = Math.min(Math.max(step[time], scene().start_ns), scene().end_ns);
        if (amount !== null) path += path ? `H${x(ns)}V${y(amount / unit)}` : `M${x(ns)} ${y(amount / unit)}`;
      }
      svg.append(shape("path", { d: path || "M0 0", ...lineOf(run) }));
    });
  }

  // ---- moving

  let requests = new Map(), longest = 1;
  const sides = [new Side("left", 0), new Side("right", 1)];

  function chooseScene(index) {
    state.scene = index;
    const one = scene(), columns = one.requests;
    requests = new Map(columns.id.map((id, place) => [id, {
      id, name: columns.name[place], kind: columns.kind[place], arrival: columns.arrival_ns[place], tokens: columns.prompt_tokens[place],
    }]));
    longest = Math.max(...columns.prompt_tokens);
    const fairway = one.runs.findIndex((run) => run.policy === "fairway");
    state.runs = fairway > 0 ? [0, fairway] : [0, 1];
    at("about").textContent = one.about;
    const seed = one.seed === null ? "no seed" : `seed ${one.seed}`;
    at("labels").textContent = `${one.evidence} on a ${one.profile_evidence} profile (${one.profile}) · ${one.workload}, ${seed}, ` +
      `corpus: ${one.corpus} · ${whole(one.counted)} requests count · ${whole(one.budget_tokens)} tokens a step · ` +
      `cache of ${whole(one.cache_blocks)} blocks of ${one.block_tokens} tokens`;
    const fitting = (one.end_ns - one.start_ns) / NS / PLAYED_S;
    at("speed").value = SPEEDS.findLast((speed) => speed <= fitting) || SPEEDS[0];
    state.now = one.start_ns;
    choose();
  }

  /** Take up the chosen policies, at the moment at which we are. */
  function choose() {
    state.moments = momentsOf(scene(), state.runs);
    at("slider").max = state.moments.length - 1;
    for (const side of sides) side.offer();
    drawChart();
    seekTo(state.now);
  }

  /** The last moment that is not after `ns`. */
  const momentAt = (ns) => Math.max(0, state.moments.findLastIndex((moment) => moment <= ns));

  const seekTo = (ns) => moveTo(momentAt(ns));

  function moveTo(position) {
    state.position = Math.min(Math.max(position, 0), state.moments.length - 1);
    state.now = state.moments[state.position];
    render();
  }

  function render() {
    const ns = state.moments[state.position], since = ns - scene().start_ns;
    for (const side of sides) side.show(ns);
    const where = `${seconds(since)}, moment ${state.position + 1} of ${state.moments.length}`;
    at("slider").value = state.position;
    at("slider").setAttribute("aria-valuetext", where);
    at("clock").textContent = where;
    const cursor = at("cursor"), x = at("chart").x(ns);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    if (!state.playing) {
      at("status").textContent = `${seconds(since)}. ` +
        sides.map((side) => `${label(side.run)}: ${side.field("waiting").textContent} waiting`).join(". ");
    }
  }

  function play(playing) {
    if (playing && state.position === state.moments.length - 1) moveTo(0);
    state.playing = playing;
    at("play").textContent = playing ? "Pause" : "Play";
    if (!playing) return render();
    let before = null;
    const frame = (time) => {
      if (!state.playing) return;
      if (before !== null) state.now += (time - before) * 1e6 * Number(at("speed").value);
      before = time;
      const position = momentAt(state.now);
      if (position !== state.position) {
        state.position = position;
        render();
      }
      if (position === state.moments.length - 1) play(false); else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  function step(by) {
    if (state.playing) play(false);
    moveTo(state.position + by);
  }

  function changeSpeed(by) {
    const place = SPEEDS.indexOf(Number(at("speed").value)) + by;
    at("speed").value = SPEEDS[Math.min(Math.max(place, 0), SPEEDS.length - 1)];
  }

  const KEYS = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), PageUp: () => step(-JUMP), PageDown: () => step(JUMP),
    Home: () => step(-Infinity), End: () => step(Infinity), " ": () => play(!state.playing),
    "-": () => changeSpeed(-1), "+": () => changeSpeed(1), "=": () => changeSpeed(1),
  };

  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const own = target.closest("select") || (target.matches("input[type=radio]") && key !== "Home" && key !== "End") ||
      (key === " " && target.closest("button"));
    if (own || event.ctrlKey || event.altKey || event.metaKey || !(key in KEYS)) return;
    event.preventDefault();
    KEYS[key]();
  });

  at("first").addEventListener("click", KEYS.Home);
  at("last").addEventListener("click", KEYS.End);
  at("back").addEventListener("click", KEYS.ArrowLeft);
  at("forward").addEventListener("click", KEYS.ArrowRight);
  at("play").addEventListener("click", KEYS[" "]);
  at("slider").addEventListener("input", (event) => {
    const position = Number(event.target.value);
    play(false);
    moveTo(position);
  });
  // Whoever chose a scene with a pointer means the page with the next key; with the keyboard one stays in the list.
  at("scenes").addEventListener("pointerup", () => setTimeout(() => {
    if (document.activeElement.matches("input[type=radio]")) document.activeElement.blur();
  }));
  window.addEventListener("resize", () => { drawChart(); render(); });
  at("speed").append(...SPEEDS.map((speed) => element("option", { value: speed, textContent: `${speed}×` })));
  scenes.forEach((one, index) => {
    const radio = element("input", { type: "radio", name: "scene", value: index, checked: index === 0 });
    radio.addEventListener("change", () => { play(false); chooseScene(index); });
    at("scenes").append(element("label", {}, radio, ` ${one.title}`));
  });
  chooseScene(0);
})();
