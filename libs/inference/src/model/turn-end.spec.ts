import { setImmediate as turn } from 'node:timers/promises';
import { atTurnEnd } from './turn-end';

describe(atTurnEnd.name, () => {
  it('runs the tasks of a turn together and in order, once what is at hand is done', async () => {
    const log: string[] = [];
    atTurnEnd(() => log.push('first'));
    atTurnEnd(() => log.push('second'));
    await Promise.resolve();
    log.push('work in between');
    await turn();
    expect(log).toEqual(['work in between', 'first', 'second']);
  });

  it('leaves what a task asks for to the next turn', async () => {
    const log: string[] = [];
    atTurnEnd(() => {
      log.push('first');
      atTurnEnd(() => log.push('asked for by the first'));
    });
    atTurnEnd(() => log.push('second'));
    await turn();
    expect(log).toEqual(['first', 'second']);
    await turn();
    expect(log).toEqual(['first', 'second', 'asked for by the first']);
  });
});
