import { setImmediate as turn } from 'node:timers/promises';
import { atTurnEnd, turnEnd } from './turn-end';

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

describe(turnEnd.name, () => {
  it('lets all who wait for the end of a turn go on together, step by step', async () => {
    const log: string[] = [];
    const call = async (name: string): Promise<void> => {
      await turnEnd();
      log.push(`${name} reads`);
      await Promise.resolve();
      log.push(`${name} is done`);
    };
    void call('one');
    await Promise.resolve();
    void call('other');
    await Promise.resolve();
    log.push('work in between');
    await turn();
    expect(log).toEqual(['work in between', 'one reads', 'other reads', 'one is done', 'other is done']);
  });

  it('is another one for each turn', async () => {
    const first = turnEnd();
    await turn();
    let isOver = false;
    const second = turnEnd().then(() => (isOver = true));
    await first;
    expect(isOver).toBe(false);
    await second;
  });
});
