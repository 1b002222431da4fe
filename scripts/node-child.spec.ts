import { runNode } from './node-child';

const STAYS = ['-e', 'setInterval(() => undefined, 1_000)'];

describe(runNode.name, () => {
  it('answers the exit code', async () => {
    expect(await runNode(['-e', 'process.exit(3)'], process.env, 'ignore')).toBe(3);
    expect(await runNode(['-e', ''], process.env, 'ignore', { isDone: () => true })).toBe(0);
  });

  it('ends what stays although it is done', async () => {
    const goodbye = { isDone: () => true, longestMs: 300 };
    expect(await runNode(STAYS, process.env, 'ignore', goodbye)).toBe(0);
  });

  it('takes one that was killed by somebody else for failed', async () => {
    const kills = ['-e', "process.kill(process.pid, 'SIGKILL')"];
    expect(await runNode(kills, process.env, 'ignore')).toBe(1);
  });
});
