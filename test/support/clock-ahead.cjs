// Moves the clock of a process. `performance.now()` and timers stay as they are, as when a host's clock is set wrong.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const RealDate = Date;
const now = RealDate.now.bind(RealDate);
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now() + aheadMs] : args, newTarget),
  apply: () => new RealDate(now() + aheadMs).toString(),
  get: (target, name) => (name === 'now' ? () => now() + aheadMs : Reflect.get(target, name)),
});
