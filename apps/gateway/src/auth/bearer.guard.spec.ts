import { randomBytes } from 'node:crypto';
import { connect, type AddressInfo } from 'node:net';
import { Controller, Get, type CallHandler } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  hashApiKey,
  mintApiKey,
  VerifyKey,
  type CallContract,
  type Principal,
  type VerifyKeyRequest,
} from '@libs/contracts';
import { KeyDirectory, AppExceptionFilter, MessageBus } from '@libs/platform';
import { aPrincipal } from '@libs/platform/testing';
import { AuditInterceptor } from './audit.interceptor';
import { AcceptsKeyHeader, AcceptsAnyKey, Public, RequiresManagementKey } from './access.decorators';
import { AccessTokens, type Judge } from './access-tokens';
import { BearerGuard } from './bearer.guard';
import { FailedAuthentications } from './failed-authentications';
import { Caller } from './caller.decorator';
import { TokenKeyDirectory } from './token-keys';

const NOT_VALID = 'No auth credentials found: the key or token is not valid';
const BAD = { error: { code: 401, message: NOT_VALID, metadata: { error_type: 'authentication' } } };

const apiKey = mintApiKey('sluice', 'api');
const managementKey = mintApiKey('sluice', 'management');

/** The auth app as the guard sees it: the keys that it accepts, and every request that it got. */
class AuthBus extends MessageBus {
  readonly usable = new Map<string, Principal>();
  readonly asked: string[] = [];
  /** Keys whose first secret was replaced by a rotation. */
  readonly rotated = new Set<string>();

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    if (contract.name !== VerifyKey.name) throw new Error('only keys are asked for');
    const { keyHash, by } = request as unknown as VerifyKeyRequest;
    this.asked.push(keyHash);
    const isOver = by === 'secret' && this.rotated.has(keyHash);
    return { principal: isOver ? null : (this.usable.get(keyHash) ?? null) } as unknown as R;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  allow(key: string, kind: Principal['kind']): void {
    const keyHash = hashApiKey(key);
    this.usable.set(
      keyHash,
      aPrincipal({ keyHash, kind, workspaceId: kind === 'api' ? 'workspace' : null, name: kind }),
    );
  }
}

/** Returns the message of a call that must fail; cheaper than `toThrow` for thousands of calls. */
function refusalOf(call: () => unknown): string {
  try {
    Promise.resolve(call()).catch(() => undefined);
    return 'none at once';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Every token acts as the key whose hash is its middle. */
class KnownTokens extends AccessTokens {
  override keyHashOf(token: string, judge: Judge): Promise<string | null> {
    const [head, keyHash = null] = token.split('.');
    return judge(async () => (head === 'good' ? keyHash : null));
  }
}

const tokenFor = (key: string): string => `good.${hashApiKey(key)}.signature`;

@Controller()
class Routes {
  @Get('inference')
  inference(@Caller() caller: Principal): object {
    return { caller: caller.name };
  }

  @Get('management')
  @RequiresManagementKey()
  management(@Caller() caller: Principal): object {
    return { caller: caller.name };
  }

  @Get('any')
  @AcceptsAnyKey()
  any(@Caller() caller: Principal): object {
    return { caller: caller.name };
  }

  @Get('public')
  @Public()
  open(): object {
    return { caller: null };
  }

  @Get('mistake')
  @Public()
  mistake(@Caller() caller: Principal): object {
    return caller;
  }
}

@Controller('keyed')
@AcceptsKeyHeader()
class KeyedRoutes {
  @Get()
  show(@Caller() caller: Principal): object {
    return { caller: caller.name };
  }
}

@Controller('managed')
@RequiresManagementKey()
class ManagedRoutes {
  @Get()
  list(@Caller() caller: Principal): object {
    return { caller: caller.name };
  }

  @Get('open')
  @Public()
  open(): object {
    return { caller: null };
  }
}

describe(BearerGuard.name, () => {
  let app: NestFastifyApplication;
  let bus: AuthBus;
  let nowMs: number;
  let tokens: AccessTokens;

  beforeEach(async () => {
    bus = new AuthBus();
    tokens = new KnownTokens(new TokenKeyDirectory(bus), 'https://sluice.example');
    nowMs = 0;
    bus.allow(apiKey, 'api');
    bus.allow(managementKey, 'management');
    const directory = new KeyDirectory(bus, { monotonicNowMs: () => nowMs });
    const module = await Test.createTestingModule({
      controllers: [Routes, KeyedRoutes, ManagedRoutes],
      providers: [
        { provide: KeyDirectory, useValue: directory },
        { provide: AccessTokens, useValue: tokens },
        { provide: FailedAuthentications, useValue: new FailedAuthentications(5) },
        { provide: APP_GUARD, useClass: BearerGuard },
      ],
    })
      .overrideInterceptor(AuditInterceptor)
      .useValue({ intercept: (_context: unknown, next: CallHandler) => next.handle() })
      .compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    app.useGlobalFilters(new AppExceptionFilter({ log: () => {}, error: () => {}, warn: () => {} }));
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });

  afterEach(() => app.close());

  async function get(path: string, authorization?: string): Promise<{ status: number; body: string; json: unknown }> {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await app.inject({ method: 'GET', url: path, headers });
    return { status: response.statusCode, body: response.body, json: response.json() };
  }

  /** Over a socket, where header bytes arrive as they are written. */
  async function raw(headerLines: readonly string[], path = '/inference'): Promise<{ status: number; body: string }> {
    if (!app.getHttpServer().listening) await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const socket = connect({ host: '127.0.0.1', port });
    const lines = [`GET ${path} HTTP/1.1`, 'Host: test', 'Connection: close', ...headerLines, '', ''];
    socket.end(Buffer.from(lines.join('\r\n'), 'latin1'));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const [head = '', body = ''] = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n', 2);
    return { status: Number(head.split(' ', 2)[1]), body };
  }

  it('lets an API key through to inference and says who is calling', async () => {
    expect(await get('/inference', `Bearer ${apiKey}`)).toMatchObject({ status: 200, json: { caller: 'api' } });
  });

  it.each(['bearer', 'BEARER', 'bEaReR'])('takes the scheme as %s', async (scheme) => {
    expect(await get('/inference', `${scheme} ${apiKey}`)).toMatchObject({ status: 200 });
  });

  it('says that the header is missing where it is, and names the scheme it wants', async () => {
    const response = await app.inject({ method: 'GET', url: '/inference' });
    expect(response.statusCode).toBe(401);
    expect(response.json()).toMatchObject({ error: { code: 401, message: 'Missing Authentication header' } });
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  it('says of a wrong key in x-api-key that it is not valid, where a route takes it', async () => {
    const withHeaders = async (headers: Record<string, string>) => {
      const response = await app.inject({ method: 'GET', url: '/keyed', headers });
      return { status: response.statusCode, body: response.json() as unknown };
    };
    expect(await withHeaders({ 'x-api-key': apiKey })).toEqual({ status: 200, body: { caller: 'api' } });
    const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln';
    for (const wrong of ['sk-ant-api03-x', 'x', otherSecret, mintApiKey('sluice', 'api'), token]) {
      expect(await withHeaders({ 'x-api-key': wrong })).toEqual({ status: 401, body: BAD });
      expect(await withHeaders({ authorization: `Bearer ${wrong}` })).toEqual({ status: 401, body: BAD });
    }
    expect(await withHeaders({ 'x-api-key': apiKey, authorization: `Bearer ${apiKey}` })).toMatchObject({
      status: 401,
      body: { error: { message: 'Two credentials were sent: leave out the header Authorization or x-api-key' } },
    });
    expect(await withHeaders({})).toMatchObject({
      status: 401,
      body: { error: { message: 'Missing Authentication header' } },
    });
  });

  it.each([
    ['x-api-key', { 'x-api-key': '', authorization: 'Bearer KEY' }],
    ['x-api-key of blanks', { 'x-api-key': '  ', authorization: 'Bearer KEY' }],
    ['Authorization', { 'x-api-key': 'KEY', authorization: '' }],
    ['token', { 'x-api-key': 'KEY', authorization: 'Bearer ' }],
  ])('takes the other credential of a client that sends an empty %s', async (_what, headers) => {
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('KEY', apiKey)]),
    );
    const response = await app.inject({ method: 'GET', url: '/keyed', headers: sent });
    expect(response.json()).toEqual({ caller: 'api' });
  });

  it.each([{ 'x-api-key': '' }, { 'x-api-key': ' ', authorization: '' }, { authorization: 'Bearer' }])(
    'refuses a request whose credentials are all empty: %j',
    async (headers) => {
      const response = await app.inject({ method: 'GET', url: '/keyed', headers });
      expect(response.statusCode).toBe(401);
      expect(response.body).not.toContain('x-api-key');
      expect(bus.asked).toEqual([]);
    },
  );

  it('says of a key in x-api-key that the route does not take it there, where it does not', async () => {
    const response = await app.inject({ method: 'GET', url: '/inference', headers: { 'x-api-key': apiKey } });
    expect(response.statusCode).toBe(401);
    expect(response.json()).toMatchObject({
      error: { message: 'Missing Authentication header: this route takes no x-api-key' },
    });
    expect(bus.asked).toEqual([]);
  });

  it('does not look for a key in the query', async () => {
    const answer = await get(`/inference?api_key=${apiKey}&key=${apiKey}&authorization=Bearer%20${apiKey}`);
    expect(answer).toMatchObject({ status: 401, json: { error: { message: 'Missing Authentication header' } } });
    expect(bus.asked).toEqual([]);
  });

  const otherSecret = apiKey.slice(0, -7) + (apiKey.at(-7) === 'x' ? 'y' : 'x') + apiKey.slice(-6);

  it.each([
    ['an empty value', ''],
    ['only blanks', '   '],
    ['no token', 'Bearer'],
    ['no token after a blank', 'Bearer '],
    ['another scheme', `Basic ${apiKey}`],
    ['no scheme', apiKey],
    ['two blanks', `Bearer  ${apiKey}`],
    ['a tab for the blank', `Bearer\t${apiKey}`],
    ['a trailing blank', `Bearer ${apiKey} `],
    ['a trailing tab', `Bearer ${apiKey}\t`],
    ['another token', `Bearer ${apiKey} ${apiKey}`],
    ['a comma list', `Bearer ${apiKey}, Bearer ${apiKey}`],
    ['a parameter', `Bearer ${apiKey};a=b`],
    ['quotes', `Bearer "${apiKey}"`],
    ['a wrong checksum', `Bearer ${otherSecret}`],
    ['the hash of a valid key', `Bearer ${hashApiKey(apiKey)}`],
    ['a key of another case', `Bearer ${apiKey.toUpperCase()}`],
    ['ten kilobytes', `Bearer ${'a'.repeat(10_240)}`],
    ['ten kilobytes behind the prefix', `Bearer sk-sluice-v1-${'a'.repeat(10_240)}`],
    ['an unsigned token', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.'],
    ['the name of a property', 'Bearer __proto__'],
  ])('refuses %s without asking anybody', async (_what, authorization) => {
    expect(await get('/inference', authorization)).toMatchObject({ status: 401, json: BAD });
    expect(bus.asked).toEqual([]);
  });

  it('refuses every bad key with the same bytes: unknown, revoked, misspelt, hashed', async () => {
    const revoked = mintApiKey('sluice', 'api');
    bus.allow(revoked, 'api');
    bus.usable.delete(hashApiKey(revoked));
    const keys = [
      mintApiKey('sluice', 'api'),
      mintApiKey('sluice', 'management'),
      revoked,
      otherSecret,
      hashApiKey(apiKey),
    ];
    const answers = await Promise.all(keys.map((key) => get('/inference', `Bearer ${key}`)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(
      new Set([`401 ${JSON.stringify(BAD)}`]),
    );
  });

  it('stops looking unknown keys up for an address that has shown too many', async () => {
    const tries = async (count: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let i = 0; i < count; i += 1) {
        statuses.push((await get('/inference', `Bearer ${mintApiKey('sluice', 'api')}`)).status);
      }
      return statuses;
    };
    expect((await get('/inference', `Bearer ${apiKey}`)).status).toBe(200);
    expect(await tries(6)).toEqual([401, 401, 401, 401, 401, 429]);
    const asked = bus.asked.length;
    expect(await tries(10)).toEqual(Array.from({ length: 10 }, () => 429));
    expect(bus.asked).toHaveLength(asked);
    // A key that was good before is served, also when it has to be asked for again.
    nowMs += 60_000;
    expect((await get('/inference', `Bearer ${apiKey}`)).status).toBe(200);
    expect(bus.asked).toHaveLength(asked + 1);
  });

  it('counts bad tokens as it does bad keys', async () => {
    const token = (): string =>
      `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.${randomBytes(9).toString('base64url')}.c2ln`;
    const statuses: number[] = [];
    for (let i = 0; i < 7; i += 1) statuses.push((await get('/inference', `Bearer ${token()}`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  it('stops looking up the key of a token once it was revoked, for an address that goes on', async () => {
    expect((await get('/inference', `Bearer ${tokenFor(apiKey)}`)).status).toBe(200);
    bus.usable.clear();
    nowMs += 1_000;
    const statuses: number[] = [];
    for (let i = 0; i < 7; i += 1) statuses.push((await get('/inference', `Bearer ${tokenFor(apiKey)}`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
    expect(bus.asked).toHaveLength(7);
  });

  it('refuses two Authorization headers, whichever of them is good', async () => {
    const good = `Authorization: Bearer ${apiKey}`;
    for (const lines of [
      [good, good],
      [good, 'authorization: Bearer x'],
      ['AUTHORIZATION: Bearer x', good],
    ]) {
      expect(await raw(lines)).toEqual({ status: 401, body: JSON.stringify(BAD) });
    }
    expect(bus.asked).toEqual([]);
    expect((await raw([good])).status).toBe(200);
  });

  it.each(['\u0080', '\u00e9', '\u00ff'])('refuses a token with byte %j', async (byte) => {
    expect((await raw([`Authorization: Bearer ${apiKey}${byte}`])).status).toBe(401);
    expect(bus.asked).toEqual([]);
  });

  it('gets no request whose header holds a NUL', async () => {
    expect((await raw([`Authorization: Bearer ${apiKey}\u0000`])).status).toBe(400);
    expect(bus.asked).toEqual([]);
  });

  it('refuses a revoked key at the latest a second after its last use', async () => {
    expect((await get('/inference', `Bearer ${apiKey}`)).status).toBe(200);
    bus.usable.clear();
    nowMs += 1_000;
    expect(await get('/inference', `Bearer ${apiKey}`)).toMatchObject({ status: 401, json: BAD });
  });

  it('lets a token act as a key whose first secret was rotated away, and not that secret', async () => {
    bus.rotated.add(hashApiKey(apiKey));
    expect((await get('/inference', `Bearer ${tokenFor(apiKey)}`)).status).toBe(200);
    expect((await get('/inference', `Bearer ${apiKey}`)).status).toBe(401);
  });

  it('refuses the token of a revoked key at the latest a second after its last use', async () => {
    expect((await get('/inference', `Bearer ${tokenFor(apiKey)}`)).status).toBe(200);
    bus.usable.clear();
    nowMs += 1_000;
    expect(await get('/inference', `Bearer ${tokenFor(apiKey)}`)).toMatchObject({ status: 401, json: BAD });
  });

  it('accepts none of ten thousand mutated keys and asks for none of them', async () => {
    const reflector = { get: () => undefined, getAllAndOverride: () => undefined };
    const guard = new BearerGuard(new KeyDirectory(bus), reflector as never, tokens, new FailedAuthentications(0));
    const rawHeaders = ['authorization', ''];
    const context = {
      getHandler: () => get,
      getClass: () => Routes,
      getArgByIndex: () => ({ raw: { rawHeaders } }),
    };
    const refusals = new Map<string, number>();
    for (let i = 0; i < 10_000; i += 1) {
      const key = mintApiKey('sluice', 'api');
      const at = 'sk-sluice-v1-'.length + (i % 49);
      rawHeaders[1] = `Bearer ${key.slice(0, at)}${key[at] === 'Q' ? 'R' : 'Q'}${key.slice(at + 1)}`;
      const refusal = refusalOf(() => guard.canActivate(context as never));
      refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
    }
    expect([...refusals]).toEqual([[NOT_VALID, 10_000]]);
    expect(bus.asked).toEqual([]);
  });

  describe('which keys a route takes', () => {
    const refusals = {
      '/management': 'Only management keys can perform this operation',
      '/managed': 'Only management keys can perform this operation',
      '/inference': 'Management keys cannot run inference; use an API key',
    };

    it.each([
      ['/inference', apiKey, 200],
      ['/inference', managementKey, 403],
      ['/management', apiKey, 403],
      ['/management', managementKey, 200],
      ['/managed', apiKey, 403],
      ['/managed', managementKey, 200],
      ['/any', apiKey, 200],
      ['/any', managementKey, 200],
      ['/inference', tokenFor(apiKey), 200],
      ['/any', tokenFor(apiKey), 200],
      ['/management', tokenFor(apiKey), 403],
      ['/managed', tokenFor(apiKey), 403],
      ['/inference', tokenFor(managementKey), 403],
      ['/inference', tokenFor(mintApiKey('sluice', 'api')), 401],
      ['/inference', 'bad.token.signature', 401],
      ['/management', 'bad.token.signature', 401],
    ])('%s', async (path, key, status) => {
      const answer = await get(path, `Bearer ${key}`);
      expect(answer.status).toBe(status);
      if (status === 403) {
        const message = refusals[path as keyof typeof refusals];
        expect(answer.json).toEqual({ error: { code: 403, message, metadata: { error_type: 'permission_denied' } } });
      }
    });

    it.each(['/public', '/managed/open'])('%s is open to everybody, whatever they send', async (path) => {
      expect((await get(path)).status).toBe(200);
      expect((await get(path, 'Bearer nonsense')).status).toBe(200);
      expect(bus.asked).toEqual([]);
    });

    it('tells an unknown key nothing about the route', async () => {
      const unknown = `Bearer ${mintApiKey('sluice', 'api')}`;
      for (const path of Object.keys(refusals)) expect((await get(path, unknown)).body).toBe(JSON.stringify(BAD));
    });

    it('fails a public route that asks who is calling', async () => {
      expect((await get('/mistake', `Bearer ${apiKey}`)).status).toBe(500);
    });
  });
});
