import { connect, type Socket } from 'node:net';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { Upstream } from '../support/upstream';
import { IS_FULL, report } from '../support/scale';
import { Witness } from './witness';

const MODEL = 'hostile/talker';
const CONNECTIONS = 8;
const AHEAD = 1_500;
/** The long form also shows what as many requests do that come one at a time. */
const LOADS = IS_FULL ? [1, AHEAD] : [AHEAD];
/** Of requests, whether they come one at a time or all of a connection's at once. */
const PER_SECOND = 3_000;
const WATCH_MS = IS_FULL ? 30_000 : 2_500;
const PATHS = ['/api/v1/oauth/jwks', '/api/v1/keys', '/nothing'];

let upstream: Upstream;
let installation: Installation;
let client: ApiClient;
let witness: Witness;

beforeAll(async () => {
  upstream = await Upstream.start({ talks: {} });
  const pricing = { prompt: '0', completion: '0' };
  installation = await shareInstallation({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'hostile', baseUrl: upstream.baseUrl('talks'), pricing }]),
    apps: ['auth', 'gateway'],
  });
  client = installation.client();
  witness = new Witness(client, MODEL, new URL(installation.baseUrl).origin);
});

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.stop();
});

/**
 * A caller without a key who sends `ahead` requests at a time on each connection, the next when these are answered, and
 * opens closed connections again.
 */
class Stranger {
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #port: number;
  #isOver = false;
  sent = 0;
  answers = 0;
  closed = 0;

  constructor(
    baseUrl: string,
    private readonly path: string,
    private readonly ahead: number,
  ) {
    this.#port = Number(new URL(baseUrl).port);
    for (let nth = 0; nth < CONNECTIONS; nth += 1) this.#open();
  }

  stop(): void {
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): void {
    if (this.#isOver) return;
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    let open = 0;
    const send = (): void => {
      if (open > 0) return;
      socket.write(`GET ${this.path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(this.ahead));
      open = this.ahead;
      this.sent += this.ahead;
    };
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      const answers = data.toString('latin1').split('HTTP/1.1 ').length - 1;
      this.answers += answers;
      open -= answers;
    });
    // One that is ended by the server would stay half open.
    socket.on('end', () => socket.destroy());
    const everyMs = (1_000 * this.ahead * CONNECTIONS) / PER_SECOND;
    const timer = setInterval(send, everyMs);
    this.#timers.add(timer);
    send();
    socket.on('close', () => {
      clearInterval(timer);
      this.#timers.delete(timer);
      this.#sockets.delete(socket);
      this.closed += this.#isOver ? 0 : 1;
      const later = setTimeout(() => this.#open(), everyMs);
      this.#timers.add(later);
    });
  }
}

describe('a stranger who sends requests ahead', () => {
  it.each(PATHS)(
    'keeps no caller and no probe from being served: %s',
    async (path) => {
      await witness.watch(1_000);
      const seen = [];
      for (const ahead of LOADS) {
        const stranger = new Stranger(installation.baseUrl, path, ahead);
        try {
          await eventually('the attack is under way', 30_000, () => stranger.sent >= AHEAD || undefined);
          const served = await witness.watch(WATCH_MS);
          const { sent, answers, closed } = stranger;
          seen.push({ ahead, sent, answers, closed, served });
        } finally {
          stranger.stop();
        }
      }
      report({ what: 'requests ahead', path, seen });
      const attack = seen.at(-1);
      expect(attack!.served.failures).toEqual({});
      expect(attack!.served.healthStatuses).toEqual([200]);
      expect(attack!.served.callsPerSecond).toBeGreaterThan(0);
      expect(attack!.closed).toBeGreaterThan(0);
      // Of requests that were all sent, a connection gets few answers before it is closed.
      expect(attack!.answers).toBeLessThan(attack!.sent / 10);
    },
    2 * WATCH_MS + 90_000,
  );
});
