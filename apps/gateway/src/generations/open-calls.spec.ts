import { OpenCalls } from './open-calls';

describe(OpenCalls.name, () => {
  it('is idle when every call has ended', async () => {
    const calls = new OpenCalls();
    await calls.idle(new AbortController().signal);
    calls.began();
    calls.began();
    const ends: string[] = [];
    const idle = calls.idle(new AbortController().signal).then(() => ends.push('idle'));
    calls.ended();
    await Promise.resolve();
    expect(ends).toEqual([]);
    calls.ended();
    await idle;
  });

  it('waits no longer than the signal allows', async () => {
    const calls = new OpenCalls();
    calls.began();
    const deadline = new AbortController();
    const idle = calls.idle(deadline.signal);
    deadline.abort();
    await idle;
    await calls.idle(deadline.signal);
  });
});
