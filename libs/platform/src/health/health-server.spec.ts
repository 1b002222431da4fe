import { once } from 'node:events';
import { connect } from 'node:net';
import { Registry, Gauge } from 'prom-client';
import { startHealthServer, type HealthServer } from './health-server';
import { Readiness } from './readiness';

describe(startHealthServer.name, () => {
  let readiness: Readiness;
  let server: HealthServer;

  beforeEach(async () => {
    readiness = new Readiness({ cacheMs: 0 });
    const metrics = new Registry();
    new Gauge({ name: 'sluice_test', help: 'x', registers: [metrics] }).set(7);
    server = await startHealthServer({ port: 0, host: '127.0.0.1', readiness, metrics });
  });

  afterEach(() => server.close());

  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });

  it('is live whatever happened to what it needs', async () => {
    readiness.addCheck('postgresql', () => false);
    readiness.drain();
    const response = await ask('/health/live');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'live' });
  });

  it('is ready, and 503 with the names of the checks when one fails', async () => {
    let up = true;
    readiness.addCheck('postgresql', () => up);
    expect((await ask('/health/ready')).status).toBe(200);
    up = false;
    const response = await ask('/health/ready');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'not_ready', phase: 'serving', checks: { postgresql: 'down' } });
  });

  it('turns 503 at once when it drains, and asks its callers to go', async () => {
    expect((await ask('/health/ready')).status).toBe(200);
    readiness.drain();
    const response = await ask('/health/ready');
    expect(response.status).toBe(503);
    expect(response.headers.get('connection')).toBe('close');
  });

  it('shows the metrics', async () => {
    const response = await ask('/metrics');
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('sluice_test 7');
  });

  it('answers HEAD without a body, other methods with 405, other paths with 404, in the envelope', async () => {
    const head = await ask('/health/ready?verbose=1', 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await ask('/health/live', 'POST');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    for (const path of ['/', '/health', '/__proto__', '/constructor']) {
      const response = await ask(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404 } });
    }
  });

  it('answers 500 without details when the metrics cannot be made', async () => {
    const metrics = new Registry();
    new Gauge({
      name: 'sluice_broken',
      help: 'x',
      registers: [metrics],
      collect() {
        throw new Error('canary');
      },
    });
    const broken = await startHealthServer({ port: 0, host: '127.0.0.1', readiness, metrics });
    const response = await fetch(`http://127.0.0.1:${broken.port}/metrics`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('canary');
    await broken.close();
  });

  it.each(['', 'Expect: a-miracle\r\n'])(
    'makes the metrics once at a time for a client that sends ahead %s',
    async (head) => {
      const metrics = new Registry();
      let [made, running, most] = [0, 0, 0];
      new Gauge({
        name: 'sluice_counted',
        help: 'x',
        registers: [metrics],
        async collect() {
          made += 1;
          most = Math.max(most, (running += 1));
          await new Promise(setImmediate);
          running -= 1;
        },
      });
      const counting = await startHealthServer({ port: 0, host: '127.0.0.1', readiness, metrics });
      const socket = connect(counting.port, '127.0.0.1').on('error', () => undefined);
      socket.resume().write(`GET /metrics HTTP/1.1\r\nHost: x\r\n${head}\r\n`.repeat(1_000));
      await once(socket, 'close');
      expect(most).toBe(1);
      expect(made).toBeLessThan(100);
      await counting.close();
    },
  );

  it('refuses a port that is taken', async () => {
    await expect(
      startHealthServer({ port: server.port, host: '127.0.0.1', readiness, metrics: new Registry() }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes although a client keeps its connection', async () => {
    await ask('/health/live');
    await server.close();
    await expect(ask('/health/live')).rejects.toThrow();
    server = await startHealthServer({ port: 0, host: '127.0.0.1', readiness, metrics: new Registry() });
  });
});
