// What is said about an item, as text nodes only: names come from the scenario and are never markup.

function duration(ns) {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${Number((ns / 1e3).toPrecision(3))} us`;
  return `${(ns / 1e6).toFixed(3)} ms`;
}

function moment(ns) {
  return `${(ns / 1e6).toFixed(3)} ms`;
}

function span(from, to) {
  return to === null ? `${moment(from)}, and never ends` : `${moment(from)} to ${moment(to)} (${duration(to - from)})`;
}

function bucketName(bucket) {
  const [modules, bytes] = data.buckets[bucket];
  return `${bucket}: ${modules} (${(bytes / 1e6).toFixed(1)} MB)`;
}

function useName(item) {
  return item.kind === "o" ? "optimizer" : data.uses[item.argument][0];
}

// Title, subtitle, and rows of name, value and whether the value is a fault.
function describeItem(band, item) {
  const where = `iteration ${item.iteration}, microbatch ${item.microbatch}, rank ${band.rank}`;
  const said = { title: "", subtitle: `${LANE_NAMES[item.lane]} · iteration ${item.iteration}, rank ${band.rank}`, rows: [] };
  const add = (name, value, isFault = false) => said.rows.push([name, value, isFault]);

  if (item.what === "kernel" || item.what === "optimizer") {
    said.title = useName(item);
    said.subtitle = `${PASSES[item.kind]} · ${where}`;
    add("runs", span(item.start, item.end));
    add("launched", moment(item.enqueued));
    if (item.hostBound) add("host-bound", `${duration(item.hostBound)} before it`);
    if (item.exposed) add("exposed", `${duration(item.exposed)} before it`, true);
    for (const wait of item.waits) {
      if (wait.kind === "w") add("waits for", `all-gather of bucket ${wait.bucket}, passed at ${moment(wait.passed)}`);
    }
    for (const read of readsOf(item)) describeRead(band, read, add);
  } else if (item.what === "collective") {
    said.title = `${item.kind === "g" ? "all-gather" : "reduce-scatter"} of bucket ${item.bucket}`;
    add("bucket", bucketName(item.bucket));
    add("ready", moment(item.start));
    if (item.transfer !== null) {
      if (item.transfer > item.start) add("rendezvous", duration(item.transfer - item.start));
      add("transfer", span(item.transfer, item.end));
    } else {
      add("transfer", "never begins: the ranks do not meet", true);
    }
  } else if (item.what === "exposed" || item.what === "host-bound") {
    said.title = item.what;
    if (item.argument !== undefined) add("before", useName(item));
    add("time", span(item.start, item.end), item.end === null);
    if (item.bucket !== null && item.bucket !== undefined) add("waits for", `all-gather of bucket ${item.bucket}`);
  } else if (item.what === "moment") {
    said.title = item.kind === "e" ? "the framework raises" : "the framework warns";
    add("text", item.text, item.kind === "e");
    add("at", moment(item.start));
  } else {
    said.title = { dispatch: "host dispatches", wait: "host enqueues a wait", launch: "host launches", sync: "host sync" }[item.what];
    const collective = item.kind === "g" || item.kind === "w" ? "all-gather" : "reduce-scatter";
    if (item.what === "launch") add("kernel", `${useName(item)} (${PASSES[item.kind]})`);
    else if (item.what !== "sync") add("collective", `${collective} of bucket ${bucketName(item.bucket)}`);
    add("time", span(item.start, item.end));
    if (item.what === "wait") {
      add("stream", item.passed === null ? "never gets past it" : `gets past it at ${moment(item.passed)}`, item.passed === null);
    }
  }
  for (const kind of new Set(band.found.get(item))) add("found", data.words.marks[kind][2], true);
  return said;
}

function describeRead(band, [seen, handle], add) {
  const [bucket, order, elements, states, fresh, ages] = data.seen[seen], number = band.number;
  const state = { f: "fresh", t: "torn", s: "stale", "-": "never read" }[states[number]];
  const orderName = data.words.orders[order], isFault = state === "stale" || state === "torn" || order >= 2;
  add("bucket", bucketName(bucket));
  add("handle", data.words.handles[handle], order === 3);
  let versions = "100 % fresh";
  if (state === "stale" || state === "torn") {
    const share = ((100 * fresh[number]) / elements).toFixed(1);
    versions = `${state === "torn" ? "at least " : ""}${share} % fresh, the rest up to ${ages[number]} step${ages[number] === 1 ? "" : "s"} old`;
  }
  add("read", `${state}, ${orderName}`, isFault);
  if (state !== "never read") add("versions", versions, isFault);
}

function fillTooltip(tooltip, said) {
  const title = document.createElement("strong"), subtitle = document.createElement("div"), list = document.createElement("dl");
  title.textContent = said.title;
  subtitle.textContent = said.subtitle;
  subtitle.className = "quiet";
  for (const [name, value, isFault] of said.rows) {
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    if (isFault) text.className = "fault";
    list.append(term, text);
  }
  tooltip.replaceChildren(title, subtitle, list);
}

// Beside the place, and inside the window.
function placeTooltip(tooltip, x, y) {
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect(), room = document.documentElement.clientWidth;
  const left = x + 16 + width <= room - 8 ? x + 16 : x - 16 - width;
  const below = y + 18 + height <= window.innerHeight - 8;
  tooltip.style.left = `${Math.max(8, Math.min(left, room - width - 8))}px`;
  tooltip.style.top = `${Math.max(8, below ? y + 18 : y - 12 - height)}px`;
}
