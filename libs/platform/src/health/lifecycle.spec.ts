import { EventEmitter, once } from 'node:events';
import { EnvError } from '../config/env-error';
import { ServicesEnv } from '../config/services.env';
import { forgetOwnMetrics } from '../testing/own-metrics';
import { runApp, type AppContext, type AppDefinition, type RunOptions } from './lifecycle';

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];

  exit(code: number): void {
    this.exits.push(code);
    this.emit('exited', code);
  }
}

function envWith(values: Partial<ServicesEnv> = {}): ServicesEnv {
  return Object.assign(new ServicesEnv(), { DRAIN_DELAY_MS: 0, ...values });
}

function setUp(overrides: Partial<AppDefinition<ServicesEnv>> = {}, options: Partial<RunOptions> = {}) {
  const host = new FakeProcess();
  const events: string[] = [];
  const lines: string[] = [];
  let context: AppContext | undefined;
  const app: AppDefinition<ServicesEnv> = {
    name: 'sample',
    readEnv: () => envWith(),
    start: async (given) => {
      context = given;
      return { stop: async () => void events.push('stop') };
    },
    ...overrides,
  };
  const run = () => runApp(app, { host, logDestination: { write: (line) => lines.push(line) }, ...options });
  const running = (): AppContext => {
    if (!context) throw new Error('the app did not start');
    return context;
  };
  const exited = async (): Promise<number> => host.exits[0] ?? ((await once(host, 'exited')) as [number])[0];
  const messages = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  return { host, events, lines, messages, run, running, exited };
}

const healthPortOf = (lines: readonly string[]): number =>
  lines.map((line) => JSON.parse(line) as { healthPort?: number }).find(({ healthPort }) => healthPort)?.healthPort ??
  0;

forgetOwnMetrics();

describe(runApp.name, () => {
  it('is ready once it has started, and not before', async () => {
    const started = Promise.withResolvers<AppContext>();
    const release = Promise.withResolvers<void>();
    const { run, host, exited } = setUp({
      start: async (context) => {
        started.resolve(context);
        await release.promise;
        return { stop: async () => undefined };
      },
    });
    const booted = run();
    const { readiness } = await started.promise;
    expect(await readiness.report()).toMatchObject({ ready: false, phase: 'starting' });
    release.resolve();
    await booted;
    expect(await readiness.report()).toMatchObject({ ready: true, phase: 'serving' });
    host.emit('SIGTERM');
    expect(await exited()).toBe(0);
  });

  it('drains in order: not ready, then the steps as registered, then stop, then exit with 0', async () => {
    const { host, events, run, running, exited } = setUp();
    await run();
    const { readiness, drainSteps } = running();
    drainSteps.add('consumers', async () => void events.push(`consumers while ${readiness.phase}`));
    drainSteps.add('in flight', async () => void events.push('in flight'));
    drainSteps.add('outbox', async () => void events.push('outbox'));
    host.emit('SIGTERM');
    expect(readiness.phase).toBe('draining');
    expect(await exited()).toBe(0);
    expect(events).toEqual(['consumers while draining', 'in flight', 'outbox', 'stop']);
    expect(host.exits).toEqual([0]);
  });

  it('goes on serving and being live for the drain delay, while not ready', async () => {
    const { host, events, lines, run, running, exited } = setUp({ readEnv: () => envWith({ DRAIN_DELAY_MS: 300 }) });
    await run();
    const port = healthPortOf(lines);
    const { drainSteps } = running();
    drainSteps.add('consumers', async () => void events.push('drained'));
    const signalledAt = performance.now();
    host.emit('SIGINT');
    const ready = await fetch(`http://127.0.0.1:${port}/health/ready`);
    const live = await fetch(`http://127.0.0.1:${port}/health/live`);
    expect([ready.status, live.status, events]).toEqual([503, 200, []]);
    expect(await exited()).toBe(0);
    expect(performance.now() - signalledAt).toBeGreaterThanOrEqual(295);
    await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow();
  });

  it('runs the other steps when one fails, and exits with 1', async () => {
    const { host, events, messages, run, running, exited } = setUp();
    await run();
    running().drainSteps.add('broken', () => Promise.reject(new Error('x')));
    running().drainSteps.add('throws', () => {
      throw new Error('y');
    });
    running().drainSteps.add('good', async () => void events.push('good'));
    host.emit('SIGTERM');
    expect(await exited()).toBe(1);
    expect(events).toEqual(['good', 'stop']);
    expect(messages().filter((message) => message === 'Drain step failed')).toHaveLength(2);
  });

  it('aborts a step that outlasts its time, still runs the next one and stops with 0', async () => {
    const { host, events, messages, run, running, exited } = setUp({}, { drainTimeoutMs: 60 });
    await run();
    running().drainSteps.add(
      'endless',
      (signal) => new Promise<void>(() => signal.addEventListener('abort', () => events.push('aborted'))),
    );
    running().drainSteps.add('after', async () => void events.push('after'));
    host.emit('SIGTERM');
    expect(await exited()).toBe(0);
    expect(events).toEqual(['aborted', 'after', 'stop']);
    expect(messages().filter((message) => message === 'Drain step cut: its time is over')).toHaveLength(1);
  });

  it('runs steps side by side that were added so, and the next one after all of them', async () => {
    const { host, events, run, running, exited } = setUp();
    await run();
    const bothBegan = Promise.withResolvers<void>();
    running().drainSteps.add('lane', async () => {
      await bothBegan.promise;
      events.push('lane');
    });
    running().drainSteps.addBeside('queues', async () => {
      bothBegan.resolve();
      await Promise.reject(new Error('the broker is away'));
    });
    running().drainSteps.add('after', async () => void events.push('after'));
    host.emit('SIGTERM');
    expect(await exited()).toBe(1);
    expect(events).toEqual(['lane', 'after', 'stop']);
  });

  it('does not wait for ever for an app that does not stop', async () => {
    const { host, run, exited } = setUp(
      { start: async () => ({ stop: () => new Promise<void>(() => undefined) }) },
      { stopTimeoutMs: 20 },
    );
    await run();
    host.emit('SIGTERM');
    expect(await exited()).toBe(0);
  });

  it('exits with 1 when stopping fails', async () => {
    const { host, run, exited } = setUp({ start: async () => ({ stop: () => Promise.reject(new Error('x')) }) });
    await run();
    host.emit('SIGTERM');
    expect(await exited()).toBe(1);
  });

  it('ends at once, with 1, on a second signal', async () => {
    const { host, run, running } = setUp();
    await run();
    running().drainSteps.add('endless', () => new Promise<void>(() => undefined));
    host.emit('SIGTERM');
    expect(host.exits).toEqual([]);
    host.emit('SIGINT');
    expect(host.exits).toEqual([1]);
  });

  it('ends with 0 when told to stop before it served', async () => {
    const started = Promise.withResolvers<void>();
    const { host, run } = setUp({
      start: () => {
        started.resolve();
        return new Promise(() => undefined);
      },
    });
    void run();
    await started.promise;
    host.emit('SIGTERM');
    expect(host.exits).toEqual([0]);
  });

  it.each(['uncaughtException', 'unhandledRejection'])('logs an %s as fatal and ends with 1', async (event) => {
    const { host, lines, run } = setUp();
    await run();
    host.emit(event, new Error('nobody caught me'));
    expect(host.exits).toEqual([1]);
    const last = JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;
    expect(last).toMatchObject({ level: 'fatal', err: { message: 'nobody caught me', stack: expect.any(String) } });
  });

  it('says in one line why it cannot boot, and ends with 1', async () => {
    const { host, lines, run } = setUp({
      readEnv: () => {
        throw new EnvError(['PORT must be a whole number from 0 to 65535', 'LOG_LEVEL must be one of info']);
      },
    });
    await run();
    expect(host.exits).toEqual([1]);
    expect(lines).toHaveLength(1);
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    expect(line).toMatchObject({
      level: 'fatal',
      app: 'sample',
      msg: 'Boot failed: Bad environment: PORT must be a whole number from 0 to 65535; LOG_LEVEL must be one of info',
    });
    expect(line).not.toHaveProperty('err');
  });

  it('says which error of the app ended the boot', async () => {
    const { host, lines, run } = setUp({ start: () => Promise.reject(new Error('no queue')) });
    await run();
    expect(host.exits).toEqual([1]);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'fatal', msg: 'Boot failed: no queue' });
  });

  it('logs at the level of its env', async () => {
    const { host, lines, run, exited } = setUp({ readEnv: () => envWith({ LOG_LEVEL: 'error' }) });
    await run();
    host.emit('SIGTERM');
    await exited();
    expect(lines).toEqual([]);
  });
});
