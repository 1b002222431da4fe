import { mintApiKey } from '@libs/contracts';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { Upstream } from '../support/upstream';
import { IS_FULL, report } from '../support/scale';
import { SlowConnections, type SlowConnectionsOptions } from './slow-connections';
import { Witness, type Served } from './witness';

const MODEL = 'hostile/talker';
/** So long that the machine has nothing to do meanwhile: what is measured is who is served, not how fast. */
const LATENCY_MS = 200;
const CONNECTIONS = IS_FULL ? 5_000 : 80;
const ATTACK_MS = IS_FULL ? 60_000 : 6_000;
/** Longer than a gateway waits for a head, or for a body while others want its place. */
const LONG_ATTACK_MS = Math.max(ATTACK_MS, 12_000);
const QUIET_MS = IS_FULL ? 20_000 : 3_000;
const LEAST_SHARE = 0.9;
const MOST_ROUNDS = 3;
/** Fewer than there are connections. */
const LOW_CAPS = { MAX_REQUESTS_IN_FLIGHT: '40', MAX_BODIES_ARRIVING: '40' };

let upstream: Upstream;
let installation: Installation;
let attacker: Tenant;
let client: ApiClient;
let witness: Witness;

beforeAll(async () => {
  upstream = await Upstream.start({ talks: { latencyMs: LATENCY_MS } });
  const pricing = { prompt: '0.00000001', completion: '0.00000001' };
  installation = await Installation.start({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'hostile', baseUrl: upstream.baseUrl('talks'), pricing }]),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: IS_FULL ? {} : LOW_CAPS },
  });
  attacker = await new Operator(installation).createTenant('attacker', '100');
  client = installation.client();
  witness = new Witness(client, MODEL, origin());
});

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.stop();
});

function origin(): string {
  return new URL(installation.baseUrl).origin;
}

function head(path: string, lines: readonly string[] = []): string {
  const all = [`POST ${path} HTTP/1.1`, 'Host: gateway', 'Content-Length: 1000', ...lines];
  return `${all.join('\r\n')}\r\n\r\n`;
}

const FORM = 'Content-Type: application/x-www-form-urlencoded';
const JSON_TYPE = 'Content-Type: application/json';

/** The witness before, during and after an attack. */
async function under(
  attack: Pick<SlowConnectionsOptions, 'opening' | 'drip' | 'everyMs'>,
  attackMs: number,
): Promise<{
  readonly before: Served;
  readonly during: Served;
  readonly after: Served;
  readonly answers: Readonly<Record<string, number>>;
}> {
  await witness.watch(1_000);
  const before = await witness.watch(QUIET_MS);
  const slow = new SlowConnections({ baseUrl: installation.baseUrl, count: CONNECTIONS, ...attack });
  try {
    await eventually('the attack is under way', 60_000, () => (slow.established === CONNECTIONS ? true : undefined));
    const during = await witness.watch(attackMs);
    const { answers, open } = slow;
    slow.stop();
    const after = await witness.watch(QUIET_MS);
    report({ connections: CONNECTIONS, open, before, during, after, answers });
    return { before, during, after, answers };
  } finally {
    slow.stop();
  }
}

type Attack = Parameters<typeof under>[0];
type Outcome = Awaited<ReturnType<typeof under>>;

const shareOf = ({ before, during, after }: Outcome): number =>
  during.callsPerSecond / Math.min(before.callsPerSecond, after.callsPerSecond);

/** What else the machine does may slow one attack's witness down, not every one's. */
async function unharmedBy(attack: Attack, attackMs = ATTACK_MS): Promise<Outcome> {
  for (let round = 1; ; round += 1) {
    const outcome = await under(attack, attackMs);
    expect(outcome.during.healthStatuses).toEqual([200]);
    expect(outcome.during.failures).toEqual({});
    if (shareOf(outcome) > LEAST_SHARE) return outcome;
    if (round === MOST_ROUNDS) expect(shareOf(outcome)).toBeGreaterThan(LEAST_SHARE);
  }
}

describe('a well-behaved tenant', () => {
  const LIMIT_MS = MOST_ROUNDS * (2 * QUIET_MS + LONG_ATTACK_MS + 30_000);

  it(
    'is served while bodies of public routes come one byte at a time',
    async () => {
      const openings = [
        head('/auth/session', [FORM]),
        head('/auth', [FORM]),
        head('/api/v1/oauth/token', [FORM]),
        head('/api/v1/auth/keys', [JSON_TYPE]),
      ];
      await unharmedBy({ opening: (nth) => openings[nth % 4]!, drip: 'x', everyMs: 1_000 });
    },
    LIMIT_MS,
  );

  it(
    'is served while bodies of another tenant, and of callers with invented keys, come one byte at a time',
    async () => {
      const opening = (nth: number): string => {
        const key = nth % 4 === 0 ? mintApiKey('sluice', 'api') : attacker.apiKey;
        const path = nth % 4 === 3 ? '/api/v1/batches' : '/api/v1/chat/completions';
        return head(path, [JSON_TYPE, `Authorization: Bearer ${key}`]);
      };
      const outcome = await unharmedBy({ opening, drip: ' ', everyMs: 1_000 }, LONG_ATTACK_MS);
      expect(Object.keys(outcome.answers)).toContain('503');
    },
    LIMIT_MS,
  );

  it(
    'is served while heads come one byte at a time, and each of these is ended',
    async () => {
      const opening = (): string => 'POST /api/v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX: ';
      const outcome = await unharmedBy({ opening, drip: 'x', everyMs: 1_000 }, LONG_ATTACK_MS);
      expect(outcome.answers['408']).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
