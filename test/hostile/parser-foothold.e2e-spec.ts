import { readFileSync } from 'node:fs';
import { ParserProcess, type ParserName } from '../../apps/gateway/src/parsers/parser-process';
import type { TakeoverSettings } from '../../apps/gateway/src/parsers/testing/takeover-probe';
import { catalogueOf } from '../support/catalogue';
import { Installation } from '../support/installation';

const TAKEOVER = 'testing/takeover-probe' as ParserName;
const APPS = ['auth', 'gateway'] as const;
/** The bit of SIGUSR1 in the masks of a process. */
const SIGUSR1 = 1n << 9n;

let installation: Installation;

beforeAll(async () => {
  const pricing = { prompt: '0', completion: '0' };
  installation = await Installation.start({
    catalogue: catalogueOf([{ slug: 'a/b', provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', pricing }]),
    apps: APPS,
  });
});

afterAll(async () => {
  await installation?.stop();
});

function maskOf(pid: number, name: string): bigint {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return BigInt(`0x${new RegExp(`^${name}:\\s+([0-9a-f]+)$`, 'm').exec(status)?.[1]}`);
}

describe('a parser that was taken over', () => {
  it.each([...APPS])('opens no debugger in %s by a signal', async (app) => {
    const pid = installation.pidOf(app);
    process.kill(pid, 'SIGUSR1');
    // It has no handler, waits for ever, and ends nothing.
    expect(maskOf(pid, 'SigCgt') & SIGUSR1).toBe(0n);
    expect(maskOf(pid, 'ShdPnd') & SIGUSR1).toBe(SIGUSR1);
    expect((await fetch(new URL('/health/live', installation.baseUrl))).status).toBe(200);
  });

  it('opens no connection and runs no code in the gateway', async () => {
    // The flags, environment, permissions and limits of the gateway's own children; they have its user too.
    const child = await ParserProcess.start([TAKEOVER]);
    const settings: TakeoverSettings = {
      pid: installation.pidOf('gateway'),
      expression: 'JSON.stringify({ ranInPid: process.pid })',
      gatewayPort: Number(new URL(installation.baseUrl).port),
    };
    const task = { parser: TAKEOVER, settings, payload: Buffer.alloc(0), timeoutMs: 30_000 };
    const outcome = await child.run(task, new AbortController().signal);
    await child.end();
    expect(outcome.state).toBe('broken');
    expect(JSON.stringify(outcome)).not.toMatch(/ranInPid|HTTP/);
  });
});
