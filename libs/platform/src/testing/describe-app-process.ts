import { FakeListener, SpawnedApp } from './spawn-app';

/** What every app without work of its own must do as a process: boot, report, drain, and refuse a bad environment. */
export function describeAppProcess(name: string): void {
  describe(`the ${name} process`, () => defineTests(name));
}

function defineTests(name: string): void {
  let postgresql: FakeListener;
  let rabbitmq: FakeListener;

  beforeEach(async () => {
    postgresql = await FakeListener.open();
    rabbitmq = await FakeListener.open();
  });

  afterEach(() => Promise.all([postgresql.close(), rabbitmq.close()]));

  const start = (env: Readonly<Record<string, string>> = {}) =>
    SpawnedApp.start(`apps/${name}/src/main.ts`, {
      HEALTH_PORT: '0',
      DRAIN_DELAY_MS: '0',
      DATABASE_URL: `postgres://app:canary@127.0.0.1:${postgresql.port}/sluice`,
      AMQP_URL: `amqp://app:canary@127.0.0.1:${rabbitmq.port}/sluice`,
      ...env,
    });

  it('boots, is ready, shows its metrics and ends with 0 when told to stop', async () => {
    const app = start();
    const { healthPort } = await app.line('Serving');
    const ask = (path: string) => fetch(`http://127.0.0.1:${String(healthPort)}${path}`);
    expect((await ask('/health/live')).status).toBe(200);
    expect(await (await ask('/health/ready')).json()).toEqual({
      status: 'ready',
      phase: 'serving',
      checks: { postgresql: 'up', rabbitmq: 'up' },
    });
    expect(await (await ask('/metrics')).text()).toContain(`nodejs_eventloop_lag_p99_seconds{app="${name}"}`);
    app.signal('SIGTERM');
    expect(await app.exited).toBe(0);
    expect(app.lines.at(-1)).toMatchObject({ msg: 'Stopped', app: name });
    expect(JSON.stringify(app.lines)).not.toContain('canary');
  }, 30_000);

  it('is live but not ready while RabbitMQ is away', async () => {
    await rabbitmq.close();
    const app = start();
    const { healthPort } = await app.line('Serving');
    const ready = await fetch(`http://127.0.0.1:${String(healthPort)}/health/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { postgresql: 'up', rabbitmq: 'down' } }]);
    expect((await fetch(`http://127.0.0.1:${String(healthPort)}/health/live`)).status).toBe(200);
    app.signal('SIGINT');
    expect(await app.exited).toBe(0);
  }, 30_000);

  it('ends within a second, with 1, when told to stop twice', async () => {
    const app = start({ DRAIN_DELAY_MS: '60000' });
    await app.line('Serving');
    app.signal('SIGTERM');
    await app.line('Told to stop: draining');
    const askedAgainAt = performance.now();
    app.signal('SIGTERM');
    expect(await app.exited).toBe(1);
    expect(performance.now() - askedAgainAt).toBeLessThan(1_000);
  }, 30_000);

  it('names every bad variable in its only line and ends with 1', async () => {
    const app = start({ HEALTH_PORT: 'canary', LOG_LEVEL: 'canary', AMQP_URL: 'canary' });
    expect(await app.exited).toBe(1);
    expect(app.lines).toHaveLength(1);
    for (const name of ['HEALTH_PORT', 'LOG_LEVEL', 'AMQP_URL']) expect(app.lines[0]?.msg).toContain(`${name} must be`);
    expect(JSON.stringify(app.lines)).not.toContain('canary');
  }, 30_000);
}
