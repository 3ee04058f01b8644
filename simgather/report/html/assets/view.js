// Which part of the time and which bands are in view, and how it changes.

const WHOLE = { from: FIRST_NS, to: HANGS ? NEVER_NS : LAST_NS };
const LEAST_SPAN_NS = Math.max(20, (WHOLE.to - WHOLE.from) / 1e7);
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)");

class View {
  constructor(onChange) {
    this.onChange = onChange;
    this.from = WHOLE.from;
    this.to = WHOLE.to;
    this.bands = bands;
    this.motion = null;
  }

  // Never beyond the whole but for a small margin, never closer than the least span.
  set(from, to) {
    const whole = WHOLE.to - WHOLE.from, margin = Math.min(whole, to - from) * 0.02;
    const length = Math.min(Math.max(to - from, LEAST_SPAN_NS), whole + 2 * margin);
    const start = Math.min(Math.max(from, WHOLE.from - margin), WHOLE.to + margin - length);
    this.from = start;
    this.to = start + length;
    this.onChange();
  }

  stop() {
    if (this.motion !== null) cancelAnimationFrame(this.motion);
    this.motion = null;
  }

  // Moves there in a few frames, so that the eye can follow.
  go(from, to) {
    this.stop();
    if (CALM.matches) {
      this.set(from, to);
      return;
    }
    const start = { from: this.from, to: this.to }, began = performance.now();
    const step = (now) => {
      const share = Math.min(1, Math.max(0, (now - began) / 220)), eased = share * share * (3 - 2 * share);
      this.motion = share < 1 ? requestAnimationFrame(step) : null;
      this.set(start.from + (from - start.from) * eased, start.to + (to - start.to) * eased);
    };
    this.motion = requestAnimationFrame(step);
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.stop();
    const span = Math.max((this.to - this.from) * factor, LEAST_SPAN_NS), share = (at - this.from) / (this.to - this.from);
    this.set(at - share * span, at + (1 - share) * span);
  }

  pan(share) {
    this.stop();
    const shift = (this.to - this.from) * share;
    this.set(this.from + shift, this.to + shift);
  }

  reset() {
    this.go(WHOLE.from, WHOLE.to);
  }

  showIteration(number) {
    const one = iterations.find((iteration) => iteration.number === number);
    if (!one) return;
    const margin = (one.end - one.start) * 0.02;
    this.go(one.start - margin, one.end + margin);
  }

  // An item with its surroundings: enough to see what comes before and after.
  showItem(item) {
    const length = endOf(item) - item.start, around = Math.max(length * 3, LEAST_SPAN_NS * 20, (WHOLE.to - WHOLE.from) / 400);
    this.go(item.start - around, endOf(item) + around);
  }

  get isWhole() {
    return this.to - this.from >= WHOLE.to - WHOLE.from;
  }
}
