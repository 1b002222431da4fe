import { Secret } from '@libs/contracts';
import type { ClaimedWebhook } from '@libs/persistence';
import { Egress } from '@libs/platform';
import { HttpsHost } from '@libs/platform/testing';
import { Webhook } from 'standardwebhooks';
import { VideoWorkerEnv } from '../video-worker.env';
import { WebhookSender } from './webhook-sender';

const SECRET = new Secret(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);

describe(WebhookSender.name, () => {
  let host: HttpsHost;
  let bodies: string[];
  let status: number;

  beforeAll(async () => {
    host = await HttpsHost.start(() => undefined);
  });

  afterAll(() => host.stop());

  beforeEach(() => {
    host.requests.length = 0;
    bodies = [];
    status = 204;
    host.answerWith((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        bodies.push(body);
        response.writeHead(status, { location: host.url('/elsewhere') }).end();
      });
    });
  });

  const senderWith = (allowCidrs: string[], certificateAuthorities = host.certificate): WebhookSender =>
    new WebhookSender(new Egress({ allowCidrs, certificateAuthorities }), new VideoWorkerEnv());

  const aWebhook = (url: string): ClaimedWebhook => ({
    id: 'batch-1-completed',
    fence: 1n,
    organizationId: 'organization',
    workspaceId: 'workspace',
    url,
    type: 'batch.completed',
    payload: '{"id":"batch-1"}',
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    attempts: 1,
    deaths: 0,
    isByHand: false,
    owedForMs: 0,
  });

  const send = (sender = senderWith(['127.0.0.0/8']), url = host.url('/hook?a=b')) =>
    sender.send(aWebhook(url), [SECRET], new AbortController().signal);

  it('posts the event, signed, and takes any 2xx for a delivery', async () => {
    expect(await send()).toEqual({ kind: 'delivered', status: 204 });
    const [{ method, path, headers }] = host.requests as [(typeof host.requests)[0]];
    expect([method, path, headers['content-type']]).toEqual(['POST', '/hook?a=b', 'application/json']);
    expect(bodies).toEqual([
      '{"type":"batch.completed","created_at":"2026-01-02T03:04:05.678Z","data":{"id":"batch-1"}}',
    ]);
    expect(() => new Webhook(SECRET.reveal()).verify(bodies[0]!, headers as Record<string, string>)).not.toThrow();
  });

  it('follows no redirect', async () => {
    status = 302;
    expect(await send()).toMatchObject({ kind: 'failed', status: 302 });
    expect(host.requests).toHaveLength(1);
  });

  it('does not wait for the end of an answer that never comes', async () => {
    host.answerWith((_request, response) => {
      response.writeHead(200).write('x'.repeat(100_000));
    });
    expect(await send()).toEqual({ kind: 'delivered', status: 200 });
  });

  it('connects to nobody at an address that is not public, and gives such an event up', async () => {
    host.connections = 0;
    for (const url of [host.url('/'), host.url('/', 'localhost'), 'https://10.0.0.1/', 'http://example.com/']) {
      expect(await send(senderWith([]), url)).toMatchObject({ kind: 'final', status: null });
    }
    expect(host.connections).toBe(0);
  });

  it('trusts no certificate that nobody vouches for, and says so without the URL', async () => {
    const other = await HttpsHost.start(() => undefined);
    const outcome = await send(senderWith(['127.0.0.0/8'], other.certificate));
    await other.stop();
    expect(outcome).toMatchObject({ kind: 'failed', status: null, error: expect.stringContaining('SELF_SIGNED') });
    expect(JSON.stringify(outcome)).not.toContain('/hook');
    expect(host.requests).toEqual([]);
  });

  it('says that a receiver is away', async () => {
    const url = host.url('/', '127.0.0.2');
    expect(await send(undefined, url)).toMatchObject({ kind: 'failed', error: expect.stringContaining('egress: ') });
  });
});
