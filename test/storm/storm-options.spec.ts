import { FAULT_KINDS } from './fault-plan';
import { readStormOptions } from './storm-options';

describe(readStormOptions, () => {
  it('runs seed 1 for three minutes unless told otherwise', () => {
    expect(readStormOptions([])).toEqual({ seeds: [1], minutes: 3, without: new Set(), keep: false });
  });

  it('reads seeds, minutes and kinds', () => {
    const options = readStormOptions(['--seeds', '3..5', '--minutes', '0.5', '--without', 'delay,kill-app', '--keep']);
    expect(options).toEqual({ seeds: [3, 4, 5], minutes: 0.5, without: new Set(['delay', 'kill-app']), keep: true });
  });

  it('leaves out everything but the kinds of --only', () => {
    const { without } = readStormOptions(['--only', 'stall']);
    expect([...FAULT_KINDS].filter((kind) => !without.has(kind))).toEqual(['stall']);
  });

  it.each([
    [['--minutes', '0'], '--minutes is 0'],
    [['--minutes', 'x'], '--minutes is x'],
    [['--seeds', '5..3'], '--seeds is 5..3'],
    [['--seed', '1.5'], '--seed is 1.5'],
    [['--without', 'rain'], '--without names rain'],
  ])('refuses %j', (args, message) => {
    expect(() => readStormOptions(args)).toThrow(message);
  });
});
