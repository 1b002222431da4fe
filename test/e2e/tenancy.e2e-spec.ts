import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashApiKey } from '@libs/contracts';
import { root } from '../../scripts/checkout';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator, type Tenant } from '../support/operator';
import { findInsides } from './refusals';

const MODEL = 'tenancy/talker';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };
const UNKNOWN_UUID = '11111111-2222-4333-8444-555555555555';
const UNKNOWN_HASH = 'f'.repeat(64);
const METHODS = ['GET', 'PATCH', 'DELETE', 'POST', 'PUT'] as const;
const TAKING: readonly string[] = ['PATCH', 'POST', 'PUT'] satisfies (typeof METHODS)[number][];
/** What a route takes in addition to the id, so that it is not refused for its form. */

const BODILESS = ['/webhook-secret', '/cancel', '/retry'];

/** A body that the route would take from the owner. */
function takenBy(path: string): object {
  if (BODILESS.some((end) => path.endsWith(end))) return {};
  if (path.includes('/budgets')) return { limit_usd: 1 };
  return path.includes('/members') ? { user_ids: ['taken'] } : { name: 'taken' };
}

/** A route whose path holds an id. */
interface IdRoute {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
}

/** Everything of the victim that has an id, and the id of the same form that nobody has. */
interface Possession {
  readonly kind: string;
  readonly id: string;
  readonly unknown: string;
}

let upstream: Upstream;
let installation: Installation;
let stranger: Tenant;
const clients: ApiClient[] = [];
/** By what they are. None of them may see or change what belongs to the demo organization's first workspace. */
let intruders: ReadonlyMap<string, ApiClient>;
let manager: ApiClient;
let possessions: Possession[];

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  // Not shared: without a batch-worker, the victim's batch stays as it is.
  installation = await Installation.start({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'openai', baseUrl: upstream.baseUrl('steady'), pricing }]),
    apps: ['auth', 'credentials', 'gateway'],
  });
  stranger = await new Operator(installation).createTenant('Stranger', '5');
  manager = open(installation.seed.managementKey);
  const other = await make('/workspaces', { name: 'other', slug: 'other' });
  const neighbour = await manager.request<{ key: string }>('POST', '/keys', { name: 'n', workspace_id: other.id });
  intruders = new Map([
    ['a management key of another organization', open(stranger.managementKey)],
    ['an API key of another organization', open(stranger.apiKey)],
    ['an API key of another workspace', open(neighbour.body.key)],
  ]);
  possessions = await acquire();
}, 240_000);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await installation?.stop();
  await upstream?.stop();
}, 240_000);

function open(key: string): ApiClient {
  const client = installation.client(key);
  clients.push(client);
  return client;
}

async function make(path: string, body: object): Promise<{ readonly id: string; readonly hash: string }> {
  const answer = await manager.request<{ data: { id: string; hash: string } }>('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body.data;
}

/** One of each. */
async function acquire(): Promise<Possession[]> {
  const victim = open(installation.seed.apiKey);
  const { hash } = await make('/keys', { name: 'mine' });
  const byok = await make('/byok', { key: 'sk-own-0123456789abcdef', provider: 'openai', disabled: true });
  const issuer = await make('/workload-identity/issuers', { name: 'mine', issuer_url: 'https://issuer.example' });
  const policy = await make('/workload-identity/policies', {
    issuer_id: issuer.id,
    name: 'mine',
    subject: 'me',
    audience: 'us',
    api_key_hash: hash,
  });
  const requests = [{ custom_id: 'c1', body: { messages: CHAT.messages, max_tokens: 8 } }];
  const batch = await victim.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
  const chat = await victim.request<{ id: string }>('POST', '/chat/completions', CHAT);
  const generation = String(chat.headers['x-generation-id'] ?? chat.body.id);
  // The gateway shows it from its memory before the row is settled.
  await eventually('the generation is settled', 10_000, async () => {
    const sql = `SELECT 1 FROM generations WHERE id = $1 AND state = 'settled'`;
    return (await installation.database.firstRow({ sql, values: [generation] })) ?? undefined;
  });
  const ofUuid = (kind: string, id: string): Possession => ({ kind, id, unknown: UNKNOWN_UUID });
  return [
    { kind: 'key', id: hash, unknown: UNKNOWN_HASH },
    ofUuid('workspace', installation.seed.workspaceId),
    ofUuid('credential', byok.id),
    ofUuid('issuer', issuer.id),
    ofUuid('policy', policy.id),
    { kind: 'batch', id: batch.body.id, unknown: unknownLike(batch.body.id) },
    { kind: 'generation', id: generation, unknown: unknownLike(generation) },
  ];
}

/** Another id of the same form. */
const unknownLike = (id: string): string => id.slice(0, -12) + id.slice(-12).replaceAll(/[0-9a-zA-Z]/g, '0');

/** Every route of the gateway with an id in its path, read from the controllers: a new one is tested from its first day. */
function idRoutes(): IdRoute[] {
  const folder = join(root, 'apps/gateway/src');
  const files = readdirSync(folder, { recursive: true }).map(String);
  return files
    .filter((file) => file.endsWith('.controller.ts'))
    .flatMap((file) => routesOf(readFileSync(join(folder, file), 'utf8')))
    .filter(({ path }) => path.includes(':') && !path.startsWith('/models/'));
}

function routesOf(source: string): IdRoute[] {
  const prefix = /@Controller\('([^']*)'\)/.exec(source)?.[1] ?? '';
  return [...source.matchAll(/@(Get|Post|Patch|Delete|Put)\((?:'([^']*)')?\)/g)].map(([, verb = '', path = '']) => ({
    method: verb.toUpperCase() as IdRoute['method'],
    path: path === '' ? `/${prefix}` : `/${prefix}/${path}`,
  }));
}

const at = (path: string, id: string): string =>
  path.replaceAll(':interval', 'daily').replaceAll(/:\w+/g, encodeURIComponent(id));

async function ask(client: ApiClient, { method, path }: IdRoute, id: string): Promise<ApiAnswer> {
  return client.request(method, at(path, id), TAKING.includes(method) ? takenBy(path) : undefined);
}

/**
 * Everything that the victim's organization has in the database, but for the trail of who asked and the last uses of its
 * keys, which the gateway writes once in a minute.
 */
async function rowsOfVictim(): Promise<string> {
  const tables = await installation.database.rows<{ name: string }>({
    sql: `SELECT quote_ident(table_name) AS name FROM information_schema.columns
          WHERE table_schema = 'public' AND column_name = 'organization_id' AND table_name NOT IN ('audit_entries', 'last_uses')
            AND table_name NOT LIKE '%\\_p%' ORDER BY 1`,
  });
  const rows: string[] = [];
  for (const { name } of tables) {
    const sql = `SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') AS text FROM ${name} t
                 WHERE organization_id = (SELECT organization_id FROM workspaces WHERE id = $1)`;
    const row = await installation.database.firstRow<{ text: string }>({
      sql,
      values: [installation.seed.workspaceId],
    });
    rows.push(`${name}\n${row!.text}`);
  }
  return rows.join('\n');
}

describe('an id of another tenant', () => {
  it('is looked for on all routes that take one', () => {
    const routes = idRoutes().map(({ method, path }) => `${method} ${path}`);
    expect(routes).toEqual(
      expect.arrayContaining([
        'GET /keys/:hash',
        'PATCH /keys/:hash',
        'DELETE /keys/:hash',
        'GET /batches/:id',
        'DELETE /byok/:id',
        'DELETE /workspaces/:id',
        'GET /workspaces/:id/budgets',
        'PUT /workspaces/:id/budgets/:interval',
        'POST /workspaces/:id/members/remove',
        'PATCH /workload-identity/issuers/:id',
        'DELETE /workload-identity/policies/:id',
      ]),
    );
    expect(possessions.map(({ id, unknown }) => [id.length, id === unknown])).toEqual(
      possessions.map(({ unknown }) => [unknown.length, false]),
    );
  });

  it('is answered like one that nobody has, on every route and to everybody, and nothing of it changes', async () => {
    const before = await rowsOfVictim();
    const told: unknown[] = [];
    let count = 0;
    for (const [who, intruder] of intruders) {
      for (const route of idRoutes()) {
        for (const { kind, id, unknown } of possessions) {
          const [foreign, missing] = [await ask(intruder, route, id), await ask(intruder, route, unknown)];
          count += 1;
          const isSame = foreign.status === missing.status && foreign.text === missing.text;
          if (!isSame || foreign.status < 400 || foreign.text.includes(id) || findInsides(foreign.text) !== null) {
            told.push({ who, route, kind, foreign: [foreign.status, foreign.text], missing: missing.text });
          }
        }
      }
    }
    expect(told).toEqual([]);
    expect(count).toBeGreaterThan(300);
    expect(await rowsOfVictim()).toBe(before);
  });

  it('answers 404 where the intruder may ask at all', async () => {
    const strange = intruders.get('a management key of another organization')!;
    const pathOf = { key: '/keys', workspace: '/workspaces', credential: '/byok' } as Readonly<Record<string, string>>;
    for (const { kind, id } of possessions.filter((one) => one.kind in pathOf)) {
      for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
        const answer = await ask(strange, { method, path: `${pathOf[kind]}/:id` }, id);
        expect([kind, method, answer.status]).toEqual([kind, method, 404]);
      }
    }
    const { id: workspaceId } = possessions.find(({ kind }) => kind === 'workspace')!;
    for (const route of idRoutes().filter(({ path }) => path.startsWith('/workspaces/:id/'))) {
      const { status } = await ask(strange, route, workspaceId);
      expect([route, status]).toEqual([route, 404]);
    }
    for (const who of ['an API key of another organization', 'an API key of another workspace']) {
      const intruder = intruders.get(who)!;
      const batch = possessions.find(({ kind }) => kind === 'batch')!;
      expect([who, (await intruder.getBatch(batch.id)).status]).toEqual([who, 404]);
    }
  });

  it('says no more in a query than one that nobody has', async () => {
    const paths = ['/generation?id=', '/generation/content?id=', '/keys?workspace_id=', '/byok?workspace_id='];
    for (const [who, intruder] of intruders) {
      for (const path of paths) {
        for (const { kind, id, unknown } of possessions) {
          const [foreign, missing] = [
            await intruder.request('GET', path + id),
            await intruder.request('GET', path + unknown),
          ];
          expect([who, path, kind, foreign.status, foreign.text]).toEqual([
            who,
            path,
            kind,
            missing.status,
            missing.text,
          ]);
        }
      }
    }
  });

  it('cannot be named in a new thing, and is refused like one that nobody has', async () => {
    const strange = intruders.get('a management key of another organization')!;
    const before = await rowsOfVictim();
    const idOf = (kind: string): Possession => possessions.find((one) => one.kind === kind)!;
    const own = await strange.request<{ data: { id: string } }>('POST', '/workload-identity/issuers', {
      name: 'own',
      issuer_url: 'https://issuer.example',
    });
    const policy = { issuer_id: own.body.data.id, name: 'a', subject: 'a', audience: 'a' };
    const ownHash = hashApiKey(stranger.apiKey);
    const bodies: readonly [string, (id: string) => object, Possession][] = [
      ['/keys', (workspace_id) => ({ name: 'a', workspace_id }), idOf('workspace')],
      [
        '/byok',
        (workspace_id) => ({ key: 'sk-0123456789abcdef', provider: 'openai', workspace_id }),
        idOf('workspace'),
      ],
      [
        '/byok',
        (hash) => ({ key: 'sk-0123456789abcdef', provider: 'openai', allowed_api_key_hashes: [hash] }),
        idOf('key'),
      ],
      ['/auth/keys/code', (workspace_id) => ({ callback_url: 'https://a.example', workspace_id }), idOf('workspace')],
      ['/workload-identity/policies', (issuer_id) => ({ ...policy, issuer_id, api_key_hash: ownHash }), idOf('issuer')],
      ['/workload-identity/policies', (api_key_hash) => ({ ...policy, api_key_hash }), idOf('key')],
    ];
    for (const [path, body, { id, unknown }] of bodies) {
      const [foreign, missing] = [
        await strange.request('POST', path, body(id)),
        await strange.request('POST', path, body(unknown)),
      ];
      expect([path, foreign.status, foreign.text]).toEqual([path, missing.status, missing.text]);
      expect(foreign.status).toBeGreaterThanOrEqual(400);
      expect(foreign.text).not.toContain(id);
    }
    expect(await rowsOfVictim()).toBe(before);
  });

  it('is in no list of another organization', async () => {
    const strange = intruders.get('a management key of another organization')!;
    for (const path of ['/keys', '/workspaces', '/byok', '/workload-identity/issuers', '/workload-identity/policies']) {
      const { status, text } = await strange.request('GET', `${path}?limit=100`);
      expect([path, status]).toEqual([path, 200]);
      for (const { id } of possessions) expect(text).not.toContain(id);
    }
  });
});
