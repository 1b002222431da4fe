import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { AppError } from '@libs/errors';
import { Egress, type EgressRequest } from './egress';
import { HttpsHost } from './testing/https-host';

const LIMITS = { maxBytes: 10_000_000, timeoutMs: 30_000 };
const PIECE = Buffer.alloc(64 * 1024);

describe('memory for what is fetched', () => {
  let host: HttpsHost;
  let egress: Egress;

  beforeAll(async () => {
    host = await HttpsHost.start((_request, response) => response.end());
    egress = new Egress({ allowCidrs: ['127.0.0.0/8'], certificateAuthorities: host.certificate });
  });

  afterAll(() => host.stop());

  const fetch = (request: Partial<EgressRequest>) => egress.fetch(host.url(), { ...LIMITS, ...request });

  /** Resolves when the connection of an answer without end is closed. */
  function answerWithoutEnd(): Promise<void> {
    return new Promise((resolve) => {
      host.answerWith((_request, response) => {
        const write = (): void => {
          while (response.write(PIECE));
        };
        response.on('drain', write).on('close', () => resolve());
        write();
      });
    });
  }

  it.each([
    ['plain', Buffer.alloc(1_000_000), {}],
    ['unpacked', gzipSync(Buffer.alloc(1_000_000)), { 'content-encoding': 'gzip' }],
  ])('is reserved for each piece of a body that is %s', async (_form, body, headers) => {
    host.answerWith((_request, response) => response.writeHead(200, headers).end(body));
    const reserved: number[] = [];
    const answer = await fetch({ reserve: (bytes) => void reserved.push(bytes) });
    expect(answer.body).toHaveLength(1_000_000);
    expect(reserved.length).toBeGreaterThan(1);
    expect(reserved.reduce((sum, bytes) => sum + bytes, 0)).toBe(1_000_000);
  });

  it.each([
    ['at once', () => refuse()],
    ['after a wait', () => new Promise<void>((resolve) => setImmediate(resolve)).then(refuse)],
  ])('ends the exchange where it is refused %s', async (_when, reserve) => {
    const closed = answerWithoutEnd();
    await expect(fetch({ reserve })).rejects.toMatchObject({ code: 'provider_overloaded', message: 'no room' });
    await closed;
  });

  it('lets no more arrive while it waits, and goes on afterwards', async () => {
    const size = 8_000_000;
    let sent = 0;
    host.answerWith((_request, response) => {
      const write = (): void => {
        while (sent < size) {
          sent += 1_000_000;
          if (!response.write(Buffer.alloc(1_000_000))) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    });
    const asked = Promise.withResolvers<void>();
    const room = Promise.withResolvers<void>();
    let requests = 0;
    const reserve = (): Promise<void> => {
      requests += 1;
      asked.resolve();
      return room.promise;
    };
    const answer = fetch({ reserve });
    await asked.promise;
    expect(requests).toBe(1);
    room.resolve();
    expect((await answer).body).toHaveLength(size);
    expect(requests).toBeGreaterThan(1);
  });

  it('does not stop the time of the exchange', async () => {
    let isAsked = false;
    // On a busy machine the time may be up before the answer has begun.
    for (let timeoutMs = 100; !isAsked; timeoutMs *= 2) {
      const closed = answerWithoutEnd();
      const reserve = (): Promise<void> => {
        isAsked = true;
        return delay(3 * timeoutMs);
      };
      await expect(fetch({ timeoutMs, reserve })).rejects.toMatchObject({ code: 'timeout' });
      if (isAsked) await closed;
    }
  });

  it('is not asked for the bodies of redirects, which are not read', async () => {
    const left = Promise.withResolvers<unknown>();
    host.answerWith((request, response) => {
      if (request.url === '/last') return void response.end('last');
      left.resolve(once(response, 'close'));
      response.writeHead(302, { location: '/last' }).write(Buffer.alloc(5_000_000));
    });
    let reserved = 0;
    const reserve = (bytes: number): undefined => void (reserved += bytes);
    const answer = await fetch({ maxRedirects: 1, reserve });
    expect([answer.body.toString(), reserved]).toEqual(['last', 4]);
    await left.promise;
  });
});

function refuse(): never {
  throw new AppError('provider_overloaded', 'no room');
}
