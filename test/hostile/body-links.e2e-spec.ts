import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { Upstream } from '../support/upstream';
import { longHosts } from './long-hosts';
import { report } from '../support/scale';
import { Witness } from './witness';

const MODEL = 'hostile/talker';
const KIB = 1_024;

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await Upstream.start({ talks: { latencyMs: 50 } });
  const pricing = { prompt: '0.00000001', completion: '0.00000001' };
  installation = await shareInstallation({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'hostile', baseUrl: upstream.baseUrl('talks'), pricing }]),
    apps: ['auth', 'gateway'],
  });
});

afterAll(async () => {
  await giveBack(installation);
  await upstream?.stop();
});

const bodyOf = (links: readonly string[]): string =>
  JSON.stringify({ model: MODEL, max_tokens: 8, messages: [{ role: 'user', content: 'hi' }], links });

async function post(key: string, body: string): Promise<number> {
  const response = await fetch(`${installation.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

async function msOfHealth(): Promise<number> {
  const startedMs = performance.now();
  await fetch(`${new URL(installation.baseUrl).origin}/health/live`).then((response) => response.arrayBuffer());
  return Math.round(performance.now() - startedMs);
}

describe('a body full of links with long hosts', () => {
  it('from a key without credits leaves others their throughput', async () => {
    const poor = await new Operator(installation).createTenant('poor', null);
    const client = installation.client();
    const witness = new Witness(client, MODEL, new URL(installation.baseUrl).origin);
    await witness.watch(1_000);
    const before = await witness.watch(3_000);
    const body = bodyOf(longHosts(240 * KIB));
    let isOver = false;
    const attack = (async () => {
      while (!isOver) await post(poor.apiKey, body);
    })();
    const during = await witness.watch(5_000);
    isOver = true;
    await attack;
    await client.close();
    report({ links: 'without credits', before: before.callsPerSecond, during: during.callsPerSecond });
    // Reading and refusing bodies of that size takes a share too, as it does for any text.
    expect(during.callsPerSecond).toBeGreaterThan(0.3 * before.callsPerSecond);
    expect(during.failures).toEqual({});
  });

  it.each([
    ['too long for a name', () => longHosts(3 * KIB * KIB)],
    ['as long as a name can be', () => longNames(3 * KIB * KIB)],
  ])(
    'does not hold the gateway up: %s',
    async (_kind, links) => {
      const rich = await new Operator(installation).createTenant('rich', '1');
      const sent = post(rich.apiKey, bodyOf(links()));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const healthMs = await msOfHealth();
      expect(await sent).toBe(400);
      report({ links: 'in one body', healthMs });
      expect(healthMs).toBeLessThan(1_000);
    },
    60_000,
  );
});

/** Labels of 59 characters of another script, which a parser turns into names of 63. */
function longNames(bytes: number): string[] {
  const label = (from: number): string =>
    Array.from({ length: 59 }, (_, index) => String.fromCodePoint(0x4e00 + from + index)).join('');
  const link = `http://${[label(0), label(59), label(118)].join('.')}.example/`;
  return Array.from({ length: Math.ceil(bytes / Buffer.byteLength(link)) }, () => link);
}
